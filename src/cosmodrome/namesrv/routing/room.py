"""How much the tables may hold, since anybody who may register could fill the memory.

Owns: what an entry is taken to cost, the ceilings, the refusals.
Must not know: where the entries are kept; which requests add some.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Final

from cosmodrome.errors import RequestRefusedError
from cosmodrome.protocol.bodies.route import TopicQueueMappingInfo
from cosmodrome.protocol.codes import ResponseCode

ENTRY_BYTES: Final = 128
"""A topic of one broker: its place in the broker's dictionary, and a share of its QueueData and its tuple of names."""
TOPIC_BYTES: Final = 160
"""A topic, however many brokers serve it, without the characters of its name."""
_MAPPING_BYTES: Final = 512
_MAPPED_QUEUE_BYTES: Final = 128
_TEXT_BYTES: Final = 64
_WIDE_CHARACTER_BYTES: Final = 8
"""Up to four in memory, and up to four more once it was encoded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableLimits:
    """Ceilings of all tables; what is at a ceiling is accepted. `size_bytes` is of estimates, see the constants."""

    brokers: int = 10_000
    size_bytes: int = 1024 * 1024 * 1024

    def check_size(self, held_bytes: int, more_bytes: int) -> None:
        """Refuse what would make the tables larger than they may be. What adds nothing is not refused.

        Raises:
            RequestRefusedError: SYSTEM_ERROR; the remark names the ceiling.
        """
        if more_bytes > 0 and held_bytes + more_bytes > self.size_bytes:
            raise _full(f"they would hold more than {self.size_bytes} bytes")

    def check_brokers(self, count: int) -> None:
        """Refuse one more broker address, or one more name in a cluster, when there are `count`.

        Raises:
            RequestRefusedError: SYSTEM_ERROR; the remark names the ceiling.
        """
        if count >= self.brokers:
            raise _full(f"they hold {self.brokers} brokers already")


def topic_bytes(topic: str) -> int:
    """Give what a topic costs beside its entries, in bytes."""
    return TOPIC_BYTES + _characters(topic)


def topics_bytes(topics: Collection[str]) -> int:
    """Give what many topics cost beside their entries, in bytes."""
    names = "".join(topics)
    return TOPIC_BYTES * len(topics) + (len(names) if names.isascii() else sum(map(_characters, topics)))


def mapping_bytes(topic: str, info: TopicQueueMappingInfo) -> int:
    """Give what a broker's static-topic mapping of a topic costs, in bytes."""
    texts = (topic, info.topic or "", info.bname or "", info.scope or "")
    return _MAPPING_BYTES + sum(map(_characters, texts)) + _MAPPED_QUEUE_BYTES * len(info.curr_id_map or ())


def texts_bytes(texts: Iterable[str]) -> int:
    """Give what some texts cost, in bytes."""
    return sum(_TEXT_BYTES + _characters(text) for text in texts)


def _characters(text: str) -> int:
    return len(text) if text.isascii() else len(text) * _WIDE_CHARACTER_BYTES


def _full(why: str) -> RequestRefusedError:
    return RequestRefusedError(ResponseCode.SYSTEM_ERROR, f"the tables are full: {why}", cause="tables_full")
