"""What happened, over HTTP: as a stream, and as a history."""

import asyncio
import logging
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import httpx
import pytest
from starlette.applications import Starlette
from starlette.routing import Route
from tests.support import wire
from tests.support.builders import eventually
from tests.support.event_streams import Message, messages, take
from tests.support.http_plane import Plane, plane

from cosmodrome.http.api import Api
from cosmodrome.http.http_server import http_server
from cosmodrome.http.operations import operations_of
from cosmodrome.http.problems import HANDLERS
from cosmodrome.namesrv.event_history import EventHistory
from cosmodrome.namesrv.events import RouteMissed, TopicsAdded
from cosmodrome.namesrv.http.events import MOST_STREAMS, Events
from cosmodrome.transport.listening import listening_socket

MASTER = wire.Broker(name="broker-a", cluster="C", id=0)
PUT = 100


async def register(seen: Plane, *names: str) -> None:
    body = wire.register_body([wire.topic_config(name) for name in names])
    assert (await (await seen.wire()).request(103, wire.registration_ext(MASTER), body)).code == 0


async def put(seen: Plane, key: str, namespace: str = "N") -> None:
    fields = {"namespace": namespace, "key": key, "value": "V"}
    assert (await (await seen.wire()).request(PUT, fields)).code == 0


@asynccontextmanager
async def stream(client: httpx.AsyncClient, query: str = "", last: str = "") -> AsyncIterator[AsyncIterator[Message]]:
    """Open a stream, and read its head, so that whatever happens from now on is in it."""
    headers = {"Last-Event-ID": last} if last else {}
    async with client.stream("GET", f"/api/v1/events{query}", headers=headers) as answer:
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/event-stream")
        told = messages(answer)
        head = await anext(told)
        assert head.data is None
        assert head.id.isdigit()
        yield told


async def test_events_come_as_they_happen(tmp_path: Path) -> None:
    async with plane(tmp_path) as seen, stream(seen.http) as told:
        await register(seen, "T", "U")
        first, second = await take(told, 2)

    assert {first.event, second.event} == {"broker.registered", "topic.added"}
    added = first if first.event == "topic.added" else second
    assert added.data | {"event_id": 0, "time": ""} == {
        "event_id": 0, "time": "", "level": "INFO", "event": "topic.added",
        "broker": "broker-a", "count": 2, "topics": ["T", "U"],
    }  # fmt: skip
    assert added.data["event_id"] == int(added.id)
    assert int(second.id) == int(first.id) + 1


async def test_a_stream_is_resumed_exactly(tmp_path: Path) -> None:
    async with plane(tmp_path) as seen:
        async with stream(seen.http) as told:
            await put(seen, "a")
            (first,) = await take(told, 1)
        for key in ("b", "c"):
            await put(seen, key)
        async with stream(seen.http, "?type=kv&after=0", last=first.id) as told:  # the header is newer than the query
            await put(seen, "d")
            rest = await take(told, 3)
        async with stream(seen.http, f"?type=kv&after={first.id}") as told:
            again = await take(told, 3)

    assert [each.data["key"] for each in rest] == ["b", "c", "d"]
    assert again == rest


async def test_a_stream_can_be_about_a_topic_and_a_broker(tmp_path: Path) -> None:
    async with plane(tmp_path) as seen, stream(seen.http, "?topic=order-*&broker=broker-a,broker-b") as told:
        await register(seen, "order-1", "stock", "order-2")
        await put(seen, "order-1", "ORDER_TOPIC_CONFIG")  # of no broker
        await (await seen.wire()).request(105, {"topic": "order-9"})  # neither
        await (await seen.wire()).request(205, {"brokerName": "broker-a"})  # of no topic
        await register(seen, "order-3")
        (added, more) = await take(told, 2)

    assert (added.data["count"], added.data["topics"]) == (3, ["order-1", "order-2"])
    assert more.data["topics"] == ["order-3"]


async def test_what_an_earlier_run_told_is_a_gap(tmp_path: Path) -> None:
    async with plane(tmp_path) as seen, stream(seen.http, last="5") as told:
        gap, started = await take(told, 2)

    assert (gap.event, gap.data["dropped"], gap.data["from_id"]) == ("gap", None, 6)
    assert gap.data["to_id"] == int(gap.id) == int(started.id) - 1
    assert "started since" in gap.data["reason"]


