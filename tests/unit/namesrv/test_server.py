"""NameServer: the parts put together."""

import asyncio
import time
from pathlib import Path
from typing import Self

import pytest
from tests.support import wire
from tests.support.builders import config_in, eventually, running

from cosmodrome.errors import BindError, StorageError
from cosmodrome.namesrv import memory
from cosmodrome.namesrv.events import Event
from cosmodrome.namesrv.server import NameServer
from cosmodrome.protocol.codes import SerializeType

TWO = [wire.topic_config("T1"), wire.topic_config("T2")]


class Broker:
    """A broker that listens for what NameServers send."""

    def __init__(self) -> None:
        self.got: list[wire.Answer] = []
        self.address = ""
        self._server: asyncio.Server | None = None
        self._open: list[asyncio.StreamWriter] = []

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.address = "{}:{}".format(*self._server.sockets[0].getsockname())
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for writer in self._open:
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.append(writer)
        rest = b""
        while data := await reader.read(65536):
            frames, rest = wire.split(rest + data)
            self.got += frames
        writer.close()

    def named(self, id_: int) -> wire.Broker:
        return wire.Broker(name="a", addr=self.address, id=id_, enable_acting_master=True)


async def test_the_life_of_a_server(tmp_path: Path) -> None:
    events: list[Event] = []
    server = NameServer(config_in(tmp_path), publish=events.append)
    assert server.address == ""
    assert (await server.stop()).clients == 0

    await server.start()
    assert server.address.startswith("127.0.0.1:")
    await eventually(lambda: len(events) == 2, "readiness")
    summary = await server.stop("because")
    again = await server.stop()

    assert [event.NAME for event in events] == ["server.started", "server.ready", "server.draining", "server.stopped"]
    assert events[-1].fields() == {"reason": "because"}
    assert summary == again


async def test_a_stop_tells_what_it_met(tmp_path: Path) -> None:
    async with running(tmp_path) as run:
        broker, client = await run.wire(), await run.wire()
        await broker.register(wire.Broker(), TWO)
        await broker.register(wire.Broker(name="b", addr="10.0.0.9:1"), TWO)
        await client.request(106)

        summary = await run.server.stop()

        assert (summary.brokers, summary.clients, summary.finished_requests) == (1, 1, 0)
        await broker.closed()
        await client.closed()
    assert "broker.unregistered" not in run.names(), "nobody left: the server did"


async def test_what_is_being_worked_on_is_finished(tmp_path: Path) -> None:
    async with running(tmp_path) as run:
        peer = await run.wire()
        for number in range(5):
            peer.post(100, {"namespace": "N", "key": str(number), "value": "v"})
        await eventually((tmp_path / "kvConfig.json").exists, "the first write")
        await run.server.stop()

        await peer.closed()
        answered = peer.untaken
        assert answered >= 1
    async with running(tmp_path) as run:
        table = (await (await run.wire()).request(219, {"namespace": "N"})).json()["table"]
        assert len(table) >= answered


async def test_newer_clients_are_sent_away_before_a_graceful_stop(tmp_path: Path) -> None:
    async with running(tmp_path, enable_shutdown_gracefully=True, shutdown_wait_time_seconds=1) as run:
        peer = await run.wire()
        assert (await peer.request(105, {"topic": "T"})).code == 17
        stopping = asyncio.ensure_future(run.server.stop())
        await eventually(lambda: "server.draining" in run.names(), "the drain")

        assert (await peer.request(105, {"topic": "T"})).code == 1500
        assert (await peer.request(105, {"topic": "T"}, version=475)).code == 17
        await stopping
        await peer.closed()


async def test_two_stops_at_the_same_time_are_one(tmp_path: Path) -> None:
    async with running(tmp_path, enable_shutdown_gracefully=True, shutdown_wait_time_seconds=1) as run:
        await asyncio.gather(run.server.stop(), run.server.stop())

        assert run.names().count("server.stopped") == 1
        assert run.names().count("server.draining") == 1


async def test_a_port_that_is_taken(tmp_path: Path) -> None:
    async with running(tmp_path / "a") as run:
        port = int(run.server.address.rpartition(":")[2])
        other = NameServer(config_in(tmp_path / "b", listen_port=port))
        with pytest.raises(BindError):
            await other.start()
        await other.stop()


