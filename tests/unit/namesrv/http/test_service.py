"""Where HTTP is when nobody says where, and what becomes of a server that cannot have it."""

import socket
from pathlib import Path

import pytest
from tests.support.builders import config_in

from cosmodrome.errors import BindError, ConfigError
from cosmodrome.namesrv import http_service
from cosmodrome.namesrv.events import Event, HttpListening, HttpUnavailable
from cosmodrome.namesrv.http_port import PORT_DISTANCE
from cosmodrome.namesrv.http_service import HttpService, default_address
from cosmodrome.namesrv.program import Program
from cosmodrome.namesrv.server import NameServer

OFFERED = Program(offers_http=True)


def taken_port() -> tuple[socket.socket, int]:
    """Give a port that is taken, and that a remoting port lies below."""
    while True:
        sock = socket.socket()
        sock.bind(("127.0.0.1", 0))
        sock.listen()
        port = sock.getsockname()[1]
        if port > PORT_DISTANCE + 1024:
            return sock, port
        sock.close()


def test_the_default_is_ten_thousand_above_on_loopback() -> None:
    assert default_address(9876) == "127.0.0.1:19876"
    assert default_address(0) == "127.0.0.1:0"


async def test_a_program_that_embeds_a_server_has_no_http_unless_it_asks(tmp_path: Path) -> None:
    async with NameServer(config_in(tmp_path)) as server:
        assert server.http_address == ""


async def test_where_it_is_offered_it_is_on_loopback(tmp_path: Path) -> None:
    told: list[Event] = []
    async with NameServer(config_in(tmp_path), publish=told.append, program=OFFERED) as server:
        host, _, port = server.http_address.rpartition(":")
        assert (host, port != "0") == ("127.0.0.1", True)
    assert [type(event) for event in told].count(HttpListening) == 1


async def test_a_default_port_that_is_taken_is_done_without(tmp_path: Path) -> None:
    taken, port = taken_port()
    with taken:
        told: list[Event] = []
        service = HttpService(config_in(tmp_path, listen_port=port - PORT_DISTANCE), told.append, is_offered=True)
        service.bind()
        assert (service.address, service.url()) == ("", "")
        assert [event.NAME for event in told] == ["http.unavailable"]
        assert isinstance(told[0], HttpUnavailable)
        assert f"127.0.0.1:{port}: address already in use" in told[0].reason
        await service.stop()


async def test_a_default_port_that_does_not_exist_is_done_without(tmp_path: Path) -> None:
    told: list[Event] = []
    service = HttpService(config_in(tmp_path, listen_port=60_000), told.append, is_offered=True)
    service.bind()
    assert service.address == ""
    assert [event.NAME for event in told] == ["http.unavailable"]


async def test_a_port_that_was_asked_for_and_is_taken_is_an_error(tmp_path: Path) -> None:
    taken, port = taken_port()
    with taken:
        service = HttpService(config_in(tmp_path, http=f"127.0.0.1:{port}"), lambda _: None, is_offered=True)
        with pytest.raises(BindError, match="address already in use"):
            service.bind()


async def test_libraries_that_are_missing_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_service, "missing_libraries", lambda: ("uvicorn", "prometheus_client"))
    told: list[Event] = []
    async with NameServer(config_in(tmp_path), publish=told.append, program=OFFERED) as server:
        assert (server.address != "", server.http_address) == (True, "")
    reasons = [event.reason for event in told if isinstance(event, HttpUnavailable)]
    assert reasons == ["HTTP needs what is not installed here: uvicorn, prometheus_client."]
    with pytest.raises(ConfigError, match="not installed") as error:
        HttpService(config_in(tmp_path, http="127.0.0.1:0"), lambda _: None).bind()
    assert "pip install uvicorn prometheus-client" in (error.value.remedy or "")
