"""When the report of shadow mode is written; both servers run in this process."""

import asyncio
import dataclasses
import json
import logging
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from cosmodrome.cli.banner import Start, banner
from cosmodrome.cli.namesrv import NamesrvOptions, flag_settings
from cosmodrome.cli.reporting import ReportingServer
from cosmodrome.errors import ConfigError, StorageError
from cosmodrome.namesrv.config import KEYS, NamesrvConfig, blacklisted
from cosmodrome.namesrv.config_file import ConfigSources, load_config
from cosmodrome.namesrv.server import NameServer
from cosmodrome.protocol.codes import RequestCode
from cosmodrome.protocol.command import request
from cosmodrome.transport.client import RemotingClient

MakeServer = Callable[..., NameServer]


@pytest.fixture
def make_server(tmp_path: Path) -> MakeServer:
    def make(shadow: str | None) -> NameServer:
        folder = tmp_path / ("one" if shadow is None else "its-shadow")
        return NameServer(NamesrvConfig(bind_address="127.0.0.1", listen_port=0, data_dir=str(folder), shadow=shadow))

    return make


@pytest.fixture
async def other(make_server: MakeServer) -> AsyncIterator[str]:
    async with make_server(None) as server:
        assert server.shadow_report() is None
        yield server.address


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "shadow.json"


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def put_folder_in_place_of(path: Path) -> None:
    path.unlink()
    path.mkdir()


async def ask_for_topics(address: str) -> None:
    client = RemotingClient()
    await client.request(address, request(RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER), 5)
    await client.close()


async def test_it_is_there_from_the_start_and_complete_at_the_end(
    make_server: MakeServer, other: str, path: Path
) -> None:
    server = ReportingServer(make_server(other), path)
    await server.start()
    assert read(path)["reads"] == 0
    await ask_for_topics(server.address)

    await server.stop("stopped")

    report = read(path)
    assert (report["other"], report["reads"], report["pending"]) == (other, 1, 0)


@pytest.mark.skipif(sys.platform == "win32", reason="has no SIGUSR1")
async def test_a_signal_has_it_written(make_server: MakeServer, other: str, path: Path) -> None:
    server = ReportingServer(make_server(other), path)
    await server.start()
    await ask_for_topics(server.address)
    async with asyncio.timeout(20):
        while read(path)["same"] == 0:
            os.kill(os.getpid(), signal.SIGUSR1)
            await asyncio.sleep(0.01)
    await server.stop("stopped")


async def test_a_place_that_cannot_be_written_prevents_the_start(
    make_server: MakeServer, other: str, tmp_path: Path
) -> None:
    server = ReportingServer(make_server(other), tmp_path)

    with pytest.raises(StorageError, match="cannot write the shadow report"):
        await server.start()

    client = RemotingClient()
    with pytest.raises(Exception, match="cannot connect"):
        await client.request(server.address, request(105), 1)


async def test_one_that_cannot_be_written_later_is_logged(
    make_server: MakeServer, other: str, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    server = ReportingServer(make_server(other), path)
    await server.start()
    put_folder_in_place_of(path)

    with caplog.at_level(logging.ERROR):
        await server.stop("stopped")

    assert "cannot write the shadow report" in caplog.text


class TestSettings:
    @pytest.mark.parametrize("text", ["10.0.0.1:9876", "name-server.example_1:1", "[::1]:65535", " 10.0.0.1:9876 "])
    def test_an_address_is_a_host_and_a_port(self, text: str) -> None:
        assert KEYS["shadow"].parse(text) == text.strip()

    @pytest.mark.parametrize(
        "text", ["10.0.0.1", ":9876", "a:0", "a:65536", "a:1;b:2", "::1:9876", "a b:1", "http://a:1"]
    )
    def test_anything_else_is_refused(self, text: str) -> None:
        with pytest.raises(ValueError, match="must be one address such as"):
            KEYS["shadow"].parse(text)

    def test_it_comes_from_its_flag_a_file_or_the_environment(self, tmp_path: Path) -> None:
        (tmp_path / "a.properties").write_text("shadow=a:1\n")

        sources = ConfigSources(file=str(tmp_path / "a.properties"), environment={}, flags=[], lenient=False)

        def loaded(**more: Any) -> str | None:
            return load_config(dataclasses.replace(sources, **more)).config.shadow

        assert loaded() == "a:1"
        assert loaded(environment={"COSMODROME_SHADOW": "b:1"}) == "b:1"
        assert loaded(flags=flag_settings(NamesrvOptions(shadow="c:1"))) == "c:1"
        assert loaded(environment={"COSMODROME_SHADOW": ""}) is None
        with pytest.raises(ConfigError, match="--shadow: shadow must be one address"):
            loaded(flags=flag_settings(NamesrvOptions(shadow="nonsense")))

    def test_no_request_may_turn_it_on(self) -> None:
        assert blacklisted(NamesrvConfig(), ["shadow"]) == ("shadow",)

    def test_the_banner_names_the_other_server(self) -> None:
        sources = ConfigSources(file=None, environment={"COSMODROME_SHADOW": "10.0.0.1:9876"}, flags=[], lenient=False)
        text = banner(Start(loaded=load_config(sources), address="127.0.0.1:1", took_s=0), "10.0.0.2")

        assert "  shadow     10.0.0.1:9876          reads go there too" in text
