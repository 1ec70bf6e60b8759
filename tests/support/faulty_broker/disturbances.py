"""What happens to whole brokers by chance, beside the faults of single requests (`faults.Chaos`).

Owns: the disturbances and their order, drawn from a seed.
Must not know: who suffers.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from tests.support.faulty_broker.broker import FaultyBroker

_LONGEST_PAUSE_S: Final = 0.15
_LONGEST_OUTAGE_S: Final = 0.1


class Disturbances:
    """Closes, resets, restarts and silences brokers, one at a time, until it is cancelled; every outage ends.

    `done` names what happened, in order. After `calm` every broker accepts and answers again.
    """

    def __init__(self, brokers: Sequence[FaultyBroker], seed: int) -> None:
        self.done: list[str] = []
        self._brokers = list(brokers)
        self._random = random.Random(seed)
        self._kinds: tuple[Callable[[FaultyBroker], Awaitable[None]], ...] = (
            self._close,
            self._reset,
            self._restart,
            self._refuse,
            self._mute,
            self._notify,
        )

    async def run(self) -> None:
        """Disturb for ever."""
        while True:
            await asyncio.sleep(self._random.random() * _LONGEST_PAUSE_S)
            kind, broker = self._random.choice(self._kinds), self._random.choice(self._brokers)
            self.done.append(f"{kind.__name__.removeprefix('_')} {broker.broker_name}")
            await kind(broker)

    async def calm(self) -> None:
        """Let every broker be well again."""
        for broker in self._brokers:
            broker.faults.clear()
            await broker.accept_connects()
            await broker.announce()

    async def _outage(self) -> None:
        await asyncio.sleep(self._random.random() * _LONGEST_OUTAGE_S)

    async def _close(self, broker: FaultyBroker) -> None:
        await broker.close_lines()

    async def _reset(self, broker: FaultyBroker) -> None:
        await broker.close_lines(is_reset=True)

    async def _restart(self, broker: FaultyBroker) -> None:
        await broker.die()
        await self._outage()
        await broker.accept_connects()

    async def _refuse(self, broker: FaultyBroker) -> None:
        await broker.refuse_connects()
        await self._outage()
        await broker.accept_connects()

    async def _mute(self, broker: FaultyBroker) -> None:
        broker.mute()
        await self._outage()
        await broker.accept_connects()

    async def _notify(self, broker: FaultyBroker) -> None:
        for group in list(broker.groups.groups):
            broker.groups.notify(group, self._random.randrange(1, 20))
