"""Long work, done in turns."""

import asyncio
import functools
import time

import pytest
from tests.support.builders import eventually

from cosmodrome.transport.work_queue import TURN_S, Urgency, WorkQueue


async def test_a_result_or_an_error_is_given() -> None:
    work = WorkQueue()

    assert await work.run(lambda: 7, Urgency.LISTING) == 7
    with pytest.raises(ZeroDivisionError):
        await work.run(lambda: 1 // 0, Urgency.CHANGE)
    assert len(work) == 0


async def test_changes_come_before_listings_and_each_in_order_of_arrival() -> None:
    work, done = WorkQueue(), list[str]()
    for name in ("listing 1", "change 1", "listing 2", "change 2"):
        urgency = Urgency.CHANGE if name.startswith("change") else Urgency.LISTING
        work.add(functools.partial(done.append, name), urgency)
    assert len(work) == 4
    assert done == []

    await eventually(lambda: len(done) == 4, "all of it")

    assert done == ["change 1", "change 2", "listing 1", "listing 2"]


async def test_the_loop_turns_in_between() -> None:
    """However much there is to do, others are served meanwhile."""
    work, done, turns = WorkQueue(), list[int](), 0
    pieces = 20

    def long(number: int) -> None:
        time.sleep(TURN_S)
        done.append(number)

    for number in range(pieces):
        work.add(functools.partial(long, number), Urgency.CHANGE)
    while len(done) < pieces:
        turns += 1
        await asyncio.sleep(0)

    assert turns >= pieces / 2
    assert done == list(range(pieces))


async def test_work_that_nobody_waits_for_any_more_is_not_done() -> None:
    work, done = WorkQueue(), list[int]()
    waiting = asyncio.ensure_future(work.run(lambda: done.append(1), Urgency.LISTING))
    waiting.cancel()
    await work.run(lambda: None, Urgency.LISTING)

    assert done == []


async def test_work_may_add_work() -> None:
    work, done = WorkQueue(), list[str]()
    work.add(lambda: work.add(lambda: done.append("second"), Urgency.CHANGE), Urgency.LISTING)

    await eventually(lambda: done, "the second")
