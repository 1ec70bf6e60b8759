"""How much work may wait, and when more of it is refused.

Owns: what waits, by number and size; when refusing begins and ends, and telling so.
Must not know: what the work is; how it is refused.
"""

import time
from typing import Final, NamedTuple

from cosmodrome.errors import RequestRefusedError
from cosmodrome.namesrv.events import BrakeEngaged, BrakeReleased, Publish
from cosmodrome.protocol.codes import ResponseCode

BUSY_REMARK: Final = "[OVERLOAD]system busy, start flow control for a while"
_FAVOUR: Final = 2


class Room(NamedTuple):
    """How much may wait; 0 is no limit."""

    pieces: int = 0
    size_bytes: int = 0


NO_LIMIT: Final = Room()


class Brake:
    """Lets work wait while there is room for it. One piece always has room, whatever its size.

    Refusing ends, for the log, when half of the room is free again.
    """

    def __init__(self, work: str, room: Room, publish: Publish) -> None:
        self._work = work
        self._room = room
        self._publish = publish
        self.pending_count = 0
        self.pending_bytes = 0
        self.refused_count = 0
        """How much was refused so far."""
        self._refused_before = 0
        self._engaged_at_s: float | None = None

    @property
    def is_engaged(self) -> bool:
        """Whether work was refused lately."""
        return self._engaged_at_s is not None

    def take(self, size_bytes: int = 0, *, is_favoured: bool = False) -> None:
        """Let something wait; give its room back later. Favoured work has twice the room.

        Raises:
            RequestRefusedError: There is no room: SYSTEM_BUSY.
        """
        factor = _FAVOUR if is_favoured else 1
        count, total_bytes = self.pending_count + 1, self.pending_bytes + size_bytes
        is_over = _is_over(count, self._room.pieces * factor) or _is_over(total_bytes, self._room.size_bytes * factor)
        if is_over and self.pending_count:
            self.refuse()
        self.pending_count, self.pending_bytes = count, total_bytes

    def refuse(self) -> None:
        """Refuse something whether or not there is room.

        Raises:
            RequestRefusedError: Always.
        """
        if self._engaged_at_s is None:
            self._engaged_at_s = time.monotonic()
            self._refused_before = self.refused_count
            self._publish(BrakeEngaged(work=self._work, pending=self.pending_count, pending_bytes=self.pending_bytes))
        self.refused_count += 1
        raise RequestRefusedError(ResponseCode.SYSTEM_BUSY, BUSY_REMARK, is_fault=False)

    def give_back(self, size_bytes: int = 0) -> None:
        """Take note that something that waited is done, or given up."""
        self.pending_count -= 1
        self.pending_bytes -= size_bytes

    def release_if_free(self) -> None:
        """Stop refusing if it began and half of the room is free, and tell so."""
        if self._engaged_at_s is None or self._is_half_full():
            return
        lasted_s = round(time.monotonic() - self._engaged_at_s, 1)
        self._engaged_at_s = None
        refused = self.refused_count - self._refused_before
        self._publish(BrakeReleased(work=self._work, refused=refused, lasted_s=lasted_s))

    def _is_half_full(self) -> bool:
        pieces, size_bytes = self._room
        return _is_over(self.pending_count * 2, pieces) or _is_over(self.pending_bytes * 2, size_bytes)


class Brakes(NamedTuple):
    """The brakes of a server."""

    registrations: Brake
    listings: Brake


def _is_over(amount: int, limit: int) -> bool:
    return limit > 0 and amount > limit
