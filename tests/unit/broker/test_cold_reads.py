"""Messages that are on disk only: who asks for them waits, and nobody else does."""

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

import pytest
from tests.support.broker_calls import Caller
from tests.support.simulated_disk import SimulatedDisk
from tests.support.small_store import EVER, NOW_MS, filled, opened

from cosmodrome import Broker
from cosmodrome.broker.clock import Clock
from cosmodrome.broker.cold_reads import MOST_WAITING, ColdReads
from cosmodrome.broker.config import BrokerConfig
from cosmodrome.broker.outbox import Outbox
from cosmodrome.broker.processors.offsets import OffsetProcessor
from cosmodrome.broker.processors.pull import PullParts, PullProcessor
from cosmodrome.broker.processors.queries import QueryProcessor
from cosmodrome.broker.slow_readers import SlowReaders
from cosmodrome.broker.state import new_state
from cosmodrome.protocol.codes import ResponseCode
from cosmodrome.protocol.command import RemotingCommand, request
from cosmodrome.protocol.messages.ids import decode_offset_msg_id
from cosmodrome.protocol.messages.record import decode_records
from cosmodrome.store import reading
from cosmodrome.store.cold import NotInMemoryError
from cosmodrome.store.files import DiskFile
from cosmodrome.store.reading import ReadLimits
from cosmodrome.transport.dispatch import LATER, Answer, Dispatcher, Peer

PULL, QUERY, VIEW, SEARCH, EARLIEST, UNITS, SEND_BACK = 11, 12, 33, 29, 32, 321, 36
POP: Final = 200_050
POP_FIELDS: Final[dict[str, str | None]] = {
    "consumerGroup": "popping", "topic": "T", "queueId": "-1", "maxMsgNums": "9", "invisibleTime": "60000", "pollTime": "0",
    "bornTime": "0", "initMode": "0",
}  # fmt: skip
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
        self.read_by_loop: list[Path] = []
        self._folder = folder
        self._loop_thread = threading.get_ident()
        self.is_cold = lambda path: folder in path.parts and not self.is_read
        self.fails = self._waiting

    def _waiting(self, kind: str, path: Path) -> int | None:
        if kind == "read" and self._folder in path.parts and threading.get_ident() != self._loop_thread:
            self.begun.set()
            assert self.goes_on.wait(WITHIN_S)
            self.is_read = True
        elif kind == "read" and self.is_cold(path):
            self.read_by_loop.append(path)
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
        self.cold = ColdReads(self.store.reader, self.dispatcher.dispatch, outbox)
        parts = PullParts(
            topics=state.topics, groups=state.groups, members=state.members, offsets=state.offsets, polls=state.polls,
            reader=self.store.reader, statistics=state.statistics,
            slow_readers=SlowReaders(config, self.store.reader, lambda: self.store.end),
        )  # fmt: skip
        pull = PullProcessor(config, clock, parts, outbox, lambda _: True).pull_message
        queries = QueryProcessor(self.store.reader, state.members, 32)
        offsets = OffsetProcessor(state.offsets, state.topics, state.groups, self.store.reader)
        served = {
            PULL: pull, QUERY: queries.query_message, VIEW: queries.view_message_by_id,
            SEARCH: offsets.search_offset_by_timestamp, EARLIEST: offsets.get_earliest_msg_storetime,
            UNITS: queries.query_consume_queue,
        }  # fmt: skip
        self.dispatcher.serve({code: self.cold.patient(each, str(code)) for code, each in served.items()})

    def _answered(self, _: int, command: RemotingCommand) -> bool:
        self.answers.put_nowait(command)
        return True

    def ask(self, topic: str) -> Answer:
        fields: dict[str, str | None] = {
            "consumerGroup": "g", "topic": topic, "queueId": "0", "queueOffset": "0", "maxMsgNums": "5", "sysFlag": "4",
            "commitOffset": "0", "suspendTimeoutMillis": "0", "subscription": "*", "subVersion": "0",
        }  # fmt: skip
        return self.question(PULL, fields)

    def question(self, code: int, fields: dict[str, str | None]) -> Answer:
        return self.dispatcher.dispatch(request(code, fields), PEER)


@pytest.fixture(params=["commitlog", "consumequeue"])
async def disk(request: pytest.FixtureRequest) -> AsyncIterator[SlowDisk]:
    disk = SlowDisk(request.param)
    yield disk
    disk.goes_on.set()


