"""Long work, done in turns."""

import asyncio
import functools
import time

import pytest
from tests.support.builders import at_each_turn, eventually

from cosmodrome.transport.work_queue import LONGEST_TURN_S, SHARE, TURN_S, Urgency, Work, WorkQueue


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


def in_slices(name: str, count: int, done: list[str], later: Urgency | None = None) -> Work[str]:
    """Note each slice; after the first one the urgency may change."""
    for number in range(count):
        time.sleep(TURN_S)
        done.append(f"{name}{number}")
        yield later if number == 0 else None
    return name


async def test_slices_keep_their_place_but_let_more_urgent_work_in_between() -> None:
    work, done = WorkQueue(), list[str]()
    first = work.run_slices(in_slices("a", 3, done), Urgency.CHANGE)
    second = work.run_slices(in_slices("b", 2, done), Urgency.CHANGE)
    await at_each_turn(lambda: done)
    work.add(lambda: done.append("heartbeat"), Urgency.HEARTBEAT)

    assert (await first, await second) == ("a", "b")
    assert done == ["a0", "heartbeat", "a1", "a2", "b0", "b1"]
    assert len(work) == 0


async def test_work_may_become_less_urgent() -> None:
    work, done = WorkQueue(), list[str]()
    later = work.run_slices(in_slices("a", 2, done, Urgency.CHANGE), Urgency.HEARTBEAT)
    work.run_slices(in_slices("b", 1, done), Urgency.CHANGE)
    work.run_slices(in_slices("c", 1, done), Urgency.HEARTBEAT)

    await later

    assert done == ["a0", "c0", "b0", "a1"]


async def test_slices_that_raise_end_with_that() -> None:
    def failing() -> Work[None]:
        yield None
        raise ZeroDivisionError

    work = WorkQueue()
    with pytest.raises(ZeroDivisionError):
        await work.run_slices(failing(), Urgency.CHANGE)
    assert len(work) == 0


async def test_slices_are_given_up_in_the_middle_when_nobody_waits_any_more() -> None:
    work, done = WorkQueue(), list[str]()

    def careful() -> Work[None]:
        try:
            yield from in_slices("a", 5, done)
        finally:
            done.append("closed")

    waiting = asyncio.ensure_future(work.run_slices(careful(), Urgency.CHANGE))
    await at_each_turn(lambda: done)
    waiting.cancel()
    await eventually(lambda: not len(work), "the end")

    assert done[-1] == "closed"
    assert len(done) < 5


async def test_unwanted_work_is_cancelled_before_it_begins_and_when_its_urgency_changes() -> None:
    work, done, is_wanted = WorkQueue(), list[str](), [True]
    changing = work.run_slices(in_slices("a", 3, done, Urgency.LISTING), Urgency.CHANGE, lambda: is_wanted[0])
    going_on = work.run_slices(in_slices("b", 2, done), Urgency.CHANGE, lambda: is_wanted[0])
    await at_each_turn(lambda: "b0" in done)
    is_wanted[0] = False
    never = work.run(lambda: done.append("never"), Urgency.HEARTBEAT, lambda: is_wanted[0])
    assert await going_on == "b"
    for answer in (changing, never):
        with pytest.raises(asyncio.CancelledError):
            await answer

    assert done == ["a0", "b0", "b1"]


async def test_work_has_its_share_while_the_loop_has_much_else_to_do() -> None:
    """Else a flood of routes would leave a registration unanswered."""
    work, turns = WorkQueue(), 0
    pieces = 12
    others_s = LONGEST_TURN_S / SHARE
    done = list[str]()
    answer = asyncio.ensure_future(work.run_slices(in_slices("a", pieces, done), Urgency.CHANGE))
    while not answer.done():
        turns += 1
        time.sleep(others_s)  # noqa: ASYNC251 -- it is the loop that is busy
        await asyncio.sleep(0)

    assert turns < pieces * 3 / 4, "without it each piece would take a turn"
    assert TURN_S < LONGEST_TURN_S