async def test_a_kv_file_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "kvConfig.json").write_text("damaged")

    with pytest.raises(StorageError):
        await NameServer(config_in(tmp_path)).start()


async def test_a_broker_goes_with_its_connection(tmp_path: Path) -> None:
    async with running(tmp_path) as run:
        peer, other = await run.wire(), await run.wire()
        await peer.register(wire.Broker(), TWO)
        await peer.close()
        await eventually(lambda: "broker.unregistered" in run.names(), "its end")

        assert (await other.request(106)).json()["brokerAddrTable"] == {}


async def test_a_silent_broker_expires_and_its_connection_is_closed(tmp_path: Path) -> None:
    async with running(tmp_path, scan_not_active_broker_interval=20) as run:
        peer = await run.wire()
        await peer.register(wire.Broker(heartbeat_timeout_millis=30), TWO)

        await peer.closed()
        [event] = [event for event in run.events if event.NAME == "broker.unregistered"]
        assert event.fields()["reason"] == "heartbeat_expired"


async def test_a_pause_of_this_process_expires_nobody(tmp_path: Path) -> None:
    async with running(tmp_path, scan_not_active_broker_interval=50) as run:
        peer = await run.wire()
        await peer.register(wire.Broker(heartbeat_timeout_millis=1500), TWO)
        time.sleep(2)  # noqa: ASYNC251  # the loop must stand still
        await asyncio.sleep(0.2)

        assert "broker.unregistered" not in run.names()


async def test_the_interval_of_scans_may_change(tmp_path: Path) -> None:
    async with running(tmp_path) as run:
        peer, broker = await run.wire(), await run.wire()
        await broker.register(wire.Broker(heartbeat_timeout_millis=1), TWO)
        await peer.request(318, None, b"scanNotActiveBrokerInterval=20")

        await broker.closed()


async def test_idle_connections_are_closed_after_the_configured_time(tmp_path: Path) -> None:
    async with running(tmp_path, server_channel_max_idle_time_seconds=1) as run:
        idle, peer = await run.wire(), await run.wire()
        await idle.request(106)
        for _ in range(30):
            await peer.request(106)
            await asyncio.sleep(0.08)

        await idle.closed(within_s=0.1)
        assert (await peer.request(106)).code == 0


@pytest.mark.parametrize("serialize_type", ["JSON", "ROCKETMQ"])
async def test_brokers_are_told_when_the_smallest_id_changes(tmp_path: Path, serialize_type: str) -> None:
    settings = {"notify_min_broker_id_changed": True, "serialize_type": SerializeType[serialize_type]}
    async with Broker() as master, Broker() as slave, running(tmp_path, **settings) as run:
        peer = await run.wire()
        await peer.register(slave.named(1), TWO)
        await peer.register(master.named(0), TWO)
        await eventually(lambda: slave.got, "the notice that a master came")
        await peer.request(104, wire.identity_ext(master.named(0)))
        await eventually(lambda: len(slave.got) == 2, "the notice that it left")

        came, left = slave.got
        assert (came.code, came.flag, came.codec) == (905, wire.FLAG_ONEWAY, serialize_type)
        assert came.ext == {"minBrokerId": "0", "minBrokerAddr": master.address, "haBrokerAddr": "10.0.0.1:10912"}
        assert left.ext == {"minBrokerId": "1", "minBrokerAddr": slave.address, "offlineBrokerAddr": master.address}
        assert master.got == []


async def test_a_broker_that_does_not_listen_delays_nobody(tmp_path: Path) -> None:
    async with Broker() as slave, running(tmp_path, notify_min_broker_id_changed=True) as run:
        peer = await run.wire()
        dead = wire.Broker(name="a", addr="127.0.0.1:1", id=2, enable_acting_master=True)
        nonsense = wire.Broker(name="a", addr="nonsense:99999999", id=3, enable_acting_master=True)
        for broker in (nonsense, dead, slave.named(1)):
            await peer.register(broker, TWO)
        await peer.register(wire.Broker(name="a", enable_acting_master=True), TWO)
        await eventually(lambda: slave.got, "the notice to who listens")
        await eventually(lambda: run.server.counters.get("notice.failed", "unreachable") >= 4, "the failures")

        assert {event.fields()["addr"] for event in run.events if event.NAME == "notice.failed"} == {
            "127.0.0.1:1", "nonsense:99999999",
        }  # fmt: skip


