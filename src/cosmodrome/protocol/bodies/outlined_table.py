"""The table of a registration whose outline is known, read stretch by stretch.

Owns: reading what is new of it, passing over what is as it was; what is kept of it for the next time.
Must not know: where the stretches are cut (table_outline.py); what is around the table (register_broker.py).
"""

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from cosmodrome.errors import IrregularTableError
from cosmodrome.protocol.bodies import json_table
from cosmodrome.protocol.bodies.table_outline import Outline, beginning_of
from cosmodrome.protocol.bodies.topic_config import TopicConfig, stretch_of
from cosmodrome.protocol.bodies.topic_stretches import KnownStretch, TopicStretch
from cosmodrome.protocol.limits import BodyLimits

_MOST_STRETCHES: Final = 4
"""How many times the stretches of a table that is cut anew there may be, when topics come and go for long."""

_decode: Final = msgspec.json.Decoder(dict[str, TopicConfig]).decode


class OutlinedTable:
    """A WrittenTable of JSON.

    Args:
        body: All of it.
        outline: Of this body.
        limits: How much it may hold.
        replaced: As WrittenTable has it.
    """

    def __init__(self, body: bytes, outline: Outline, limits: BodyLimits, replaced: frozenset[str] | None) -> None:
        self._body = body
        self._outline = outline
        self._limits = limits
        self.replaced = replaced

    def __iter__(self) -> Iterator[TopicStretch]:
        """Read it, from the beginning."""
        count = 0
        for start, end, _, known in self._outline.stretches:
            stretch = self._read(start, end) if known is None else TopicStretch(known.names, None)
            count += len(stretch.names)
            self._limits.check_topics(count)
            yield stretch

    def known_with(self, names: Sequence[tuple[str, ...]]) -> tuple[KnownStretch, ...]:
        """Give what to keep of it; nothing when it is in too many small stretches by now."""
        outline = self._outline
        if len(names) > _MOST_STRETCHES * (1 + (outline.end - outline.start) // json_table.PIECE_BYTES):
            return ()
        return tuple(
            known or KnownStretch(beginning_of(self._body, start, end), end - start, digest, own)
            for (start, end, digest, known), own in zip(outline.stretches, names, strict=True)
        )

    def _read(self, start: int, end: int) -> TopicStretch:
        with memoryview(self._body) as view:
            text = b"".join((b"{", view[start:end], b"}"))
        try:
            configs = _decode(text)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise IrregularTableError("a stretch of the table is no object") from error
        stretch = stretch_of(configs)
        self._limits.check_names(stretch.names)
        return stretch
