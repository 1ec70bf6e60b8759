"""A broker's life: start, registration, connections, stop."""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.broker_calls import Caller, send_fields

from cosmodrome import Broker, NameServer
from cosmodrome.client.name_server import NameServerClient
from cosmodrome.errors import BindError, ConfigError, NotFoundError, StoreInUseError
from cosmodrome.protocol.bodies.route import TopicRouteData
from cosmodrome.protocol.command import request
from cosmodrome.transport.client import RemotingClient

WITHIN_S = 20.0


async def route(name_server: str, topic: str) -> TopicRouteData | None:
    client = RemotingClient()
    try:
        return await NameServerClient(client, name_server, 5).topic_route(topic)
    except NotFoundError:
        return None
    finally:
        await client.close()


async def eventually(claim: Callable[[], Awaitable[object]]) -> None:
    """Wait until a claim is true."""
    async with asyncio.timeout(WITHIN_S):
        while True:
            if await claim():
                return
            await asyncio.sleep(0.02)


async def wait_for_route(name_server: str, topic: str) -> None:
    await eventually(lambda: route(name_server, topic))


async def test_its_topics_are_known_when_it_has_started_and_not_when_it_has_stopped() -> None:
    async with NameServer(port=0) as name_server:
        async with Broker(namesrv=name_server.address) as broker:
            found = await route(name_server.address, "TBW102")
            assert found is not None
            assert found.broker_datas[0].broker_addrs == {0: broker.address}
        assert await route(name_server.address, "TBW102") is None


async def test_a_new_topic_is_known_at_once() -> None:
    async with (
        NameServer(port=0) as name_server,
        Broker(namesrv=name_server.address) as broker,
        Caller(broker.address) as caller,
    ):
        await caller.send("T")
        await wait_for_route(name_server.address, "T")
        await caller.heartbeat("g")
        await wait_for_route(name_server.address, "%RETRY%g")


async def test_every_name_server_is_told_and_one_that_is_away_holds_up_nobody() -> None:
    async with NameServer(port=0) as one, NameServer(port=0) as other:
        away = "127.0.0.1:1"
        async with Broker(namesrv=f"{one.address};{away};{other.address}"):
            for address in (one.address, other.address):
                assert await route(address, "TBW102") is not None


async def test_a_name_server_that_comes_back_is_told_again() -> None:
    first = NameServer(port=0)
    await first.start()
    address = first.address
    async with Broker(namesrv=address) as broker, Caller(broker.address) as caller:
        await caller.send("T")
        await first.stop()
        async with NameServer(port=int(address.rpartition(":")[2])):
            await wait_for_route(address, "T")


async def test_everything_is_there_after_a_restart(tmp_path: Path) -> None:
    queue = {"consumerGroup": "g", "topic": "T", "queueId": "1"}
    async with Broker(store=tmp_path) as broker, Caller(broker.address) as caller:
        await caller.send("T", b"kept", 1, KEYS="k")
        await caller.heartbeat("g")
        await caller.ok(15, queue | {"commitOffset": "1"})
    async with Broker(store=tmp_path) as broker, Caller(broker.address) as caller:
        assert (await caller.ok(14, queue)).ext_fields == {"offset": "1"}
        assert [each.body for each in await caller.messages("T", 1)] == [b"kept"]
        query = {"topic": "T", "key": "k", "maxNum": "9", "beginTimestamp": "0", "endTimestamp": str(2**62)}
        assert b"kept" in (await caller.ok(12, query)).body
        assert (await caller.send("T", queue_id=1)).ext_fields is not None
        assert len(await caller.messages("T", 1)) == 2


