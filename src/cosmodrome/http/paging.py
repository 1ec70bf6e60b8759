"""Long lists, a page at a time.

Owns: `limit`, `cursor` and `prefix`; names in order without a stall of the event loop.
Must not know: what the names are of.
"""

import asyncio
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from heapq import merge
from http import HTTPStatus
from typing import Final, NamedTuple

from starlette.requests import Request

from cosmodrome.http.operations import Parameter
from cosmodrome.http.problems import Problem

DEFAULT_LIMIT: Final = 100
MOST: Final = 1000
_LONGEST_TEXT: Final = 1024
_PIECE: Final = 4000
"""Names that are sorted, or merged, in about a millisecond."""


_TEXT: Final = {"type": "string", "maxLength": _LONGEST_TEXT}
PAGED: Final = (
    Parameter(
        name="limit",
        meaning="how many at most",
        schema={"type": "integer", "minimum": 1, "maximum": MOST, "default": DEFAULT_LIMIT},
    ),
    Parameter(name="cursor", meaning="next_cursor of the page before", schema=_TEXT),
)
"""Parameters of a list that comes in pages."""
NUMBERED: Final = (
    PAGED[0],
    Parameter(
        name="cursor", meaning="next_cursor of the page before", schema={"type": "string", "pattern": "^[0-9]{0,18}$"}
    ),
)
"""Parameters of a list that comes in pages, whose cursors are numbers."""
PREFIXED: Final = (*PAGED, Parameter(name="prefix", meaning="only names that begin with this", schema=_TEXT))
"""Parameters of a list of names that comes in pages."""


class Page(NamedTuple):
    """Which part of a list is asked for: at most `limit` names that begin with `prefix`, after `cursor`."""

    limit: int
    cursor: str
    prefix: str


def page_of(request: Request) -> Page:
    """Read the page that is asked for.

    Raises:
        Problem: A limit is no number, or out of range, or a text is too long.
    """
    query = request.query_params
    text = query.get("limit", str(DEFAULT_LIMIT))
    if not (text.isascii() and text.isdigit()) or not 1 <= int(text[:9]) <= MOST:
        raise Problem(HTTPStatus.BAD_REQUEST, "bad_limit", f"limit must be between 1 and {MOST}, not {text[:20]!r}")
    page = Page(int(text), query.get("cursor", ""), query.get("prefix", ""))
    if max(len(page.cursor), len(page.prefix)) > _LONGEST_TEXT:
        raise Problem(HTTPStatus.BAD_REQUEST, "long_text", f"cursor and prefix have at most {_LONGEST_TEXT} characters")
    return page


class SortedNames:
    """Names in order, kept for one revision of what they come from."""

    def __init__(self, names: Callable[[], Iterable[str]], revision: Callable[[], int]) -> None:
        self._names = names
        self._revision = revision
        self._kept: list[str] = []
        self._kept_revision = -1
        self._sorting = asyncio.Lock()

    async def page(self, page: Page) -> tuple[Sequence[str], str | None]:
        """Give a page, and the cursor of the next one, None when there is none.

        While names change all the time, a page may be of a moment ago.
        """
        async with self._sorting:
            revision = self._revision()
            if revision != self._kept_revision:
                self._kept = await _in_order(list(self._names()))
                self._kept_revision = revision
        kept = self._kept
        start = max(bisect_right(kept, page.cursor) if page.cursor else 0, bisect_left(kept, page.prefix))
        found: list[str] = []
        for name in kept[start : start + page.limit + 1]:
            if not name.startswith(page.prefix):
                break
            found.append(name)
        more = len(found) > page.limit
        return found[: page.limit], found[page.limit - 1] if more else None


async def _in_order(names: list[str]) -> list[str]:
    pieces: list[list[str]] = []
    for start in range(0, len(names), _PIECE):
        pieces.append(sorted(names[start : start + _PIECE]))
        await asyncio.sleep(0)
    ordered: list[str] = []
    for count, name in enumerate(merge(*pieces)):
        ordered.append(name)
        if count % _PIECE == 0:
            await asyncio.sleep(0)
    return ordered
