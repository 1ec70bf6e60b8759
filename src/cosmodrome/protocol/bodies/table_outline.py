"""The outline of a long JSON registration: its table in stretches, and which of them are as they were.

Owns: where a table is cut so that the cuts stay where they were when topics come and go; the digest of each stretch.
Must not know: what the stretches mean. As in json_table.py, a cut is a guess that reading proves.

A stretch begins with the key that it began with the last time. Its digest says whether it is the same text; what is
the same text was read before, and need not be read again.
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple, Protocol, Self

from cosmodrome.protocol.bodies import json_table
from cosmodrome.protocol.bodies.topic_stretches import KnownStretch
from cosmodrome.protocol.slices import Slices

STRETCH_DIGEST_BYTES: Final = 16
_MOST_SKIPPED: Final = 4
"""How many stretches may be gone between two that are found again; after more, the rest is cut anew."""
SLACK_BYTES: Final = 64 * 1024
"""How much longer than before a stretch may be."""


class Digest(Protocol):
    """A keyed hash (of hashlib)."""

    def copy(self) -> Self:
        """Give another with the same state."""

    def update(self, data: bytes | memoryview, /) -> None:
        """Take more."""

    def digest(self) -> bytes:
        """Give the digest of all that was taken."""


class FoundStretch(NamedTuple):
    """Part of a body. `known` is what is known of the same text, or None."""

    start: int
    end: int
    digest: bytes
    known: KnownStretch | None


class Outline(NamedTuple):
    """Where a body's table of topics is (without its braces), and its stretches, which one comma each separates."""

    start: int
    end: int
    stretches: tuple[FoundStretch, ...]

    def forgetting(self) -> "Outline":
        """Give the same as if nothing were known."""
        return self._replace(stretches=tuple(stretch._replace(known=None) for stretch in self.stretches))


class _Span(NamedTuple):
    start: int
    end: int
    expected: KnownStretch | None


def outline_in_slices(body: bytes, known: Sequence[KnownStretch], keyed: Digest) -> Slices[Outline | None]:
    """Find the stretches of a body; None when it is short, or not written as Java brokers do.

    `known` are the stretches of the broker's table as it was, in their order. `keyed` is not changed.
    """
    if len(body) < json_table.SHORT_BYTES:
        return None
    start = yield from json_table.table_start(body)
    if start < 0:
        return None
    found: list[FoundStretch] = []
    position = start
    with memoryview(body) as view:
        for span in _aligned(body, start, known):
            found.append(_digested(view, span, keyed))
            position = span.end + 1
            yield
        end = yield from json_table.table_end(body, position)
        if end < 0:
            return None
        for span in _rest(body, position, end, known[-1] if known else None):
            found.append(_digested(view, span, keyed))
            yield
    return Outline(start, end, tuple(found))


def beginning_of(body: bytes, start: int, end: int) -> bytes:
    """Give the key with which a stretch begins, to find it by; empty when there is none."""
    key = json_table.KEY.match(body, start, end)
    return b"" if key is None else key[0]


def _digested(view: memoryview, span: _Span, keyed: Digest) -> FoundStretch:
    hashed = keyed.copy()
    hashed.update(view[span.start : span.end])
    digest = hashed.digest()[:STRETCH_DIGEST_BYTES]
    known = span.expected if span.expected is not None and span.expected.digest == digest else None
    return FoundStretch(span.start, span.end, digest, known)


def _aligned(body: bytes, start: int, known: Sequence[KnownStretch]) -> Iterator[_Span]:
    """Give the spans up to the last beginning of a known stretch that is found again."""
    index, position = 0, start
    while index + 1 < len(known):
        expected = position + known[index].size_bytes
        if body.startswith(b"," + known[index + 1].beginning, expected):
            yield _Span(position, expected, known[index])
            index, position = index + 1, expected + 1
            continue
        following, end = _next_known(body, position, known, index)
        if end < 0:
            return
        yield from _anew(body, position, end)
        index, position = following, end + 1


def _next_known(body: bytes, position: int, known: Sequence[KnownStretch], index: int) -> tuple[int, int]:
    """Find where one of the next known stretches begins; -1 when none of them is near."""
    window = position + SLACK_BYTES
    for following in range(index + 1, min(index + 1 + _MOST_SKIPPED, len(known))):
        window += known[following - 1].size_bytes
        end = body.find(b"," + known[following].beginning, position, window)
        if end > position:
            return following, end
    return index, -1


def _rest(body: bytes, position: int, end: int, last: KnownStretch | None) -> Iterator[_Span]:
    if last is not None and position + last.size_bytes == end:
        yield _Span(position, end, last)
    else:
        yield from _anew(body, position, end)


def _anew(body: bytes, start: int, end: int) -> Iterator[_Span]:
    if end - start < 2 * json_table.PIECE_BYTES:
        yield _Span(start, end, None)
    else:
        yield from (_Span(begin, cut, None) for begin, cut in json_table.cuts(body, start, end))