async def test_a_stream_ends_with_the_drain(tmp_path: Path) -> None:
    async with plane(tmp_path) as seen:
        async with stream(seen.http) as told:
            stopping = asyncio.ensure_future(seen.run.server.stop())
            rest = [message.event async for message in told if message.data is not None]
        await stopping

    assert rest == ["server.draining"]


LAST_S: Final = 0.05
NONSENSE: Final = {
    "/api/v1/events?after=x": "bad_number",
    "/api/v1/history?cursor=-1": "bad_number",
    "/api/v1/history?from=yesterday": "bad_time",
    "/api/v1/history?to=2026-13-01T00:00:00Z": "bad_time",
    f"/api/v1/history?topic={'x' * 400}": "long_text",
    f"/api/v1/events?type={',x' * 30}": "long_text",
    "/api/v1/history?limit=0": "bad_limit",
}


async def test_what_cannot_be_meant_is_refused() -> None:
    async with bare(EventHistory(1)) as scene:
        answers = {path: await scene.client.get(path) for path in NONSENSE}

    assert {answer.status_code for answer in answers.values()} == {400}
    assert {path: answer.json()["code"] for path, answer in answers.items()} == NONSENSE


async def test_a_history_comes_in_pages(tmp_path: Path) -> None:
    async with plane(tmp_path) as seen:
        for number in range(5):
            await put(seen, str(number))
        pages: list[Any] = [await seen.json("/api/v1/history?type=kv.put&limit=2")]
        while cursor := pages[-1]["next_cursor"]:
            pages.append(await seen.json(f"/api/v1/history?type=kv.put&limit=2&cursor={cursor}"))
        everything = await seen.json("/api/v1/history")

    assert [[item["key"] for item in page["items"]] for page in pages] == [["0", "1"], ["2", "3"], ["4"]]
    assert [item["event"] for item in everything["items"][:3]] == ["http.listening", "server.started", "server.ready"]
    assert everything["is_whole"] is True
    assert everything["oldest"] == everything["items"][0]["time"]


class Bare:
    """Only the event paths, of a history that a test fills."""

    def __init__(self, client: httpx.AsyncClient, history: EventHistory, address: tuple[str, int]) -> None:
        self.client, self.history, self.address = client, history, address


@asynccontextmanager
async def bare(history: EventHistory, keep_alive_s: float = 60.0) -> AsyncIterator[Bare]:
    sock = listening_socket("127.0.0.1", 0)
    sock.listen(128)
    family = Events(SimpleNamespace(history=history), keep_alive_s)
    api = Api([(each, family) for each in operations_of(Events)], lambda _operation, _request: None)
    path = Route("/api/v1/{rest:path}", api.answer)
    server = http_server(Starlette(routes=[path], exception_handlers=HANDLERS))
    serving = asyncio.ensure_future(server.serve(sockets=[sock]))
    host, port = sock.getsockname()
    try:
        async with httpx.AsyncClient(base_url=f"http://{host}:{port}", timeout=30, trust_env=False) as client:
            yield Bare(client, history, (host, port))
    finally:
        history.end()
        server.should_exit = True
        await serving
        sock.close()


async def test_a_history_is_of_a_time() -> None:
    history = EventHistory(1, most_events=8)
    for number in range(10):
        history.add(RouteMissed(topic=f"T{number}", peer=None), 1_700_000_000.0 + number)
    async with bare(history) as scene:
        by_text = await scene.client.get("/api/v1/history?from=2023-11-14T22:13:23Z&to=2023-11-14T23:13:24%2B01:00")
        by_number = await scene.client.get("/api/v1/history?from=1700000008.5")

    assert [item["topic"] for item in by_text.json()["items"]] == ["T3", "T4"]
    assert [item["time"] for item in by_number.json()["items"]] == ["2023-11-14T22:13:29.000Z"]
    assert (by_text.json()["is_whole"], by_text.json()["oldest"]) == (False, "2023-11-14T22:13:22.000Z")


async def test_a_history_that_ended_is_not_streamed() -> None:
    history = EventHistory(1)
    async with bare(history) as scene:
        history.end()
        refused = await scene.client.get("/api/v1/events")

    assert (refused.status_code, refused.json()["code"]) == (503, "draining")


