"""POP mode on a store whose disk fails, and on stores that others have left."""

import errno
import json
from collections.abc import Callable
from typing import Any

import pytest
from tests.support.simulated_disk import SimulatedDisk
from tests.support.small_store import HOST, NOW_MS, message, opened, records

from cosmodrome.broker.clock import Clock
from cosmodrome.broker.filters.subscriptions import EVERYTHING
from cosmodrome.broker.groups import Groups
from cosmodrome.broker.offsets import Offsets
from cosmodrome.broker.outbox import Outbox
from cosmodrome.broker.pop import service as service_module
from cosmodrome.broker.pop.names import REVIVE_GROUP
from cosmodrome.broker.pop.service import PopParts, PopService
from cosmodrome.broker.pop.state import PopState
from cosmodrome.broker.pop.taking import PopAsk
from cosmodrome.broker.pop.timer_leftovers import TIMER_TOPIC
from cosmodrome.broker.statistics import Statistics
from cosmodrome.broker.topics import Topics
from cosmodrome.broker.turn import Stored, Turn
from cosmodrome.errors import RequestRefusedError, StoreUnavailableError
from cosmodrome.protocol.bodies.pop_records import (
    PopAck,
    PopCheckPoint,
    ack_id,
    ack_tag,
    check_point_id,
    encode_ack,
    encode_check_point,
)
from cosmodrome.protocol.command import RemotingCommand
from cosmodrome.protocol.messages.properties import encode_properties
from cosmodrome.store.appending import NewMessage
from cosmodrome.store.cold import NotInMemoryError
from cosmodrome.transport.dispatch import Peer

REVIVE = "rmq_sys_REVIVE_LOG_C"
INVISIBLE_MS = 1000
PEER = Peer(1, "1.2.3.4:5")


class Bench:
    """The service on a small store; the turn ends, and the time moves, when a test says so."""

    def __init__(self, disk: SimulatedDisk, offsets: Offsets | None = None) -> None:
        self.now_ms = NOW_MS
        self.disk = disk
        self.store = opened(disk, queue_file_bytes=20_000, segment_bytes=65_536, index_entries=3000)
        self.calls: list[Callable[[], None]] = []
        self.answers: list[RemotingCommand] = []
        clock = Clock(lambda: self.now_ms, lambda: self.now_ms)
        self.turn = Turn(self.store, self.calls.append, clock.steady_ms)
        self.state = PopState()
        self.topics, self.groups = Topics("C", "b", 8, NOW_MS), Groups(is_creating=True, now_ms=NOW_MS)
        self.offsets = offsets or Offsets(NOW_MS)
        outbox = Outbox(self.heard)
        parts = PopParts(
            state=self.state, topics=self.topics, groups=self.groups, offsets=self.offsets, statistics=Statistics(),
            reader=self.store.reader, turn=self.turn, outbox=outbox, cluster="C", broker_name="b", store_host=HOST,
            disk_timeout_ms=None, remove_queues=self.store.remove_topic,
        )  # fmt: skip
        self.service = PopService(parts, clock)
        self.turn.on_written = self.service.written
        self.topics.ensure("T", 1, NOW_MS)
        self.groups.find("g", NOW_MS)

    def heard(self, _: int, answer: RemotingCommand) -> bool:
        self.answers.append(answer)
        return True

    def put(self, *messages: NewMessage) -> None:
        for each in messages:
            self.turn.put(each, self.now_ms)
        self.end_turn()

    def end_turn(self) -> None:
        calls, self.calls[:] = list(self.calls), []
        for call in calls:
            call()

    def ask(self, **more: Any) -> PopAsk:
        values: dict[str, Any] = {
            "group": "g", "topic": "T", "queue_id": -1, "most": 32, "invisible_ms": INVISIBLE_MS,
            "begins_at_newest": False, "wanted": EVERYTHING, "wanted_text": "", "is_in_order": False, "attempt_id": None,
        }  # fmt: skip
        return PopAsk(**values | more)

    def pop(self, **more: Any) -> list[bytes]:
        """Pop, and give the bodies of what is handed out."""
        ask = self.ask(**more)
        taken = self.service.taking.take(ask)
        if not taken.queues:
            return []
        self.service.handing_out.hand_out(RemotingCommand(200_050), PEER, ask, taken)
        self.end_turn()
        return [bytes(view).split(b"m-")[1][:2] for each in taken.queues for view in each.records]

    def revive(self) -> None:
        """Have what is due delivered."""
        self.service.start()
        self.end_turn()

    def retried(self, topic: str = "%RETRY%g_T") -> list[bytes]:
        return [each.body for each in records(self.store, topic)]

    def breaks(self) -> None:
        """Let every write fail from now on."""
        self.disk.fails = lambda kind, _: errno.EIO if kind == "write" else None

    def mends(self) -> None:
        self.disk.fails = lambda _, __: None
        self.store.resume()


