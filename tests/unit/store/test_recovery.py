"""Opening what a crash, another broker, or a person left."""

import struct
from pathlib import Path

import pytest
from tests.support.simulated_disk import SimulatedDisk
from tests.support.small_store import (
    FIRST_SEGMENT,
    NOW_MS,
    ROOT,
    SEGMENT_BYTES,
    bodies_of,
    filled,
    found_by_key,
    message,
    opened,
    records,
    stored,
)

from cosmodrome.errors import StoreFormatError
from cosmodrome.protocol.messages.sys_flag import TransactionType

QUEUE = ROOT / "consumequeue" / "T" / "0"
CHECKPOINT = ROOT / "checkpoint"


def killed(count: int = 10, size: int = 20) -> tuple[SimulatedDisk, list[bytes]]:
    """Give the disk of a store whose process was killed after so many messages."""
    disk = SimulatedDisk()
    bodies = filled(opened(disk), count, size=size)
    return disk.after_kill(), bodies


def closed(count: int = 10, *, by_java: bool = False) -> tuple[SimulatedDisk, list[bytes]]:
    """Give the disk of a store that was closed; Java's brokers write nothing into the rest of the checkpoint."""
    disk = SimulatedDisk()
    store = opened(disk)
    bodies = filled(store, count)
    store.close()
    if by_java:
        disk.content(CHECKPOINT)[40:] = bytes(4096 - 40)
    return disk.after_kill(), bodies


def places(disk: SimulatedDisk) -> list[tuple[int, int]]:
    """Give where each message of the queue is, and how long it is."""
    units = struct.iter_unpack(">qiq", bytes(disk.content(QUEUE / f"{0:020d}")))
    return [(place, size) for place, size, _ in units if size]


def assert_goes_on(disk: SimulatedDisk, kept: list[bytes]) -> None:
    """Fail unless these messages are there and 100 new ones go behind them, now and after a clean stop."""
    store = opened(disk)
    new = [b"new-%d" % number for number in range(100)]
    assert [position.queue_offset for body in new for position in stored(store, message(body))] == list(
        range(store.reader.max_offset("T", 0) - 100, store.reader.max_offset("T", 0))
    )
    assert bodies_of(store) == kept + new
    store.close()
    again = opened(disk)
    assert again.report.is_clean
    assert bodies_of(again) == kept + new
    assert all(found_by_key(again, body.split(b".")[0]) for body in kept + new)
    again.close()


LAST_SIZE = 91 + 20 + 1 + len(b"KEYS\x019\x02TAGS\x01t\x02")


@pytest.mark.parametrize("at", range(LAST_SIZE))
def test_b001_a_last_record_that_is_cut_anywhere_ends_the_log(at: int) -> None:
    disk, bodies = killed()
    place, size = places(disk)[-1]
    assert size == LAST_SIZE
    disk.content(FIRST_SEGMENT)[place + at : place + size] = bytes(size - at)

    assert_goes_on(disk, bodies[:-1])


CHECKED = [*range(12), *range(28, 36), *range(84, 109)]
"""Bytes that a record cannot be without: size, magic, checksum, place, length of the body, body, length of the topic."""


@pytest.mark.parametrize("at", CHECKED)
def test_b001_a_last_record_with_a_wrong_byte_ends_the_log(at: int) -> None:
    disk, bodies = killed()
    place, _ = places(disk)[-1]
    disk.content(FIRST_SEGMENT)[place + at] ^= 0x11

    assert_goes_on(disk, bodies[:-1])


@pytest.mark.parametrize("at", CHECKED)
@pytest.mark.parametrize("is_killed", [True, False])
def test_b001_a_wrong_byte_in_the_middle_costs_one_message(at: int, *, is_killed: bool) -> None:
    """It stays on disk and is reported; what is behind it keeps its numbers."""
    disk, bodies = killed() if is_killed else closed(by_java=True)
    place, size = places(disk)[4]
    disk.content(FIRST_SEGMENT)[place + at] ^= 0x11
    damaged = bytes(disk.content(FIRST_SEGMENT)[place : place + size])

    store = opened(disk)

    assert bodies_of(store) == bodies[:4] + bodies[5:]
    assert [record.queue_offset for record in records(store)] == [0, 1, 2, 3, 5, 6, 7, 8, 9]
    assert [tuple(each) for each in store.report.damaged] == [(place, place + size)]
    store.close()
    assert bytes(disk.content(FIRST_SEGMENT)[place : place + size]) == damaged
    assert_goes_on(disk, bodies[:4] + bodies[5:])


