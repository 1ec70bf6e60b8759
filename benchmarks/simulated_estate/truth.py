"""Which brokers an answer must name, and which it may, at each moment.

Owns: the history of who is registered for certain and who perhaps; the judgement of an answer.
Must not know: connections; how an answer is read (population.py).

Between the sending of a request and its answer nobody can tell whether the server has carried it out. So a life of a
broker *may* be named from the moment its registration is sent until its leaving is answered, and *must* be named from the
moment its registration is answered until its leaving is sent. An answer is right if some state within the time in which
it was asked for and came allows each part of it. Sets of lives are integers, see `Population.bit`.
"""

import asyncio
from functools import reduce
from operator import and_, or_


class Truth:
    """The history so far. A moment is a position in it."""

    def __init__(self) -> None:
        self._may = [0]
        self._must = [0]
        self._change = asyncio.Event()
        self.epoch = 0
        """How often the server lost everything."""

    @property
    def moment(self) -> int:
        """The present."""
        return len(self._may) - 1

    async def all_registered(self, count: int) -> None:
        """Wait until so many are registered for certain."""
        while self._must[-1].bit_count() < count:
            self._change = asyncio.Event()
            await self._change.wait()

    def is_coming(self, life: int) -> int:
        """Note that a registration is about to be sent; gives the epoch in which it is."""
        self._note(self._may[-1] | life, self._must[-1])
        return self.epoch

    def has_come(self, life: int, epoch: int) -> None:
        """Note that it was accepted, unless the server lost everything since."""
        if epoch == self.epoch:
            self._note(self._may[-1], self._must[-1] | life)

    def is_leaving(self, life: int) -> None:
        """Note that a broker is about to be unregistered, or has lost its connection."""
        self._note(self._may[-1], self._must[-1] & ~life)

    def has_left(self, life: int) -> None:
        """Note that the server has confirmed it."""
        self._note(self._may[-1] & ~life, self._must[-1] & ~life)

    def is_lost(self) -> None:
        """Note that the server has ended and begins with nothing."""
        self.epoch += 1
        self._note(0, 0)

    def fault(self, seen: int, since: int, owners: int) -> str | None:
        """Say what is wrong with an answer that names `seen` and was asked for at the moment `since`; None if nothing.

        `owners` are all lives of the brokers that have the topic.
        """
        may = reduce(or_, self._may[since:]) & owners
        must = reduce(and_, self._must[since:]) & owners
        if seen & ~may:
            return f"{(seen & ~may).bit_count()} named that are not registered"
        if must & ~seen:
            return f"{(must & ~seen).bit_count()} missing of {must.bit_count()} that are registered"
        return None

    def _note(self, may: int, must: int) -> None:
        self._may.append(may)
        self._must.append(must)
        self._change.set()
