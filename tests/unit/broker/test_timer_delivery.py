"""Timer messages from the timer topic to theirs: on time, once, and across every kind of end (B022, B023, B025, B026)."""

import contextlib
import errno
import struct
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest
from tests.support.simulated_disk import KilledError, SimulatedDisk
from tests.support.small_store import HOST, NOW_MS, ROOT, bodies_of, message, opened, records, stored

from cosmodrome.broker.clock import Clock
from cosmodrome.broker.timer_delivery import ROLL_SLOTS, TimerDelivery
from cosmodrome.broker.timer_messages import Handle, parked, recall
from cosmodrome.broker.timers import Timers
from cosmodrome.broker.topics import TIMER_TOPIC
from cosmodrome.broker.turn import Turn
from cosmodrome.errors import StorageError
from cosmodrome.protocol.messages.properties import MAX_PROPERTIES_BYTES, encode_properties
from cosmodrome.store.appending import NewMessage
from cosmodrome.store.timer_log import TimerFiles

LOG_FILE: Final = 52 * 20 + 16
WHEEL: Final = ROOT / "timerwheel"
CHECK: Final = ROOT / "config" / "timercheck"
ENTRY: Final = struct.Struct(">iqiqiqiiq")
SLOT: Final = struct.Struct(">qqqii")
DAY_MS: Final = 86_400_000


class Service:
    """The timers of a store on a simulated disk; time is what a test says."""

    def __init__(self, disk: SimulatedDisk, now_ms: int = NOW_MS, log_file: int = LOG_FILE) -> None:
        self.disk = disk
        self.now_ms = now_ms
        self.store = opened(disk, segment_bytes=1 << 20, queue_file_bytes=2000, is_index_enabled=False)
        self._calls: list[Callable[[], None]] = []
        self.turn = Turn(self.store, self._calls.append, lambda: self.now_ms)
        self.timers = Timers(TimerFiles(disk, ROOT, log_file), 1000)
        reader = self.store.reader
        bounds = (reader.min_offset(TIMER_TOPIC, 0), reader.max_offset(TIMER_TOPIC, 0))
        self.timers.load(now_ms, bounds, self._place_of, self.store.end)
        clock = Clock(lambda: self.now_ms, lambda: self.now_ms)
        self.delivery = TimerDelivery(self.timers, reader, self.turn, clock, 1000)

    def _place_of(self, offset: int) -> int | None:
        unit = self.store.reader.unit(TIMER_TOPIC, 0, offset)
        return None if unit is None else unit.log_offset

    def send(self, *messages: NewMessage) -> None:
        stored(self.store, *messages, now_ms=self.now_ms)

    def timed(self, name: str, delay_ms: int) -> None:
        """Store a timer message that is due after so long, on the second."""
        self.send(waiting(name, self.now_ms + delay_ms))

    def run(self, until_ms: int | None = None) -> int | None:
        """Have everything delivered that is due then."""
        self.now_ms = max(self.now_ms, until_ms or 0)
        next_ms: int | None = self.now_ms
        while next_ms is not None and next_ms <= self.now_ms:
            next_ms = self.delivery.run()
            self.end_turn()
        return next_ms

    def end_turn(self) -> None:
        calls, self._calls[:] = list(self._calls), []
        for call in calls:
            call()

    def try_again(self) -> bool:
        """Have the store take messages again if it has failed, and tell whether it had."""
        has_failed = self.store.failure is not None
        if has_failed:
            with contextlib.suppress(StorageError):
                self.store.resume()
        return has_failed

    def save(self) -> bool:
        """Save what changed, and tell whether it is saved."""
        save = self.timers.begin_save(self.now_ms)
        if save is None:
            return True
        self.store.sync()
        save.run()
        return self.timers.end_save(save)

    def stop(self) -> SimulatedDisk:
        assert self.save()
        self.store.close()
        return self.disk

    @property
    def delivered(self) -> list[str]:
        return [body.decode() for body in bodies_of(self.store)]


def waiting(name: str, due_ms: int, topic: str = "T") -> NewMessage:
    text = encode_properties({"UNIQ_KEY": name, "TIMER_DELAY_MS": "1"}).encode()
    return parked(message(name.encode(), topic)._replace(properties=text), due_ms)


