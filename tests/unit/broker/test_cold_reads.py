"""Messages that are on disk only: who asks for them waits, and nobody else does."""

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

import pytest
from tests.support.simulated_disk import SimulatedDisk
from tests.support.small_store import NOW_MS, filled, opened

from cosmodrome.broker.clock import Clock
from cosmodrome.broker.cold_reads import MOST_WAITING, ColdReads
from cosmodrome.broker.config import BrokerConfig
from cosmodrome.broker.outbox import Outbox
from cosmodrome.broker.processors.pull import PullParts, PullProcessor
from cosmodrome.broker.slow_readers import SlowReaders
from cosmodrome.broker.state import new_state
from cosmodrome.protocol.codes import ResponseCode
from cosmodrome.protocol.command import RemotingCommand, request
from cosmodrome.protocol.messages.record import decode_records
from cosmodrome.store.reading import NotInMemoryError, ReadLimits
from cosmodrome.transport.dispatch import LATER, Answer, Dispatcher, Peer

PULL: Final = 11
PEER: Final = Peer(1, "10.0.0.9:4711")
WITHIN_S: Final = 20.0
IMPATIENT: Final = ReadLimits(is_patient=False)


class SlowDisk(SimulatedDisk):
    """A disk on which files of one kind are cold until another thread has read them, which takes until `goes_on` is set."""

    def __init__(self, folder: str) -> None:
        super().__init__()
        self.goes_on = threading.Event()
        self.begun = threading.Event()
        self.is_read = False
        self._folder = folder
        self._loop_thread = threading.get_ident()
        self.is_cold = lambda path: folder in path.parts and not self.is_read
        self.fails = self._waiting

    def _waiting(self, kind: str, path: Path) -> int | None:
        if kind == "read" and self._folder in path.parts and threading.get_ident() != self._loop_thread:
            self.begun.set()
            assert self.goes_on.wait(WITHIN_S)
            self.is_read = True
        return None


class Pulls:
    """A broker as far as pulls are concerned."""

    def __init__(self, disk: SimulatedDisk) -> None:
        self.store = opened(disk)
        filled(self.store, 12)
        filled(self.store, 1, "New")
        self.store.reader.recent_bytes = self.store.reader.recent_units = 0
        config, clock = BrokerConfig(), Clock(lambda: NOW_MS, lambda: 0)
        state = new_state(config, NOW_MS)
        for topic in ("T", "New"):
            state.topics.make_by_template(topic, "TBW102", 1, NOW_MS)
        self.answers: asyncio.Queue[RemotingCommand] = asyncio.Queue()
        outbox = Outbox(self._answered)
        self.dispatcher = Dispatcher({})
        self.cold = ColdReads(self.dispatcher.dispatch, outbox)
        parts = PullParts(
            topics=state.topics, groups=state.groups, members=state.members, offsets=state.offsets, polls=state.polls,
            reader=self.store.reader, statistics=state.statistics, cold=self.cold,
            slow_readers=SlowReaders(config, self.store.reader, lambda: self.store.end),
        )  # fmt: skip
        pull = PullProcessor(config, clock, parts, outbox, lambda _: True).pull_message
        self.dispatcher.serve({PULL: self.cold.patient(pull)})

    def _answered(self, _: int, command: RemotingCommand) -> bool:
        self.answers.put_nowait(command)
        return True

    def ask(self, topic: str) -> Answer:
        fields: dict[str, str | None] = {
            "consumerGroup": "g", "topic": topic, "queueId": "0", "queueOffset": "0", "maxMsgNums": "5", "sysFlag": "4",
            "commitOffset": "0", "suspendTimeoutMillis": "0", "subscription": "*", "subVersion": "0",
        }  # fmt: skip
        return self.dispatcher.dispatch(request(PULL, fields), PEER)


@pytest.fixture(params=["commitlog", "consumequeue"])
async def disk(request: pytest.FixtureRequest) -> AsyncIterator[SlowDisk]:
    disk = SlowDisk(request.param)
    yield disk
    disk.goes_on.set()


def bodies(answer: Answer) -> list[bytes]:
    assert isinstance(answer, RemotingCommand)
    return [record.body.rstrip(b"x") for record in decode_records(answer.body)]


async def test_only_who_asks_for_what_is_cold_waits(disk: SlowDisk) -> None:
    pulls = Pulls(disk)
    assert pulls.ask("T") is LATER
    assert await asyncio.to_thread(disk.begun.wait, WITHIN_S)
    disk.is_cold = lambda _: False  # the other is warm
    warm = pulls.ask("New")
    assert bodies(warm) == [b"0."]
    assert pulls.answers.empty()
    disk.goes_on.set()
    async with asyncio.timeout(WITHIN_S):
        late = await pulls.answers.get()
    assert bodies(late) == [b"%d." % number for number in range(5)]
    await pulls.cold.stop()


async def test_what_is_cold_still_when_it_was_read_is_given_all_the_same(disk: SlowDisk) -> None:
    pulls = Pulls(disk)
    disk.is_cold = lambda _: True
    disk.goes_on.set()
    assert pulls.ask("T") is LATER
    async with asyncio.timeout(WITHIN_S):
        assert len(bodies(await pulls.answers.get())) == 5
    await pulls.cold.stop()


async def test_no_more_wait_than_are_allowed(disk: SlowDisk) -> None:
    pulls = Pulls(disk)
    assert [pulls.ask("T") for _ in range(MOST_WAITING)] == [LATER] * MOST_WAITING
    refusal = pulls.ask("T")
    assert isinstance(refusal, RemotingCommand)
    assert refusal.code == ResponseCode.SYSTEM_BUSY
    disk.goes_on.set()
    await pulls.cold.stop()


async def test_a_stop_answers_those_that_are_read_for(disk: SlowDisk) -> None:
    pulls = Pulls(disk)
    assert pulls.ask("T") is LATER
    assert await asyncio.to_thread(disk.begun.wait, WITHIN_S)
    disk.goes_on.set()
    await pulls.cold.stop()
    assert pulls.answers.qsize() == 1
    await pulls.cold.stop()


async def test_what_is_recent_is_not_asked_about(disk: SlowDisk) -> None:
    pulls = Pulls(disk)
    reader = pulls.store.reader
    with pytest.raises(NotInMemoryError):
        reader.read(("T", 0), 0, IMPATIENT)
    reader.recent_bytes = reader.recent_units = 1 << 30
    assert len(reader.read(("T", 0), 0, IMPATIENT).records) > 0