def body(number: int) -> NewMessage:
    return message(b"m-%02d" % number)


@pytest.fixture
async def bench() -> Bench:
    found = Bench(SimulatedDisk())
    found.put(*(body(number) for number in range(3)))
    return found


async def test_a_pop_takes_what_is_in_memory_and_waits_when_there_is_nothing_else(bench: Bench) -> None:
    """What was taken before is not lost by meeting a message that is on disk only."""
    bench.topics.ensure("Two", 2, NOW_MS)
    bench.put(message(b"m-10", "Two", 0), message(b"m-11", "Two", 1))
    reader = bench.store.reader
    reader.recent_bytes = reader.recent_units = 0
    reader.may_wait = False
    bench.disk.is_cold = lambda path: "commitlog" in path.parts
    with pytest.raises(NotInMemoryError):
        bench.pop(topic="Two")
    asked = iter(range(10))
    bench.disk.is_cold = lambda path: "commitlog" in path.parts and next(asked) > 0
    first = bench.pop(topic="Two")
    bench.disk.is_cold = lambda _: False
    assert len(first) == 1
    assert sorted(first + bench.pop(topic="Two")) == [b"10", b"11"]
    assert bench.pop(topic="Two") == []


async def test_what_cannot_be_written_down_is_there_for_others(bench: Bench) -> None:
    bench.breaks()
    assert bench.pop() == [b"00", b"01", b"02"]
    assert bench.answers[-1].code == 14
    with pytest.raises(RequestRefusedError):
        bench.pop()
    bench.mends()
    assert bench.pop() == [b"00", b"01", b"02"]
    assert bench.answers[-1].code == 0
    assert bench.pop() == []


async def test_an_acknowledgement_that_cannot_be_written_down_counts_for_nothing(bench: Bench) -> None:
    bench.pop()
    (popped,) = bench.state.in_flight.of(lambda _: True)
    told: list[Stored] = []
    bench.breaks()
    assert bench.service.acknowledging.acknowledge(PopAck(popped.key, (0, 1, 2)), told.append) == 1
    assert popped.is_over
    bench.end_turn()
    assert told == [Stored.FAILED]
    with pytest.raises(StoreUnavailableError):
        bench.service.acknowledging.acknowledge(PopAck(popped.key, (0,)), told.append)
    assert popped.open_offsets == (0, 1, 2)
    bench.mends()
    bench.now_ms += INVISIBLE_MS
    bench.revive()
    assert bench.retried() == [b"m-00", b"m-01", b"m-02"]


async def test_what_cannot_be_delivered_again_is_tried_later(bench: Bench) -> None:
    bench.pop()
    bench.now_ms += INVISIBLE_MS
    bench.breaks()
    bench.revive()
    bench.revive()
    bench.mends()
    assert bench.retried() == []
    bench.now_ms += 10 * INVISIBLE_MS
    bench.revive()
    assert bench.retried() == [b"m-00", b"m-01", b"m-02"]
    bench.now_ms += 10 * INVISIBLE_MS
    bench.revive()
    assert len(bench.retried()) == 3


