"""How many connections this process may have.

Owns: the system's limit of open descriptors, raised as far as it may be.
Must not know: what the descriptors are for.
"""

import sys
from typing import Final

RESERVED: Final = 32
"""Descriptors for files, the listener and connections that we open."""


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
