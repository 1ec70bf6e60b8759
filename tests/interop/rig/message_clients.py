"""Apache's Java clients of a release for every kind of message, in one JVM that takes commands.

Owns: producers and consumers by name, what they were told and what they saw, as values.
Must not know: which broker or NameServer serves them; what a test claims.
"""

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from tests.interop.rig.java import Console, JavaProgram
from tests.support.waiting import wait_until

COMMAND_S: Final = 60.0
SEEN_S: Final = 60.0

# A consumer of 4.9 looks for its queues every 20 s otherwise, and one of 5.x too when nothing tells it to.
_PROPERTIES: Final = {"rocketmq.client.rebalance.waitInterval": "1000"}
_MARK: Final = "@@JSON "


class JavaClientError(AssertionError):
    """A Java client threw; `kind` is the simple name of the exception's class."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(f"{kind}: {message}")
        self.kind = kind


class Queue(NamedTuple):
    """A queue as the Java client names it."""

    topic: str
    broker_name: str
    queue_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """A SendResult."""

    status: str
    msg_id: str
    offset_msg_id: str | None
    queue: Queue | None
    queue_offset: int
    transaction_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A message as a listener or a poll saw it, and when (by the clock of the JVM) and on which thread."""

    topic: str
    body: bytes
    msg_id: str
    tag: str | None
    keys: str | None
    flag: int
    queue: Queue
    queue_offset: int
    reconsume_times: int
    born_ms: int
    store_ms: int
    seen_ms: int
    thread: str
    properties: Mapping[str, str]


