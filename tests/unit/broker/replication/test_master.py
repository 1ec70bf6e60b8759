"""Slaves at a master: what they get, who is let in, and who is sent away."""

import asyncio
import contextlib
import errno
import logging
import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.support.builders import eventually
from tests.support.simulated_disk import SimulatedDisk
from tests.support.slave_double import SlaveDouble
from tests.support.small_store import SEGMENT_BYTES, filled, message, opened, stored

from cosmodrome.broker.config import BrokerConfig
from cosmodrome.broker.replication import connection as connection_module
from cosmodrome.broker.replication import master as master_module
from cosmodrome.broker.replication.master import ReplicationMaster, StoreLog
from cosmodrome.broker.replication.settings import ReplicationSettings
from cosmodrome.protocol.replication import encode_report
from cosmodrome.store.message_store import MessageStore
from cosmodrome.transport.listening import listening_socket


class Scene:
    """A store that slaves follow; its clock stands still."""

    def __init__(self, **settings: Any) -> None:
        self.disk = SimulatedDisk()
        self.store: MessageStore = opened(self.disk)
        self.now_ms = 0
        self.master = ReplicationMaster(StoreLog(self.store), ReplicationSettings(**settings), lambda: self.now_ms)

    def fill(self, count: int) -> None:
        filled(self.store, count)
        self.master.log_grew()

    @property
    def log(self) -> bytes:
        """The log as it is on the disk."""
        log, position = b"", self.store.start
        while (piece := self.store.reader.bytes_from(position, 1 << 20)) is not None:
            log += piece
            position += len(piece)
        return log

    async def slave(self, at: int = 0) -> SlaveDouble:
        one = await SlaveDouble.connect(self.master.port)
        one.report(at)
        return one

    async def connections(self, count: int) -> None:
        await eventually(lambda: len(self.master.slaves()) == count, f"{count} connections")


@asynccontextmanager
async def scene(**settings: Any) -> AsyncIterator[Scene]:
    one = Scene(**settings)
    await one.master.start(listening_socket("127.0.0.1", 0))
    try:
        yield one
    finally:
        await one.master.stop(0)


