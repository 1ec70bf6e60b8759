"""Work that many wait for and that is done once."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from cosmodrome.client.producer.deadlines import Deadlines
from cosmodrome.client.producer.flights import Flights
from cosmodrome.errors import ConnectError


@pytest.fixture
async def flights() -> AsyncIterator[Flights]:
    deadlines = Deadlines()
    one = Flights(deadlines)
    yield one
    one.close()
    deadlines.close()


def later(seconds: float = 60) -> float:
    return asyncio.get_running_loop().time() + seconds


async def test_all_join_one_work(flights: Flights) -> None:
    begun = 0

    async def work() -> str:
        nonlocal begun
        begun += 1
        await asyncio.sleep(0)
        return "done"

    assert await asyncio.gather(*(flights.join("key", work, later()) for _ in range(10))) == ["done"] * 10
    assert begun == 1
    assert await flights.join("key", work, later()) == "done"
    assert begun == 2


async def test_all_get_what_it_raises(flights: Flights) -> None:
    async def work() -> str:
        raise KeyError("the work's")

    outcomes = await asyncio.gather(*(flights.join("key", work, later()) for _ in range(3)), return_exceptions=True)
    assert [type(each) for each in outcomes] == [KeyError] * 3


async def test_who_leaves_does_not_end_it(flights: Flights) -> None:
    go = asyncio.Event()

    async def work() -> str:
        await go.wait()
        return "done"

    impatient = asyncio.ensure_future(flights.join("key", work, later(0.01)))
    cancelled = asyncio.ensure_future(flights.join("key", work, later()))
    patient = asyncio.ensure_future(flights.join("key", work, later()))
    with pytest.raises(TimeoutError):
        await impatient
    cancelled.cancel()
    go.set()
    assert await patient == "done"
    with pytest.raises(asyncio.CancelledError):
        await cancelled


async def test_closing_ends_all(flights: Flights) -> None:
    async def work() -> None:
        await asyncio.Event().wait()

    joined = [asyncio.ensure_future(flights.join(key, work, later())) for key in ("a", "a", "b")]
    await asyncio.sleep(0)
    flights.close()
    outcomes = await asyncio.gather(*joined, return_exceptions=True)
    assert [type(each) for each in outcomes] == [ConnectError] * 3
    with pytest.raises(ConnectError):
        await flights.join("a", work, later())
