"""Where the JSON of a long registration can be cut, so that its topics are read piece by piece.

Owns: finding the cuts.
Must not know: what the pieces mean. A cut is a guess that reading proves: by JSON's grammar, pieces that are each the
    members of an object are together the members of that object.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from cosmodrome.protocol.slices import Slices

SHORT_BYTES: Final = 128 * 1024
"""A body that is not worth cutting."""
PIECE_BYTES: Final = 64 * 1024
_LOOK_BYTES: Final = 512 * 1024

_TABLE: Final = b'"topicConfigTable":{'
# What 5.x brokers write after the table, and how the bodies of older ones end.
_END: Final = b'}},"topicQueueMapping'
_OLD_END: Final = b"}}}}"
# The end of one topic and the name of the next. Inside a text the quote could only be its end, and no name would follow.
_BETWEEN: Final = re.compile(rb'\},(?="(?:[^"\\]|\\.)*+":\{)')
KEY: Final = re.compile(rb'"(?:[^"\\]|\\.)*+":\{')
"""How a topic begins."""
STAND_IN: Final = b'{"":{"topicName":""}}'
"""Stands for the table in what is left of the body."""


class AroundTable(NamedTuple):
    """A body without its table, twice: with STAND_IN in its place, and with an empty table.

    What was cut out is the body's table only if it is the one in both.
    """

    with_stand_in: bytes
    with_none: bytes


class CutBody(NamedTuple):
    """What is around a table, and the table in pieces, each an object of its own."""

    around: AroundTable
    pieces: list[bytes]


def cut_body(body: bytes) -> Slices[CutBody | None]:
    """Find the table of topics and cut it; None when the body is short, or not written as Java brokers do."""
    if len(body) < SHORT_BYTES:
        return None
    start = yield from table_start(body)
    if start < 0:
        return None
    end = yield from table_end(body, start)
    if end < 0:
        return None
    pieces: list[bytes] = []
    for begin, cut in cuts(body, start, end):
        pieces.append(b"{%b}" % body[begin:cut])
        yield
    return CutBody(around_table(body, start, end), pieces)


def around_table(body: bytes, start: int, end: int) -> AroundTable:
    """Give a body without its table, whose first topic is at `start` and whose closing brace is at `end`."""
    head, tail = body[: start - 1], body[end + 1 :]
    return AroundTable(b"".join((head, STAND_IN, tail)), b"".join((head, b"{}", tail)))


def table_start(body: bytes) -> Slices[int]:
    """Give where the table's first topic is, or -1."""
    found = yield from _find(body, _TABLE, 0)
    return found + len(_TABLE) if found >= 0 else -1


def table_end(body: bytes, start: int) -> Slices[int]:
    """Give where the table ends that begins before `start`, or -1: where the brace is that closes it."""
    last = yield from _find(body, _END, start)
    if last < 0 and body.endswith(_OLD_END):
        last = len(body) - len(_OLD_END)
    return last + 1 if last >= start else -1


def cuts(body: bytes, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Give the pieces of a part of a table, without the commas between them."""
    begin = start
    while begin < end:
        between = _BETWEEN.search(body, begin + PIECE_BYTES, end) if end - begin > PIECE_BYTES else None
        cut = end if between is None else between.start() + 1
        yield begin, cut
        begin = cut + 1


def _find(body: bytes, text: bytes, start: int) -> Slices[int]:
    """Give where a text stands first, or -1; as `bytes.find`, in slices."""
    for begin in range(start, len(body), _LOOK_BYTES):
        found = body.find(text, begin, begin + _LOOK_BYTES + len(text) - 1)
        if found >= 0:
            return found
        yield
    return -1
