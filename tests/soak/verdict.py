"""What counts as a finding in what a soak measured.

Owns: how flat memory must be; how much may be logged.
Must not know: how it was measured.
"""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from tests.soak.measures import MIB, growth_over_second_half, thirds

WARM_UP_LAPS: Final = 2
"""Until all code has run once and the allocator's arenas have their size; not counted."""
LAPS_TO_JUDGE: Final = 6
MAY_GROW: Final = 0.05
MAY_GROW_BYTES: Final = 2 * MIB
LINES_PER_KIND: Final = 100
"""Of each kind that a peer can repeat at will, in a minute."""
REPEATABLE: Final = frozenset(
    {
        "broker.cluster_conflict",  # what random bytes make of a registration may name any cluster
        "broker.refused",
        "connection.refused",
        "heartbeat.unknown",
        "request.denied",
        "request.failed",
        "route.missed",
    }
)
LINES_PER_CHANGE: Final = 3
LONGEST_LINE: Final = 8192
_SHOWN: Final = 3


def memory_findings(quiet_bytes: Sequence[float]) -> Iterator[str]:
    """Judge the resident memory of the quiet moments after each lap, in order; few laps say nothing."""
    quiet = quiet_bytes[WARM_UP_LAPS:]
    if len(quiet) < LAPS_TO_JUDGE:
        return
    _, middle, last = thirds(quiet)
    for what, grown in (
        ("the last third over the middle one", last - middle),
        ("the line through the second half", growth_over_second_half(quiet)),
    ):
        if grown > middle * MAY_GROW + MAY_GROW_BYTES:
            shown = [round(value / MIB, 1) for value in quiet]
            yield f"memory grew by {grown / MIB:.1f} MiB: {what}, quiet moments of {shown} MiB"


def log_findings(text: str, seconds: float, changes: int) -> Iterator[str]:
    """Judge what a server wrote in so many seconds about so many changes and questions of good peers."""
    lines = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    kinds = Counter(str(line["event"]) for line in lines)
    allowed = LINES_PER_KIND * (seconds / 60 + 2)
    for kind in sorted(REPEATABLE & kinds.keys()):
        if kinds[kind] > allowed:
            yield f"{kinds[kind]} log lines of {kind} in {seconds:.0f} s"
    told = sum(count for kind, count in kinds.items() if kind not in REPEATABLE)
    if told > LINES_PER_CHANGE * (changes + 100):
        yield f"{told} log lines about {changes} changes: {kinds.most_common(5)}"
    errors = [line for line in lines if line["level"] == "ERROR" and line["event"] not in REPEATABLE]
    for line in errors[:_SHOWN]:
        yield f"an error was logged: {line!r:.1000}"
    strange = [line for line in text.splitlines() if not line.startswith("{") or len(line) > LONGEST_LINE]
    if strange:
        yield f"{len(strange)} log lines are too long or no lines of ours: {strange[0]!r:.500}"
