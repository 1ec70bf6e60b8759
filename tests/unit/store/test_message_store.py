"""Storing, reading, syncing, failing and healing."""

import contextlib
import errno
import os
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.support.simulated_disk import SECTOR_BYTES, SimulatedDisk
from tests.support.small_store import (
    EVER,
    HOST,
    NOW_MS,
    ROOT,
    SEGMENT_BYTES,
    bodies_of,
    dropped_first,
    filled,
    found_by_key,
    message,
    opened,
    records,
    settings,
    stored,
)

from cosmodrome.errors import MessageError, StorageError, StoreInUseError, StoreUnavailableError
from cosmodrome.protocol.messages.hosts import encode_host
from cosmodrome.protocol.messages.record import StoredMessage, body_crc, encode_record
from cosmodrome.protocol.messages.sys_flag import BORN_HOST_V6, STORE_HOST_V6, TransactionType
from cosmodrome.store.message_store import MessageStore
from cosmodrome.store.reading import ReadLimits, ReadStatus
from cosmodrome.store.retention import Reason, RetentionSettings, is_too_full, reason_for_oldest, reason_to_delete

BIG = b"big." + b"x" * 3900
"""Nothing else has room in its file of the log."""
V6_HOST = encode_host("fe80::1", 10911)


@pytest.fixture
def disk() -> SimulatedDisk:
    return SimulatedDisk()


@pytest.fixture
def store(disk: SimulatedDisk) -> MessageStore:
    return opened(disk)


def test_a_message_is_read_after_the_write_and_not_before(store: MessageStore) -> None:
    position = store.add(message(b"one."), NOW_MS)
    assert store.reader.max_offset("T", 0) == 0
    assert store.reader.record_at(position.commit_log_offset) is None
    assert store.end == 0

    store.write()

    assert bodies_of(store) == [b"one."]
    assert store.end == position.end
    assert found_by_key(store, b"one") == [b"one."]


@pytest.mark.parametrize("store_host", [HOST, V6_HOST])
@pytest.mark.parametrize("born_host", [HOST, V6_HOST])
@pytest.mark.parametrize("topic", ["T", "A" * 127, "B" * 128, "%RETRY%" + "g" * 200])
def test_a_record_is_what_the_codec_makes_of_it(
    disk: SimulatedDisk, store_host: bytes, born_host: bytes, topic: str
) -> None:
    store = opened(disk, store_host=store_host)
    given = message(
        b"body", topic, 3, born_host=born_host, sys_flag=0x701 | STORE_HOST_V6 | BORN_HOST_V6, flag=-7,
        reconsume_times=4, prepared_transaction_offset=99,
    )  # fmt: skip

    stored(store, message(b"first"))
    position = stored(store, given)[0]

    bits = (BORN_HOST_V6 if born_host == V6_HOST else 0) | (STORE_HOST_V6 if store_host == V6_HOST else 0)
    expected = StoredMessage(
        topic, b"body", given.properties, 3, 0, position.commit_log_offset, NOW_MS, born_host, NOW_MS, store_host,
        body_crc(b"body"), 0x701 | bits, -7, 4, 99,
    )  # fmt: skip
    view = store.reader.record_at(position.commit_log_offset)
    assert view is not None
    assert bytes(view) == encode_record(expected)


