"""Under SYNC_FLUSH nobody reads what a power cut could take back."""

import errno

import pytest
from tests.support.simulated_disk import SimulatedDisk
from tests.support.small_store import NOW_MS, bodies_of, message, opened, stored

from cosmodrome.errors import StoreUnavailableError
from cosmodrome.store.message_store import MessageStore
from cosmodrome.store.reading import ReadLimits, ReadStatus


@pytest.fixture
def disk() -> SimulatedDisk:
    return SimulatedDisk()


@pytest.fixture
def store(disk: SimulatedDisk) -> MessageStore:
    return opened(disk, is_read_after_sync=True)


def status(store: MessageStore, offset: int) -> ReadStatus:
    return store.reader.read(("T", 0), offset, ReadLimits()).status


def test_what_is_written_is_read_when_it_is_synced(store: MessageStore) -> None:
    stored(store, message(b"0."), message(b"1."))
    assert (store.reader.max_offset("T", 0), bodies_of(store)) == (0, [])
    assert (status(store, 0), store.reader.unit("T", 0, 0)) == (ReadStatus.NO_MESSAGE_IN_QUEUE, None)
    assert (store.take_readable(), store.is_holding_back) == (set(), True)
    store.sync()
    assert (store.reader.max_offset("T", 0), bodies_of(store)) == (2, [b"0.", b"1."])
    assert (store.take_readable(), store.is_holding_back) == ({("T", 0)}, False)
    assert store.take_readable() == set()


def test_what_came_during_a_sync_waits_for_the_next(store: MessageStore) -> None:
    stored(store, message(b"0."))
    job = store.begin_sync()
    job.run()
    stored(store, message(b"1."), message(b"other", "U"))
    store.end_sync(job)
    assert (bodies_of(store), store.take_readable(), store.is_holding_back) == ([b"0."], {("T", 0)}, True)
    assert status(store, 1) is ReadStatus.OFFSET_OVERFLOW_ONE
    assert status(store, 2) is ReadStatus.OFFSET_OVERFLOW_BADLY
    store.sync()
    assert (bodies_of(store), store.take_readable()) == ([b"0.", b"1."], {("T", 0), ("U", 0)})


def test_a_checkpoint_makes_readable_too(store: MessageStore) -> None:
    stored(store, message(b"0."))
    store.checkpoint()
    assert (bodies_of(store), store.take_readable()) == ([b"0."], {("T", 0)})


def test_after_a_failed_sync_it_is_read_when_the_store_is_in_order_again(
    store: MessageStore, disk: SimulatedDisk
) -> None:
    stored(store, message(b"0."))
    disk.fails = lambda kind, path: errno.EIO if kind == "sync" and "commitlog" in path.parts else None
    with pytest.raises(StoreUnavailableError):
        store.sync()
    assert bodies_of(store) == []
    disk.fails = lambda _, __: None
    store.resume()
    assert (bodies_of(store), store.take_readable()) == ([b"0."], {("T", 0)})


def test_queues_that_go_and_come_again_are_not_held(store: MessageStore) -> None:
    stored(store, message(b"0."))
    store.remove_topic("T")
    stored(store, message(b"1."))
    assert bodies_of(store) == []
    store.sync()
    assert bodies_of(store) == [b"1."]


def test_with_async_flush_it_is_read_at_once(disk: SimulatedDisk) -> None:
    store = opened(disk)
    stored(store, message(b"0."), now_ms=NOW_MS)
    assert (bodies_of(store), store.take_readable(), store.is_holding_back) == ([b"0."], {("T", 0)}, False)