@pytest.mark.parametrize("batch_bytes", [7, 1000, 32_768])
async def test_a_slave_gets_the_log_as_it_is_and_as_it_grows(batch_bytes: int) -> None:
    """Files of the log are never crossed by one transfer, and fillers and zeros are part of it."""
    async with scene(batch_bytes=batch_bytes) as one:
        one.fill(60)
        async with await one.slave() as slave:
            await slave.follow(one.store.end)
            one.fill(60)
            await slave.follow(one.store.end)
            assert slave.log == one.log
    assert all(len(each.data) <= batch_bytes for each in slave.transfers)
    assert all(each.offset // SEGMENT_BYTES == (each.end - 1) // SEGMENT_BYTES for each in slave.transfers if each.data)


async def test_a_slave_builds_the_same_store() -> None:
    async with scene() as one:
        one.fill(100)
        other = opened(SimulatedDisk())
        async with await one.slave() as slave:
            await slave.follow(one.store.end)
        for each in slave.transfers:
            other.append_raw(each.offset, each.data)
    assert other.end == one.store.end
    assert other.reader.max_offset("T", 0) == 100


@pytest.mark.parametrize("at", [1, 5, 4097, 9000])
async def test_a_slave_goes_on_where_it_says(at: int) -> None:
    """In the middle of a record too: a slave may have lost its master there."""
    async with scene() as one:
        one.fill(100)
        async with await one.slave(at) as slave:
            await slave.follow(one.store.end)
            assert slave.log == one.log[at:]


async def test_an_empty_slave_begins_where_the_log_does() -> None:
    async with scene() as one:
        one.fill(100)
        one.store.detach_first_segment()
        async with await one.slave() as slave:
            assert (await slave.transfer()).offset == SEGMENT_BYTES
            await slave.follow(one.store.end)


async def test_nothing_is_said_before_a_whole_report() -> None:
    async with scene() as one:
        one.fill(1)
        slave = await SlaveDouble.connect(one.master.port)
        for byte in bytes(7):
            slave.say(bytes([byte]))
        await one.connections(1)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await slave.transfer()
        slave.say(b"\0")
        again = await one.slave()
        assert (await again.transfer()).data == one.log
        slave.close()
        again.close()


async def test_a_slave_that_has_everything_hears_at_once_that_it_agrees() -> None:
    async with scene() as one:
        one.fill(3)
        async with await one.slave(one.store.end) as slave:
            assert await slave.transfer() == (one.store.end, b"")


async def test_signs_of_life_come_after_silence_only() -> None:
    async with scene(sign_ms=50, silence_ms=1_000_000) as one:
        one.fill(3)
        async with await one.slave() as slave:
            await slave.transfer()
            one.now_ms = 49
            one.fill(1)
            await slave.transfer()
            one.now_ms = 98
            one.fill(1)
            assert (await slave.transfer()).data
            one.now_ms = 148
            assert await slave.transfer() == (one.store.end, b"")


@pytest.mark.parametrize("is_reporting", [True, False])
async def test_whoever_says_nothing_is_closed(*, is_reporting: bool) -> None:
    async with scene(sign_ms=50, silence_ms=1000) as one:
        slave = await SlaveDouble.connect(one.master.port)
        if is_reporting:
            slave.report(0)
            await slave.transfer()
        await one.connections(1)
        one.now_ms = 1001
        assert await slave.is_closed()
        slave.close()


async def test_a_pause_of_the_process_is_nobodys_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sweep that comes late does not judge; by the next one what came meanwhile is read."""
    monkeypatch.setattr(master_module, "_MAX_SWEEP_S", 0.05)
    async with scene(sign_ms=100, silence_ms=1000) as one:
        one.fill(1)
        slave = await one.slave()
        await slave.transfer()
        (state,) = one.master.slaves()
        one.now_ms = 5000
        slave.report(one.store.end)
        time.sleep(0.2)  # noqa: ASYNC251 -- the event loop stands still
        await eventually(lambda: state.reported_ms == 5000, "the report")
        assert one.master.slaves() == (state,)
        one.now_ms = 5200
        assert await slave.transfer() == (one.store.end, b""), "it is given a sign of life"
        slave.close()


async def test_b044_a_slave_that_cannot_follow_is_told_apart(caplog: pytest.LogCaptureFixture) -> None:
    async with scene() as one:
        one.fill(100)
        one.store.detach_first_segment()
        for at, text in (
            (one.store.end + 1, "messages that this broker does not have"),
            (1, "what is between is deleted"),
        ):
            async with await one.slave(at) as slave:
                assert await slave.is_closed()
            assert f"its log ends at {at}" in caplog.text
            assert text in caplog.text
        async with await one.slave(one.store.end) as slave:
            await slave.transfer()


async def test_b043_a_claim_ends_the_connection(caplog: pytest.LogCaptureFixture) -> None:
    async with scene() as one:
        one.fill(3)
        async with await one.slave() as slave:
            await slave.transfer()
            slave.report(one.store.end + 1)
            assert await slave.is_closed()
        await one.connections(0)
    assert "it counts for nothing" in caplog.text


async def test_b043_a_flood_of_reports_is_judged_by_its_worst(caplog: pytest.LogCaptureFixture) -> None:
    async with scene() as one:
        one.fill(3)
        for worst, is_open in ((0, True), (-1, False), (one.store.end + 1, False)):
            async with await one.slave() as slave:
                await slave.transfer()
                (state,) = one.master.slaves()
                slave.say(b"".join(map(encode_report, [0] * 500 + [worst] + [0] * 500)))
                if is_open:
                    await eventually(lambda: state.is_current, "the reports")  # noqa: B023 -- called at once
                else:
                    assert await slave.is_closed()
            await one.connections(0)
    assert caplog.text.count("it counts for nothing") == 1, "the second time it is only counted"


async def test_b043_a_peer_that_never_reads_costs_little(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It reports all the time, and so is not silent."""
    monkeypatch.setattr(connection_module, "BUFFER_BYTES", 1000)
    monkeypatch.setattr(master_module, "_SEND_BUFFER_BYTES", 1000)
    async with scene(silence_ms=1000) as one:
        filled(one.store, 150, size=1000)
        with socket.socket() as raw:
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1000)
            raw.connect(("127.0.0.1", one.master.port))
            raw.sendall(bytes(8))
            await one.connections(1)
            (state,) = one.master.slaves()
            while one.master.slaves():
                one.now_ms += 20
                with contextlib.suppress(ConnectionError):
                    raw.sendall(bytes(8))
                await asyncio.sleep(0.01)
            assert 0 < state.sent_to < one.store.end
    assert "it took nothing for 1000 ms" in caplog.text


async def test_b043_a_thousand_connections(caplog: pytest.LogCaptureFixture) -> None:
    """The slave that follows stays, however many come; of the others the ones that said least go first."""
    async with scene() as one:
        one.fill(3)
        slave = await one.slave()
        await slave.follow(one.store.end)
        await eventually(lambda: one.master.slaves()[0].is_current, "the slave's report")
        crowd = [await SlaveDouble.connect(one.master.port) for _ in range(300)]
        assert len(one.master.slaves()) <= master_module.MOST_CONNECTIONS
        one.fill(1)
        await slave.follow(one.store.end)
        late = await one.slave()
        await late.follow(one.store.end)
        crowd += [await SlaveDouble.connect(one.master.port) for _ in range(100)]
        one.fill(1)
        await late.follow(one.store.end)
        for each in (*crowd, slave, late):
            each.close()
    assert caplog.text.count("are too many") == 1, "a kind of complaint is told once a minute"


