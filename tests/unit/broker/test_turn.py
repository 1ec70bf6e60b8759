"""What is answered when: never before the bytes are where the flush mode promises them, and never after a failure."""

import asyncio
import errno
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.simulated_disk import SimulatedDisk
from tests.support.small_store import NOW_MS, bodies_of, message, opened

from cosmodrome.broker.clock import Clock
from cosmodrome.broker.delays import Delays
from cosmodrome.broker.delivery import DelayedDelivery
from cosmodrome.broker.messages import delayed
from cosmodrome.broker.syncing import Syncing
from cosmodrome.broker.turn import Stored, Turn
from cosmodrome.errors import MessageError, StoreUnavailableError
from cosmodrome.store.message_store import MessageStore


class Turns:
    """A turn by hand: `end` is what the loop would call."""

    def __init__(self, store: MessageStore) -> None:
        self.calls: list[Callable[[], None]] = []
        self.now_ms = 0
        self.turn = Turn(store, self.calls.append, lambda: self.now_ms)
        self.told: list[tuple[str, Stored]] = []

    def put(self, name: str, disk_timeout_ms: int | None = None) -> None:
        settle = lambda stored: self.told.append((name, stored))  # noqa: E731 -- bound to the name
        self.turn.put(message(name.encode()), NOW_MS, settle, disk_timeout_ms)

    def end(self) -> None:
        calls, self.calls[:] = list(self.calls), []
        for call in calls:
            call()


def failing(kind: str, folder: str, error: int = errno.EIO) -> Callable[[str, Path], int | None]:
    return lambda each, path: error if each == kind and folder in path.parts else None


@pytest.fixture
def disk() -> SimulatedDisk:
    return SimulatedDisk()


@pytest.fixture
def store(disk: SimulatedDisk) -> MessageStore:
    return opened(disk)


@pytest.fixture
def turns(store: MessageStore) -> Turns:
    return Turns(store)


def test_one_write_for_all_and_no_answer_before_it(turns: Turns, store: MessageStore, disk: SimulatedDisk) -> None:
    touched: list[set[tuple[str, int]]] = []
    turns.turn.on_written = touched.append
    for number in range(5):
        turns.put(f"{number}.")
    written: list[str] = []
    disk.fails = lambda kind, path: written.append(path.parts[2]) if kind == "write" else None
    assert (turns.told, len(turns.calls)) == ([], 1)
    turns.end()
    assert turns.told == [(f"{number}.", Stored.SAFE) for number in range(5)]
    assert touched == [{("T", 0)}]
    assert written.count("commitlog") == written.count("consumequeue") == 1
    assert len(bodies_of(store)) == 5


def test_a_message_that_cannot_be_stored_concerns_no_other(turns: Turns) -> None:
    turns.put("good")
    with pytest.raises(MessageError):
        turns.turn.put(message(b"x" * 5000), NOW_MS)
    turns.end()
    assert turns.told == [("good", Stored.SAFE)]


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO])
def test_b009_after_a_failed_write_nobody_is_told_that_it_is_stored(
    turns: Turns, disk: SimulatedDisk, store: MessageStore, error: int
) -> None:
    disk.fails = failing("write", "commitlog", error)
    turns.put("lost")
    turns.end()
    assert turns.told == [("lost", Stored.FAILED)]
    with pytest.raises(StoreUnavailableError):
        turns.put("refused")
    disk.fails = lambda _, __: None
    store.resume()
    turns.put("later")
    turns.end()
    assert turns.told[1:] == [("later", Stored.SAFE)]
    assert bodies_of(store) == [b"later"]


def test_under_sync_flush_the_answer_waits_for_the_sync(turns: Turns, store: MessageStore) -> None:
    wanted: list[bool] = []
    turns.turn.on_sync_wanted = lambda: wanted.append(True)
    turns.put("waits", 5000)
    turns.put("does not")
    turns.end()
    assert (turns.told, wanted) == ([("does not", Stored.SAFE)], [True])
    job = store.begin_sync()
    job.run()
    turns.put("gathers meanwhile", 5000)
    turns.end()
    store.end_sync(job)
    turns.turn.synced()
    assert turns.told[1:] == [("waits", Stored.SAFE)]
    assert wanted == [True, True], "the next sync is wanted for what gathered meanwhile"
    store.sync()
    turns.turn.synced()
    assert turns.told[2:] == [("gathers meanwhile", Stored.SAFE)]