QUEUE: Final[dict[str, str | None]] = {"topic": "T", "queueId": "0"}
QUESTIONS: Final[dict[tuple[int, str], dict[str, str | None]]] = {
    (QUERY, "index"): {"topic": "T", "key": "3", "maxNum": "9", "beginTimestamp": "0", "endTimestamp": str(EVER)},
    (QUERY, "commitlog"): {"topic": "T", "key": "3", "maxNum": "9", "beginTimestamp": "0", "endTimestamp": str(EVER)},
    (VIEW, "commitlog"): {"offset": "0"},
    (SEARCH, "commitlog"): QUEUE | {"timestamp": str(NOW_MS)},
    (SEARCH, "consumequeue"): QUEUE | {"timestamp": str(NOW_MS)},
    (EARLIEST, "commitlog"): QUEUE,
    (UNITS, "consumequeue"): QUEUE | {"index": "0", "count": "5"},
}


@pytest.mark.parametrize(("code", "folder"), QUESTIONS)
async def test_who_looks_for_single_messages_waits_alone(code: int, folder: str) -> None:
    """The answer is the one that is given at once of what is in memory; the event loop's thread reads nothing that is cold."""
    disk = SlowDisk(folder)
    pulls = Pulls(disk)
    fields = QUESTIONS[code, folder]
    disk.is_cold = lambda _: False
    at_once = pulls.question(code, fields)
    disk.is_cold = lambda path: folder in path.parts and not disk.is_read
    disk.read_by_loop.clear()
    assert pulls.question(code, fields) is LATER
    assert await asyncio.to_thread(disk.begun.wait, WITHIN_S)
    assert not disk.read_by_loop
    disk.goes_on.set()
    async with asyncio.timeout(WITHIN_S):
        late = await pulls.answers.get()
    assert isinstance(at_once, RemotingCommand)
    assert (late.code, late.ext_fields, late.body) == (at_once.code, at_once.ext_fields, at_once.body)
    await pulls.cold.stop()


@pytest.mark.parametrize(("code", "folder"), QUESTIONS)
async def test_what_stays_cold_is_read_at_once_in_the_end(code: int, folder: str) -> None:
    disk = SlowDisk(folder)
    disk.goes_on.set()
    disk.is_cold = lambda path: folder in path.parts
    pulls = Pulls(disk)
    assert pulls.question(code, QUESTIONS[code, folder]) is LATER
    async with asyncio.timeout(WITHIN_S):
        assert (await pulls.answers.get()).code == 0
    await pulls.cold.stop()


async def test_a_broker_whose_memory_keeps_nothing_does_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pulls, pops, queries, messages given back, delayed ones: each waits for the disk as often as it may, and then reads."""
    monkeypatch.setattr(reading, "RECENT_BYTES", 0)
    monkeypatch.setattr(reading, "RECENT_UNITS", 0)
    monkeypatch.setattr(DiskFile, "is_in_memory", lambda *_: False)
    settings: dict[str, Any] = {"message_delay_level": "1s", "default_message_request_mode": "POP"}
    async with Broker(port=0, **settings) as broker, Caller(broker.address) as caller:
        sent = await caller.send("T", b"first", KEYS="k", UNIQ_KEY="U")
        await caller.send("T", b"late", DELAY=1)
        place = decode_offset_msg_id((sent.ext_fields or {})["msgId"] or "")
        assert place is not None
        offset = str(place.commit_log_offset)
        await caller.ok(SEND_BACK, {"offset": offset, "group": "g", "delayLevel": "1"})
        query = {"topic": "T", "key": "k", "maxNum": "9", "beginTimestamp": "0", "endTimestamp": str(EVER)}
        for code, fields in ((VIEW, {"offset": offset}), (QUERY, query)):
            assert [each.body for each in caller.records(await caller.ok(code, fields))] == [b"first"]
        assert [each.body for each in await caller.until("T", 2)] == [b"first", b"late"]
        assert [each.body for each in await caller.until("%RETRY%g", 1)] == [b"first"]
        popped = caller.records(await caller.ok(POP, POP_FIELDS))
        assert [each.body for each in popped] == [b"first", b"late"]


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
    assert pulls.cold.waiting[str(PULL)] == 1
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
