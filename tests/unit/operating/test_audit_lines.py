"""Lines of an audit log, for people."""

import datetime as dt
from typing import Any

from cosmodrome.operating.audit_lines import text_of

NOW = dt.datetime(2026, 3, 1, 15, 0, tzinfo=dt.timezone(dt.timedelta(hours=8)))


def text(**line: Any) -> str:
    return text_of({"time": "2026-03-01T06:03:20.004Z", "id": "a1", "event": "change", **line}, NOW)


def test_a_change_says_who_did_what() -> None:
    line = text(
        code=100, request="PUT_KV_CONFIG", peer="10.0.0.1:5", access_key="ops", proxy="10.0.0.9:7",
        target={"namespace": "N", "key": "K"}, before=None, after={"bytes": 3, "sha256": "ab"}, undoes="a0",
    )  # fmt: skip

    assert line == (
        "14:03:20 a1 change PUT_KV_CONFIG by 10.0.0.1:5 as ops through 10.0.0.9:7 namespace=N key=K "
        'none -> {"bytes": 3, "sha256": "ab"} (undoes a0)'
    )


def test_other_lines_say_all_they_have() -> None:
    line = text_of({"time": "2026-02-28T06:03:20Z", "event": "denied", "peer": "p", "reason": "no", "others": 7}, NOW)

    assert line.startswith("2026-02-28 14:03:20 ")
    assert line.endswith(" denied by p reason=no others=7")


def test_a_line_stays_on_its_line_and_is_short() -> None:
    line = text(target={"key": "a\n\x1b[2J\u2028"}, before="x" * 5000, after=None)

    assert "key=a\\n\\x1b[2J\\u2028" in line
    assert len(line) < 500


def test_a_line_without_a_time_is_shown() -> None:
    assert text_of({"event": "torn", "fragment": "{"}, NOW) == "- 0000000000 torn fragment={"
