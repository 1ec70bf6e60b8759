"""Memory that big tables, big requests and many connections leave behind, and what lives as long as the process.

Owns: when to give it back to the system, and how.
Must not know: which tables shrank, and whose connections ended.
"""

import functools
import gc
import sys
from collections.abc import Callable
from typing import Final

WORTH_GIVING_BACK_ENTRIES: Final = 10_000
"""Table entries that must have gone before looking for free memory pays: it takes some milliseconds."""
WORTH_GIVING_BACK_BYTES: Final = 4 * 1024 * 1024
"""The same for buffers of connections and for bodies of requests."""


class MemoryWatch:
    """Notices, each time that it looks, that enough has gone to be worth the work."""

    def __init__(self) -> None:
        self._dropped = 0
        self._released = 0
        self._is_second_look_due = False

    def look(self, dropped_entries: int, released_bytes: int) -> None:
        """Give memory back when these counts, which only grow, have grown much since the last time.

        Buffers are looked after a second time: a big request counts as released when it comes, and may still be in
        use at the first.
        """
        if dropped_entries - self._dropped >= WORTH_GIVING_BACK_ENTRIES:
            self._dropped = dropped_entries
            gc.collect()
            _malloc_trim()(0)
        is_due = released_bytes - self._released >= WORTH_GIVING_BACK_BYTES
        if is_due:
            self._released = released_bytes
        if is_due or self._is_second_look_due:
            _malloc_trim()(0)
        self._is_second_look_due = is_due


def settle() -> None:
    """Look no more for garbage among what is here now: modules and the parts of a server that has started.

    That is all there is of objects that refer to each other but for a few a connection, and looking through it takes
    ten milliseconds each time. For whom this process belongs to; a second call adds what was made since.
    """
    gc.freeze()


@functools.cache
def _malloc_trim() -> Callable[[int], object]:
    """Give glibc's `malloc_trim`, which returns free pages in a few milliseconds, or nothing's equal elsewhere."""
    if sys.platform == "linux":
        import ctypes  # noqa: PLC0415 -- slow to load, and only big servers come here

        trim: Callable[[int], object] | None = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            return trim
    return lambda _: None