async def test_when_all_are_slaves_nobody_else_is_let_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(master_module, "MOST_CONNECTIONS", 2)
    async with scene() as one:
        one.fill(1)
        slaves = [await one.slave() for _ in range(2)]
        for each in slaves:
            await each.follow(one.store.end)
        await eventually(lambda: all(each.is_current for each in one.master.slaves()), "both reports")
        with contextlib.suppress(ConnectionError):
            async with await one.slave() as third:
                assert await third.is_closed()
        assert [each.is_current for each in one.master.slaves()] == [True, True]
        for each in slaves:
            each.close()


async def test_strangers_are_not_let_in(caplog: pytest.LogCaptureFixture) -> None:
    networks = BrokerConfig(ha_allow="10.0.0.0/8;fe80::/10").slave_networks
    async with scene(allowed=networks) as one:
        with contextlib.suppress(ConnectionError):
            async with await one.slave() as slave:
                assert await slave.is_closed()
        assert one.master.slaves() == ()
    assert "haAllow" in caplog.text


async def test_whoever_is_allowed_is_let_in() -> None:
    networks = BrokerConfig(ha_allow="127.0.0.0/8").slave_networks
    async with scene(allowed=networks) as one, await one.slave() as slave:
        await slave.transfer()


async def test_what_is_old_is_read_in_another_thread_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_module, "_RECENT_BYTES", 1000)
    monkeypatch.setattr(connection_module, "_AT_ONCE_BYTES", 3000)
    async with scene() as one:
        one.fill(200)
        async with await one.slave() as slave:
            await slave.follow(one.store.end)
            assert slave.log == one.log


async def test_a_slave_whose_place_is_deleted_meanwhile_is_told(caplog: pytest.LogCaptureFixture) -> None:
    async with scene() as one:
        one.fill(100)
        slave = await one.slave(100)
        await slave.follow(one.store.end, is_reporting=False)
        (state,) = one.master.slaves()
        state.sent_to = 100
        one.store.detach_first_segment()
        one.fill(1)
        assert await slave.is_closed()
        slave.close()
    assert "what was there is deleted" in caplog.text


async def test_slaves_are_looked_at_again_when_the_log_was_read_anew(caplog: pytest.LogCaptureFixture) -> None:
    """What it holds behind that place may differ from what they were sent."""
    async with scene() as one:
        one.fill(3)
        slave = await one.slave()
        await slave.follow(one.store.end)
        one.disk.fails = lambda kind, _: errno.EIO if kind == "sync" else None
        job = one.store.begin_sync()
        job.run()
        with pytest.raises(Exception, match="syncing failed"):
            one.store.end_sync(job)
        one.disk.fails = lambda _kind, _path: None
        one.store.report = type(one.store.report)()
        one.store.resume()
        stored(one.store, message(b"next"))
        one.master.log_grew()
        assert await slave.is_closed()
        slave.close()
    assert "read anew" in caplog.text


async def test_a_stop_waits_for_slaves_that_follow() -> None:
    one = Scene()
    await one.master.start(listening_socket("127.0.0.1", 0))
    one.fill(10)
    slave = await one.slave()
    await slave.follow(one.store.end)
    await eventually(lambda: one.master.slaves()[0].is_current, "the report")
    one.fill(50)
    stopping = asyncio.create_task(one.master.stop(20))
    await slave.follow(one.store.end)
    await stopping
    assert slave.log == one.log
    slave.close()


async def test_a_stop_does_not_wait_for_others() -> None:
    one = Scene()
    await one.master.start(listening_socket("127.0.0.1", 0))
    one.fill(10)
    slave = await one.slave()
    await slave.transfer()
    await one.master.stop(1000)
    await one.master.stop(1000)
    assert await slave.is_closed()
    slave.close()


async def test_an_unreadable_log_ends_the_connection_only(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    async with scene() as one:
        one.fill(3)
        slave = await one.slave(one.store.end)
        await slave.transfer()

        def broken(position: int, limit: int) -> memoryview | None:
            raise OSError(errno.EIO, f"no {limit} bytes at {position}")

        one.master._log.bytes_from = broken
        one.fill(1)
        assert await slave.is_closed()
        slave.close()
    assert "cannot be read" in caplog.text