def test_a_turn_fills_several_files(store: MessageStore, disk: SimulatedDisk) -> None:
    bodies = [b"%d." % number + b"x" * 1000 for number in range(20)]

    positions = stored(store, *(message(body) for body in bodies))

    assert bodies_of(store) == bodies
    assert len({position.commit_log_offset // SEGMENT_BYTES for position in positions}) == 7
    assert [position.queue_offset for position in positions] == list(range(20))


def test_writes_of_a_turn_are_one_for_each_file(disk: SimulatedDisk) -> None:
    store = opened(disk, is_index_enabled=False)
    stored(store, message(queue_id=0), message(queue_id=1))
    before = disk.calls

    stored(store, *(message(queue_id=number % 2) for number in range(6)))

    assert disk.calls - before == 3


BAD: list[tuple[dict[str, Any], str]] = [
    ({"body": b"x" * (4 * 1024 * 1024 + 1)}, "illegal"),
    ({"properties": b"a" * 32768}, "illegal"),
    ({"properties": b"a\x01b\0\x02"}, "zero byte"),
    ({"body": b"x" * SEGMENT_BYTES}, "does not fit into a file"),
    ({"topic": "../T"}, "no place"),
    ({"topic": ""}, "no place"),
    ({"topic": ".."}, "no place"),
    ({"topic": "T\0"}, "no place"),
    ({"queue_id": -1}, "no place"),
    ({"queue_id": 2**31}, "no place"),
    ({"flag": 2**31}, "does not fit"),
    ({"born_host": b"123"}, "born host"),
    ({"born_timestamp_ms": 2**63}, "does not fit"),
]


@pytest.mark.parametrize(("change", "text"), BAD)
def test_one_bad_message_does_not_concern_the_others(store: MessageStore, change: dict[str, Any], text: str) -> None:
    store.add(message(b"1."), NOW_MS)
    with pytest.raises(MessageError, match=text):
        store.add(message()._replace(**change), NOW_MS)
    store.add(message(b"2."), NOW_MS)
    store.write()

    assert bodies_of(store) == [b"1.", b"2."]
    assert [record.queue_offset for record in records(store)] == [0, 1]
    assert set(store.reader.queues()) == {"T"}


def test_store_times_never_go_back(store: MessageStore) -> None:
    first = stored(store, message(), now_ms=NOW_MS)[0]
    second = stored(store, message(), now_ms=NOW_MS - 5000)[0]

    assert first.store_timestamp_ms == second.store_timestamp_ms == NOW_MS


def test_a_delayed_message_tells_when_it_is_due(store: MessageStore) -> None:
    levels = {b"3": 10_000, b"99": 7_200_000, b"x": None, b"0": None}
    for number, (level, delay_ms) in enumerate(levels.items()):
        properties = b"DELAY\x01" + level + b"\x02TAGS\x01t\x02"
        stored(store, message(topic="SCHEDULE_TOPIC_XXXX", queue_id=2, properties=properties))

        unit = store.reader.unit("SCHEDULE_TOPIC_XXXX", 2, number)
        assert unit is not None
        assert unit.tag_code == (ord("t") if delay_ms is None else NOW_MS + delay_ms)


def test_syncs_may_overlap_and_cover_what_was_written_when_they_began(store: MessageStore, disk: SimulatedDisk) -> None:
    first_end = stored(store, message(b"1."))[0].end
    first = store.begin_sync()
    second_end = stored(store, message(b"2."))[0].end
    second = store.begin_sync()
    second.run()
    first.run()

    store.end_sync(first)
    assert store.synced_to == first_end
    store.end_sync(second)
    assert store.synced_to == second_end

    again = opened(disk.after_power_cut(lambda _: 0))
    assert bodies_of(again) == [b"1.", b"2."]


def test_a_sync_that_ends_first_does_not_count_what_another_has_under_way(
    store: MessageStore, disk: SimulatedDisk
) -> None:
    """The first file of the log is in the earlier sync, which has not run when the later one and a checkpoint have."""
    stored(store, message(b"1."))
    store.begin_sync()
    stored(store, message(BIG), message(b"2."))
    later, mark = store.begin_sync(), store.begin_checkpoint()
    for job in (later, mark.work.log):
        assert job.starts == [0, SEGMENT_BYTES, 2 * SEGMENT_BYTES]
    later.run()
    store.end_sync(later)

    again = opened(disk.after_power_cut(lambda _: 0))
    assert bodies_of(again) == [b"1.", BIG, b"2."]


def test_b009_a_system_that_tells_of_a_failure_once_is_not_believed_afterwards(
    store: MessageStore, disk: SimulatedDisk
) -> None:
    """Two syncs run, the first fails; the second one's end is taken first."""
    stored(store, message(b"1."))
    first, second = store.begin_sync(), store.begin_sync()
    disk.fails = failing("sync", "commitlog", errno.EIO)
    first.run()
    disk.fails = lambda _, __: None
    second.run()

    with pytest.raises(StoreUnavailableError):
        store.end_sync(second)
    assert store.synced_to == 0


def test_what_is_not_synced_may_be_lost_and_nothing_else(store: MessageStore, disk: SimulatedDisk) -> None:
    stored(store, message(b"1."))
    store.sync()
    stored(store, message(b"2."))

    assert bodies_of(opened(disk.after_power_cut(lambda _: 0))) == [b"1."]
    assert bodies_of(opened(disk.after_kill())) == [b"1.", b"2."]


def test_two_processes_never_have_one_store(store: MessageStore, disk: SimulatedDisk) -> None:
    with pytest.raises(StoreInUseError):
        opened(disk)
    store.close()
    store.close()

    opened(disk).close()


def test_a_closed_store_accepts_nothing(store: MessageStore) -> None:
    store.close()

    with pytest.raises(StoreUnavailableError, match="closed"):
        store.add(message(), NOW_MS)
    with pytest.raises(StoreUnavailableError):
        store.write()
    with pytest.raises(StoreUnavailableError):
        store.begin_checkpoint()
    store.resume()
    assert store.failure == "it is closed"


def test_what_was_gathered_is_written_by_close(store: MessageStore, disk: SimulatedDisk) -> None:
    store.add(message(b"1."), NOW_MS)
    store.close()

    assert bodies_of(opened(disk)) == [b"1."]


# What fails, where, and with what: each of them at storing or syncing.
FAULTS = [
    (kind, where, number)
    for kind in ("open", "write", "sync")
    for where in ("commitlog", "consumequeue")
    for number in (errno.ENOSPC, errno.EIO, errno.EMFILE)
]


def failing(kind: str, where: str, number: int) -> Callable[[str, Path], int | None]:
    return lambda each, path: number if each == kind and where in path.parts else None


@pytest.mark.parametrize("fault", FAULTS, ids=str)
@pytest.mark.parametrize("rounds", [1, 10])
@pytest.mark.parametrize("part", [0, 4, 8])
def test_b009_a_failing_disk_is_answered_with_refusals_and_heals(
    disk: SimulatedDisk, fault: tuple[str, str, int], rounds: int, part: int
) -> None:
    """Nothing that was acknowledged is lost, no queue has a hole, and no restart is needed."""
    store = opened(disk)
    acknowledged = [b"kept."]
    stored(store, message(b"kept."))
    store.checkpoint()
    disk.fails, disk.part_in_8 = failing(*fault), part
    for each in range(rounds):
        body = b"%d." % each + b"y" * 1500
        try:
            stored(store, message(body), message(b"other.", queue_id=each + 1))
            store.checkpoint()
            acknowledged.append(body)
        except StoreUnavailableError:
            with pytest.raises(StoreUnavailableError):
                store.add(message(), NOW_MS)
            with contextlib.suppress(StorageError):  # what fails may not be needed for it
                store.resume()
        assert bodies_of(store)[0] == b"kept."
    disk.fails = lambda _, __: None

    store.resume()

    assert store.failure is None
    new = [b"new %d." % each for each in range(20)]
    stored(store, *map(message, new))
    store.sync()
    for again in (store, opened(disk.after_power_cut(lambda _: 0)), opened(disk.after_kill())):
        found = records(again)
        assert [record.queue_offset for record in found] == list(range(len(found)))
        bodies = [record.body for record in found]
        assert bodies[-20:] == new
        assert [body for body in bodies if body in acknowledged] == acknowledged
        assert len(set(bodies)) == len(bodies)
        assert not again.report.damaged


def test_b009_after_a_failed_sync_the_same_data_is_written_once_more(store: MessageStore, disk: SimulatedDisk) -> None:
    """A system forgets after a failed sync that there is something to write."""
    stored(store, message(b"1."))
    job = store.begin_sync()
    disk.fails = failing("sync", "commitlog", errno.EIO)
    job.run()
    disk.fails = lambda _, __: None
    with pytest.raises(StoreUnavailableError):
        store.end_sync(job)
    assert store.synced_to == 0
    late = store.begin_sync()
    late.run()
    with pytest.raises(StoreUnavailableError):
        store.end_sync(late)
    assert store.synced_to == 0, "what another sync says about that data is not believed"

    store.resume()

    assert store.synced_to == store.end > 0
    assert bodies_of(opened(disk.after_power_cut(lambda _: 0))) == [b"1."]


def test_b009_a_failed_write_leaves_no_record_that_turns_up_later(store: MessageStore, disk: SimulatedDisk) -> None:
    disk.fails, disk.part_in_8 = failing("write", "commitlog", errno.ENOSPC), 8
    with pytest.raises(StoreUnavailableError):
        stored(store, *(message(b"lost %d." % number) for number in range(3)))
    disk.fails = lambda _, __: None
    store.resume()
    stored(store, message(b"kept", queue_id=1))

    again = opened(disk.after_kill())

    assert bodies_of(again) == []
    assert bodies_of(again, queue_id=1) == [b"kept"]


@pytest.mark.parametrize("seed", range(20))
def test_b009_a_failed_turn_does_not_turn_up_after_a_failed_repair(
    store: MessageStore, disk: SimulatedDisk, seed: int
) -> None:
    """The first repair removes it, and its sync fails: the system no longer knows that it is to be removed."""
    end = stored(store, message(b"kept."))[0].end
    filler = b"." + b"x" * (2 * SECTOR_BYTES - 2 * end - 1 + len(b"kept."))
    assert stored(store, message(filler, properties=message(b"kept.").properties))[0].end == 2 * SECTOR_BYTES
    store.checkpoint()
    disk.fails, disk.part_in_8 = failing("write", "consumequeue", errno.EIO), 8
    with pytest.raises(StoreUnavailableError):
        stored(store, *(message(b"lost.%d" % number + b"x" * 500) for number in range(4)))
    disk.fails = failing("sync", "commitlog", errno.EIO)
    with pytest.raises(StorageError):
        store.resume()
    disk.fails = lambda _, __: None
    store.resume()

    again = opened(disk.after_power_cut(Random(seed).randrange))

    assert bodies_of(again) == [b"kept.", filler]
    assert again.end == store.end


def test_b015_a_failed_save_of_the_index_is_made_up_for_at_the_next_start(disk: SimulatedDisk) -> None:
    """What was put since the last save that succeeded is put anew: it is read, and may not be on disk."""
    store = opened(disk, index_entries=1000)
    bodies = filled(store, 5)
    store.checkpoint()
    bodies += filled(store, 100)
    disk.fails = failing("sync", "index", errno.EIO)
    store.checkpoint()
    disk = disk.after_kill()
    opened(disk, index_entries=1000).close()

    again = opened(disk.after_power_cut(lambda _: 0), index_entries=1000)

    assert bodies_of(again) == bodies
    for body in bodies:
        assert body in found_by_key(again, body.split(b".")[0])


def test_a_store_that_has_failed_is_left_as_after_a_crash(store: MessageStore, disk: SimulatedDisk) -> None:
    stored(store, message(b"1."))
    disk.fails = failing("sync", "commitlog", errno.EIO)
    with pytest.raises(StoreUnavailableError):
        store.sync()
    store.close()
    disk.fails = lambda _, __: None

    again = opened(disk)

    assert not again.report.is_clean
    assert bodies_of(again) == [b"1."]


@pytest.mark.parametrize("kind", ["open", "write", "sync"])
def test_b015_trouble_with_the_index_stops_nothing_and_heals(
    store: MessageStore, disk: SimulatedDisk, kind: str
) -> None:
    bodies = filled(store, 5)
    disk.fails = failing(kind, "index", errno.ENOSPC)
    bodies += filled(store, 60)
    store.checkpoint()
    files = len(disk.paths(ROOT / "index"))
    disk.fails = lambda _, __: None
    bodies += filled(store, 5)
    assert bodies_of(store) == bodies
    assert len(disk.paths(ROOT / "index")) <= files + 10
    store.close()

    again = opened(disk)

    assert bodies_of(again) == bodies
    for body in bodies:
        assert body in found_by_key(again, body.split(b".")[0])


def test_reading_tells_apart_what_is_not_there(store: MessageStore) -> None:
    filled(store, 15)
    read = store.reader.read

    assert read(("U", 0), 0, ReadLimits()).status is ReadStatus.NO_MATCHED_LOGIC_QUEUE
    assert read(("T", 0), 15, ReadLimits())[:4] == (ReadStatus.OFFSET_OVERFLOW_ONE, 15, 0, 15)
    assert read(("T", 0), 99, ReadLimits())[:4] == (ReadStatus.OFFSET_OVERFLOW_BADLY, 15, 0, 15)
    assert read(("T", 0), -1, ReadLimits())[:4] == (ReadStatus.OFFSET_TOO_SMALL, 0, 0, 15)
    assert read(("T", 0), 3, ReadLimits(messages=4))[:2] == (ReadStatus.FOUND, 7)
    assert read(("T", 0), 3, ReadLimits())[:2] == (ReadStatus.FOUND, 10), "no read passes the end of a file"
    assert read(("T", 0), 3, ReadLimits(messages=0))[:2] == (ReadStatus.FOUND, 4), "one message is always given"
    assert read(("T", 0), 3, ReadLimits(size_bytes=1))[:2] == (ReadStatus.FOUND, 4)
    assert read(("T", 0), 0, ReadLimits(), lambda _: False)[:2] == (ReadStatus.NO_MATCHED_MESSAGE, 10)
    assert read(("T", 0), 0, ReadLimits(units=3), None, lambda _: False)[:2] == (ReadStatus.NO_MATCHED_MESSAGE, 3)
    some = read(("T", 0), 0, ReadLimits(), lambda code: code == ord("t"), lambda view: b"3." in bytes(view))
    assert (some.status, len(some.records), some.next_offset) == (ReadStatus.FOUND, 1, 10)


def test_b016_reading_makes_nothing(store: MessageStore, disk: SimulatedDisk) -> None:
    before = disk.paths(ROOT)
    for number in range(100):
        topic = f"unknown{number}"
        store.reader.read((topic, 0), 0, ReadLimits())
        assert store.reader.max_offset(topic, 0) == store.reader.min_offset(topic, 0) == 0
        assert store.reader.offset_by_time(topic, 0, NOW_MS) == 0
        assert store.reader.unit(topic, 0, 0) is None

    assert disk.paths(ROOT) == before
    assert store.reader.queues() == {}


def test_only_the_start_of_a_record_is_a_record(store: MessageStore) -> None:
    first, second = stored(store, message(b"1."), message(b"2."))

    assert store.reader.record_at(second.commit_log_offset) is not None
    for place in (-1, 1, first.end - 1, second.end, second.end + 1, EVER):
        assert store.reader.record_at(place) is None


def test_offsets_are_found_by_time(store: MessageStore) -> None:
    for number in range(30):
        stored(store, message(b"%d." % number), now_ms=NOW_MS + number // 3 * 1000)
    by_time = store.reader.offset_by_time

    assert by_time("T", 0, NOW_MS - 1) == 0
    assert by_time("T", 0, NOW_MS) == 0
    assert by_time("T", 0, NOW_MS + 1) == 3
    assert by_time("T", 0, NOW_MS + 4000) == 12
    assert by_time("T", 0, EVER) == 30
    assert store.reader.store_time_ms("T", 0, 12) == NOW_MS + 4000
    assert store.reader.earliest_store_time_ms() == NOW_MS


def test_keys_are_found_by_time_and_number(store: MessageStore) -> None:
    for number in range(20):
        stored(
            store,
            message(b"%d." % number, properties=b"KEYS\x01a b\x02UNIQ_KEY\x01u%d\x02" % number),
            now_ms=NOW_MS + number * 1000,
        )

    assert len(found_by_key(store, b"a")) == 20
    assert found_by_key(store, b"u7") == [b"7."]
    assert len(store.reader.find("T", "b", 3, 0, EVER)) == 3
    assert len(store.reader.find("T", "a", 99, NOW_MS + 5000, NOW_MS + 7000)) in (3, 4)
    assert store.reader.find("T", "a", 99, NOW_MS - 5000, NOW_MS - 1) == []
    assert store.reader.find("U", "a", 99, 0, EVER) == []
    assert store.reader.last_indexed()[0] == NOW_MS + 19_000


def test_raw_bytes_end_with_their_file(store: MessageStore) -> None:
    filled(store, 100)
    data, place = b"", 0
    while (piece := store.reader.bytes_from(place, 1000)) is not None:
        assert place // SEGMENT_BYTES == (place + len(piece) - 1) // SEGMENT_BYTES
        data += piece
        place += len(piece)

    assert len(data) == store.end
    assert store.reader.bytes_from(store.end, 10) is None
    assert store.reader.bytes_from(-1, 10) is None


def test_old_messages_go_and_minimum_offsets_follow(store: MessageStore, disk: SimulatedDisk) -> None:
    bodies = filled(store, 200)
    store.checkpoint()
    held = store.reader.read(("T", 0), 0, ReadLimits(messages=3)).records
    content = [bytes(view) for view in held]

    assert dropped_first(store)
    assert dropped_first(store)

    least = store.reader.min_offset("T", 0)
    assert store.start == 2 * SEGMENT_BYTES
    assert 0 < least < 200
    assert bodies_of(store) == bodies[least:]
    assert store.reader.read(("T", 0), 0, ReadLimits())[:2] == (ReadStatus.OFFSET_TOO_SMALL, least)
    assert [bytes(view) for view in held] == content, "who reads still has what was read"
    assert found_by_key(store, b"0") == []
    assert int(disk.paths(ROOT / "consumequeue")[0].name) <= least * 20 < int(disk.paths(ROOT / "consumequeue")[1].name)
    for again in (opened(disk.after_kill()), opened(disk.after_power_cut(lambda _: 0))):
        assert again.reader.min_offset("T", 0) == least
    store.close()
    assert bodies_of(opened(disk)) == bodies[least:]


def test_the_last_file_of_the_log_is_never_deleted(store: MessageStore, disk: SimulatedDisk) -> None:
    bodies = filled(store, 100)
    while dropped_first(store):
        assert not store.detached

    assert len(disk.paths(ROOT / "commitlog")) == 1
    assert bodies_of(store) == bodies[store.reader.min_offset("T", 0) :]
    assert store.oldest_written_ms() is None


def test_a_sweep_deletes_by_age_and_hour_or_when_the_disk_is_full(store: MessageStore, disk: SimulatedDisk) -> None:
    rules = RetentionSettings(reserved_ms=1000, delete_hours=frozenset({4}))
    filled(store, 200)
    paths = disk.paths(ROOT / "commitlog")
    for at, path in enumerate(paths):
        disk.set_modified_ms(path, NOW_MS - 5000 if at < 2 else NOW_MS)

    def why(hour: int) -> Reason | None:
        return reason_for_oldest(store, rules, NOW_MS, hour, is_asked=False)

    assert why(3) is None
    for _ in range(2):
        assert why(4) is Reason.AGE
        assert dropped_first(store)
    assert why(4) is None
    assert store.reader.min_offset("T", 0) > 0
    disk.used = 0.86
    while why(3) is Reason.FULL:
        assert dropped_first(store)
    assert len(disk.paths(ROOT / "commitlog")) == 1
    assert why(3) is None


def test_a_file_that_was_let_go_is_out_of_sight_before_it_is_removed(store: MessageStore, disk: SimulatedDisk) -> None:
    bodies = filled(store, 200)
    paths = disk.paths(ROOT / "commitlog")
    assert store.detach_first_segment()
    for _ in store.dropping_what_points_nowhere():
        continue
    least = store.reader.min_offset("T", 0)

    assert bodies_of(store) == bodies[least:]
    assert disk.paths(ROOT / "commitlog") == paths
    assert store.detached[0] == paths[0]
    disk.fails = lambda kind, _: errno.EBUSY if kind == "remove" else None
    with pytest.raises(StorageError):
        store.remove_detached(paths[0])
    assert store.detached[0] == paths[0], "somebody tries again"
    disk.fails = lambda _, __: None
    again = opened(disk.after_kill())
    assert again.start == 0, "a start finds it again"
    assert bodies_of(again)[-len(bodies[least:]) :] == bodies[least:]
    for path in store.detached:
        store.remove_detached(path)
        store.removed(path)
    assert disk.paths(ROOT / "commitlog") == paths[1:]


def test_index_files_of_what_is_gone_are_let_go_and_removed_by_whoever_has_time(
    store: MessageStore, disk: SimulatedDisk
) -> None:
    filled(store, 200)
    store.checkpoint()
    paths = disk.paths(ROOT / "index")
    while store.detach_first_segment():
        for _ in store.dropping_what_points_nowhere():
            continue
    left = [path for path in store.detached if path.parent == ROOT / "index"]
    assert left
    assert left == paths[: len(left)]
    assert disk.paths(ROOT / "index") == paths
    assert found_by_key(store, b"0") == []
    for path in store.detached:
        store.remove_detached(path)
        store.removed(path)
    assert disk.paths(ROOT / "index") == paths[len(left) :]
    assert not store.detached


def test_the_rules_of_deleting() -> None:
    rules = RetentionSettings(reserved_ms=1000)

    def why(age_ms: int, used: float, hour: int = 3, *, is_asked: bool = False) -> Reason | None:
        return reason_to_delete(rules, age_ms, used, hour, is_asked=is_asked)

    assert why(999, 0.84, 4, is_asked=True) is None
    assert why(1000, 0.1) is None
    assert why(1000, 0.1, 4) is Reason.AGE
    assert why(1000, 0.75) is Reason.AGE_AND_FULL
    assert why(1000, 0.1, is_asked=True) is Reason.AGE_AND_ASKED
    assert why(0, 0.85) is Reason.FULL
    assert not is_too_full(rules, 0.89)
    assert is_too_full(rules, 0.90)


def test_it_works_on_a_real_disk_too(tmp_path: Path) -> None:
    sizes = settings(root=tmp_path / "deep" / "store")
    with MessageStore.open(sizes) as store:
        bodies = filled(store, 100)
        held = store.reader.read(("T", 0), 0, ReadLimits()).records
        content = [bytes(view) for view in held]
        store.checkpoint()
        with pytest.raises(StoreInUseError):
            MessageStore.open(sizes)
        assert (tmp_path / "deep" / "store" / "abort").read_text() == str(os.getpid())
        assert bodies_of(store) == bodies
        assert dropped_first(store)
        assert [bytes(view) for view in held] == content
        assert 0 < store.used_ratio() < 1
        assert store.oldest_written_ms() is not None
        least = store.reader.min_offset("T", 0)

    with MessageStore.open(sizes) as store:
        assert store.report.is_clean
        assert bodies_of(store) == bodies[least:]
    assert [bytes(view) for view in held] == content


def test_kinds_that_have_no_place_in_a_queue_are_known_by_their_numbers(store: MessageStore) -> None:
    for kind in TransactionType:
        stored(store, message(topic=kind.name, sys_flag=int(kind)))

    assert [kind.name for kind in TransactionType if store.reader.max_offset(kind.name, 0)] == ["NONE", "COMMIT"]
