"""Who may talk to the API, before it is asked what is wanted."""

from collections.abc import Mapping
from http import HTTPStatus

import pytest
from starlette.requests import Request

from cosmodrome.http.guard import Guard, is_loopback, settings
from cosmodrome.http.problems import Problem

HOST = "127.0.0.1:19876"
TOKEN = "a token of some length"  # noqa: S105


def request(headers: Mapping[str, str] | list[tuple[str, str]], client: str | None = "127.0.0.1") -> Request:
    pairs = headers.items() if isinstance(headers, Mapping) else headers
    return Request(
        {
            "type": "http",
            "method": "PUT",
            "path": "/",
            "scheme": "http",
            "query_string": b"",
            "headers": [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in pairs],
            "client": None if client is None else (client, 4711),
        }
    )


def refusal(act: object, request: Request) -> Problem:
    assert callable(act)
    with pytest.raises(Problem) as raised:
        act(request)
    return raised.value


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        HOST,
        "localhost",
        "LOCALHOST:1",
        "ui.localhost:1",
        "[::1]:19876",
        "[::1]",
        "10.1.2.3:1",
        "mq.example.com:1",
    ],
)
def test_addresses_localhost_and_our_own_names_are_expected(host: str) -> None:
    Guard(settings([" MQ.example.com ", ""], "")).check_host(request({"Host": host}))


@pytest.mark.parametrize(
    "host",
    [
        "evil.example:19876",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "",
        "x y",
        "[::1",
        "1270.0.1",
        "2130706433",
    ],
)
def test_a_name_that_is_not_ours_is_not_expected(host: str) -> None:
    """What a page of another site can make a browser ask for: its own name, which it has pointed here."""
    problem = refusal(Guard(settings(["mq.example.com"], "")).check_host, request({"Host": host}))

    assert (problem.status, problem.code) == (HTTPStatus.MISDIRECTED_REQUEST, "unexpected_host")
    assert "httpHosts" in problem.hint


def test_two_hosts_are_none() -> None:
    problem = refusal(Guard(settings([], "")).check_host, request([("Host", HOST), ("Host", "evil.example")]))

    assert problem.code == "bad_host"


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:8080"},
        {"Origin": "https://127.0.0.1:19876"},
        {"Origin": ""},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_a_page_of_another_origin_changes_nothing(headers: dict[str, str]) -> None:
    problem = refusal(Guard(settings([], "")).check_write, request({"Host": HOST} | headers))

    assert (problem.status, problem.code) == (HTTPStatus.FORBIDDEN, "foreign_origin")


def test_a_second_origin_does_not_help() -> None:
    headers = [("Host", HOST), ("Origin", f"http://{HOST}"), ("Origin", "http://evil.example")]

    assert refusal(Guard(settings([], "")).check_write, request(headers)).code == "foreign_origin"


@pytest.mark.parametrize(
    "headers", [{}, {"Origin": f"http://{HOST}"}, {"Origin": f"HTTP://{HOST}", "Sec-Fetch-Site": "same-origin"}]
)
def test_programs_and_pages_of_this_server_may(headers: dict[str, str]) -> None:
    Guard(settings([], "")).check_write(request({"Host": HOST} | headers))


def test_a_change_needs_a_host() -> None:
    assert refusal(Guard(settings([], "")).check_write, request({})).code == "bad_host"


def test_from_elsewhere_the_token_is_needed() -> None:
    guard = Guard(settings([], TOKEN))

    for client in ("10.1.2.3", None):
        for headers, code in (
            ({}, "bad_token"),
            ({"Authorization": "Bearer nonsense"}, "bad_token"),
            ({"Authorization": f"Basic {TOKEN}"}, "bad_token"),
            ({"Authorization": f"Bearer {TOKEN}x"}, "bad_token"),
            ({"Authorization": "Bearer caf\u00e9"}, "bad_token"),
            ({"Authorization": "Bearer"}, "bad_token"),
        ):
            problem = refusal(guard.check_write, request({"Host": HOST} | headers, client))
            assert (problem.status, problem.code) == (HTTPStatus.UNAUTHORIZED, code)
            assert problem.headers == {"WWW-Authenticate": "Bearer"}
            assert TOKEN not in problem.detail + problem.hint
        guard.check_write(request({"Host": HOST, "Authorization": f"bearer {TOKEN}"}, client))


def test_without_a_token_nothing_is_changed_from_elsewhere() -> None:
    for headers in ({}, {"Authorization": "Bearer "}, {"Authorization": "Bearer x"}):
        problem = refusal(Guard(settings([], "")).check_write, request({"Host": HOST} | headers, "10.1.2.3"))
        assert (problem.status, problem.code) == (HTTPStatus.FORBIDDEN, "no_token_set")


@pytest.mark.parametrize("name", ["X-Forwarded-For", "Forwarded", "X-Real-IP", "Via"])
def test_behind_a_proxy_of_this_host_nobody_is_this_host(name: str) -> None:
    asked = request({"Host": HOST, name: "anything"})

    assert not is_loopback(asked)
    assert refusal(Guard(settings([], "")).check_write, asked).code == "no_token_set"


@pytest.mark.parametrize(
    ("client", "is_ours"),
    [
        *((each, True) for each in ("127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1")),
        *((each, False) for each in ("10.0.0.1", "::ffff:10.0.0.1", "x", None)),
    ],
)
def test_which_peers_are_this_host(client: str | None, is_ours: bool) -> None:  # noqa: FBT001
    assert is_loopback(request({}, client)) is is_ours