async def test_another_message_in_the_same_place_is_not_delivered_again(bench: Bench) -> None:
    point = PopCheckPoint(topic="T", group="g", count=3, pop_time=NOW_MS - 100_000, invisible_time=1, broker_name="b")
    gone = PopCheckPoint(topic="T", group="g", start_offset=77, count=1, pop_time=NOW_MS, broker_name="b")
    nobody = PopCheckPoint(topic="T", group="nobody", count=1, pop_time=NOW_MS, broker_name="b")
    bench.put(*(check_point_record(each) for each in (point, gone, nobody)))
    bench.now_ms += 10_000
    bench.revive()
    assert bench.retried() == []
    assert len(bench.state.in_flight) == 0


async def test_a_message_without_room_for_what_is_added_is_a_dead_letter(bench: Bench) -> None:
    bench.put(message(b"m-09", properties=b"A\x01" + b"x" * 32_755))
    bench.pop()
    bench.now_ms += INVISIBLE_MS
    bench.revive()
    assert bench.retried() == [b"m-00", b"m-01", b"m-02"]
    assert bench.retried("%DLQ%g") == [b"m-09"]


async def test_topics_of_the_newer_name_are_popped_too(bench: Bench) -> None:
    bench.topics.ensure("%RETRY%g+T", 1, NOW_MS)
    bench.put(message(b"m-08", topic="%RETRY%g+T"))
    assert sorted(bench.pop()) == [b"00", b"01", b"02", b"08"]
    fields = bench.answers[-1].ext_fields or {}
    assert "2 0 0" in (fields["startOffsetInfo"] or "").split(";")
    bench.now_ms += INVISIBLE_MS
    bench.revive()
    assert bench.retried("%RETRY%g+T") == [b"m-08", b"m-08"], "it stays where it is"


async def test_a_reset_is_where_the_next_pop_begins(bench: Bench) -> None:
    assert len(bench.pop()) == 3
    bench.offsets.reset("T", "g", 0, 1)
    assert bench.pop() == [b"01", b"02"]


async def test_a_pop_that_takes_enough_says_what_is_left(bench: Bench) -> None:
    bench.topics.ensure("%RETRY%g_T", 1, NOW_MS)
    bench.put(message(b"m-07", topic="%RETRY%g_T"))
    assert len(bench.pop(most=1)) == 1
    assert (bench.answers[-1].ext_fields or {})["restNum"] == "3"


async def test_a_group_without_an_offset_may_begin_at_the_end(bench: Bench) -> None:
    bench.store.reader.min_offset("T", 0)
    assert bench.pop(begins_at_newest=True) == [b"00", b"01", b"02"], "the queue has its first message, as in Java"


async def test_old_check_points_are_written_anew_so_that_starts_stay_short(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service_module, "MOST_BEHIND", 3)
    bench.pop(most=1, invisible_ms=3_600_000)
    (popped,) = bench.state.in_flight.of(lambda _: True)
    queue_id = popped.place.queue_id
    bench.service.note_done()
    for number in range(4):
        old = PopCheckPoint(topic="T", group="x", count=1, start_offset=number, pop_time=1, broker_name="b", bit_map=1)
        bench.put(check_point_record(old, queue_id))
    bench.service.note_done()
    assert popped.place.offset == 0
    bench.end_turn()
    assert popped.place.offset == 5
    bench.service.note_done()
    assert bench.offsets.committed(REVIVE, REVIVE_GROUP, queue_id) == 4
    bench.breaks()
    monkeypatch.setattr(service_module, "MOST_BEHIND", -1)
    bench.service.note_done()
    bench.end_turn()
    bench.service.note_done()
    assert popped.place.offset == 5


async def test_a_deleted_topic_takes_its_receipts_also_when_nothing_can_be_written(bench: Bench) -> None:
    bench.pop()
    bench.breaks()
    bench.put(body(9))
    bench.service.topic_removed("T")
    assert len(bench.state.in_flight) == 0


def check_point_record(point: PopCheckPoint, queue_id: int = 0, **more: str) -> NewMessage:
    named = {"TAGS": "ck", "UNIQ_KEY": check_point_id(point.key("b"))} | more
    return message(encode_check_point(point), REVIVE, queue_id, properties=encode_properties(named).encode())


