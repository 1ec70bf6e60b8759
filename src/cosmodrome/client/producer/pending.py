"""How much may wait for answers.

Owns: the count of open sends and of their bytes; who waits for room; the wait for their end.
Must not know: what is sent.
"""

import asyncio
from collections import OrderedDict
from typing import NamedTuple

from cosmodrome.client.producer.deadlines import Deadlines
from cosmodrome.errors import ClientClosedError, PendingLimitError

Room = asyncio.Future[None]


class _Waiting(NamedTuple):
    size: int
    ticket: int


class Pending:
    """The open sends of one producer. Who waits for room gets it in the order of asking."""

    def __init__(self, max_count: int, max_bytes: int, deadlines: Deadlines, *, waits: bool) -> None:
        self.count = 0
        self.bytes = 0
        """How many bytes the open sends hold."""
        self._max_count = max_count
        self._max_bytes = max_bytes
        self._deadlines = deadlines
        self._waits = waits
        self._waiting: OrderedDict[Room, _Waiting] = OrderedDict()
        self._idle: asyncio.Future[None] | None = None
        self._closed = False

    def enter(self, size: int) -> bool:
        """Begin a send if there is room and nobody waits for it; one that is larger than all room enters alone."""
        held = self.bytes + size
        if self._waiting or self._closed or self.count >= self._max_count or (held > self._max_bytes and self.count):
            return False
        self.count += 1
        self.bytes = held
        return True

    def room(self, size: int, deadline_s: float) -> Room:
        """Give what is done when a send may begin, and has begun; whoever gets an error instead calls `gave_up`.

        It ends with PendingLimitError at the deadline, and with ClientClosedError when the producer is closed.

        Raises:
            PendingLimitError: Nobody is to wait.
            ClientClosedError: The producer is closed.
        """
        if self._closed:
            raise ClientClosedError("the producer is closed")
        if not self._waits and not self._has_room(size):
            raise self._full("and more do not wait")
        room: Room = asyncio.get_running_loop().create_future()
        self._waiting[room] = _Waiting(size, self._deadlines.add(room, deadline_s, self._late))
        self._admit()
        return room

    def gave_up(self, room: Room, size: int) -> None:
        """Forget one that waited in vain; one that was cancelled may have been let in at that very moment."""
        waiting = self._waiting.pop(room, None)
        if waiting is not None:
            self._deadlines.remove(waiting.ticket)
        if room.done() and not room.cancelled() and room.exception() is None:
            self.leave(size)

    def leave(self, size: int) -> None:
        """End a send."""
        self.count -= 1
        self.bytes -= size
        if self._waiting:
            self._admit()
        if self.count == 0 and self._idle is not None and not self._idle.done():
            self._idle.set_result(None)

    async def wait_idle(self, timeout_s: float) -> bool:
        """Wait until nothing is open; tell whether that came in time. Nobody enters any more."""
        self._closed = True
        while self._waiting:
            room, (_, ticket) = self._waiting.popitem(last=False)
            self._deadlines.remove(ticket)
            if not room.done():
                room.set_exception(ClientClosedError("the producer was closed before this message was sent"))
        if self.count == 0:
            return True
        self._idle = asyncio.get_running_loop().create_future()
        await asyncio.wait({self._idle}, timeout=timeout_s)
        return self._idle.done()

    def _has_room(self, size: int) -> bool:
        return self.count < self._max_count and (self.bytes + size <= self._max_bytes or self.count == 0)

    def _admit(self) -> None:
        waiting = self._waiting
        while waiting:
            room = next(iter(waiting))
            size, ticket = waiting[room]
            if not (room.done() or self._has_room(size)):
                return
            del waiting[room]
            self._deadlines.remove(ticket)
            if not room.done():
                self.count += 1
                self.bytes += size
                room.set_result(None)

    def _late(self) -> PendingLimitError:
        return self._full("and no room came in time")

    def _full(self, text: str) -> PendingLimitError:
        return PendingLimitError(f"{self.count} sends with {self.bytes} bytes wait for answers, {text}")