def test_b001_damage_over_a_whole_file_is_skipped_too() -> None:
    disk, bodies = killed(200)
    disk.content(ROOT / "commitlog" / f"{SEGMENT_BYTES:020d}")[:] = b"\x55" * SEGMENT_BYTES

    store = opened(disk)

    found = bodies_of(store)
    assert found == [body for body in bodies if body in found]
    assert bodies[0] in found
    assert bodies[-1] in found
    assert len(store.report.damaged) == 1


def test_what_a_power_cut_tore_is_cut_off_and_copied_aside() -> None:
    """Sectors of zeros in the middle are writes that never came: what is behind them was not acknowledged."""
    disk, bodies = killed(30, size=100)
    disk.content(FIRST_SEGMENT)[1024:1536] = bytes(512)
    torn = next(number for number, (place, size) in enumerate(places_of_all(disk)) if place + size > 1024)

    store = opened(disk)

    assert bodies_of(store) == bodies[:torn]
    assert store.report.cut_from is not None
    aside = disk.paths(ROOT / "damaged")
    assert aside
    assert bodies[-1] in b"".join(bytes(disk.content(path)) for path in aside)
    store.close()
    assert_goes_on(disk, bodies[:torn])


def places_of_all(disk: SimulatedDisk) -> list[tuple[int, int]]:
    data = b"".join(bytes(disk.content(path)) for path in disk.paths(QUEUE))
    return [(place, size) for place, size, _ in struct.iter_unpack(">qiq", data) if size]


def test_a_stop_of_another_broker_is_read_from_the_third_last_file() -> None:
    disk, bodies = closed(200, by_java=True)

    store = opened(disk)

    files = [int(path.name) for path in disk.paths(ROOT / "commitlog")]
    assert store.report.read_from == files[-3]
    assert bodies_of(store) == bodies


def test_b007_a_checkpoint_bounds_what_is_read_after_a_kill() -> None:
    disk = SimulatedDisk()
    store = opened(disk)
    bodies = filled(store, 200)
    store.checkpoint()
    bodies += filled(store, 7)

    again = opened(disk.after_kill())

    assert again.report.records == 7
    assert bodies_of(again) == bodies


def test_a_checkpoint_of_java_bounds_it_by_time() -> None:
    disk = SimulatedDisk()
    store = opened(disk)
    bodies = []
    for number in range(120):
        bodies.append(b"%d." % number)
        stored(store, message(bodies[-1]), now_ms=NOW_MS + number * 1000)
    disk = disk.after_kill()
    disk.content(CHECKPOINT)[:] = struct.pack(">qq", NOW_MS + 100_000, NOW_MS + 90_000).ljust(4096, b"\0")

    again = opened(disk)

    assert 0 < again.report.read_from < again.end - SEGMENT_BYTES
    assert again.report.read_from % SEGMENT_BYTES == 0
    assert bodies_of(again) == bodies


@pytest.mark.parametrize("by_java", [True, False])
def test_b008_a_queue_that_is_behind_is_built_anew(*, by_java: bool) -> None:
    disk = SimulatedDisk()
    store = opened(disk)
    bodies = filled(store, 200, queues=2)
    store.close()
    disk = disk.after_kill()
    if by_java:
        disk.content(CHECKPOINT)[40:] = bytes(4096 - 40)
    for path in disk.paths(QUEUE)[2:]:
        disk.remove(path)

    again = opened(disk)

    assert bodies_of(again, queue_id=0) == bodies[::2]
    assert bodies_of(again, queue_id=1) == bodies[1::2]
    assert again.report.read_from == 0


