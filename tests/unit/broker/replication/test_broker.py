"""A broker that slaves may follow: its ports, what it answers about them, and when a send counts."""

import asyncio
import gc
import json
import socket
import struct
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.support.broker_calls import Caller
from tests.support.builders import eventually
from tests.support.slave_double import SlaveDouble

from cosmodrome import Broker, NameServer
from cosmodrome.broker import running
from cosmodrome.broker.config import BrokerConfig
from cosmodrome.errors import BindError, ConfigError
from cosmodrome.protocol.command import request
from cosmodrome.protocol.messages.batch import BatchEntry, encode_batch
from cosmodrome.transport.client import RemotingClient

NO_SLAVE, SLAVE_TIMEOUT = 11, 12
SYNC: dict[str, Any] = {"broker_role": "SYNC_MASTER", "slave_timeout": 20_000}


class Place:
    """A broker and a client of it."""

    def __init__(self, broker: Broker, caller: Caller, ha_port: int) -> None:
        self.broker = broker
        self.caller = caller
        self.ha_port = ha_port

    async def end(self) -> int:
        return int(json.loads((await self.caller.ok(28)).body)["table"]["commitLogMaxOffset"])

    async def status(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((await self.caller.ok(907)).body)
        return found

    async def slave(self, at: int | None = None) -> SlaveDouble:
        """Give a slave that has everything until now, and has said so twice."""
        end = await self.end()
        one = await SlaveDouble.connect(self.ha_port)
        one.report(end if at is None else at)
        found = await one.transfer()
        one.report(found.end)
        async with asyncio.timeout(20):
            while True:
                if any(each["slaveAckOffset"] == found.end for each in (await self.status())["haConnectionInfo"]):
                    return one
                await asyncio.sleep(0.01)


@asynccontextmanager
async def place(**settings: Any) -> AsyncIterator[Place]:
    async with Broker(**{"ha_listen_port": 0, **settings}) as broker, Caller(broker.address) as caller:
        address = ((await caller.ok(906)).ext_fields or {})["masterHaAddress"] or ""
        yield Place(broker, caller, int(address.rpartition(":")[2]))


def listening_ports() -> set[int]:
    """Give the ports on which this process listens; whoever has the others is not ours to say."""
    return {
        each.getsockname()[1]
        for each in gc.get_objects()
        if type(each) is socket.socket
        and each.fileno() != -1
        and each.family == socket.AF_INET
        and each.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
    }


async def test_without_slaves_wanted_no_port_is_open() -> None:
    before = listening_ports()
    async with Broker() as broker, Caller(broker.address) as caller:
        assert listening_ports() - before == {int(broker.address.rpartition(":")[2])}
        assert json.loads((await caller.ok(907)).body)["haConnectionInfo"] == []


async def test_a_port_that_is_taken_is_named() -> None:
    async with place() as one:
        port = int(one.broker.address.rpartition(":")[2]) + 20
        with pytest.raises(BindError) as error:
            await Broker(port=port, ha_listen_port=one.ha_port).start()
    assert "haListenPort" in (error.value.remedy or "")


def test_a_sync_master_without_a_port_for_slaves_is_refused() -> None:
    with pytest.raises(ConfigError) as error:
        BrokerConfig(broker_role="SYNC_MASTER", ha_listen_port=-1)
    assert "haListenPort" in error.value.keys


@pytest.mark.parametrize(
    ("role", "replicas", "used"),
    [("ASYNC_MASTER", 0, 1), ("SYNC_MASTER", 0, 2), ("SYNC_MASTER", 1, 1), ("SYNC_MASTER", 3, 3)],
)
def test_how_many_must_have_a_message(role: str, replicas: int, used: int) -> None:
    config = BrokerConfig.of_java({"brokerRole": role, "inSyncReplicas": str(replicas)})
    assert config.in_sync_replicas == used
    assert config.is_waiting_for_slaves is (used > 1)


async def test_slaves_learn_from_a_name_server_where_to_connect() -> None:
    async with NameServer(port=0) as name_server, place(namesrv=name_server.address, broker_ip2="127.0.0.9") as one:
        client = RemotingClient()
        fields: dict[str, str | None] = {
            "brokerName": "broker-a", "brokerAddr": "127.0.0.1:1", "clusterName": "DefaultCluster", "brokerId": "1",
            "haServerAddr": "127.0.0.1:2",
        }  # fmt: skip
        answer = await client.request(name_server.address, request(103, fields), 20)
        await client.close()
        address = one.broker.address
    assert answer.ext_fields == {"masterAddr": address, "haServerAddr": f"127.0.0.9:{one.ha_port}"}


@pytest.mark.parametrize("code", [21, 43, 45, 60, 61, 201, 402])
async def test_slaves_ask_on_the_fast_port_too(code: int) -> None:
    async with place() as one:
        host, _, port = one.broker.address.rpartition(":")
        async with Caller(f"{host}:{int(port) - 2}") as fast:
            found = [await each.ok(code) for each in (fast, one.caller)]
    assert found[0].ext_fields == found[1].ext_fields
    if code == 60:
        numbers = struct.unpack(">7q", found[0].body)
        assert numbers[0] > 0
        assert numbers[1:4] == (0, 0, 0)
    else:
        assert found[0].body == found[1].body


async def test_slaves_learn_how_far_timer_messages_are() -> None:
    """What is delivered is not delivered again by a slave that becomes the master."""
    async with place() as one:
        due_ms = time.time_ns() // 1_000_000 + 50
        await one.caller.send("T", b"timed", TIMER_DELIVER_MS=due_ms)
        await one.caller.until("T", 1)
        async with asyncio.timeout(20):
            while True:
                numbers = struct.unpack(">7q", (await one.caller.ok(60)).body)
                if numbers[2] == 1:
                    break
                await asyncio.sleep(0.05)
    read_ms, _, offset, of_master, _, _, version = numbers
    assert (offset, of_master) == (1, 1)
    assert read_ms >= due_ms // 1000 * 1000
    assert version > 0


async def test_slaves_get_no_pulled_offsets() -> None:
    """A 5.5.0 slave fails at them and copies none of the committed ones, seen with a real one."""
    async with place() as one:
        await one.caller.send("T")
        await one.caller.pull("T", sysFlag="5", commitOffset="1")
        table = (await one.caller.ok(43)).body
    assert b'"offsetTable":{"T@g":{0:1}}' in table
    assert b'"pullOffsetTable":{}' in table


async def test_status() -> None:
    async with place(ha_max_gap_not_in_sync=100) as one:
        await one.caller.send("T", b"first")
        slave = await one.slave(0)
        silent = await SlaveDouble.connect(one.ha_port)
        end = await one.end()
        status = await one.status()
        (found,) = status.pop("haConnectionInfo")
        assert status.pop("haClientRuntimeInfo")["maxOffset"] == 0
        assert status == {"inSyncSlaveNums": 1, "master": True, "masterCommitLogMaxOffset": end}
        assert found.pop("addr").startswith("127.0.0.1:")
        assert found.pop("transferredByteInSecond") >= 0
        assert found == {"diff": 0, "inSync": True, "slaveAckOffset": end, "transferFromWhere": end}
        await one.caller.send("T", b"x" * 100)
        (found,) = (await one.status())["haConnectionInfo"]
        assert (found["inSync"], found["slaveAckOffset"], found["transferFromWhere"]) == (False, end, await one.end())
        assert found["diff"] == await one.end() - end
        for each in (slave, silent):
            each.close()


async def test_a_send_is_answered_when_a_slave_has_it() -> None:
    async with place(**SYNC) as one:
        assert (await one.caller.send("T")).code == NO_SLAVE
        slave = await one.slave()
        entries = [BatchEntry(b"%d" % number, b"", 0) for number in range(3)]
        sends = [
            asyncio.create_task(one.caller.send("T", b"alone")),
            asyncio.create_task(one.caller.send("T", encode_batch(entries), m="true")),
        ]
        found = await slave.transfer()
        await one.caller.ok(30, {"topic": "T", "queueId": "0"})
        assert not any(each.done() for each in sends), "it is stored and sent, and nobody has it for sure"
        slave.report(found.end)
        if found.end < await one.end():
            slave.report((await slave.transfer()).end)
        answers = [await each for each in sends]
        assert [each.code for each in answers] == [0, 0]
        assert all((each.ext_fields or {})["queueOffset"] for each in answers)
        slave.close()


async def test_a_send_that_does_not_want_to_wait_does_not() -> None:
    async with place(**SYNC) as one:
        assert (await one.caller.send("T", WAIT="false")).code == 0


async def test_a_slave_that_says_nothing() -> None:
    async with place(**{**SYNC, "slave_timeout": 100}) as one:
        await one.caller.send("T")
        slave = await one.slave()
        answer = await one.caller.send("T", b"late")
        assert (answer.code, answer.remark) == (SLAVE_TIMEOUT, None)
        assert (answer.ext_fields or {})["queueOffset"] == "1"
        assert [each.body for each in await one.caller.messages("T")][1:] == [b"late"]
        slave.close()


async def test_a_slave_that_is_far_behind() -> None:
    async with place(**SYNC, ha_slave_fallbehind_max=10) as one:
        await one.caller.send("T")
        slave = await one.slave()
        assert (await one.caller.send("T")).code == NO_SLAVE
        slave.close()


async def test_with_sync_flush_both_are_waited_for() -> None:
    async with place(**SYNC, flush_disk_type="SYNC_FLUSH") as one:
        await one.caller.send("T")
        slave = await one.slave()
        send = asyncio.create_task(one.caller.send("T"))
        slave.report((await slave.transfer()).end)
        assert (await send).code == 0
        slave.close()


async def test_one_replica_is_the_master_itself() -> None:
    """As with 5.5.0, where a SYNC_MASTER waits for nobody unless it is told to."""
    async with place(**SYNC, in_sync_replicas=1) as one:
        assert (await one.caller.send("T")).code == 0


async def test_a_stop_answers_who_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "SLAVES_TIMEOUT_S", 0.1)
    async with place(**{**SYNC, "slave_timeout": 300}) as one:
        await one.caller.send("T")
        slave = await one.slave()
        send = asyncio.create_task(one.caller.send("T"))
        await slave.transfer()
        await one.broker.stop()
        assert (await send).code == SLAVE_TIMEOUT
        slave.close()


