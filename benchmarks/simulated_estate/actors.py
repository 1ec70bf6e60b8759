"""The brokers and the clients of the estate, as tasks of one event loop.

Owns: what each does, and when; telling the truth and the tally of it.
Must not know: the phases (run.py); how the server is started.
"""

import asyncio
import random
import time
from dataclasses import dataclass
from typing import Final

from tests.support.wire import REGISTER_BROKER, Answer, crc32_masked, identity_ext, registration_ext

from benchmarks.estate import UNREGISTER_BROKER
from benchmarks.simulated_estate.line import Line, LineLostError
from benchmarks.simulated_estate.population import Population, WrongAnswerError, topic_name
from benchmarks.simulated_estate.tally import Tally
from benchmarks.simulated_estate.truth import Truth

GET_ROUTE: Final = 105
SUCCESS: Final = 0
TOPIC_NOT_EXIST: Final = 17
CONNECT_S: Final = 60.0
ENTER_S: Final = 180.0
_AGAIN_S: Final = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """What all actors share. `period_s` is that of clients' polls and of brokers' repetitions."""

    address: str
    population: Population
    truth: Truth
    tally: Tally
    period_s: float
    linger_s: float = 0.0
    """How long a broker may still be named after its leaving was answered."""


class SimulatedBroker:
    """One broker: comes with a table, repeats it, leaves in good order, and comes back when its connection is lost."""

    def __init__(self, scene: Scene, number: int) -> None:
        self._scene = scene
        self._number = number
        self._identity = scene.population.broker(number)
        self._life = 0
        self._line: Line | None = None
        self._repeating: asyncio.Task[None] | None = None
        self._is_speaking = asyncio.Lock()

    @property
    def _bit(self) -> int:
        return self._scene.population.bit(self._number, self._life)

    async def come(self) -> None:
        """Connect and register, as often as it takes; from then on it repeats itself."""
        await self._enter()
        self._repeating = asyncio.create_task(self._repeat())

    async def leave(self) -> None:
        """Unregister and close; the next life begins with the next `come`."""
        truth, bit = self._scene.truth, self._bit
        async with self._is_speaking:  # the repetition is not cut off within a request
            await self._stop_repeating()
            assert self._line is not None, "it has come"
            truth.is_leaving(bit)
            try:
                answer = await self._line.request(UNREGISTER_BROKER, identity_ext(self._identity))
                self._scene.tally.now.refused += answer.code != SUCCESS
            except LineLostError:
                self._note_loss()
        if self._scene.linger_s:
            asyncio.get_running_loop().call_later(self._scene.linger_s, truth.has_left, bit)
        else:
            truth.has_left(bit)
        self._line.close()
        self._life += 1

    async def end(self) -> None:
        """Vanish."""
        await self._stop_repeating()
        if self._line is not None:
            self._line.close()

    async def _enter(self) -> None:
        """Connect and register.

        Raises:
            LineLostError: It did not come about in `ENTER_S`.
        """
        until_s = asyncio.get_running_loop().time() + ENTER_S
        while asyncio.get_running_loop().time() < until_s:
            try:
                async with self._is_speaking:
                    self._line = await Line.open(self._scene.address, CONNECT_S)
                    if await self._register(self._line) == SUCCESS:
                        return
                    self._line.close()
            except LineLostError:
                self._note_loss()
            await asyncio.sleep(_AGAIN_S)
        raise LineLostError(f"{self._identity.name} could not register for {ENTER_S:g} s")

    async def _register(self, line: Line) -> int:
        scene, bit = self._scene, self._bit
        body = scene.population.body(self._number, self._life)
        is_compressed = scene.population.form != "JSON"
        fields = registration_ext(self._identity, compressed=is_compressed, crc=crc32_masked(body))
        begin_s = time.perf_counter()
        epoch = scene.truth.is_coming(bit)
        answer = await line.request(REGISTER_BROKER, fields, body)
        scene.tally.take_registration(time.perf_counter() - begin_s, answer.code)
        if answer.code == SUCCESS and not line.is_lost:
            scene.truth.has_come(bit, epoch)
        return answer.code

    async def _repeat(self) -> None:
        """Say the same again each period; a connection that was lost is made anew then, as brokers do."""
        period_s = self._scene.period_s
        await asyncio.sleep(period_s * random.random())  # noqa: S311  # not all in step
        while True:
            assert self._line is not None
            try:
                async with self._is_speaking:
                    await self._register(self._line)
            except LineLostError:
                self._note_loss()
                await self._enter()
            await asyncio.sleep(period_s)

    def _note_loss(self) -> None:
        self._scene.truth.is_leaving(self._bit)
        self._scene.tally.now.lost += 1

    async def _stop_repeating(self) -> None:
        if self._repeating is not None:
            self._repeating.cancel()
            await asyncio.gather(self._repeating, return_exceptions=True)
            self._repeating = None


class SimulatedClient:
    """One client: asks for the routes of its topics, one after the other, once a period."""

    def __init__(self, scene: Scene, number: int, rng: random.Random) -> None:
        population = scene.population
        self._scene = scene
        self._topics = rng.sample(range(population.all_topics), min(population.polled, population.all_topics))
        self._first_s = scene.period_s * number / max(1, population.clients)
        self._line: Line | None = None

    async def connect(self) -> None:
        """Make the connection; nothing is asked yet."""
        self._line = await Line.open(self._scene.address, CONNECT_S)

    async def poll(self) -> None:
        """Poll until cancelled, the first time at this client's place in the period."""
        loop, period_s = asyncio.get_running_loop(), self._scene.period_s
        due_s = loop.time() + self._first_s
        while True:
            await asyncio.sleep(due_s - loop.time())
            try:
                if self._line is None or self._line.is_lost:
                    await self.connect()
                for topic in self._topics:
                    await self._ask(topic)
            except LineLostError:
                self._scene.tally.now.lost += 1
                await asyncio.sleep(_AGAIN_S)
                continue
            due_s += period_s
            if due_s < loop.time():
                self._scene.tally.now.behind += 1
                due_s = loop.time()

    def end(self) -> None:
        """Close the connection."""
        if self._line is not None:
            self._line.close()

    async def _ask(self, topic: int) -> None:
        assert self._line is not None
        truth = self._scene.truth
        begin_s, since, epoch = time.perf_counter(), truth.moment, truth.epoch
        answer = await self._line.request(GET_ROUTE, {"topic": topic_name(topic)})
        took_s = time.perf_counter() - begin_s
        if truth.epoch == epoch:  # what was asked before the server ended says nothing about the next one
            self._scene.tally.take_answer(took_s, self._fault(topic, answer, since))

    def _fault(self, topic: int, answer: Answer, since: int) -> str | None:
        population = self._scene.population
        if answer.code not in (SUCCESS, TOPIC_NOT_EXIST):
            return f"code {answer.code}"
        try:
            seen = population.read(topic, answer.body) if answer.code == SUCCESS else 0
        except WrongAnswerError as error:
            return str(error)
        if answer.code == SUCCESS and not seen:
            return "a route without a broker"
        return self._scene.truth.fault(seen, since, population.owners(topic))