async def test_acting_masters_end_to_end(tmp_path: Path) -> None:
    """The scenario of the specification, A8."""
    async with running(tmp_path, support_acting_master=True) as run:
        peer = await run.wire()

        async def shown() -> tuple[dict[str, str], int]:
            route = (await peer.request(105, {"topic": "T1"})).json()
            return route["brokerDatas"][0]["brokerAddrs"], route["queueDatas"][0]["perm"]

        brokers = {
            name: wire.Broker(name="a", addr=name, id=id_, enable_acting_master=True)
            for name, id_ in (("m", 0), ("s1", 1), ("s2", 2))
        }
        await peer.register(brokers["s2"], TWO)
        assert await shown() == ({"0": "s2"}, 4)
        await peer.register(brokers["s1"], TWO)
        assert await shown() == ({"0": "s1", "2": "s2"}, 4)
        await peer.register(brokers["m"], TWO)
        assert await shown() == ({"0": "m", "1": "s1", "2": "s2"}, 6)
        await peer.request(104, wire.identity_ext(brokers["m"]))
        assert await shown() == ({"0": "s1", "2": "s2"}, 4)
        members = (await peer.request(901, {"clusterName": "C", "brokerName": "a"})).json()
        assert members["brokerMemberGroup"]["brokerAddrs"] == {"1": "s1", "2": "s2"}
        await peer.register(brokers["m"], TWO)
        assert await shown() == ({"0": "m", "1": "s1", "2": "s2"}, 6)


async def test_faults_and_strangers_are_told(tmp_path: Path) -> None:
    async with running(tmp_path) as run:
        peer, stranger = await run.wire(), await run.wire()
        await peer.register(wire.Broker(), body=b"null")
        stranger.send(b"\0\0\0\1")
        await stranger.closed()

        assert "request.failed" in run.names()
        assert "connection.refused" in run.names()


async def test_memory_is_given_back_after_much_was_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given_back: list[int] = []
    monkeypatch.setattr(memory, "WORTH_GIVING_BACK_ENTRIES", 2)
    monkeypatch.setattr(memory, "_malloc_trim", lambda: given_back.append(0))
    async with running(tmp_path, scan_not_active_broker_interval=20) as run:
        peer = await run.wire()
        await peer.register(wire.Broker(), TWO)
        await peer.request(104, wire.identity_ext(wire.Broker()))
        await eventually(lambda: given_back, "the memory to be given back")
        await asyncio.sleep(0.1)

        assert given_back == [0], "once"


async def test_a_registration_that_waits_for_its_turn_and_a_connection_that_closes(tmp_path: Path) -> None:
    """A large table takes its turn; what closes behind it comes behind it, or the registration is not taken at all."""
    many = [wire.topic_config(f"T{number}") for number in range(300)]
    async with running(tmp_path) as run:
        for _ in range(5):
            broker, peer = await run.wire(), await run.wire()
            body = wire.register_body(many)
            broker.post(103, wire.registration_ext(wire.Broker(), crc=0), body)
            broker.end_sending()
            await broker.closed()

            await eventually(
                lambda: run.names().count("broker.registered") == run.names().count("broker.unregistered"), "its end"
            )
            assert (await peer.request(106)).json()["brokerAddrTable"] == {}
            run.events.clear()


async def test_answers_keep_their_order_when_some_take_turns(tmp_path: Path) -> None:
    many = wire.register_body([wire.topic_config(f"T{number}") for number in range(300)])
    async with running(tmp_path) as run:
        peer = await run.wire()
        for _ in range(10):
            peer.post(103, wire.registration_ext(wire.Broker(), crc=0), many)
            peer.post(105, {"topic": "T1"})
            peer.post(206)
            peer.post(205, {"brokerName": "broker-a"})

        answers = await peer.answers(40)
        assert [answer.opaque for answer in answers] == list(range(1, 41))
        assert {answer.code for answer in answers} == {0}
        assert all(len(answer.json()["topicList"]) == 300 for answer in answers[2::4])
