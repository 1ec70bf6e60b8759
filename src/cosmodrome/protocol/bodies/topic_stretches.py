"""The topics of a registration, some hundred at a time.

Owns: the values that a table is compared by; what it takes for a table to be told in them.
Must not know: how a table is written; what is held of it.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

import msgspec

TopicShape = tuple[int, int, int, int]
"""Permission, read queues, system flags and write queues: what topics of a broker that are alike have in common."""


class TopicStretch(NamedTuple):
    """Some topics, each named once, and the shape of each in the same order; None when all are as they were."""

    names: tuple[str, ...]
    shapes: Sequence[TopicShape] | None


class KnownStretch(msgspec.Struct, frozen=True, gc=False):
    """What is kept of a stretch of a table that was taken: how its text begins, its size and digest, who is in it.

    An empty digest equals none.
    """

    beginning: bytes
    size_bytes: int
    digest: bytes
    names: tuple[str, ...]


class WrittenTable(Protocol):
    """A table that is read while it is compared.

    `replaced` are the topics of what was known of it and is not found any more, the only ones that it may have in
    common with what is held and not in a stretch that is as it was; None when every stretch has its shapes.
    """

    @property
    def replaced(self) -> frozenset[str] | None:
        """See above."""

    def __iter__(self) -> Iterator[TopicStretch]:
        """Read it, from the beginning, well under a millisecond at a time.

        Raises:
            IrregularTableError: It must be read in another way.
            BodyLimitError: It holds more than is allowed.
        """

    def known_with(self, names: Sequence[tuple[str, ...]]) -> tuple[KnownStretch, ...]:
        """Give what to keep of it, now that the names in each stretch are known."""