def seen_by_apache(disk: SimulatedDisk, log_file: int = LOG_FILE) -> list[int]:
    """Give the places of the messages that an Apache broker would deliver, which follows the chains of the wheel."""
    (read_ms,) = struct.unpack_from(">q", disk.content(CHECK))
    wheel = bytes(disk.content(WHEEL))
    found = []
    for moment, first, last, count, _ in SLOT.iter_unpack(wheel):
        if moment == 0 or moment * 1000 < read_ms:
            continue
        chain = list(chain_from(disk, last, log_file))
        assert (chain[-1][0], len(chain)) == (first, count)
        found += [(moment, place) for _, place in chain[::-1]]
    return [place for _, place in sorted(found, key=lambda each: each[0])]


def chain_from(disk: SimulatedDisk, last: int, log_file: int) -> Iterator[tuple[int, int]]:
    while last >= 0:
        data = disk.content(ROOT / "timerlog" / f"{last - last % log_file:020d}")
        size, previous, _, _, _, place, _, _, _ = ENTRY.unpack_from(data, last % log_file)
        assert size == 52
        yield last, place
        last = previous


def failing(times: int, count_to: int) -> Callable[[str, Path], int | None]:
    """Have writes of the log fail so often, from one on."""
    seen = iter(range(10_000))

    def fails(kind: str, path: Path) -> int | None:
        is_one = kind == "write" and "commitlog" in path.parts and count_to <= next(seen) < count_to + times
        return errno.EIO if is_one else None

    return fails


@pytest.fixture
def disk() -> SimulatedDisk:
    return SimulatedDisk()


def test_a_message_is_delivered_when_its_second_is_over(disk: SimulatedDisk) -> None:
    service = Service(disk)
    service.timed("a", 3000)
    assert service.run() == NOW_MS + 4000
    service.run(NOW_MS + 3999)
    assert service.delivered == []
    service.run(NOW_MS + 4000)
    (record,) = records(service.store)
    named = record.properties
    assert (record.topic, record.queue_id, record.body, named["UNIQ_KEY"]) == ("T", 0, b"a", "a")
    assert (named["TIMER_ENQUEUE_MS"], named["TIMER_DEQUEUE_MS"]) == (str(NOW_MS), str(NOW_MS + 4000))


def test_messages_come_in_the_order_of_their_time_and_then_of_their_coming(disk: SimulatedDisk) -> None:
    service = Service(disk)
    for name, delay_ms in (("c", 5000), ("a", 1000), ("b", 1000), ("d", 5000)):
        service.timed(name, delay_ms)
    service.run()
    service.run(NOW_MS + 60_000)
    assert service.delivered == ["a", "b", "c", "d"]


def test_what_is_late_when_it_is_read_does_not_wait(disk: SimulatedDisk) -> None:
    service = Service(disk)
    service.timed("late", -2000)
    service.run()
    assert service.delivered == ["late"]
    assert records(service.store)[0].properties["TIMER_ENQUEUE_MS"] == str(2**63 - 1)


def test_what_is_no_timer_message_holds_up_nothing(disk: SimulatedDisk) -> None:
    service = Service(disk)
    service.send(
        message(b"ordinary", TIMER_TOPIC),
        waiting("nowhere", NOW_MS + 1000)._replace(properties=b"TIMER_OUT_MS\x01abc\x02"),
    )
    service.timed("a", 1000)
    service.run(NOW_MS + 2000)
    assert service.delivered == ["a"]
    assert service.delivery.skipped == 2


def test_records_about_popped_messages_are_left_to_whoever_takes_them_over(disk: SimulatedDisk) -> None:
    service = Service(disk)
    service.send(
        waiting("late", NOW_MS - 5000, "rmq_sys_REVIVE_LOG_C"), waiting("ck", NOW_MS + 1000, "rmq_sys_REVIVE_LOG_C")
    )
    service.timed("a", 1000)
    service.run()
    service.run(NOW_MS + 5000)
    assert service.delivered == ["a"]
    assert bodies_of(service.store, "rmq_sys_REVIVE_LOG_C") == []
    assert service.delivery.skipped == 0


def test_a_message_that_was_taken_back_is_not_delivered(disk: SimulatedDisk) -> None:
    service = Service(disk)
    service.timed("a", 2000)
    service.timed("b", 2000)
    handle = Handle("T", "broker-a", str(NOW_MS + 2001), "a")
    service.send(parked(recall(handle, "pg", NOW_MS, HOST), NOW_MS + 2000))
    service.run()
    service.run(NOW_MS + 10_000)
    assert service.delivered == ["b"]


