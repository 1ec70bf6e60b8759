"""How much may wait for answers."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from cosmodrome.client.producer.deadlines import Deadlines
from cosmodrome.client.producer.pending import Pending
from cosmodrome.errors import ClientClosedError, PendingLimitError

SOON = 0.05
LATER = 60.0


@pytest.fixture
async def deadlines() -> AsyncIterator[Deadlines]:
    one = Deadlines()
    yield one
    one.close()


def now() -> float:
    return asyncio.get_running_loop().time()


async def test_counts_and_bytes_have_limits(deadlines: Deadlines) -> None:
    by_count, by_bytes = Pending(2, 1000, deadlines, waits=True), Pending(99, 10, deadlines, waits=True)
    assert [by_count.enter(1) for _ in range(3)] == [True, True, False]
    assert [by_bytes.enter(4) for _ in range(3)] == [True, True, False]
    assert by_bytes.enter(2)
    assert (by_bytes.count, by_bytes.bytes) == (3, 10)


async def test_one_that_is_larger_than_all_room_enters_alone(deadlines: Deadlines) -> None:
    pending = Pending(9, 10, deadlines, waits=True)
    assert pending.enter(100)
    assert not pending.enter(1)
    pending.leave(100)
    assert pending.enter(1)


async def test_who_waits_enters_in_order(deadlines: Deadlines) -> None:
    pending = Pending(1, 100, deadlines, waits=True)
    assert pending.enter(1)
    rooms = [pending.room(size, now() + LATER) for size in (5, 6, 7)]
    assert not pending.enter(1), "those that wait go first"
    for number, size in enumerate((1, 5, 6)):
        assert [room.done() for room in rooms] == [at < number for at in range(3)]
        pending.leave(size)
    assert (pending.count, pending.bytes) == (1, 7)


async def test_who_waits_too_long_is_told_and_does_not_stand_in_the_way(deadlines: Deadlines) -> None:
    pending = Pending(1, 100, deadlines, waits=True)
    assert pending.enter(1)
    late, patient = pending.room(5, now() + SOON), pending.room(6, now() + LATER)
    with pytest.raises(PendingLimitError, match="1 sends with 1 bytes wait for answers, and no room came in time"):
        await late
    pending.leave(1)
    await patient
    assert (pending.count, pending.bytes) == (1, 6)


async def test_who_is_cancelled_does_not_stand_in_the_way(deadlines: Deadlines) -> None:
    pending = Pending(1, 100, deadlines, waits=True)
    assert pending.enter(1)
    first, second = pending.room(5, now() + LATER), pending.room(6, now() + LATER)
    first.cancel()
    pending.gave_up(first, 5)
    pending.leave(1)
    assert second.done()
    pending.gave_up(second, 6)  # cancelled in the turn in which it was let in
    assert (pending.count, pending.bytes) == (0, 0)


async def test_nobody_waits_if_that_is_set(deadlines: Deadlines) -> None:
    pending = Pending(1, 100, deadlines, waits=False)
    assert pending.enter(1)
    with pytest.raises(PendingLimitError, match="more do not wait"):
        pending.room(1, now() + LATER)


async def test_closing_ends_those_that_wait_and_waits_for_the_open_ones(deadlines: Deadlines) -> None:
    pending = Pending(1, 100, deadlines, waits=True)
    assert pending.enter(1)
    room = pending.room(5, now() + LATER)
    assert not await pending.wait_idle(SOON)
    with pytest.raises(ClientClosedError):
        await room
    assert not pending.enter(1)
    with pytest.raises(ClientClosedError):
        pending.room(1, now() + LATER)
    asyncio.get_running_loop().call_soon(pending.leave, 1)
    assert await pending.wait_idle(LATER)
    assert await pending.wait_idle(LATER)


async def test_who_gave_up_is_forgotten_wherever_he_stood(deadlines: Deadlines) -> None:
    """Behind one that waits for long, thousands may come and give up."""
    pending = Pending(1, 100, deadlines, waits=True)
    assert pending.enter(1)
    patient = pending.room(5, now() + LATER)
    for number in range(100):
        room = pending.room(6, now() + LATER)
        if number % 2:
            room.cancel()
        else:
            room.set_exception(PendingLimitError("late"))
        pending.gave_up(room, 6)
        if not room.cancelled():
            assert isinstance(room.exception(), PendingLimitError)
    assert len(pending._waiting) == 1
    pending.leave(1)
    await patient
    assert (pending.count, pending.bytes) == (1, 5)
