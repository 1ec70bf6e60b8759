"""The client's limit is for all queues, and they are let in one after the other."""

import asyncio

from cosmodrome.client.consumer.process_queue import Total
from cosmodrome.client.consumer.room import SharedRoom


async def in_line(room: SharedRoom, name: str, order: list[str]) -> bool:
    is_let_in = await room.enter()
    order.append(name)
    return is_let_in


async def test_everybody_may_pull_while_there_is_room() -> None:
    room = SharedRoom(Total(10))

    assert [await room.enter() for _ in range(3)] == [False, False, False]


async def test_c056_when_there_was_none_they_are_let_in_in_order() -> None:
    total = Total(10)
    room = SharedRoom(total)
    total.size_bytes = 10
    order: list[str] = []
    tasks = [asyncio.create_task(in_line(room, name, order)) for name in "abc"]
    await asyncio.sleep(0)
    assert order == []

    total.size_bytes = 4
    room.freed()
    await asyncio.sleep(0)
    assert order == ["a"]
    room.pass_on()
    await asyncio.sleep(0)
    assert order == ["a", "b"]
    room.pass_on()

    assert [await task for task in tasks] == [True, True, True]


async def test_a_place_in_the_line_that_is_given_up_goes_to_the_next() -> None:
    total = Total(10)
    room = SharedRoom(total)
    total.size_bytes = 10
    order: list[str] = []
    first, second = (asyncio.create_task(in_line(room, name, order)) for name in "ab")
    await asyncio.sleep(0)
    total.size_bytes = 0
    room.freed()

    first.cancel()

    assert await second
    assert order == ["b"]


async def test_nobody_is_let_in_while_the_one_before_makes_it_full_again() -> None:
    total = Total(10)
    room = SharedRoom(total)
    total.size_bytes = 10
    order: list[str] = []
    tasks = [asyncio.create_task(in_line(room, name, order)) for name in "ab"]
    await asyncio.sleep(0)
    total.size_bytes = 0
    room.freed()
    await tasks[0]
    total.size_bytes = 10
    room.pass_on()
    await asyncio.sleep(0)
    assert order == ["a"]

    total.size_bytes = 0
    room.freed()

    assert await tasks[1]
