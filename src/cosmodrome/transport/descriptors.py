"""How many connections this process may have.

Owns: the system's limit of open descriptors, raised as far as it may be; how many are left for connections.
Must not know: what the descriptors are for.
"""

import os
import sys
from pathlib import Path
from typing import Final

_MOST_SPARE: Final = 32
_SPARE_PART: Final = 16
_USUALLY_OPEN: Final = 16


def raise_descriptor_limit() -> int | None:
    """Raise the soft limit to the hard one, as the JVM does; give the limit, None where there is none.

    A login shell's soft limit is often 1024, which a NameServer of a large estate outgrows.
    """
    if sys.platform == "win32":
        return None
    import resource  # noqa: PLC0415 -- does not exist everywhere

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft not in (hard, resource.RLIM_INFINITY):
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        except (OSError, ValueError):  # some systems promise more than they give
            return soft
        soft = hard
    return None if soft == resource.RLIM_INFINITY else soft


def room_for_connections(limit: int) -> int:
    """Tell how many connections fit beside what is open now, with some descriptors spared.

    The spared ones, 32 or a sixteenth of the limit, are for files that are written, connections that we open, and
    those that are accepted only to be refused.
    """
    spare = min(_MOST_SPARE, limit // _SPARE_PART)
    return max(1, limit - _open_now() - spare)


def _open_now() -> int:
    folder = Path("/dev/fd")
    try:
        return len(os.listdir(folder))  # noqa: PTH208 -- only counted
    except OSError:
        return _USUALLY_OPEN