@pytest.mark.parametrize(("is_enabled", "ratio", "far"), [(True, 0, "1"), (True, 40, "0"), (False, 0, "0")])
async def test_readers_of_what_is_no_longer_in_memory_are_sent_to_a_slave(
    *, is_enabled: bool, ratio: int, far: str
) -> None:
    async with place(slave_read_enable=is_enabled, access_message_in_memory_max_ratio=ratio) as one:
        for _ in range(40):
            await one.caller.send("T")
        first = await one.caller.pull("T")
        assert (first.ext_fields or {})["suggestWhichBrokerId"] == far
        group = {"groupName": "g", "whichBrokerWhenConsumeSlowly": 3, "brokerId": 2}
        await one.caller.ok(200, {}, json.dumps(group).encode())
        asked = [(await one.caller.pull("T", offset)).ext_fields or {} for offset in (0, 40)]
        assert [each["suggestWhichBrokerId"] for each in asked] == (
            ["0", "0"] if not is_enabled else [{"1": "3", "0": "2"}[far], "2"]
        )


async def test_connections_end_with_the_broker() -> None:
    async with place() as one:
        slave = await SlaveDouble.connect(one.ha_port)
        await one.broker.stop()
        assert await slave.is_closed()
        slave.close()
        with pytest.raises(OSError, match="Connect call failed"):
            await SlaveDouble.connect(one.ha_port)


async def test_after_a_restart_a_slave_goes_on(tmp_path: Any) -> None:
    async with place(store=tmp_path) as one:
        await one.caller.send("T", b"before")
        slave = await one.slave(0)
        end = await one.end()
        slave.close()
    async with place(store=tmp_path) as one:
        await one.caller.send("T", b"after")
        again = await one.slave(end)
        assert again.transfers[0].offset == end
        assert b"after" in again.log
        await eventually(lambda: again.log, "the log")
        again.close()
