"""Who may pull when the whole client holds as much as it may.

Owns: the line of queues that wait for the client's limit, first come first served.
Must not know: what is pulled.
"""

import asyncio
from collections import deque

from cosmodrome.client.consumer.process_queue import Total


class SharedRoom:
    """While there is room everybody may pull. When there was none, one at a time is let in, in order.

    Who was let in pulls without being held by the broker and then calls `pass_on`.
    """

    def __init__(self, total: Total) -> None:
        self.total = total
        self._line: deque[asyncio.Future[None]] = deque()
        self._someone_is_in = False

    async def enter(self) -> bool:
        """Wait for room. True: this one had to wait, and owes a call of `pass_on` after its pull."""
        if self.total.has_room and not self._line and not self._someone_is_in:
            return False
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._line.append(place)
        self.freed()
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                self.pass_on()
            raise
        return True

    def pass_on(self) -> None:
        """Let the next one in as soon as there is room."""
        self._someone_is_in = False
        self.freed()

    def freed(self) -> None:
        """Some of what was held is finished."""
        if self._someone_is_in or not self._line or not self.total.has_room:
            return
        while self._line:
            place = self._line.popleft()
            if not place.done():
                self._someone_is_in = True
                place.set_result(None)
                return
