"""Work that is too long to be done while others wait for a short answer.

Owns: its order, and how much of it is done before the event loop may turn.
Must not know: what the work is.
"""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable
from enum import IntEnum
from typing import Any, Final, TypeVar

ResultT = TypeVar("ResultT")

TURN_S: Final = 0.005
"""How much work is done in one turn of the loop; a piece that takes longer is done whole."""


class Urgency(IntEnum):
    """What comes first. Within one urgency the order is that of arrival."""

    CHANGE = 0
    """Brokers that come and go."""
    LISTING = 1
    """Answers about everything; whoever asks can ask again."""


class WorkQueue:
    """Pieces of work, done one after another, with the event loop turning in between."""

    def __init__(self) -> None:
        self._queues: dict[Urgency, deque[Callable[[], None]]] = {urgency: deque() for urgency in Urgency}
        self._is_scheduled = False

    def __len__(self) -> int:
        return sum(map(len, self._queues.values()))

    def run(self, work: Callable[[], ResultT], urgency: Urgency) -> Awaitable[ResultT]:
        """Do the work when its turn comes; what is given back ends with its result, or raises what it raised."""
        result: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

        def piece() -> None:
            if result.done():  # whoever waited has given up
                return
            try:
                result.set_result(work())
            except Exception as error:  # noqa: BLE001 -- it belongs to whoever waits
                result.set_exception(error)

        self.add(piece, urgency)
        return result

    def add(self, work: Callable[[], None], urgency: Urgency) -> None:
        """Do work that nobody waits for; it must not raise."""
        self._queues[urgency].append(work)
        if not self._is_scheduled:
            self._is_scheduled = True
            asyncio.get_running_loop().call_soon(self._turn)

    def _turn(self) -> None:
        self._is_scheduled = False
        until_s = time.perf_counter() + TURN_S
        while time.perf_counter() < until_s:
            work = self._next()
            if work is None:
                return
            work()
        if len(self):
            self._is_scheduled = True
            asyncio.get_running_loop().call_soon(self._turn)

    def _next(self) -> Callable[[], None] | None:
        for queue in self._queues.values():
            if queue:
                return queue.popleft()
        return None
