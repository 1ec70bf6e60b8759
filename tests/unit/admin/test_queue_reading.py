"""Reading all queues at once: what comes in which order, and what a broker's failure means."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, cast

import pytest

from cosmodrome.admin import queue_reading
from cosmodrome.admin.queue_reading import QueueReading
from cosmodrome.client.admin.admin import AdminClient
from cosmodrome.client.admin.pulls import Pulled, PullStatus, Wanted
from cosmodrome.client.message import MessageQueue, MessageView
from cosmodrome.errors import ConnectError, RefusedError

Answer = Callable[[int], Pulled]
ONE, TWO = MessageQueue("T", "b", 0), MessageQueue("T", "b", 1)


class View:
    """A message of which only its place is looked at."""

    def __init__(self, offset: int) -> None:
        self.queue_offset = offset


def found(*offsets: int) -> Pulled:
    views = tuple(cast("MessageView", View(offset)) for offset in offsets)
    return Pulled(
        status=PullStatus.FOUND, messages=views, next_offset=offsets[-1] + 1, min_offset=0, max_offset=offsets[-1] + 1
    )


class Broker:
    """Stands for `admin.messages`: gives each queue the next of its answers, then waits for ever."""

    def __init__(self, answers: Mapping[MessageQueue, list[Pulled | Exception]]) -> None:
        self.answers = {queue: list(each) for queue, each in answers.items()}
        self.asked: list[tuple[MessageQueue, int]] = []
        self.messages = self

    async def pull(self, queue: MessageQueue, offset: int, wanted: Wanted) -> Pulled:
        assert wanted.suspend_s == queue_reading.SUSPEND_S
        self.asked.append((queue, offset))
        left = self.answers[queue]
        if not left:
            await asyncio.Event().wait()
        answer = left.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def reader(broker: Broker, told: list[str]) -> QueueReading:
    return QueueReading(cast("AdminClient", broker), Wanted(suspend_s=queue_reading.SUSPEND_S), told.append)


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits before the next try."""
    monkeypatch.setattr(queue_reading, "_PAUSE_S", 0.0)
    monkeypatch.setattr(queue_reading, "_AFTER_FAILURE_S", 0.0)


async def offsets(reading: QueueReading, count: int) -> list[int]:
    async with asyncio.timeout(30):
        return [each.queue_offset for _ in range(count) for each in await reading.next()]


async def test_messages_of_a_queue_come_in_order_and_pulls_go_on_behind_them() -> None:
    broker = Broker({ONE: [found(3, 4), found(7)]})
    reading = reader(broker, [])
    async with reading.reading({ONE: 3}):
        assert await offsets(reading, 2) == [3, 4, 7]
    assert broker.asked[:2] == [(ONE, 3), (ONE, 5)]


async def test_a_queue_without_messages_does_not_hold_up_another() -> None:
    reading = reader(Broker({ONE: [], TWO: [found(0)]}), [])
    async with reading.reading({ONE: 0, TWO: 0}):
        assert await offsets(reading, 1) == [0]


@pytest.mark.parametrize("status", [PullStatus.OFFSET_ILLEGAL, PullStatus.NO_MATCHED_MSG])
async def test_reading_goes_where_the_broker_says(status: PullStatus) -> None:
    moved = Pulled(status=status, messages=(), next_offset=40, min_offset=40, max_offset=50)
    broker = Broker({ONE: [moved, found(40)]})
    reading = reader(broker, [])
    async with reading.reading({ONE: 3}):
        assert await offsets(reading, 1) == [40]
    assert broker.asked[:2] == [(ONE, 3), (ONE, 40)]


async def test_a_broker_that_fails_from_the_first_pull_on_is_an_error() -> None:
    reading = reader(Broker({ONE: [ConnectError("no way")]}), [])
    async with reading.reading({ONE: 0}):
        with pytest.raises(ConnectError, match="no way"):
            await offsets(reading, 1)


async def test_a_broker_that_fails_later_is_tried_again_and_named_once() -> None:
    told: list[str] = []
    failures: list[Any] = [ConnectError("gone"), ConnectError("gone")]
    reading = reader(Broker({ONE: [found(0), *failures, found(1), ConnectError("again"), found(2)]}), told)
    async with reading.reading({ONE: 0}):
        assert await offsets(reading, 3) == [0, 1, 2]
    assert told == ["b: gone; trying again", "b: again; trying again"]


async def test_a_refusal_is_an_error_whenever_it_comes() -> None:
    reading = reader(Broker({ONE: [found(0), RefusedError("b", 16, "no")]}), [])
    async with reading.reading({ONE: 0}):
        assert await offsets(reading, 1) == [0]
        with pytest.raises(RefusedError):
            await offsets(reading, 1)
