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
"""The same for buffers of connections."""
LARGE_BLOCK_BYTES: Final = 1024 * 1024
_M_MMAP_THRESHOLD: Final = -3


class MemoryWatch:
    """Notices, each time that it looks, that enough has gone to be worth the work."""

    def __init__(self) -> None:
        self._dropped = 0
        self._released = 0

    def look(self, dropped_entries: int, released_bytes: int) -> None:
        """Give memory back when these counts, which only grow, have grown much since the last time."""
        if dropped_entries - self._dropped >= WORTH_GIVING_BACK_ENTRIES:
            self._dropped = dropped_entries
            gc.collect()
            _malloc_trim()
        if released_bytes - self._released >= WORTH_GIVING_BACK_BYTES:
            self._released = released_bytes
            _malloc_trim()


def settle() -> None:
    """Arrange the memory of a process that belongs to one server, which has started; a second call adds what was made since.

    No more garbage is looked for among what is here now, modules and the parts of the server: that is all there is of
    objects that refer to each other but for a few a connection, and looking through it takes ten milliseconds each time.

    Large blocks (bodies of registrations, big tables) come from the system and go back to it at once, and grow
    without being copied. By itself glibc keeps them after the first was freed: a body of 9 MB that grows is then copied
    in one step of four milliseconds, and what it leaves has to be looked for.
    """
    gc.freeze()
    _from_c("mallopt")(_M_MMAP_THRESHOLD, LARGE_BLOCK_BYTES)


def _malloc_trim() -> None:
    """Give free pages back to the system; takes a few milliseconds."""
    _from_c("malloc_trim")(0)


@functools.cache
def _from_c(name: str) -> Callable[..., object]:
    """Give a function of glibc, or one that does nothing where that is not the C library."""
    if sys.platform == "linux":
        import ctypes  # noqa: PLC0415 -- slow to load, and only servers come here

        found: Callable[..., object] | None = getattr(ctypes.CDLL(None), name, None)
        if found is not None:
            return found
    return lambda *_: None