class MessageClients:
    """One JVM with the clients of a release. Every client has a name, and lives until `end` or `stop`.

    Options are those of programs/MessageKinds.java, as keywords; True stands for one without a value.
    """

    def __init__(self, release: str, folder: Path, more: Mapping[str, str] | None = None) -> None:
        """Prepare the JVM with its offsets and logs in `folder`, and `more` system properties; `start` starts it."""
        properties = {
            "rocketmq.client.logRoot": str(folder / "logs"),
            "rocketmq.client.localOffsetStoreDir": str(folder / "offsets"),
            **_PROPERTIES,
            **(more or {}),
        }
        self.release = release
        self._console = Console(JavaProgram(release=release, main_class="MessageKinds", properties=properties), folder)

    def start(self) -> None:
        """Start the JVM and wait until it takes commands."""
        self._console.start()

    def stop(self) -> None:
        """End the JVM with all that is in it, as a crash would."""
        self._console.stop()

    def producer(self, name: str, name_server: str, group: str, **options: object) -> str:
        """Start a producer (`kind="transaction"` for one with a listener) and return its client id.

        Any client signs with `accessKey` and `secretKey`, if they are given.
        """
        return str(self._run("producer", name, namesrv=name_server, group=group, **options))

    def send(self, name: str, topic: str, body: str = "", **options: object) -> list[Sent]:
        """Send one message, or `count` of them with numbers behind the body, one after the other.

        Options: tag, keys, flag, delayLevel, timerMs, queue and broker, orderKey, oneway, bodyBytes, count, and
        `properties`, a mapping.

        Raises:
            JavaClientError: The producer threw.
        """
        return [_sent(each) for each in self._run("send", name, topic=topic, body=body, **options)]

    def recall(self, name: str, topic: str, body: str, **options: object) -> tuple[str, str]:
        """Send a timer message and take it back; give its id, and the id that the recall gave.

        Raises:
            JavaClientError: The producer threw, or has no such method.
        """
        told = self._run("recall", name, topic=topic, body=body, **options)
        return told["msgId"], told["recalled"]

    def send_batch(self, name: str, topic: str, body: str, count: int, **options: object) -> Sent:
        """Send one batch."""
        return _sent(self._run("batch", name, topic=topic, body=body, count=count, **options))

    def transact(self, name: str, topic: str, body: str, local: str, check: Sequence[str] = ("unknown",)) -> Sent:
        """Send in a transaction; `local` and each check are commit, rollback, unknown or throw."""
        return _sent(self._run("transact", name, topic=topic, body=body, local=local, check=",".join(check)))

    def request(self, name: str, topic: str, body: str, **options: object) -> bytes:
        """Send a request and return the body of the reply.

        Raises:
            JavaClientError: RequestTimeoutException, when none came in `timeoutMs` (10,000).
        """
        return base64.b64decode(self._run("request", name, topic=topic, body=body, **options)["body"])

    def consumer(self, name: str, name_server: str, group: str, topic: str, **options: object) -> str:
        """Start a push consumer and return its client id.

        Options: tags or sql, from (FIRST_OFFSET, LAST_OFFSET, TIMESTAMP), model (CLUSTERING, BROADCASTING), orderly,
        fail (times that each message is refused first), maxReconsumeTimes, batch, strategy (AVG, AVG_BY_CIRCLE,
        CONSISTENT_HASH), reply (answers each message with "re:" and its body), pop.
        """
        return str(self._run("consumer", name, namesrv=name_server, group=group, topic=topic, **options))

    def lite_consumer(self, name: str, name_server: str, group: str, topic: str, **options: object) -> str:
        """Start a lite pull consumer that polls all the time; with `assign` it takes all queues from their beginning."""
        return str(self._run("lite", name, namesrv=name_server, group=group, topic=topic, **options))

    def seen(self, name: str) -> list[Seen]:
        """Return what a consumer has seen so far, in order; a message that came again is there again."""
        return [_seen(each) for each in self._run("seen", name)]

    def wait_seen(self, name: str, count: int, within_s: float = SEEN_S) -> list[Seen]:
        """Wait until a consumer has seen so much, and return it all.

        Raises:
            NotInTimeError: It has not.
        """
        return wait_until(
            lambda: found if len(found := self.seen(name)) >= count else [],
            f"{count} messages at {name} of {self.release}",
            within_s,
        )

    def allocation(self, name: str) -> list[Queue]:
        """Return the queues that a consumer has now, sorted."""
        return [_queue(each) for each in self._run("allocation", name)]

    def wait_allocation(self, name: str, topic: str, count: int, within_s: float = SEEN_S) -> list[Queue]:
        """Wait until a consumer has so many queues of a topic, and return them.

        Raises:
            NotInTimeError: It has not.
        """

        def owned() -> list[Queue]:
            return [queue for queue in self.allocation(name) if queue.topic == topic]

        wait_until(lambda: len(owned()) == count, f"{count} queues of {topic} at {name} of {self.release}", within_s)
        return owned()

    def end(self, name: str) -> None:
        """Shut a client down in good order."""
        assert self._run("stop", name) is True, name

    def _run(self, verb: str, name: str, **options: object) -> Any:
        properties = options.pop("properties", None) or {}
        assert isinstance(properties, Mapping), properties
        all_options = options | {f"property.{key}": value for key, value in properties.items()}
        words = [f"{key}={quote(str(value), safe='')}" for key, value in all_options.items() if value is not None]
        seen = self._console.run(verb, name, *words, within_s=COMMAND_S)
        told = next(line.removeprefix(_MARK) for line in seen.splitlines() if line.startswith(_MARK))
        value = json.loads(told)
        if isinstance(value, dict) and "error" in value:
            raise JavaClientError(value["error"], f"{value['message']}\n{seen}")
        return value


def _queue(told: Mapping[str, Any]) -> Queue:
    return Queue(told["topic"], told["brokerName"], told["queueId"])


def _sent(told: Mapping[str, Any]) -> Sent:
    return Sent(
        status=told["status"],
        msg_id=told["msgId"],
        offset_msg_id=told["offsetMsgId"],
        queue=None if told["queue"] is None else _queue(told["queue"]),
        queue_offset=told["queueOffset"],
        transaction_id=told["transactionId"],
    )


def _seen(told: Mapping[str, Any]) -> Seen:
    return Seen(
        topic=told["topic"],
        body=base64.b64decode(told["body"]),
        msg_id=told["msgId"],
        tag=told["tag"],
        keys=told["keys"],
        flag=told["flag"],
        queue=_queue(told["queue"]),
        queue_offset=told["queueOffset"],
        reconsume_times=told["reconsumeTimes"],
        born_ms=told["bornMs"],
        store_ms=told["storeMs"],
        seen_ms=told["seenMs"],
        thread=told["thread"],
        properties=told["properties"],
    )
