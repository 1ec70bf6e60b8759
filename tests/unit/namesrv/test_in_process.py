"""A NameServer inside a program."""

import asyncio
from pathlib import Path

import pytest
from tests.support.faulty_broker import FaultyBroker

from cosmodrome.errors import BindError, ConfigError, NoRouteError
from cosmodrome.namesrv.in_process import NameServer


def is_there(folder: str | Path) -> bool:
    return Path(folder).is_dir()


async def test_it_listens_on_a_free_port_of_loopback_and_leaves_no_files() -> None:
    async with NameServer(port=0) as server:
        host, port = server.address.split(":")
        assert host == "127.0.0.1"
        assert int(port) > 0
        assert server._folder is not None
        folder = server._folder.name
        assert is_there(folder)
    assert server.address == ""
    assert not is_there(folder)
    await server.stop()


async def test_a_route_is_waited_for() -> None:
    async with NameServer(port=0) as server:
        waiting = asyncio.ensure_future(server.wait_for_route("T", timeout=10))
        await asyncio.sleep(0)
        async with FaultyBroker(server.address, "broker-a", {"T": 3}):
            route = await waiting
            assert route.queue_datas[0].write_queue_nums == 3
            assert await server.wait_for_route("T", timeout=0) == route
        assert server._waiting == {}


async def test_a_route_that_does_not_come() -> None:
    async with NameServer(port=0) as server:
        with pytest.raises(NoRouteError, match="T: no broker registered it"):
            await server.wait_for_route("T", timeout=0.05)
        assert server._waiting == {}


async def test_settings_are_those_of_the_configuration(tmp_path: Path) -> None:
    async with NameServer(port=0, data_dir=str(tmp_path / "data"), enable_topic_list=False) as server:
        assert server._config(str(tmp_path)).enable_topic_list is False
    assert is_there(tmp_path / "data")


def test_an_unknown_setting_is_refused() -> None:
    with pytest.raises(ConfigError, match="unknown setting prot"):
        NameServer(prot=0)


async def test_a_port_that_is_taken_leaves_nothing() -> None:
    async with NameServer(port=0) as server:
        second = NameServer(port=int(server.address.split(":")[1]))
        with pytest.raises(BindError):
            await second.start()
        assert second._folder is None
        with pytest.raises(RuntimeError, match="not started"):
            await second.wait_for_route("T", timeout=1)
        with pytest.raises(RuntimeError, match="started already"):
            await server.start()