def test_a_long_delay_is_parked_once_more(disk: SimulatedDisk) -> None:
    service = Service(disk)
    service.timed("far", 3 * DAY_MS)
    service.run()
    service.run(NOW_MS + ROLL_SLOTS * 1000 + 1000)
    assert [each.properties.get("TIMER_ROLL_TIMES") for each in records(service.store, TIMER_TOPIC)] == [None, "1"]
    assert service.delivered == []
    service.run(NOW_MS + 3 * DAY_MS + 1000)
    assert service.delivered == ["far"]


@pytest.mark.parametrize("room", [0, 30, 200])
def test_a_message_whose_properties_are_nearly_full_is_delivered(disk: SimulatedDisk, room: int) -> None:
    service = Service(disk)
    full = waiting("full", NOW_MS + 1000)
    text = full.properties + b"BIG\x01" + b"x" * (MAX_PROPERTIES_BYTES - len(full.properties) - 5 - room) + b"\x02"
    service.send(full._replace(properties=text))
    service.run()
    service.run(NOW_MS + 2000)
    assert service.delivered == ["full"]
    assert ("TIMER_DEQUEUE_MS" in records(service.store)[0].properties) == (room == 200)


@pytest.mark.parametrize("is_power_cut", [False, True])
def test_a_process_that_ends_at_any_call_loses_nothing(is_power_cut: bool) -> None:  # noqa: FBT001
    """Each 17th call on the disk is the last one of a process that stores, delivers and saves."""
    for last_call in range(20, 400, 17):
        disk = SimulatedDisk()
        service = Service(disk)
        disk.last_call = last_call
        sent = saved = 0
        with contextlib.suppress(KilledError):
            for number in range(15):
                service.timed(str(number), 1000 * (number % 4 + 1))
                sent = number + 1
                service.run(service.now_ms + 300)
                if number % 3 == 0 and service.save():
                    saved = sent
        after = Service(disk.after_power_cut(lambda _: 0) if is_power_cut else disk.after_kill(), NOW_MS + 600_000)
        after.run()
        after.run(NOW_MS + 700_000)
        expected = {str(number) for number in range(saved if is_power_cut else sent)}
        assert expected <= set(after.delivered)
        if sent == 15:
            return
    pytest.fail("the script has more calls than were tried")


def test_b023_a_stop_between_moments_delivers_nothing_twice(disk: SimulatedDisk) -> None:
    service = Service(disk)
    for number in range(50):
        service.timed(str(number), 1000 * (number % 5 + 1))
    service.run()
    service.run(NOW_MS + 4000)
    assert len(service.delivered) == 30
    service = Service(service.stop(), NOW_MS + 4000)
    service.run(NOW_MS + 9000)
    assert Counter(service.delivered) == {str(number): 1 for number in range(50)}


@pytest.mark.parametrize("is_saved_before", [True, False])
def test_b023_a_stop_within_a_moment_delivers_nothing_twice(disk: SimulatedDisk, is_saved_before: bool) -> None:  # noqa: FBT001
    """1,000 instead of 100,000 are due at once; 200 of them are delivered before the stop."""
    service = Service(disk, log_file=1 << 20)
    service.send(*(waiting(str(number), NOW_MS + 1000) for number in range(1000)))
    service.run()
    if is_saved_before:
        service.save()
    service.now_ms = NOW_MS + 2000
    service.delivery.run()
    service.end_turn()
    assert len(service.delivered) == 200
    disk = service.stop()
    service = Service(disk, NOW_MS + 2000, 1 << 20)
    places = [record.commit_log_offset for record in records(service.store, TIMER_TOPIC)]
    assert seen_by_apache(disk, 1 << 20) == places[200:]
    assert service.timers.waiting == 800
    service.run(NOW_MS + 3000)
    assert service.delivered == [str(number) for number in range(1000)]


