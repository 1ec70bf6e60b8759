"""Work that is too long to be done while others wait for a short answer.

Owns: its order, and how much of it is done before the event loop may turn.
Must not know: what the work is.
"""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Generator
from enum import IntEnum
from typing import Any, Final, TypeVar

ResultT = TypeVar("ResultT")

TURN_S: Final = 0.0005
"""How much work is done in one turn of the loop; a piece that takes longer is done whole."""
LONGEST_TURN_S: Final = 0.01
SHARE: Final = 0.5
"""How much work is done for each second in which the loop does other things, if that is more, up to LONGEST_TURN_S:
while others ask more than can be answered, some of the time is for what waits here."""


class Urgency(IntEnum):
    """What comes first. Within one urgency the order is that of arrival."""

    HEARTBEAT = 0
    """To find out whether a broker says what it said before; most do, and are done with that."""
    CHANGE = 1
    """Brokers that come and go, or say something new."""
    LISTING = 2
    """Answers about everything; whoever asks can ask again."""


Work = Generator[Urgency | None, None, ResultT]
"""Work in slices: it yields where others may go first, with its urgency from there on (None: as before)."""

_Piece = Callable[[], Urgency | None]
"""Does a part of some work, and gives the urgency of the rest, or None when there is no rest."""


class WorkQueue:
    """Pieces of work, done one after another, with the event loop turning in between.

    Work in slices keeps its place until it is done or changes its urgency; what is more urgent goes in between.
    """

    def __init__(self) -> None:
        self._queues: dict[Urgency, deque[_Piece]] = {urgency: deque() for urgency in Urgency}
        self._is_scheduled = False
        self._ended_s = 0.0

    def __len__(self) -> int:
        return sum(map(len, self._queues.values()))

    def run(
        self, work: Callable[[], ResultT], urgency: Urgency, is_wanted: Callable[[], bool] = lambda: True
    ) -> Awaitable[ResultT]:
        """Do work of one piece when its turn comes. As `run_slices` otherwise."""
        return self.run_slices(_in_one_piece(work), urgency, is_wanted)

    def run_slices(
        self, work: Work[ResultT], urgency: Urgency, is_wanted: Callable[[], bool] = lambda: True
    ) -> Awaitable[ResultT]:
        """Do the work when its turn comes; what is given back ends with its result, or raises what it raised.

        Work that nobody waits for any more (what was given back is cancelled) is closed at its next turn. When its
        turn comes, and again after each change of its urgency, `is_wanted` is asked; if not, what was given back is
        cancelled.
        """
        result: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._append(_Slicer(work, urgency, result, is_wanted).next_piece, urgency)
        return result

    def add(self, work: Callable[[], None], urgency: Urgency) -> None:
        """Do work that nobody waits for; it must not raise."""
        self._append(work, urgency)

    def _append(self, piece: _Piece, urgency: Urgency) -> None:
        self._queues[urgency].append(piece)
        if not self._is_scheduled:
            self._ended_s = time.perf_counter()
            self._schedule()

    def _schedule(self) -> None:
        self._is_scheduled = True
        asyncio.get_running_loop().call_soon(self._turn)

    def _turn(self) -> None:
        begin_s = time.perf_counter()
        others_s = begin_s - self._ended_s
        until_s = begin_s + max(TURN_S, min(others_s * SHARE, LONGEST_TURN_S))
        self._is_scheduled = False
        while self._do_next():
            self._ended_s = time.perf_counter()
            if self._ended_s >= until_s:
                self._schedule()
                return

    def _do_next(self) -> bool:
        """Do one piece of what is most urgent; False when there is nothing."""
        for urgency, queue in self._queues.items():
            if queue:
                piece = queue[0]
                rest = piece()
                if rest is not urgency:
                    queue.popleft()
                    if rest is not None:
                        self._queues[rest].append(piece)
                return True
        return False


class _Slicer:
    """Does one slice of some work at a time."""

    __slots__ = ("_has_begun", "_is_wanted", "_result", "_urgency", "_work")

    def __init__(
        self, work: Work[Any], urgency: Urgency, result: "asyncio.Future[Any]", is_wanted: Callable[[], bool]
    ) -> None:
        self._work = work
        self._urgency = urgency
        self._result = result
        self._is_wanted = is_wanted
        self._has_begun = False

    def next_piece(self) -> Urgency | None:
        result = self._result
        if not self._has_begun and not result.done() and not self._is_wanted():
            result.cancel()
        if result.done():
            self._work.close()
            return None
        self._has_begun = True
        try:
            urgency = next(self._work)
        except StopIteration as end:
            result.set_result(end.value)
            return None
        except Exception as error:  # noqa: BLE001 -- it belongs to whoever waits
            result.set_exception(error)
            return None
        if urgency is not None and urgency is not self._urgency:
            self._urgency = urgency
            self._has_begun = False
        return self._urgency


def _in_one_piece(work: Callable[[], ResultT]) -> Work[ResultT]:
    yield from ()
    return work()