def test_b008_nothing_is_missing_if_all_queues_are_missing() -> None:
    disk, bodies = closed()
    for path in disk.paths(ROOT / "consumequeue"):
        disk.remove(path)

    assert_goes_on(disk, bodies)


UNIT = struct.Struct(">qiq")


@pytest.mark.parametrize(
    "content",
    [bytes(200), b"", bytes(130), b"\x7f" * 200, UNIT.pack(10**9, 100, 0) * 10, UNIT.pack(-5, 100, 0) * 10],
    ids=["zeros", "empty", "cut", "garbage", "beyond the log", "before the log"],
)
@pytest.mark.parametrize("is_killed", [True, False])
def test_b004_a_damaged_queue_is_built_anew(content: bytes, *, is_killed: bool) -> None:
    disk, bodies = killed(25) if is_killed else closed(25)
    disk.put(QUEUE / f"{200:020d}", content)
    disk.put(QUEUE / "notes.txt", b"foreign")
    disk.put(ROOT / "consumequeue" / "T" / "x" / "file", b"foreign")

    assert_goes_on(disk, bodies)

    assert disk.size(QUEUE / "notes.txt") == 7


def test_b004_a_queue_without_its_first_file_is_built_anew() -> None:
    disk, bodies = closed(25)
    disk.remove(QUEUE / f"{0:020d}")

    assert_goes_on(disk, bodies)


def test_b004_a_log_without_its_first_file_begins_later() -> None:
    disk, bodies = closed(100)
    disk.remove(FIRST_SEGMENT)
    gone = sum(place < SEGMENT_BYTES for place, _ in places_of_all(disk))

    store = opened(disk)

    assert store.start == SEGMENT_BYTES
    assert store.reader.min_offset("T", 0) == gone
    assert bodies_of(store) == bodies[gone:]


def test_b004_queues_of_a_log_without_its_first_file_are_built_with_their_numbers() -> None:
    disk, bodies = closed(100)
    disk.remove(FIRST_SEGMENT)
    gone = sum(place < SEGMENT_BYTES for place, _ in places_of_all(disk))
    for path in disk.paths(ROOT / "consumequeue"):
        disk.remove(path)

    store = opened(disk)

    assert store.reader.min_offset("T", 0) == gone
    assert store.reader.max_offset("T", 0) == 100
    assert bodies_of(store) == bodies[gone:]
    assert disk.content(QUEUE / f"{gone * 20 // 200 * 200:020d}")[:20] == UNIT.pack(0, 2**31 - 1, 0)


def test_b015_every_key_is_found_after_a_kill() -> None:
    disk, bodies = killed(100)
    assert len(disk.paths(ROOT / "index")) > 3

    store = opened(disk)

    for body in bodies:
        assert found_by_key(store, body.split(b".")[0]) == [body]


@pytest.mark.parametrize("which", [0, 2, -1])
@pytest.mark.parametrize("content", [None, bytes(100), b"\x7f" * (40 + 4 * 7 + 20 * 30)])
@pytest.mark.parametrize("is_killed", [True, False])
def test_b015_a_lost_or_damaged_index_is_built_anew(which: int, content: bytes | None, *, is_killed: bool) -> None:
    disk, bodies = killed(100) if is_killed else closed(100)
    path = disk.paths(ROOT / "index")[which]
    if content is None:
        for each in disk.paths(ROOT / "index")[which:]:
            disk.remove(each)
    else:
        disk.put(path, content)

    store = opened(disk)

    for body in bodies:
        assert body in found_by_key(store, body.split(b".")[0])


def test_b015_a_chain_that_turns_back_ends() -> None:
    disk = SimulatedDisk()
    store = opened(disk, index_slots=1)
    filled(store, 5)
    store.close()
    disk = disk.after_kill()
    data = disk.content(disk.paths(ROOT / "index")[0])
    for previous in (3, 9, 25, 2**31 - 1, -1):
        struct.pack_into(">i", data, 40 + 4 + 20 * 8 + 16, previous)

        again = opened(disk, index_slots=1)
        assert found_by_key(again, b"4") == [b"4.".ljust(20, b"x")]
        assert not found_by_key(again, b"no such key")
        again.close()