@pytest.mark.parametrize("saves_at", [100, 350, 700, 1001])
def test_b023_a_kill_loses_nothing_and_repeats_what_was_not_saved(disk: SimulatedDisk, saves_at: int) -> None:
    service = Service(disk, log_file=1 << 20)
    service.send(*(waiting(str(number), NOW_MS + 1000) for number in range(1000)))
    service.run()
    service.now_ms = NOW_MS + 2000
    saved = 0
    while len(service.delivered) < 800:
        service.delivery.run()
        service.end_turn()
        if len(service.delivered) >= saves_at and not saved:
            assert service.save()
            saved = len(service.delivered)
    service = Service(disk.after_kill(), NOW_MS + 2000, 1 << 20)
    service.run(NOW_MS + 9000)
    counts = Counter(service.delivered)
    assert set(counts) == {str(number) for number in range(1000)}
    assert sum(counts.values()) == 1000 + 800 - saved


def test_a_power_cut_loses_nothing(disk: SimulatedDisk) -> None:
    service = Service(disk)
    for number in range(40):
        service.timed(str(number), 1000 * (number % 4 + 1))
        service.run(service.now_ms + 100)
        if number % 7 == 0:
            assert service.save()
    service.store.sync()
    for choice in (0, 1):
        after = Service(disk.after_power_cut(lambda count, choice=choice: choice % count), NOW_MS + 60_000)  # type: ignore[misc]
        after.run()
        assert set(after.delivered) == {str(number) for number in range(40)}


@pytest.mark.parametrize("times", [1, 3, 10, 60])
def test_b026_only_what_was_not_stored_is_tried_again(disk: SimulatedDisk, times: int) -> None:
    """Fifty are due in one second; the turn with the 20th fails so often, the last a minute long."""
    service = Service(disk)
    service.timed("first", 1000)
    service.send(*(waiting(str(number), NOW_MS + 2000) for number in range(50)))
    service.run(NOW_MS + 2000)
    assert service.delivered == ["first"]
    disk.fails = failing(times, 0)
    service.now_ms = NOW_MS + 3000
    failed = 0
    while service.timers.waiting:
        service.delivery.run()
        service.end_turn()
        service.now_ms += 1000
        failed += service.try_again()
    assert failed
    assert service.delivered == ["first", *map(str, range(50))]


def test_b026_a_late_message_that_fails_comes_again_and_what_is_behind_it_once(disk: SimulatedDisk) -> None:
    service = Service(disk)
    service.timed("late", -5000)
    service.timed("a", 1000)
    disk.fails = failing(2, 0)
    for _ in range(5):
        service.delivery.run()
        service.end_turn()
        service.try_again()
    service.run(NOW_MS + 5000)
    assert service.delivered == ["late", "a"]


def cut_log(service: Service, keep: int) -> SimulatedDisk:
    """End the log behind so many timer messages, as a crash may, with the files of timers as they are."""
    place = records(service.store, TIMER_TOPIC)[keep].commit_log_offset
    disk = service.disk.after_kill()
    log = disk.content(ROOT / "commitlog" / f"{0:020d}")
    disk.put(ROOT / "commitlog" / f"{0:020d}", bytes(log[:place]).ljust(len(log), b"\0"))
    disk.remove(ROOT / "checkpoint")
    return disk


def test_b025_what_the_log_lost_is_forgotten_and_nothing_else(disk: SimulatedDisk) -> None:
    service = Service(disk)
    for number in range(10):
        service.timed(str(number), 1000 * (number % 3 + 1))
    service.run()
    assert service.save()
    after = Service(cut_log(service, 6))
    assert (after.timers.forgotten, after.timers.waiting) == (4, 6)
    after.send(*(message(b"other %d" % number, "O") for number in range(20)))  # over the places of those that are gone
    after.timed("new", 2000)
    after.run(NOW_MS + 10_000)
    assert Counter(after.delivered) == {**{str(number): 1 for number in range(6)}, "new": 1}
    assert after.delivery.skipped == 0
    disk = after.stop()
    assert seen_by_apache(disk) == []


def test_b025_an_entry_that_does_not_fit_its_record_is_skipped(disk: SimulatedDisk) -> None:
    service = Service(disk)
    service.send(message(b"other", "O"))
    for number in range(5):
        service.timed(str(number), 1000)
    service.run()
    disk = service.stop()
    log = disk.content(ROOT / "timerlog" / f"{0:020d}")
    struct.pack_into(">q", log, 2 * 52 + 28, 0)  # the record of another topic
    struct.pack_into(">q", log, 3 * 52 + 28, 7)  # no record
    after = Service(disk)
    after.run(NOW_MS + 5000)
    assert after.delivered == ["0", "1", "4"]
    assert after.delivery.skipped == 2


