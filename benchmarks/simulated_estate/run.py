"""The phases of a simulated estate against one server.

Owns: their order and lengths; the life of all actors.
Must not know: how the server is started; how figures are told (report.py).
"""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import uvloop
from tests.interop.rig.name_servers import NameServer
from tests.support.stall_probe import StallProbe

from benchmarks.simulated_estate.actors import Scene, SimulatedBroker, SimulatedClient
from benchmarks.simulated_estate.population import Population
from benchmarks.simulated_estate.tally import Tally
from benchmarks.simulated_estate.truth import Truth

REGISTER: Final = "all brokers register"
CONNECT: Final = "all clients connect"
QUIET: Final = "quiet"
BROKERS_RESTART: Final = "all brokers restart"
AFTERWARDS: Final = "afterwards"
SERVER_RESTARTS: Final = "the server restarts"
PHASE_S: Final = 300.0
"""No phase takes so much longer than planned, unless the server, or this estate, has far more to do than it can."""
_MOST_AT_ONCE: Final = 64
_CONNECTING_AT_ONCE: Final = 200


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How long things take, in seconds."""

    period_s: float = 30.0
    """Of clients' polls, and of brokers' repetitions."""
    quiet_s: float = 30.0
    """Before the brokers restart, and after it."""
    restart_s: float = 10.0
    """The last broker has begun to restart after so long."""
    down_s: float = 0.2
    """Between a broker's leaving and its coming back."""
    linger_s: float = 0.0
    """How long a broker may still be named after its leaving was answered: a server may do it in the background."""
    are_brokers_restarted: bool = True
    is_server_restarted: bool = False
    seed: int = 5


def simulate(server: NameServer, population: Population, plan: Plan, tell: Callable[[str], None]) -> Tally:
    """Play all phases against a server that runs, and give what was seen. All actors are gone afterwards."""
    return uvloop.run(_Estate(server, population, plan, tell).play())


class _Estate:
    def __init__(self, server: NameServer, population: Population, plan: Plan, tell: Callable[[str], None]) -> None:
        self._server, self._plan, self._tell = server, plan, tell
        self._tally = Tally(server.process.pid)
        self._most_s = PHASE_S + plan.quiet_s + plan.restart_s + 2 * plan.period_s
        self._truth = Truth()
        scene = Scene(
            address=server.address,
            population=population,
            truth=self._truth,
            tally=self._tally,
            period_s=plan.period_s,
            linger_s=plan.linger_s,
        )
        rng = random.Random(plan.seed)  # noqa: S311  # to be repeated
        self._brokers = [SimulatedBroker(scene, number) for number in range(population.brokers)]
        self._clients = [SimulatedClient(scene, number, rng) for number in range(population.clients)]

    async def play(self) -> Tally:
        polling: list[asyncio.Task[None]] = []
        try:
            async with self._phase(REGISTER):
                await self._all_come()
            async with self._phase(CONNECT):
                await _in_groups((client.connect for client in self._clients), _CONNECTING_AT_ONCE)
            polling += [asyncio.create_task(client.poll()) for client in self._clients]
            async with self._phase(QUIET):
                await asyncio.sleep(self._plan.quiet_s)
            if self._plan.are_brokers_restarted:
                async with self._phase(BROKERS_RESTART):
                    await self._all_restart()
                async with self._phase(AFTERWARDS):
                    await asyncio.sleep(self._plan.quiet_s)
            if self._plan.is_server_restarted:
                await self._restart_server()
            for task in polling:
                if task.done():
                    task.result()  # a client that ended by itself is a fault of this program
        except TimeoutError:
            self._tally.unfinished = self._tally.now.name
        finally:
            for task in polling:
                task.cancel()
            await asyncio.gather(*polling, return_exceptions=True)
            for client in self._clients:
                client.end()
            for broker in self._brokers:
                await broker.end()
        return self._tally

    async def _all_come(self) -> None:
        await _in_groups((broker.come for broker in self._brokers), _MOST_AT_ONCE)

    async def _all_restart(self) -> None:
        async def restart(number: int, broker: SimulatedBroker) -> None:
            await asyncio.sleep(self._plan.restart_s * number / len(self._brokers))
            await broker.leave()
            await asyncio.sleep(self._plan.down_s)
            await broker.come()

        await asyncio.gather(*(restart(number, broker) for number, broker in enumerate(self._brokers)))

    async def _restart_server(self) -> None:
        """Kill it and start it again; brokers and clients find out by themselves, as they do, within a period."""
        loop = asyncio.get_running_loop()
        self._tell(SERVER_RESTARTS)
        self._tally.begin(SERVER_RESTARTS)
        self._server.kill()
        self._truth.is_lost()
        begin_s = loop.time()
        await asyncio.to_thread(self._server.start)
        self._tally.look_at(self._server.process.pid)
        async with asyncio.timeout(self._most_s), self._probed():
            await self._truth.all_registered(len(self._brokers))
            self._tally.now.routed_after_s = loop.time() - begin_s
            await asyncio.sleep(max(0.0, begin_s + self._plan.period_s * 1.5 - loop.time()))
        self._tally.end(loop.time() - begin_s)

    @contextlib.asynccontextmanager
    async def _phase(self, name: str) -> AsyncIterator[None]:
        loop = asyncio.get_running_loop()
        self._tell(name)
        self._tally.begin(name)
        begin_s = loop.time()
        try:
            async with asyncio.timeout(self._most_s), self._probed():
                begin_s = loop.time()
                yield
        finally:
            self._tally.end(loop.time() - begin_s)

    @contextlib.asynccontextmanager
    async def _probed(self) -> AsyncIterator[None]:
        """Look for stalls meanwhile; threads start and end the probe, so that this loop does not stall itself."""
        probe = StallProbe(self._server.address, self._server.process.pid)
        await asyncio.to_thread(probe.start)
        try:
            yield
            await asyncio.to_thread(probe.stop)
        finally:
            probe.kill()
        self._tally.now.stall_ms = probe.found.longest_ms
        self._tally.now.own_stall_ms = probe.found.longest_of_server_ms


async def _in_groups(calls: Iterable[Callable[[], Awaitable[None]]], size: int) -> None:
    """Make all calls, so many at a time."""
    waiting: Iterator[Callable[[], Awaitable[None]]] = iter(calls)

    async def work() -> None:
        for call in waiting:
            await call()

    await asyncio.gather(*(work() for _ in range(size)))