def names_in(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


async def test_a_temporary_store_goes_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    async with Broker():
        assert len(names_in(tmp_path)) == 1
    assert names_in(tmp_path) == []


async def test_two_brokers_do_not_share_a_store(tmp_path: Path) -> None:
    async with Broker(store=tmp_path):
        with pytest.raises(StoreInUseError):
            await Broker(store=tmp_path).start()


async def test_a_taken_port(tmp_path: Path) -> None:
    async with Broker() as broker:
        second = Broker(port=int(broker.address.rpartition(":")[2]), store=tmp_path / "s")
        with pytest.raises(BindError):
            await second.start()
    assert names_in(tmp_path) == []


def test_a_wrong_setting_is_refused_before_anything_is_done() -> None:
    with pytest.raises(ConfigError, match="flushDiskType"):
        Broker(flush_disk_type="SOMETIMES")


@pytest.mark.parametrize("settings", [{"flush": "SYNC_FLUSH"}, {"brokerName": "b"}])
def test_b013_an_unknown_setting_is_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(settings))):
        Broker(**settings)


async def test_one_broker_is_started_once() -> None:
    async with Broker() as broker:
        with pytest.raises(RuntimeError):
            await broker.start()


async def test_a_start_that_is_cancelled_leaves_nothing(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = ":".join(map(str, silent.getsockname()))
        starting = asyncio.create_task(Broker(store=tmp_path, namesrv=address).start())
        await eventually(lambda: asyncio.to_thread((tmp_path / "lock").exists))
        starting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await starting
    async with Broker(store=tmp_path) as broker:
        assert broker.address


async def test_stopping_answers_who_waits() -> None:
    broker = Broker()
    await broker.start()
    async with Caller(broker.address) as caller:
        await caller.send("T")
        held = asyncio.create_task(caller.pull("T", 1, sysFlag="6"))
        await caller.ok(30, {"topic": "T", "queueId": "0"})  # the pull was read before
        await broker.stop()
        assert (await held).code == 19
    await broker.stop()


@pytest.mark.parametrize("mode", ["ASYNC_FLUSH", "SYNC_FLUSH"])
async def test_both_flush_modes_answer_each_message_once(mode: str) -> None:
    async with Broker(flush_disk_type=mode) as broker, Caller(broker.address) as caller:
        answers = await asyncio.gather(*(caller.send("T", b"%d" % number) for number in range(200)))
        assert {each.code for each in answers} == {0}
        assert len({(each.ext_fields or {})["queueOffset"] for each in answers}) == 200
        assert [each.body for each in await caller.messages("T")] == [b"%d" % number for number in range(200)]


async def test_a_oneway_send_is_stored_and_not_answered() -> None:
    client = RemotingClient()
    async with Broker() as broker, Caller(broker.address) as caller:
        await client.send_oneway(broker.address, request(310, send_fields("T"), b"quiet", is_oneway=True), 5)
        await eventually(lambda: caller.messages("T"))
        await client.close()


async def test_members_are_told_of_a_connection_that_ends() -> None:
    async with Broker() as broker, Caller(broker.address) as stays:
        async with Caller(broker.address) as goes:
            await stays.heartbeat("g", client_id="stays")
            await goes.heartbeat("g", client_id="goes")
            await stays.next_heard(40, 2)
        await stays.next_heard(40, 3)
        answer = await stays.ok(38, {"consumerGroup": "g"})
    assert answer.body == b'{"consumerIdList":["stays"]}'


async def is_refused(caller: Caller) -> bool:
    return (await caller.send("T")).code != 0


async def test_a_full_disk_refuses_sends_and_nothing_else() -> None:
    async with (
        Broker(
            disk_max_used_space_ratio=1, disk_space_clean_forcibly_ratio=1, disk_space_warning_level_ratio=1
        ) as broker,
        Caller(broker.address) as caller,
    ):
        await eventually(lambda: is_refused(caller))
        answer = await caller.send("T")
        assert answer.code == 14
        assert (answer.remark or "").startswith("service not available now.")
        assert "disk is full" in (answer.remark or "")
        await caller.heartbeat("g")
        assert (await caller.pull("T")).code in (0, 19)