@pytest.mark.parametrize(
    ("at", "number"),
    [(16, 10**6), (16, -7), (16, 0), (0, 2**62), (0, -1), (8, 10**9), (24, 10**6)],
    ids=["above", "below", "zero", "future", "negative", "log", "master"],
)
def test_b022_a_wrong_check_silences_nobody(disk: SimulatedDisk, at: int, number: int) -> None:
    service = Service(disk)
    for number_ in range(5):
        service.timed(str(number_), 5000)
    service.run()
    disk = service.stop()
    struct.pack_into(">q", disk.content(CHECK), at, number)
    if at == 16 and number > 0:
        struct.pack_into(">q", disk.content(CHECK), 24, number)
    after = Service(disk, NOW_MS + 1000)
    after.timed("new", 1000)
    after.run(NOW_MS + 20_000)
    assert set(after.delivered) == {"0", "1", "2", "3", "4", "new"}


@pytest.mark.parametrize("name", ["check", "log", "wheel"])
def test_a_file_of_timers_that_is_gone_loses_nothing(disk: SimulatedDisk, name: str) -> None:
    service = Service(disk)
    for number in range(5):
        service.timed(str(number), 1000 if number < 2 else 9000)
    service.run(NOW_MS + 2000)
    disk = service.stop()
    disk.remove({"check": CHECK, "log": ROOT / "timerlog" / f"{0:020d}", "wheel": WHEEL}[name])
    after = Service(disk, NOW_MS + 3000)
    after.run(NOW_MS + 20_000)
    counts = Counter(after.delivered)
    assert set(counts) == {"0", "1", "2", "3", "4"}
    assert counts["0"] == (2 if name == "check" else 1), "without the check nobody knows what was delivered"


def test_the_log_goes_on_in_the_next_file_and_old_files_go(disk: SimulatedDisk) -> None:
    service = Service(disk)
    for number in range(70):
        service.timed(str(number), 1000 if number < 45 else 60_000)
    service.run()
    service.run(NOW_MS + 2000)
    assert service.save()
    names = [path.name for path in disk.paths(ROOT / "timerlog")]
    assert names == [f"{LOG_FILE * number:020d}" for number in (2, 3)]
    assert len(seen_by_apache(disk)) == 25
    service = Service(service.stop(), NOW_MS + 3000)
    service.run(NOW_MS + 70_000)
    assert Counter(service.delivered) == {str(number): 1 for number in range(70)}


def test_a_save_that_fails_is_made_up_for(disk: SimulatedDisk) -> None:
    service = Service(disk)
    for number in range(5):
        service.timed(str(number), 5000)
    service.run()
    disk.fails = lambda kind, path: errno.EIO if kind == "sync" and "timerlog" in path.parts else None
    assert not service.save()
    service.timed("5", 5000)
    service.run()
    disk.fails = lambda *_: None
    assert service.save()
    service = Service(disk.after_power_cut(lambda _: 0))
    assert service.timers.waiting == 6


def test_a_timer_topic_that_became_shorter_is_read_from_its_end(disk: SimulatedDisk) -> None:
    service = Service(disk)
    service.timed("a", 1000)
    service.run()
    service.timers.ends_at(0)
    assert service.timers.next_offset == 0
    service.run(NOW_MS + 2000)
    assert "a" in service.delivered


def test_nothing_is_made_without_timer_messages(disk: SimulatedDisk) -> None:
    service = Service(disk)
    service.send(message(b"a"))
    service.run()
    disk = service.stop()
    assert disk.size(CHECK) is None
    assert disk.size(WHEEL) is None


@pytest.mark.parametrize("step_ms", [-5000, 3000])
def test_a_clock_that_is_set_a_little_delivers_nothing_twice(disk: SimulatedDisk, step_ms: int) -> None:
    service = Service(disk)
    service.timed("a", 1000)
    service.run(NOW_MS + 10_000)
    assert service.save()
    service.now_ms += step_ms
    service.timed("b", 1000)
    service.run()
    service = Service(service.stop(), service.now_ms)
    service.run(NOW_MS + 60_000)
    assert service.delivered == ["a", "b"]
