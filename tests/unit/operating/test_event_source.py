"""Server-sent events are read for as long as somebody wants them."""

import contextlib
import itertools
import json
from collections.abc import Sequence
from typing import Any

import pytest
from tests.support.scripted_http import EVENT_STREAM, ScriptedHttp, answer

from cosmodrome.errors import DeniedError, UnavailableError, UnreachableError, WarmingUpError
from cosmodrome.operating.api import Api
from cosmodrome.operating.event_source import EventSource, messages


def said(number: int, **fields: Any) -> bytes:
    data = json.dumps({"event_id": number, "event": "kv.put", **fields})
    return f"event: kv.put\nid: {number}\ndata: {data}\n\n".encode()


def problem(status: str, code: str) -> bytes:
    return answer(status, json.dumps({"code": code, "detail": f"it is {code}"}).encode(), "application/problem+json")


class Reading:
    """What a source gives from a scripted server, and what it told."""

    def __init__(self, server: ScriptedHttp, query: Sequence[tuple[str, str]] = (), silence_s: float = 30.0) -> None:
        self.lost: list[str] = []
        self.pauses: list[float] = []
        api = Api(server.address, token="t", timeout_s=10.0)  # noqa: S106  # of a test
        self.source = EventSource(api, query, self.lost.append, self.pauses.append, silence_s=silence_s)

    def take(self, count: int) -> list[int]:
        with contextlib.closing(self.source.events()) as events:
            return [event["event_id"] for event in itertools.islice(events, count)]


def test_a_stream_is_cut_into_messages() -> None:
    lines = [
        b": hello\n", b"retry: 2000\n", b"id: 7\n", b"\n",
        b"event: x\r\n", b"id: 8\r\n", b"data: one\r\n", b"data:two\r\n", b"\r\n",
        b"data: begun\n",
    ]  # fmt: skip

    assert list(messages(lines)) == [("7", b""), ("8", b"one\ntwo")]


def test_what_is_wanted_is_asked_for() -> None:
    with ScriptedHttp([EVENT_STREAM + said(5)]) as server:
        reading = Reading(server, [("type", "kv"), ("topic", "a b*")])

        assert reading.take(1) == [5]

    (head,) = server.heads
    assert head.startswith("GET /api/v1/events?type=kv&topic=a+b%2A HTTP/1.1\r\n")
    assert "Authorization: Bearer t\r\n" in head
    assert "Last-Event-ID" not in head


def test_a_connection_that_breaks_is_made_again_where_it_was() -> None:
    """Also in the middle of an event, after a comment that only says how far the stream is, and while a server stops."""
    answers = [
        EVENT_STREAM + b"id: 3\n\n" + said(5) + said(6)[:-5],
        problem("503 Service Unavailable", "draining"),
        EVENT_STREAM + said(6) + b": alive\nid: 9\n\n",
        EVENT_STREAM + said(12),
    ]
    with ScriptedHttp(answers) as server:
        reading = Reading(server)

        assert reading.take(3) == [5, 6, 12]

    ids = [line for head in server.heads for line in head.splitlines() if line.startswith("Last-Event-ID")]
    assert ids == ["Last-Event-ID: 5", "Last-Event-ID: 5", "Last-Event-ID: 9"]
    assert len(reading.lost) == len(reading.pauses) == 3
    assert "draining" in reading.lost[1]
    assert reading.pauses[1] > reading.pauses[0], "it is not asked again and again in a hurry"


def test_silence_is_a_broken_connection() -> None:
    with ScriptedHttp([EVENT_STREAM + said(1)], stays=True) as server:
        reading = Reading(server, silence_s=0.01)
        events = reading.source.events()
        assert next(events)["event_id"] == 1

        class Enough(Exception):  # noqa: N818
            pass

        def enough(_: float) -> None:
            raise Enough

        reading.source._pause = enough  # the server has no further answer
        with pytest.raises(Enough):
            next(events)

    assert reading.lost == ["nothing came for too long"]


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (answer("200 OK", b"<html>", "text/html"), UnavailableError),
        (answer("404 Not Found", b"nothing", "text/plain"), UnavailableError),
        (problem("404 Not Found", "no_such_path"), UnavailableError),
        (b"\x00\x00\x00\x20RocketMQ", UnreachableError),
        (b"", UnreachableError),
        (problem("403 Forbidden", "denied"), DeniedError),
        (problem("503 Service Unavailable", "too_many_streams"), WarmingUpError),
    ],
)
def test_the_first_connection_must_succeed(data: bytes, error: type[Exception]) -> None:
    with ScriptedHttp([data]) as server, pytest.raises(error):
        Reading(server).take(1)


def test_a_server_that_became_another_ends_it() -> None:
    with (
        ScriptedHttp([EVENT_STREAM + said(1), answer("200 OK", b"<html>", "text/html")]) as server,
        pytest.raises(UnavailableError),
    ):
        Reading(server).take(2)