def test_under_sync_flush_readers_are_told_after_the_sync(disk: SimulatedDisk) -> None:
    store = opened(disk, is_read_after_sync=True)
    turns = Turns(store)
    readable: list[set[tuple[str, int]]] = []
    wanted: list[bool] = []
    turns.turn.on_written = readable.append
    turns.turn.on_sync_wanted = lambda: wanted.append(True)
    turns.put("does not wait")
    turns.end()
    assert (turns.told, readable, bodies_of(store)) == ([("does not wait", Stored.SAFE)], [], [])
    assert wanted == [True], "also a message for which nobody waits has to become readable"
    job = store.begin_sync()
    job.run()
    turns.put("meanwhile")
    turns.end()
    store.end_sync(job)
    turns.turn.synced()
    assert (readable, bodies_of(store), wanted) == ([{("T", 0)}], [b"does not wait"], [True, True])


async def test_under_sync_flush_what_nobody_waits_for_is_synced_and_read(disk: SimulatedDisk) -> None:
    store = opened(disk, is_read_after_sync=True)
    loop = asyncio.get_running_loop()
    turn = Turn(store, loop.call_soon, lambda: 0)
    syncing = Syncing(store, turn)
    syncing.start()
    readable: asyncio.Future[set[tuple[str, int]]] = loop.create_future()
    turn.on_written = readable.set_result
    turn.put(message(b"0."), NOW_MS)
    async with asyncio.timeout(10):
        assert await readable == {("T", 0)}
    assert bodies_of(store) == [b"0."]
    await syncing.stop()


def test_one_that_waits_too_long_is_told_so_and_its_message_stays(turns: Turns, store: MessageStore) -> None:
    turns.put("slow", 100)
    turns.end()
    turns.now_ms = 99
    turns.turn.overdue()
    assert turns.told == []
    turns.now_ms = 100
    turns.turn.overdue()
    store.sync()
    turns.turn.synced()
    assert turns.told == [("slow", Stored.DISK_TIMEOUT)]
    assert bodies_of(store) == [b"slow"]


async def test_b009_after_a_failed_sync_nobody_is_told_that_it_is_stored(
    disk: SimulatedDisk, store: MessageStore
) -> None:
    loop = asyncio.get_running_loop()
    turn = Turn(store, loop.call_soon, lambda: 0)
    syncing = Syncing(store, turn)
    syncing.start()
    disk.fails = failing("sync", "commitlog")
    told: asyncio.Future[Stored] = loop.create_future()
    turn.put(message(), NOW_MS, told.set_result, 5000)
    assert await told is Stored.FAILED
    with pytest.raises(StoreUnavailableError):
        turn.put(message(), NOW_MS)
    disk.fails = lambda _, __: None
    again: asyncio.Future[Stored] = loop.create_future()
    async with asyncio.timeout(10):
        while True:
            try:
                turn.put(message(), NOW_MS, again.set_result, 5000)
                break
            except StoreUnavailableError:
                await asyncio.sleep(0.05)
        assert await again is Stored.SAFE
    assert store.synced_to == store.end
    await syncing.stop()


async def test_syncs_gather(store: MessageStore) -> None:
    loop = asyncio.get_running_loop()
    turn = Turn(store, loop.call_soon, lambda: 0)
    syncing = Syncing(store, turn)
    syncing.start()
    told = [loop.create_future() for _ in range(20)]
    for each in told:
        turn.put(message(), NOW_MS, each.set_result, 5000)
        await asyncio.sleep(0)
    assert await asyncio.gather(*told) == [Stored.SAFE] * 20
    await syncing.stop()


def test_b026_only_a_delivery_that_failed_is_tried_again(disk: SimulatedDisk, store: MessageStore) -> None:
    turns = Turns(store)
    clock = Clock(lambda: NOW_MS + 10_000, lambda: 0)
    delays = Delays((1000,), NOW_MS)
    delivery = DelayedDelivery(delays, store.reader, turns.turn, clock)
    for number in range(9):
        turns.turn.put(delayed(message(b"%d." % number)._replace(properties=b"DELAY\x011\x02"), 1, 1), NOW_MS)
    turns.end()
    again: list[bool] = []
    delivery.on_put_back = lambda: again.append(True)
    delivery.run()
    disk.fails = failing("write", "commitlog")
    turns.end()
    assert bodies_of(store) == []
    assert len(again) == 9
    disk.fails = lambda _, __: None
    store.resume()
    for _ in range(3):
        delivery.run()
        turns.end()
    assert bodies_of(store) == [b"%d." % number for number in range(9)]
    assert delays.offsets() == {1: 9}