def ack_record(ack: PopAck, queue_id: int = 0, **more: str) -> NewMessage:
    named = {"TAGS": ack_tag(ack), "UNIQ_KEY": ack_id(ack)} | more
    return message(encode_ack(ack), REVIVE, queue_id, properties=encode_properties(named).encode())


def in_timer(record: NewMessage, due_ms: int = NOW_MS, **more: str) -> NewMessage:
    """Give a record as an Apache broker parks it."""
    place = {"REAL_TOPIC": record.topic, "REAL_QID": str(record.queue_id), "TIMER_DELIVER_MS": str(due_ms)} | more
    text = record.properties + encode_properties(place).encode()
    return record._replace(topic=TIMER_TOPIC, queue_id=0, properties=text)


def popped_elsewhere(start: int, count: int = 1) -> PopCheckPoint:
    return PopCheckPoint(
        topic="T", group="g", start_offset=start, count=count, pop_time=NOW_MS, broker_name="b", invisible_time=INVISIBLE_MS
    )  # fmt: skip


async def test_what_an_apache_broker_left_in_its_timer_is_taken_over_once(bench: Bench) -> None:
    first, second = popped_elsewhere(0, 2), popped_elsewhere(2)
    ack = PopAck(first.key("b"), (0,))
    parked = [
        in_timer(check_point_record(first, 3)),
        in_timer(ack_record(ack, 3)),
        in_timer(check_point_record(second, 5)),
    ]
    others = [
        in_timer(message(b"m-05")), in_timer(check_point_record(popped_elsewhere(1), 99)),
        in_timer(check_point_record(popped_elsewhere(1)), NOW_MS - 10_000_000),
        in_timer(check_point_record(popped_elsewhere(1)), REAL_QID="x"), in_timer(check_point_record(popped_elsewhere(1)), TIMER_DELIVER_MS="x"),
    ]  # fmt: skip
    bench.put(*parked, *others)
    bench.service.load(0, NOW_MS, is_from_elsewhere=True)
    open_offsets = {each.key.start_offset: each.open_offsets for each in bench.state.in_flight.of(lambda _: True)}
    assert open_offsets == {0: (1,), 2: (2,)}
    again = bench
    again.service.load(0, NOW_MS, is_from_elsewhere=True)
    assert len(records(again.store, REVIVE, 3)) == 2, "once"
    (popped,) = again.state.in_flight.of(lambda key: key.start_offset == 0)
    again.service.acknowledging.acknowledge(PopAck(popped.key, (1,)), lambda _: None)
    again.end_turn()
    again.put(check_point_record(first, 3))
    assert again.state.in_flight.get(popped.key) is None, "what the timer delivers of it is a copy"
    again.put(check_point_record(second, 5))
    again.now_ms += 100_000
    again.revive()
    assert again.retried() == [b"m-02"]


async def test_what_is_no_record_is_passed_over(bench: Bench) -> None:
    good = popped_elsewhere(1)
    bench.put(
        check_point_record(popped_elsewhere(2))._replace(body=b"{}"), ack_record(PopAck(good.key("b"), (1,)))._replace(body=b"x"),
        message(json.dumps({}).encode(), REVIVE), ack_record(PopAck(good.key("b"), (5, 6))), check_point_record(good),
    )  # fmt: skip
    assert [each.point for each in bench.state.in_flight.of(lambda _: True)] == [good]
    bench.service.note_done()
    assert bench.offsets.committed(REVIVE, REVIVE_GROUP, 0) == 3


async def test_a_group_is_behind_what_it_had_popped_when_its_offset_was_not_kept(bench: Bench) -> None:
    gone = PopCheckPoint(topic="gone", group="g", count=1, pop_time=NOW_MS, invisible_time=1)
    bench.put(check_point_record(popped_elsewhere(0, 2)), check_point_record(gone))
    bench.store.close()
    for kept_ms, expected in ((NOW_MS + 1, None), (NOW_MS, 2)):
        later = Bench(bench.disk)
        later.service.load(kept_ms, NOW_MS, is_from_elsewhere=False)
        assert later.offsets.committed("T", "g", 0) == expected
        assert later.offsets.committed("gone", "g", 0) is None
        later.store.close()
