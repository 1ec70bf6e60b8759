"""A slave's store holds its master's bytes and builds the rest by itself."""

import pytest
from tests.support.simulated_disk import SimulatedDisk
from tests.support.small_store import ROOT, SEGMENT_BYTES, bodies_of, filled, found_by_key, opened

from cosmodrome.errors import StoreFormatError
from cosmodrome.store.message_store import MessageStore


def copied(master: MessageStore, slave: MessageStore, piece_bytes: int, start: int = 0) -> None:
    place = slave.end or start
    while (piece := master.reader.bytes_from(place, piece_bytes)) is not None:
        slave.append_raw(place, bytes(piece))
        place += len(piece)
        assert slave.end == place


@pytest.mark.parametrize("piece_bytes", [1, 7, 100, 4095, 1 << 20])
def test_records_are_found_however_the_bytes_are_cut(piece_bytes: int) -> None:
    disks = SimulatedDisk(), SimulatedDisk()
    master, slave = map(opened, disks)
    bodies = filled(master, 100, queues=2)

    copied(master, slave, piece_bytes)

    for queue_id in (0, 1):
        assert bodies_of(slave, queue_id=queue_id) == bodies[queue_id::2]
    assert slave.last_store_ms == master.last_store_ms
    slave.checkpoint()
    for folder in ("commitlog", "consumequeue"):
        contents = [[bytes(disk.content(path)) for path in disk.paths(ROOT / folder)] for disk in disks]
        assert contents[0] == contents[1]
    for body in bodies:
        assert found_by_key(slave, body.split(b".")[0]) == [body]


def test_a_slave_goes_on_after_a_crash_and_drops_half_a_record() -> None:
    master, disk = opened(SimulatedDisk()), SimulatedDisk()
    slave = opened(disk)
    bodies = filled(master, 20)
    copied(master, slave, 100)
    bodies += filled(master, 20)
    place = slave.end
    half = master.reader.bytes_from(place, 50)
    assert half is not None
    slave.append_raw(place, bytes(half))

    again = opened(disk.after_kill())
    assert again.end == place
    copied(master, again, 333)

    assert bodies_of(again) == bodies


def test_an_empty_slave_begins_where_its_master_does() -> None:
    master, disk = opened(SimulatedDisk()), SimulatedDisk()
    slave = opened(disk)
    bodies = filled(master, 100)

    copied(master, slave, 1000, start=SEGMENT_BYTES)

    least = slave.reader.min_offset("T", 0)
    assert slave.start == SEGMENT_BYTES
    assert 0 < least < 100
    assert slave.reader.max_offset("T", 0) == 100
    assert bodies_of(slave) == bodies[least:]
    slave.close()
    again = opened(disk)
    assert again.reader.min_offset("T", 0) == least
    assert bodies_of(again) == bodies[least:]


def test_what_does_not_follow_is_refused() -> None:
    master, slave = opened(SimulatedDisk()), opened(SimulatedDisk())
    filled(master, 10)
    copied(master, slave, 1000)

    for place in (0, slave.end - 1, slave.end + 1):
        with pytest.raises(StoreFormatError, match="ends at"):
            slave.append_raw(place, b"x")
    with pytest.raises(StoreFormatError, match="no record"):
        slave.append_raw(slave.end, b"\x01" * 100)
