"""What a producer can be set to.

Owns: the settings, their defaults and checks.
Must not know: how they are obeyed.
"""

from dataclasses import dataclass
from typing import Any, Final, Literal

from cosmodrome.client.config import ClientConfig, ClientOptions, check_positive
from cosmodrome.client.traces import trace_topic
from cosmodrome.errors import ConfigError, MessageError
from cosmodrome.protocol.messages.checks import DEFAULT_MAX_BODY_BYTES, check_client_group, check_topic
from cosmodrome.protocol.messages.compression import DEFAULT_LEVEL
from cosmodrome.protocol.messages.sys_flag import CompressionType
from cosmodrome.protocol.send_template import DEFAULT_TOPIC, DEFAULT_TOPIC_QUEUE_NUMS

COMPRESSIONS: Final = {
    "zlib": CompressionType.ZLIB,
    "lz4": CompressionType.LZ4,
    "zstd": CompressionType.ZSTD,
}


class ProducerOptions(ClientOptions, total=False):
    """The settings of ProducerSettings as keywords."""

    send_timeout_s: float
    retries: int
    retry_when_not_ok: bool
    max_message_bytes: int
    create_topic: str
    create_topic_queues: int
    compress_over_bytes: int | None
    compression: Literal["zlib", "lz4", "zstd"]
    compression_level: int
    latency_fault_tolerance: bool
    max_pending_sends: int
    max_pending_bytes: int
    when_full: Literal["wait", "raise"]
    trace: bool | str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerSettings(ClientConfig):
    """Settings of a producer, beside those of every client.

    Attributes:
        group: The producer group. Producers of one group can end each other's transactions.
        send_timeout_s: For all tries of a send together.
        retries: How many tries may follow the first one.
        retry_when_not_ok: Also try again when the message was stored and is not known to be on disk or copied:
            it is then stored twice.
        max_message_bytes: Of a body before it is compressed, and of all of a batch. Brokers have a limit of their own.
        create_topic: The topic after which brokers make topics that do not exist.
        create_topic_queues: How many queues such a topic gets at each broker, at most.
        compress_over_bytes: Bodies from this size on are compressed; None: none is. Those of batches never are.
        compression: How. "lz4" and "zstd" need the extra `compression`, and consumers of 5.x.
        compression_level: How hard.
        latency_fault_tolerance: Leave brokers that were slow alone for a while.
        max_pending_sends: How many sends may wait for their answers.
        max_pending_bytes: How many bytes of them may.
        when_full: What a send does beyond these limits: wait, within its time, or raise PendingLimitError.
        trace: Send a trace of each message: True to RMQ_SYS_TRACE_TOPIC, a text to a topic of that name.
    """

    group: str
    send_timeout_s: float = 3.0
    retries: int = 2
    retry_when_not_ok: bool = False
    max_message_bytes: int = DEFAULT_MAX_BODY_BYTES
    create_topic: str = DEFAULT_TOPIC
    create_topic_queues: int = DEFAULT_TOPIC_QUEUE_NUMS
    compress_over_bytes: int | None = 4096
    compression: Literal["zlib", "lz4", "zstd"] = "zlib"
    compression_level: int = DEFAULT_LEVEL
    latency_fault_tolerance: bool = False
    max_pending_sends: int = 10_000
    max_pending_bytes: int = 32 * 1024 * 1024
    when_full: Literal["wait", "raise"] = "wait"
    trace: bool | str = False

    def __post_init__(self) -> None:
        ClientConfig.__post_init__(self)
        for name in ("max_message_bytes", "create_topic_queues", "max_pending_sends", "max_pending_bytes"):
            check_positive(name, getattr(self, name))
        if isinstance(self.retries, bool) or not isinstance(self.retries, int) or self.retries < 0:
            raise ConfigError(f"retries: {self.retries!r} is no number of tries.", keys=("retries",))
        _check_choice("compression", self.compression, tuple(COMPRESSIONS))
        _check_choice("when_full", self.when_full, ("wait", "raise"))
        _check_name("group", self.group, check_client_group)
        _check_name("create_topic", self.create_topic, check_topic)
        if isinstance(self.trace, str):
            _check_name("trace", self.trace, check_topic)

    @property
    def wire_group(self) -> str:
        """The group as it travels."""
        return self.wrap(self.group)

    @property
    def trace_topic(self) -> str | None:
        """Where traces go, or None."""
        return trace_topic(self.trace)


def _check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ConfigError(f"{name}: {value!r} is none of {', '.join(choices)}.", keys=(name,))


def _check_name(name: str, value: Any, check: Any) -> None:
    if not isinstance(value, str):
        raise ConfigError(f"{name}: {value!r} is no text.", keys=(name,))
    try:
        check(value)
    except MessageError as error:
        raise ConfigError(f"{name}: {error}", keys=(name,)) from error
