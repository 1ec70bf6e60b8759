"""Offsets in a file and at brokers."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import cast

import pytest

from cosmodrome.client.consumer.offset_store import LocalOffsets, RemoteOffsets
from cosmodrome.client.consumer.requests import ConsumerRequests
from cosmodrome.client.consumer.start_offset import NOT_STORED
from cosmodrome.client.message import MessageQueue
from cosmodrome.client.routes import TopicRoutes
from cosmodrome.errors import ConnectError, RefusedError

A, B = MessageQueue("T", "broker-a", 0), MessageQueue("T", "broker-b", 0)


async def reopened(folder: Path) -> LocalOffsets:
    store = LocalOffsets(folder, "DEFAULT", "G")
    await store.open()
    return store


async def test_what_is_saved_is_found_again_in_javas_form(tmp_path: Path) -> None:
    store = await reopened(tmp_path)
    assert await store.load(A, is_exact=False) == NOT_STORED

    await store.save({A: 5}, is_confirmed=True)
    await store.save({B: 7}, is_confirmed=True)

    again = await reopened(tmp_path)
    assert [await again.load(queue, is_exact=False) for queue in (A, B)] == [5, 7]
    assert again.path.read_bytes() == (
        b'{"offsetTable":{{"brokerName":"broker-a","queueId":0,"topic":"T"}:5,'
        b'{"brokerName":"broker-b","queueId":0,"topic":"T"}:7}}'
    )


async def test_c045_many_saves_at_once_leave_the_last(tmp_path: Path) -> None:
    store = await reopened(tmp_path)

    saves = [asyncio.create_task(store.save({A: number}, is_confirmed=False)) for number in range(1, 30)]
    await asyncio.gather(*saves)

    assert await (await reopened(tmp_path)).load(A, is_exact=False) == 29


async def test_what_did_not_change_is_not_written(tmp_path: Path) -> None:
    store = await reopened(tmp_path)
    await store.save({A: 1}, is_confirmed=False)
    store.path.unlink()

    await store.save({A: 1}, is_confirmed=False)

    assert not store.path.exists()


@pytest.mark.parametrize("group", ["%NS%G", "../../etc", "a/b", "..", ""])
def test_a_name_is_one_folder_below_the_root(tmp_path: Path, group: str) -> None:
    path = LocalOffsets(tmp_path, "DEFAULT", group).path

    assert path.parent.parent == tmp_path / "DEFAULT"
    assert path.resolve().is_relative_to(tmp_path.resolve())


class Requests:
    """Brokers that take offsets, refuse them, or are not there."""

    def __init__(self) -> None:
        self.tried: list[tuple[str, MessageQueue, int, bool]] = []
        self.failures: dict[str, Exception] = {}

    async def commit(self, address: str, queue: MessageQueue, offset: int, *, is_confirmed: bool) -> None:
        self.tried.append((address, queue, offset, is_confirmed))
        if address in self.failures:
            raise self.failures[address]

    async def committed_offset(self, address: str, queue: MessageQueue, *, set_zero: bool | None) -> int:
        return -1 if set_zero is False else 3


class Routes:
    def __init__(self, masters: Mapping[str, str]) -> None:
        self._masters = masters

    def master_address(self, broker_name: str) -> str | None:
        return self._masters.get(broker_name)

    def address_for_read(self, broker_name: str) -> str | None:
        return self._masters.get(broker_name)


def remote(requests: Requests, masters: Mapping[str, str]) -> RemoteOffsets:
    return RemoteOffsets(cast("ConsumerRequests", requests), cast("TopicRoutes", Routes(masters)))


async def test_a_broker_that_does_not_answer_is_tried_once_and_the_others_get_theirs() -> None:
    requests = Requests()
    requests.failures["a:1"] = ConnectError("a:1 is not there")
    store = remote(requests, {"broker-a": "a:1", "broker-b": "b:1"})
    more = MessageQueue("T", "broker-a", 1)

    await store.save({A: 1, more: 2, B: 3}, is_confirmed=True)

    assert requests.tried == [("a:1", A, 1, True), ("b:1", B, 3, True)]


async def test_a_refused_offset_does_not_stop_the_others(caplog: pytest.LogCaptureFixture) -> None:
    requests = Requests()
    requests.failures["a:1"] = RefusedError("a:1", 26, "Group G not exist!")
    store = remote(requests, {"broker-a": "a:1"})

    await store.save({A: 1, MessageQueue("T", "broker-a", 1): 2, B: 3}, is_confirmed=False)

    assert len(requests.tried) == 2
    assert "Group G not exist!" in caplog.text
    assert "no route to a master of broker broker-b" in caplog.text


async def test_loading_asks_exactly_when_told_to_and_needs_a_route() -> None:
    store = remote(Requests(), {"broker-a": "a:1"})

    assert [await store.load(A, is_exact=exact) for exact in (False, True)] == [3, NOT_STORED]
    with pytest.raises(ConnectError, match="broker-b"):
        await store.load(B, is_exact=False)