def test_a_topic_that_was_deleted_and_made_anew_is_numbered_from_0_after_a_rebuild() -> None:
    disk = SimulatedDisk()
    store = opened(disk)
    filled(store, 5)
    assert store.remove_topic("T") == 1
    assert store.reader.queues() == {}
    stored(store, message(b"a."), message(b"b."))
    assert bodies_of(store) == [b"a.", b"b."]

    for path in disk.paths(ROOT / "consumequeue"):
        disk.remove(path)
    again = opened(disk.after_kill())

    assert bodies_of(again) == [b"a.", b"b."]


def test_halves_and_rollbacks_are_in_no_queue() -> None:
    disk = SimulatedDisk()
    store = opened(disk)
    kinds = [TransactionType.PREPARED, TransactionType.ROLLBACK, TransactionType.COMMIT, TransactionType.NONE]
    positions = stored(store, *(message(b"%d." % kind, sys_flag=int(kind)) for kind in kinds))
    assert [position.queue_offset for position in positions] == [0, 0, 0, 1]

    for again in (store, opened(disk.after_kill())):
        assert bodies_of(again) == [b"8.", b"0."]
        assert again.reader.record_at(positions[0].commit_log_offset) is not None


def test_a_record_whose_topic_is_no_folder_name_stays_in_the_log() -> None:
    disk, bodies = killed(3, size=20)
    place, _ = places(disk)[1]
    at = place + 88 + 20 + 1
    assert disk.content(FIRST_SEGMENT)[at : at + 1] == b"T"
    disk.content(FIRST_SEGMENT)[at : at + 1] = b"/"

    store = opened(disk)

    assert store.report.misnumbered == [place]
    assert bodies_of(store) == [bodies[0], bodies[2]]
    assert disk.paths(Path("/store/consumequeue")) == disk.paths(QUEUE)


def test_a_store_with_other_sizes_is_refused_and_not_touched() -> None:
    disk, bodies = closed()
    before = {path: bytes(disk.content(path)) for path in disk.paths(ROOT)}

    with pytest.raises(StoreFormatError, match="4096 bytes, and the settings say 8192"):
        opened(disk, segment_bytes=8192)

    assert {path: bytes(disk.content(path)) for path in disk.paths(ROOT)} == before
    assert_goes_on(disk, bodies)


def test_a_log_with_a_gap_is_refused() -> None:
    disk, _ = closed(200)
    disk.remove(disk.paths(ROOT / "commitlog")[1])

    with pytest.raises(StoreFormatError, match="does not follow"):
        opened(disk)


def test_an_empty_last_file_was_being_made() -> None:
    disk, bodies = killed()
    disk.put(ROOT / "commitlog" / f"{SEGMENT_BYTES:020d}", b"")

    assert_goes_on(disk, bodies)


def test_queues_of_a_log_that_is_gone_are_removed() -> None:
    disk, _ = killed()
    for path in disk.paths(ROOT / "commitlog"):
        disk.remove(path)

    assert_goes_on(disk, [])


def test_a_log_that_is_all_garbage_is_empty() -> None:
    disk, _ = killed()
    disk.content(FIRST_SEGMENT)[:] = b"\x01" * SEGMENT_BYTES

    assert_goes_on(disk, [])


def test_what_was_cut_stays_cut_on_disk() -> None:
    """Else a record of before could turn up behind a new one that ends where it begins."""
    disk, bodies = killed(200)
    files = disk.paths(ROOT / "commitlog")
    place, _ = places_of_all(disk)[-3]
    for at, _ in places_of_all(disk)[-3:]:
        disk.content(files[at // SEGMENT_BYTES])[at % SEGMENT_BYTES + 88] ^= 1

    store = opened(disk)

    assert store.end == place
    assert not any(disk.content(files[place // SEGMENT_BYTES])[place % SEGMENT_BYTES :])
    assert not any(disk.paths(ROOT / "commitlog")[place // SEGMENT_BYTES + 1 :])
    assert bodies_of(store) == bodies[:-3]
    stored(store, message(bodies[-3], queue_id=1))
    assert bodies_of(opened(disk.after_kill())) == bodies[:-3]
