"""`cosmodrome watch` and `cosmodrome audit`: words, forms, exit codes."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result
from tests.support.scripted_http import EVENT_STREAM, ScriptedHttp, answer

from cosmodrome.cli import http_target
from cosmodrome.cli.audit import audit
from cosmodrome.cli.watch import watch
from cosmodrome.errors import AdminError, MissingError, OperatorError, RecordingError, UnavailableError, UsageError

EVENTS = (
    {
        "event_id": 7, "time": "2026-03-01T06:03:20.004Z", "level": "WARN", "event": "broker.unregistered",
        "cluster": "C", "broker": "b", "id": 0, "reason": "gone away",
    },
    {"event_id": 9, "event": "gap", "from_id": 8, "to_id": 9, "dropped": None, "reason": "restart"},
    {
        "event_id": 10, "time": "2026-03-01T06:03:21.000Z", "level": "INFO", "event": "topic.added",
        "broker": "b", "count": 7, "topics": list("abcdefg"),
    },
)  # fmt: skip


@pytest.fixture(autouse=True)
def _nothing_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (http_target.TOKEN_VARIABLE, "NAMESRV_ADDR", "ROCKETMQ_NAMESRV_ADDR"):
        monkeypatch.delenv(name, raising=False)


def run(command: click.Command, *words: str) -> Result:
    result = CliRunner().invoke(command, words, standalone_mode=False)
    if result.exception is not None and not isinstance(result.exception, OperatorError | click.UsageError):
        raise result.exception
    return result


def stream(events: Sequence[dict[str, Any]] = EVENTS) -> bytes:
    return EVENT_STREAM + b"".join(
        f"event: {event['event']}\nid: {event['event_id']}\ndata: {json.dumps(event)}\n\n".encode() for event in events
    )


def watched(*words: str) -> tuple[str, str]:
    """Give what was printed of the events, and what was asked."""
    with ScriptedHttp([stream()]) as server:
        result = run(watch, "--http", server.address, "--count", "3", *words)
        assert result.exception is None
    return result.output, server.heads[0].splitlines()[0]


@pytest.mark.parametrize(
    ("given", "advice"),
    [
        ("nonsense", "first words of names are: "),
        ("broker.registred", "did you mean broker.registered or "),
        ("topics", "did you mean topic"),
        ("broker,nonsence.x", "first words of names are: "),
        ("nonsense.*", "first words of names are: "),
    ],
)
def test_a_type_that_no_event_has_is_refused(given: str, advice: str) -> None:
    with pytest.raises(UsageError) as refused:
        watch.main(["--http", "127.0.0.1:1", "--type", given], standalone_mode=False)

    assert (refused.value.what, refused.value.exit_code) == (f"--type {given.rpartition(',')[2]!r} is no event.", 2)
    assert advice in (refused.value.remedy or "")


@pytest.mark.parametrize("given", ["gap", "broker", "broker,master", "broker.expiring", "kv.*", "*.registered"])
def test_a_type_that_events_have_is_asked_for(given: str) -> None:
    _, asked = watched("--type", given)

    assert "type=" in asked


def test_events_are_lines_as_in_the_log() -> None:
    output, asked = watched("--type", "broker", "--topic", "a*", "--topic", "b", "--broker", "b")

    first, gap, last = output.splitlines()
    assert first.endswith(' WARN broker.unregistered cluster=C broker=b id=0 reason="gone away"')
    assert gap.endswith(" WARN gap from_id=8 to_id=9 dropped=none reason=restart")
    assert last.endswith(" INFO topic.added broker=b count=7 topics=a,b,c,d,e,+2")
    assert asked == "GET /api/v1/events?type=broker&topic=a%2A&topic=b&broker=b HTTP/1.1"


def test_events_are_json_as_they_came() -> None:
    lines, asked = watched("-o", "ndjson", "--replay")
    document, _ = watched("-o", "json")

    assert [json.loads(line) for line in lines.splitlines()] == json.loads(document) == list(EVENTS)
    assert "?after=0 " in asked


def test_a_connection_that_breaks_is_told_unless_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)
    for words, is_told in (((), True), (("-q",), False)):
        with ScriptedHttp([stream(EVENTS[:1]), stream(EVENTS[2:])]) as server:
            result = run(watch, "--http", server.address, "--count", "2", *words)
        assert ("the connection broke" in result.stderr) == is_told


@pytest.mark.parametrize("command", [watch, audit])
def test_a_server_that_is_not_ours_is_told(command: click.Command) -> None:
    with ScriptedHttp([answer("404 Not Found", b"<html>", "text/html")]) as server:
        error = run(command, "--http", server.address).exception

    assert isinstance(error, UnavailableError)
    assert error.exit_code == 69


def test_one_server_is_asked() -> None:
    error = run(watch, "-n", "10.0.0.1:9876;10.0.0.2:9876").exception

    assert isinstance(error, UsageError)


@pytest.mark.parametrize(("given", "expected"), [("10.0.0.1:9876", "10.0.0.1:19876"), ("[::1]:1", "[::1]:10001")])
def test_http_is_above_the_remoting_port(given: str, expected: str) -> None:
    assert http_target.api_of(None, given, 1.0).address == expected
    assert http_target.api_of("h:5", given, 1.0).address == "h:5"


LINES = [{"time": "2026-03-01T06:03:20.004Z", "id": f"a{number}", "event": "change"} for number in range(3)]


def page(lines: Sequence[dict[str, Any]], cursor: str | None = None, unreadable: int = 0) -> bytes:
    body = {"items": lines, "next_cursor": cursor, "unreadable": unreadable}
    return answer("200 OK", json.dumps(body).encode())


def test_the_audit_log_of_a_server_is_read_in_pages() -> None:
    with ScriptedHttp([page(LINES[:2], "a1"), page(LINES[2:], unreadable=4)]) as server:
        result = run(audit, "--http", server.address, "--peer", "p", "--from", "2026-03-01T00:00+00:00", "--limit", "9")
        first, second = (head.splitlines()[0] for head in server.heads)

    assert [line.split()[-2] for line in result.stdout.splitlines()] == ["a0", "a1", "a2"]
    assert "4 lines cannot be read" in result.stderr
    assert first == "GET /api/v1/audit?peer=p&from=1772323200.0&limit=9 HTTP/1.1"
    assert second == "GET /api/v1/audit?peer=p&from=1772323200.0&limit=7&cursor=a1 HTTP/1.1"


def test_the_audit_log_of_a_file_is_read_without_a_server(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in LINES), "utf-8")
    for named in (path, tmp_path):
        document = run(audit, "--file", str(named), "-o", "json", "--limit", "2").stdout
        assert [line["id"] for line in json.loads(document)["items"]] == ["a2", "a1"]
    lines = run(audit, "--file", str(path), "-o", "ndjson").stdout.splitlines()
    assert [json.loads(line) for line in lines] == LINES[::-1]
    assert run(audit, "--file", str(path), "--event", "denied").stdout == ""


def test_a_file_that_is_no_audit_log_is_told(tmp_path: Path) -> None:
    (tmp_path / "other").write_text("one\ntwo\n", "utf-8")

    assert isinstance(run(audit, "--file", str(tmp_path / "other")).exception, RecordingError)
    assert isinstance(run(audit, "--file", str(tmp_path / "none")).exception, MissingError)


def test_a_change_is_undone() -> None:
    done = answer("200 OK", json.dumps({"undone": "a 1", "id": "a2"}).encode())
    with ScriptedHttp([done, done]) as server:
        text = run(audit, "--http", server.address, "--undo", "a 1").stdout
        document = run(audit, "--http", server.address, "--undo", "a 1", "--force", "-o", "json").stdout
        first, second = server.heads

    assert text == "a 1 is undone. To undo that: cosmodrome audit --undo a2\n"
    assert json.loads(document) == {"undone": "a 1", "id": "a2"}
    assert first.startswith("POST /api/v1/audit/a%201/undo HTTP/1.1")
    assert (first.endswith('{"force": false}'), second.endswith('{"force": true}')) == (True, True)


@pytest.mark.parametrize(("status", "code"), [("409 Conflict", 1), ("404 Not Found", 66), ("403 Forbidden", 77)])
def test_what_is_not_undone_has_its_exit_code(status: str, code: int) -> None:
    refused = answer(status, json.dumps({"detail": "no", "hint": "force"}).encode(), "application/problem+json")
    with ScriptedHttp([refused]) as server:
        error = run(audit, "--http", server.address, "--undo", "a1").exception

    assert isinstance(error, AdminError)
    assert (error.exit_code, error.remedy) == (code, "force")


@pytest.mark.parametrize("words", [("--force",), ("--undo", "a", "--file", "f"), ("--from", "noon"), ("--limit", "0")])
def test_what_cannot_be_meant_is_refused(words: Sequence[str]) -> None:
    assert isinstance(run(audit, *words).exception, UsageError | click.UsageError)
