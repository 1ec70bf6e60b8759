"""Memory that big tables leave behind.

Owns: giving it back to the system.
Must not know: which tables shrank.
"""

import functools
import gc
import sys
from collections.abc import Callable
from typing import Final

WORTH_GIVING_BACK_ENTRIES: Final = 10_000
"""Table entries that must have gone before looking for free memory pays: it takes some milliseconds."""


def give_back() -> None:
    """Collect what is unreachable and let the C library return free pages. Blocks for some milliseconds."""
    gc.collect()
    _malloc_trim()(0)


@functools.cache
def _malloc_trim() -> Callable[[int], object]:
    """Give glibc's `malloc_trim`, or nothing's equal where there is none."""
    if sys.platform == "linux":
        import ctypes  # noqa: PLC0415 -- slow to load, and only big servers come here

        trim: Callable[[int], object] | None = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            return trim
    return lambda _: None
