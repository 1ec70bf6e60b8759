"""How a request finds its operation, and what is taken with it."""

import asyncio
from collections.abc import AsyncIterator
from http import HTTPStatus
from typing import Any

import httpx
import msgspec
import pytest
from starlette.applications import Starlette
from starlette.requests import Request

from cosmodrome.http import bodies
from cosmodrome.http.api import Api, ApiRoute
from cosmodrome.http.operations import Asked, Operation, get, operations_of, write
from cosmodrome.http.problems import HANDLERS, Problem

METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]


class Thing(msgspec.Struct, forbid_unknown_fields=True):
    """Something."""

    name: str
    size: int = 0


class Things:
    """Handlers."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, Any]] = []

    @get("/things", answers=list[str])
    async def all(self, _: Asked) -> object:
        """All."""
        return [name for name, _ in self.seen]

    @get("/things/{name}", answers=Thing)
    async def one(self, asked: Asked) -> object:
        """One."""
        return Thing(name=asked.names["name"])

    @get("/things/{name}/of/{owner}", answers=dict[str, str])
    async def owned(self, asked: Asked) -> object:
        """One of somebody."""
        return dict(asked.names)

    @write("PUT", "/things/{name}", answers=Thing, takes=Thing)
    async def put(self, asked: Asked) -> object:
        """Put one."""
        self.seen.append((asked.names["name"], asked.body))
        return asked.body

    @write("DELETE", "/things/{name}", answers=Thing)
    async def delete(self, asked: Asked) -> object:
        """Delete one."""
        self.seen.append((asked.names["name"], None))
        return Thing(name="gone")


def app(things: Things, refused: str = "") -> Starlette:
    def admit(operation: Operation, _: Request) -> None:
        if operation.name == refused:
            raise Problem(HTTPStatus.FORBIDDEN, "denied", "no")

    api = Api([(each, things) for each in operations_of(Things)], admit)
    return Starlette(routes=[ApiRoute("/", api.answer, METHODS)], exception_handlers=HANDLERS)


@pytest.fixture
def things() -> Things:
    return Things()


@pytest.fixture
async def http(things: Things) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(app(things))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        yield client


async def test_names_are_cut_before_they_are_decoded(http: httpx.AsyncClient) -> None:
    assert (await http.get("/things/a%2Fb%25%3F")).json() == {"name": "a/b%?", "size": 0}
    assert (await http.get("/things/a%2Fof/of/%C3%A9")).json() == {"name": "a/of", "owner": "é"}
    assert (await http.get("/things/a%0Ab%0A")).json() == {"name": "a\nb\n", "size": 0}
    assert (await http.get("/things/of/of/of")).json() == {"name": "of", "owner": "of"}


@pytest.mark.parametrize("path", ["/", "/things/", "/things//of/x", "/things/x/of", "/thing", "/things/x/y/z"])
async def test_what_is_not_there_is_a_problem(http: httpx.AsyncClient, path: str) -> None:
    answer = await http.get(path)

    assert (answer.status_code, answer.json()["code"]) == (404, "no_such_path")
    assert answer.headers["content-type"] == "application/problem+json"


async def test_a_name_that_is_no_text_is_refused(http: httpx.AsyncClient) -> None:
    answer = await http.get("/things/%FF")

    assert (answer.status_code, answer.json()["code"]) == (400, "bad_path")


async def test_other_methods_are_named(http: httpx.AsyncClient) -> None:
    answer = await http.request("PATCH", "/things/x")
    assert (answer.status_code, answer.json()["code"], answer.headers["allow"]) == (
        405,
        "no_such_method",
        "DELETE, GET, HEAD, PUT",
    )
    assert (await http.head("/things/x")).status_code == 200
    assert (await http.options("/things")).headers["allow"] == "GET, HEAD"


async def test_what_is_sent_is_read_as_it_is_taken(http: httpx.AsyncClient, things: Things) -> None:
    answer = await http.put("/things/x", json={"name": "y", "size": 3})

    assert answer.json() == {"name": "y", "size": 3}
    assert things.seen == [("x", Thing(name="y", size=3))]


@pytest.mark.parametrize(
    ("content_type", "content", "answered"),
    [
        ("text/plain", b"{}", (415, "not_json")),
        ("application/x-www-form-urlencoded", b"name=x", (415, "not_json")),
        ("", b'{"name":"x"}', (415, "not_json")),
        ("application/json", b"", (400, "bad_body")),
        ("application/json", b"{", (400, "bad_body")),
        ("application/json", b'{"name":1}', (400, "bad_body")),
        ("application/json", b'{"name":"x","more":1}', (400, "bad_body")),
        ("application/json", b'{"size":1}', (400, "bad_body")),
        ("application/json", b'"\xff"', (400, "bad_body")),
        ("application/json", b"[" * 500_000, (400, "bad_body")),
        ("application/json", b'{"name":' + b"[" * 500_000, (400, "bad_body")),
        ("application/json", b'{"name":"' + b"x" * bodies.LONGEST_BODY_BYTES + b'"}', (413, "long_body")),
    ],
)
async def test_what_cannot_be_taken_changes_nothing(
    http: httpx.AsyncClient, things: Things, content_type: str, content: bytes, answered: tuple[int, str]
) -> None:
    answer = await http.put("/things/x", content=content, headers={"Content-Type": content_type})

    assert (answer.status_code, answer.json()["code"]) == answered
    assert things.seen == []


async def test_a_type_with_parameters_is_json(http: httpx.AsyncClient) -> None:
    headers = {"Content-Type": "Application/JSON; charset=utf-8"}
    assert (await http.put("/things/x", content=b'{"name":"x"}', headers=headers)).status_code == 200


async def test_what_takes_nothing_is_sent_nothing(http: httpx.AsyncClient, things: Things) -> None:
    answer = await http.request("DELETE", "/things/x", json={"name": "x"})
    assert (answer.status_code, answer.json()["code"]) == (400, "unwanted_body")
    assert (await http.request("GET", "/things/x", json={})).json()["code"] == "unwanted_body"
    assert (await http.delete("/things/x")).json()["name"] == "gone"
    assert things.seen == [("x", None)]


async def test_a_body_that_is_longer_than_it_says_or_says_nothing(http: httpx.AsyncClient, things: Things) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(bodies.LONGEST_BODY_BYTES // 65_536 + 2):
            yield b"x" * 65_536

    headers = {"Content-Type": "application/json"}
    answer = await http.put("/things/x", content=pieces(), headers=headers)
    assert (answer.status_code, answer.json()["code"], answer.headers["connection"]) == (413, "long_body", "close")
    answer = await http.put("/things/x", content=b"{}", headers=headers | {"Content-Length": "9" * 30})
    assert answer.status_code == 413
    assert things.seen == []


async def test_a_body_that_does_not_come_is_not_waited_for(things: Things, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "BODY_TIMEOUT_S", 0.05)
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        await asyncio.Event().wait()
        raise AssertionError

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": "PUT",
        "path": "/things/x",
        "raw_path": b"/things/x",
        "query_string": b"",
        "headers": [(b"content-type", b"application/json")],
    }
    await app(things)(scope, receive, send)

    assert sent[0]["status"] == 408
    assert (b"connection", b"close") in sent[0]["headers"]
    assert things.seen == []


async def test_who_is_not_admitted_is_not_read(things: Things) -> None:
    async def receive() -> dict[str, Any]:
        raise AssertionError("nothing is read of it")

    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "PUT", "path": "/things/x", "query_string": b"", "headers": []}
    await app(things, refused="put")(scope, receive, send)

    assert sent[0]["status"] == 403
