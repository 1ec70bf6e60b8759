"""Free ports on 127.0.0.1.

Owns: which port numbers this run hands out, each at most once in a long while.
Must not know: who listens on them.
"""

import itertools
import os
import random
import socket
from typing import Final

HOST: Final = "127.0.0.1"

# Below the ephemeral range, so that no outgoing connection takes a number before its server binds it.
# A Java broker uses three numbers around the one it is given, hence blocks of ten.
_STEP: Final = 10
# Test processes that run side by side share the blocks out: a server that is down for a moment finds its port again.
_SIDE_BY_SIDE: Final = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
_NUMBER: Final = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
_OURS: Final = range(12_000 + _NUMBER * _STEP, 32_000, _SIDE_BY_SIDE * _STEP)
_BASES: Final = itertools.cycle(random.sample(_OURS, k=len(_OURS)))


def free_port() -> int:
    """Return a port P such that nobody listens on P-2 to P+7 now.

    No later call of this process returns a number within that block soon, whether used or not.
    """
    base = next(base for base in _BASES if all(_is_free(base + offset) for offset in range(_STEP)))
    return base + 2


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True
