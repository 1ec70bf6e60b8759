"""What of an mqadmin output must be equal whichever NameServer answered.

Owns: every normalisation, each with the reason why the text cannot be equal.
Must not know: which commands there are (mqadmin_commands.py).

Both servers listen on the same port in turn, and both brokers on the same ports, under the same names,
so addresses need none.
"""

import re
from collections.abc import Callable
from typing import Final

_SUBSTITUTIONS: Final = (
    # The clock: when a message was stored, a topic last changed, a command ran.
    (r"\d{4}-\d\d-\d\d[ #]\d\d:\d\d:\d\d(?:[.,:]\d{1,3})?", "<time>"),
    (r"\b1[6-9]\d{11}\b", "<ms>"),
    (r"\b1[6-9]\d{8}\b", "<s>"),
    # Message ids hold the clock and the process id; trace and transaction ids likewise.
    (r"\b[0-9A-F]{32,56}\b", "<message id>"),
    # A client that the command made for itself: process id and nanoseconds.
    (r"@\d+#\d+", "@<process>"),
    (r"\b(CID|TOOLS_CONSUMER|PID)[-_]\d+\b", r"\1-<number>"),
    # The port that the kernel chose for a client's connection (32768 and above).
    (r"(\d+\.\d+\.\d+\.\d+):(?:3[2-9]|[45]\d|6[0-5])\d{3}\b", r"\1:<client port>"),
    # Durations and rates.
    (r"(?<![\d.])\d+\.\d+(?:E-?\d+)?(?![\d.])", "<decimal>"),
    (r"\b(RT|rt|cost|elapsed|time)([ :=]*)\d+ ?(ms|s)?\b", r"\1\2<duration>"),
    # Which queue a producer begins with is a random number.
    (r"(broker-admin +)\d+( +SEND_OK)", r"\1<queue>\2"),
    (r"\bqueueId=\d+, queueOffset=\d+", "queueId=<queue>, queueOffset=<offset>"),
    # COMPAT: ours names the page and the reason of 5.x, whatever release it is compared with.
    (r"See http://rocketmq.apache.org/docs/faq/ for", "See <faq> for"),
    (r"See https://rocketmq.apache.org/docs/bestPractice/06FAQ for", "See <faq> for"),
    (r"Can not update config path", "Can not update config in black list."),
)
_RULES: Final = tuple((re.compile(pattern), replacement) for pattern, replacement in _SUBSTITUTIONS)

# The client library logs to the console in 4.9.x, whenever a connection opens or closes.
_CLIENT_LOG: Final = re.compile(r"^\d\d:\d\d:\d\d\.\d{3} \[.*$\n?", re.MULTILINE)

_ADDED_IN_5X: Final = frozenset(
    {
        "clientRequestThreadPoolNums",
        "clientRequestThreadPoolQueueCapacity",
        "configBlackList",
        "defaultThreadPoolNums",
        "defaultThreadPoolQueueCapacity",
        "deleteTopicWithBrokerRegistration",
        "enableAllTopicList",
        "enableControllerInNamesrv",
        "enableShutdownGracefully",
        "enableTopicList",
        "needWaitForService",
        "notifyMinBrokerIdChanged",
        "returnOrderTopicConfigToBroker",
        "scanNotActiveBrokerInterval",
        "serverNettyWorkerGroupEnable",
        "shutdownWaitTimeSeconds",
        "supportActingMaster",
        "unRegisterBrokerQueueCapacity",
        "waitSecondsForService",
    }
)


def whole(text: str) -> list[str]:
    """Return every line that is not blank, without what depends on time or chance."""
    text = _CLIENT_LOG.sub("", text)
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    # Columns are padded to the width of values that were replaced.
    lines = (re.sub(r"[ \t]+", " ", line).strip() for line in text.splitlines())
    return [line for line in lines if line]


def unordered(text: str) -> list[str]:
    """Return the lines of `whole`, sorted: Java answers in the order of its hash tables."""
    return sorted(whole(text))


def unordered_without_figures(text: str) -> list[str]:
    """Return the lines of `unordered` without whole numbers: counters that depend on when they are read."""
    return sorted(re.sub(r"(?<![\w.:])\d+(?![\w.:])", "<figure>", line) for line in whole(text))


def progress_of_topics(text: str) -> list[str]:
    """Return the lines of `unordered` without retry topics: an untouched one has an offset, or has none yet."""
    return [line for line in unordered(text) if not line.startswith("%RETRY%")]


def columns(count: int) -> Callable[[str], object]:
    """Compare the first columns of a table; the others are load figures of the broker."""

    def view(text: str) -> list[list[str]]:
        return [line.split(" ")[:count] for line in whole(text)]

    return view


def names_only(text: str) -> list[str]:
    """Return the names before `:` or `=`, sorted; the values are figures of the broker or of a client."""
    return sorted({re.split(r"[:=]", line)[0].strip() for line in whole(text)})


def settings(text: str) -> dict[str, str]:
    """Return key → value of getNamesrvConfig."""
    pairs = (re.split(r" += +| = |=", line, maxsplit=1) for line in text.splitlines() if "=" in line)
    return {pair[0].strip(): pair[1].strip() for pair in pairs if len(pair) == 2 and not pair[0].startswith("=")}


def settings_of_4x(text: str) -> dict[str, str]:
    """Return `settings` without the keys that 4.9.x does not have; ours always lists those of 5.x."""
    return {key: value for key, value in settings(text).items() if key not in _ADDED_IN_5X}
