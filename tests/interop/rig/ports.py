"""Free ports on 127.0.0.1.

Owns: which port numbers this run hands out, each at most once in a long while.
Must not know: who listens on them.
"""

import itertools
import random
import socket
from typing import Final

HOST: Final = "127.0.0.1"

# Below the ephemeral range, so that no outgoing connection takes a number before its server binds it.
# A Java broker uses three numbers around the one it is given, hence blocks of ten.
_STEP: Final = 10
_BASES: Final = itertools.cycle(random.sample(range(12_000, 32_000, _STEP), k=2_000))


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
