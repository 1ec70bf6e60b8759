"""Recording what passes by, and playing it again."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest
from tests.support.builders import eventually

from cosmodrome import NameServer
from cosmodrome.errors import BindError
from cosmodrome.protocol.command import encode_command, request
from cosmodrome.recordings.recorded import Recorded
from cosmodrome.recordings.relay import Relay
from cosmodrome.recordings.replay import Outcome, Player, requests_of
from cosmodrome.transport.client import RemotingClient

PUT, GET, ROUTE = 100, 101, 105
KEY = {"namespace": "n", "key": "k"}


def ends(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    return host, int(port)


@contextlib.asynccontextmanager
async def relayed(address: str, kept: list[Recorded], said: list[str] | None = None) -> AsyncIterator[str]:
    relay = Relay(ends(address), kept.append, (said if said is not None else []).append)
    try:
        yield await relay.start("127.0.0.1", 0)
    finally:
        await relay.stop()


async def recording_of_a_value(value: str) -> list[Recorded]:
    kept: list[Recorded] = []
    async with NameServer(port=0) as server, relayed(server.address, kept) as address:
        client = RemotingClient()
        for asked in (request(PUT, KEY | {"value": value}), request(GET, KEY), request(ROUTE, {"topic": "T"})):
            await client.request(address, asked, 10)
        await client.close()
    return kept


async def outcomes(kept: list[Recorded], address: str) -> list[Outcome]:
    requests, _ = requests_of(kept)
    async with Player(*ends(address), timeout_s=10) as player:
        return [outcome async for outcome in player.play(requests)]


async def test_what_passes_is_recorded_in_order() -> None:
    kept = await recording_of_a_value("v")
    assert [(each.connection, each.direction, each.is_frame) for each in kept] == [
        (1, direction, True) for _ in range(3) for direction in ("request", "response")
    ]
    asked, redacted = requests_of(kept)
    assert [(each.command.code, each.answer is not None) for each in asked] == [(PUT, True), (GET, True), (ROUTE, True)]
    assert redacted == 0


async def test_a_server_that_says_the_same_is_found_to() -> None:
    kept = await recording_of_a_value("v")
    async with NameServer(port=0) as other:
        assert [outcome.is_same for outcome in await outcomes(kept, other.address)] == [True, True, True]


async def test_a_server_that_says_something_else_is_found_to() -> None:
    kept = await recording_of_a_value("v")
    async with NameServer(port=0) as other:
        found = await outcomes(kept[2:], other.address)
    assert [outcome.is_same for outcome in found] == [False, True]
    assert "code" in {each.where for each in found[0].differences}


async def test_requests_that_were_not_recorded_whole_are_left_out() -> None:
    kept = await recording_of_a_value("v")
    requests, redacted = requests_of([kept[0]._replace(is_redacted=True), *kept[1:]], only={PUT, ROUTE})
    assert ([each.command.code for each in requests], redacted) == ([ROUTE], 1)


async def test_a_server_that_is_not_there_or_closes_is_told() -> None:
    kept = await recording_of_a_value("v")
    async with NameServer(port=0) as gone:
        address = gone.address
    assert all(outcome.fault for outcome in await outcomes(kept, address))

    def close(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    async with await asyncio.start_server(close, "127.0.0.1", 0) as server:
        host, port = server.sockets[0].getsockname()
        assert all(outcome.fault for outcome in await outcomes(kept, f"{host}:{port}"))


async def test_a_oneway_is_sent_and_nothing_is_waited_for() -> None:
    data = encode_command(request(ROUTE, {"topic": "T"}, is_oneway=True))
    async with NameServer(port=0) as server:
        (outcome,) = await outcomes([Recorded(0.0, 1, "request", data)], server.address)
    assert (outcome.is_same, outcome.answer) == (True, None)


async def test_bytes_that_are_no_frame_pass_and_are_recorded_once() -> None:
    kept: list[Recorded] = []
    heard = bytearray()

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(1000):
            heard.extend(data)
            writer.write(data)
        writer.close()

    async with await asyncio.start_server(echo, "127.0.0.1", 0) as server:
        host, port = server.sockets[0].getsockname()
        async with relayed(f"{host}:{port}", kept) as address:
            reader, writer = await asyncio.open_connection(*ends(address))
            for part in (b"GET / HTTP/1.1\r\n", b"\r\n"):
                writer.write(part)
                assert await reader.readexactly(len(part)) == part
            writer.write_eof()
            assert await reader.read() == b""
            writer.close()
            await writer.wait_closed()
    assert heard == b"GET / HTTP/1.1\r\n\r\n"
    assert [(each.direction, each.is_frame, each.data) for each in kept] == [
        (direction, False, b"GET / HTTP/1.1\r\n") for direction in ("request", "response")
    ]


async def test_frames_in_pieces_are_recorded_whole() -> None:
    kept: list[Recorded] = []
    data = encode_command(request(ROUTE, {"topic": "T"}))
    async with NameServer(port=0) as server, relayed(server.address, kept) as address:
        reader, writer = await asyncio.open_connection(*ends(address))
        for start in range(0, len(data), 7):
            writer.write(data[start : start + 7])
            await writer.drain()
        assert await reader.read(4)
        await eventually(lambda: len(kept) == 2, "both frames")
        writer.close()
        await writer.wait_closed()
    assert kept[0].data == data


async def test_a_server_that_is_not_reached_closes_the_connection_and_is_said() -> None:
    said: list[str] = []
    async with NameServer(port=0) as gone:
        address = gone.address
    async with relayed(address, [], said) as relay:
        reader, writer = await asyncio.open_connection(*ends(relay))
        assert await reader.read() == b""
        writer.close()
        await writer.wait_closed()
    assert address in said[0]


async def test_an_address_that_is_taken_is_an_error() -> None:
    async with NameServer(port=0) as server:
        with pytest.raises(BindError, match="cannot listen"):
            await Relay(ends(server.address), list[Recorded]().append, list[str]().append).start(*ends(server.address))
