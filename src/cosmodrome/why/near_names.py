"""Names that somebody may have meant.

Owns: when one name is like another.
Must not know: what the names are of.
"""

from collections.abc import Iterable
from typing import Final

from cosmodrome.protocol.slices import Slices

MOST: Final = 3
_SLICE_NAMES: Final = 200
_FURTHEST: Final = 2
_SHORT: Final = 4
"""Of a name this short one change is all: two make another word of it."""
_SAME: Final = str.maketrans("", "", "-_. \t%")


def near_names(name: str, names: Iterable[str]) -> Slices[tuple[str, ...]]:
    """Give up to three of `names` that are like `name`, the likest first, in slices of some hundred names.

    Likest are those that differ in case, in blanks or in `-`, `_`, `.`; then those with a namespace or another word before or
    after it; then those with one or two letters added, left out, exchanged or swapped.
    """
    plain, best = _plain(name), list[tuple[int, str]]()
    for number, other in enumerate(names, 1):
        if number % _SLICE_NAMES == 0:
            yield
        distance = _distance(name, plain, other)
        if distance is not None:
            best = sorted([*best, (distance, other)])[:MOST]
    return tuple(other for _, other in best)


def _plain(name: str) -> str:
    return name.translate(_SAME).casefold()


def _distance(name: str, plain: str, other: str) -> int | None:
    """Tell how far a name is away; None when nobody would mistake it."""
    if other == name:
        return None
    plain_other = _plain(other)
    if plain_other == plain:
        return 0
    if other.endswith(f"%{name}") or name.endswith(f"%{other}"):
        return 1
    if abs(len(plain) - len(plain_other)) > _FURTHEST:
        return None
    most = 1 if min(len(plain), len(plain_other)) <= _SHORT else _FURTHEST
    edits = _edits(plain, plain_other, most)
    return None if edits is None else 1 + edits


def _edits(first: str, second: str, most: int) -> int | None:
    """Count letters to add, leave out, exchange or swap; None when they are more than `most`."""
    while first and second and first[0] == second[0]:
        first, second = first[1:], second[1:]
    while first and second and first[-1] == second[-1]:
        first, second = first[:-1], second[:-1]
    if len(first) > len(second):
        first, second = second, first
    if len(second) > 2 * most + len(first):
        return None
    before: list[int] = []
    row = list(range(len(second) + 1))
    for place, letter in enumerate(first, 1):
        before, last, row = row, before, [place]
        for at, other in enumerate(second, 1):
            cost = min(before[at] + 1, row[at - 1] + 1, before[at - 1] + (letter != other))
            if place > 1 and at > 1 and letter == second[at - 2] and first[place - 2] == other:
                cost = min(cost, last[at - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return None
    return row[-1] if row[-1] <= most else None
