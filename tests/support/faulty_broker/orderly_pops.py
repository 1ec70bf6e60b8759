"""Orderly pops: a queue gives nothing while what it gave before is neither done nor visible again.

Owns: what of each queue a group has, until when it is hidden, how often it was given.
Must not know: requests; records.
"""

from dataclasses import dataclass, field

REVIVE_QUEUE = 999

Place = tuple[str, str, int]
"""Group, topic, queue id."""


@dataclass(slots=True)
class Given:
    """What a group has of one queue: offset → until when it is hidden; and how often each was given before."""

    attempt: str | None = None
    hidden_until_ms: dict[int, int] = field(default_factory=dict)
    times: dict[int, int] = field(default_factory=dict)


class OrderlyPops:
    """The queues of one broker."""

    def __init__(self) -> None:
        self.given: dict[Place, Given] = {}

    def is_blocked(self, place: Place, attempt: str | None, now_ms: int) -> bool:
        """Tell whether a queue gives nothing now. The same try again is not in its own way."""
        given = self.given.get(place)
        if given is None or (attempt is not None and attempt == given.attempt):
            return False
        return any(until_ms > now_ms for until_ms in given.hidden_until_ms.values())

    def first(self, place: Place) -> int | None:
        """Give the first offset that was given and is not done, or None."""
        given = self.given.get(place)
        return min(given.hidden_until_ms, default=None) if given is not None else None

    def give(self, place: Place, offsets: list[int], attempt: str | None, until_ms: int) -> str:
        """Note what is given, and say how often each failed (orderCountInfo)."""
        given = self.given.setdefault(place, Given())
        given.attempt = attempt
        queue_id = place[2]
        counts = [f"0 qo{queue_id}%{each} {given.times[each]}" for each in offsets if given.times.get(each)]
        given.hidden_until_ms = dict.fromkeys(offsets, until_ms)
        given.times = {each: given.times.get(each, 0) + 1 for each in offsets}
        return ";".join([f"0 {queue_id} {min(given.times.values()) - 1}", *counts])

    def done(self, place: Place, offset: int) -> None:
        """One is done."""
        given = self.given.get(place)
        if given is not None:
            given.hidden_until_ms.pop(offset, None)

    def hide(self, place: Place, offset: int, until_ms: int) -> None:
        """One is hidden until another time."""
        given = self.given.get(place)
        if given is not None and offset in given.hidden_until_ms:
            given.hidden_until_ms[offset] = until_ms
