"""How often what went wrong.

Owns: a plain count for each kind of event and each cause of it, since the start.
Must not know: what the kinds are; who reads the counts.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

MAX_CAUSES: Final = 64
"""Of one kind. Causes are words of ours, so there are fewer; what comes beyond is counted as OTHER."""
OTHER: Final = "other"


class Counters:
    """Counts of faults and refusals: event name → cause → count. Names are those of events.py."""

    def __init__(self) -> None:
        self._counts: dict[str, dict[str, int]] = {}

    def count(self, name: str, cause: str) -> None:
        """Count one."""
        causes = self._counts.setdefault(name, {})
        if cause not in causes and len(causes) >= MAX_CAUSES:
            cause = OTHER
        causes[cause] = causes.get(cause, 0) + 1

    def get(self, name: str, cause: str) -> int:
        """Tell how often; 0 for what never happened."""
        return self._counts.get(name, {}).get(cause, 0)

    def snapshot(self) -> Mapping[str, Mapping[str, int]]:
        """Give all counts as they are now."""
        return MappingProxyType({name: MappingProxyType(dict(causes)) for name, causes in self._counts.items()})
