"""The two clocks of a broker.

Owns: which is for what.
Must not know: who asks.
"""

from collections.abc import Callable
from typing import NamedTuple


class Clock(NamedTuple):
    """`wall_ms` is for what is stored and shown; `steady_ms` never steps, and is for leases and deadlines."""

    wall_ms: Callable[[], int]
    steady_ms: Callable[[], int]