async def test_a_silent_stream_is_kept_alive_and_tells_how_far_it_is() -> None:
    history = EventHistory(100)
    async with bare(history, keep_alive_s=0.01) as scene, stream(scene.client, "?type=server") as told:
        history.add(RouteMissed(topic="T", peer=None), 0.0)
        alive = [message async for message in _until(told, "100")]

    assert all(message.comments == ["alive"] for message in alive)


async def _until(told: AsyncIterator[Message], number: str) -> AsyncIterator[Message]:
    async for message in told:
        yield message
        if message.id == number:
            return


async def test_many_names_are_cut_and_say_so() -> None:
    history = EventHistory(1)
    history.add(TopicsAdded(broker="b", count=1500, topics=tuple(f"T{n}" for n in range(1500))), 0.0)
    async with bare(history) as scene:
        (item,) = (await scene.client.get("/api/v1/history")).json()["items"]
        (few,) = (await scene.client.get("/api/v1/history?topic=T1*9")).json()["items"]

    assert (item["count"], len(item["topics"]), item["topics_left_out"]) == (1500, 1000, 500)
    assert (few["count"], "topics_left_out" in few, few["topics"][0]) == (1500, False, "T19")


async def test_a_reader_that_does_not_read_holds_nobody_up_and_is_told_of_its_gap() -> None:
    history = EventHistory(1, most_events=500)
    async with bare(history) as scene:
        sock = socket.socket()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.setblocking(False)
        await asyncio.get_running_loop().sock_connect(sock, scene.address)
        reader, writer = await asyncio.open_connection(sock=sock, limit=2**10)
        writer.write(b"GET /api/v1/events?after=0 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        await writer.drain()
        await eventually(lambda: history.reader_count, "the stream")
        added = 0

        def is_behind() -> bool:
            """Whether more was sent than sockets take."""
            nonlocal added
            for _ in range(400):
                added += 1
                history.add(RouteMissed(topic=f"T{added}".ljust(900, "."), peer=None), 0.0)
            return added > 12_000

        await eventually(is_behind, "more than the sockets take")
        assert len(history) == 500
        history.end()
        text = (await asyncio.wait_for(reader.read(-1), 60)).decode()
        writer.close()
        await writer.wait_closed()

    told = [int(line.split()[1]) for line in text.splitlines() if line.startswith("id: ")]
    events = text.count("event: route.missed")
    gaps = [line for line in text.splitlines() if '"event":"gap"' in line]
    assert gaps
    dropped = sum(int(line.split('"dropped":')[1].split(",")[0]) for line in gaps)
    assert events + dropped == added
    assert told == sorted(told)
    assert told[-1] == added


async def test_there_is_room_for_so_many_streams_and_each_that_ends_makes_room() -> None:
    history = EventHistory(1)
    async with bare(history) as scene:
        ends = [history.listen(lambda: None) for _ in range(MOST_STREAMS - 1)]
        async with stream(scene.client):
            refused = await scene.client.get("/api/v1/events")
            assert (refused.status_code, refused.json()["code"]) == (503, "too_many_streams")
        await eventually(lambda: history.reader_count < MOST_STREAMS, "the end of the stream to be seen")
        async with stream(scene.client):
            assert history.reader_count == MOST_STREAMS
        for end in ends:
            end()
        await eventually(lambda: history.reader_count == 0, "the end of the stream to be seen")


async def test_a_stop_waits_for_no_reader_that_does_not_read_and_is_no_fault(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cosmodrome.http.http_server.LAST_TAKING_S", LAST_S)
    history = EventHistory(1)
    async with bare(history) as scene:
        sock = socket.socket()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.setblocking(False)
        await asyncio.get_running_loop().sock_connect(sock, scene.address)
        await asyncio.get_running_loop().sock_sendall(
            sock, b"GET /api/v1/events?after=0 HTTP/1.1\r\nHost: localhost\r\n\r\n"
        )
        await eventually(lambda: history.reader_count, "the stream")
        for number in range(10_000):
            history.add(RouteMissed(topic=f"T{number}".ljust(900, "."), peer=None), 0.0)
    sock.close()

    assert history.reader_count == 0
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == []
