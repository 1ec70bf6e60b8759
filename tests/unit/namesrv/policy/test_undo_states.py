"""What a change replaced, kept for as long as there is room, and what a line of the audit log tells of it."""

from collections.abc import Mapping
from typing import Any

import pytest

from cosmodrome.namesrv.policy.undo_states import (
    MOST_BYTES,
    ConfigState,
    KVState,
    PermState,
    State,
    UndoStates,
    state_of_line,
)


def kv(number: int) -> KVState:
    return KVState("N", f"K{number}", None, "V")


def test_the_last_states_are_kept() -> None:
    states = UndoStates(most_states=3)
    for number in range(5):
        states.put(str(number), kv(number))

    assert [states.get(str(number)) for number in range(5)] == [None, None, kv(2), kv(3), kv(4)]


def test_large_states_leave_room_for_fewer() -> None:
    states = UndoStates()
    for number in range(5):
        states.put(str(number), PermState("b", {f"T{topic}": (6, 4) for topic in range(50_000)}))

    assert len(states) == MOST_BYTES // PermState("b", {f"T{topic}": (6, 4) for topic in range(50_000)}).cost


def test_one_that_is_too_large_is_not_kept() -> None:
    states = UndoStates(most_bytes=3000)
    states.put("a", kv(1))
    states.put("b", KVState("N", "K", "x" * 1000, None))

    assert len(states) == 0


def test_what_was_not_made_is_forgotten() -> None:
    states = UndoStates()
    states.put("a", kv(1))
    states.discard("a")
    states.discard("a")

    assert states.get("a") is None


ORDER = {"namespace": "ORDER_TOPIC_CONFIG", "key": "T"}


@pytest.mark.parametrize(
    ("line", "state"),
    [
        (
            {"code": 100, "target": ORDER, "before": None, "after": "a:4"},
            KVState("ORDER_TOPIC_CONFIG", "T", None, "a:4"),
        ),
        (
            {"code": 102, "target": ORDER, "before": "a:4", "after": None},
            KVState("ORDER_TOPIC_CONFIG", "T", "a:4", None),
        ),
        (
            {"code": 318, "target": {}, "before": {"kvConfigPath": "/a"}, "after": {"kvConfigPath": "/b"}},
            ConfigState({"kvConfigPath": "/a"}, {"kvConfigPath": "/b"}),
        ),
    ],
)
def test_a_line_that_shows_everything_is_enough(line: Mapping[str, Any], state: State) -> None:
    assert state_of_line(line) == state


@pytest.mark.parametrize(
    "line",
    [
        {},
        {"code": 100, "target": "cut"},
        {"code": 100, "target": {"cut": "{", "bytes": 5}, "before": None, "after": None},
        {"code": 100, "target": ORDER | {"namespace": "N"}, "before": None, "after": "a:4"},
        {"code": 100, "target": ORDER, "before": "x" * 1000 + "... (5000 characters)", "after": "a:4"},
        {"code": 100, "target": ORDER, "before": {"bytes": 3}, "after": "a:4"},
        {"code": 205, "target": {"broker": "b"}, "before": {}, "after": {}},
        {"code": 216, "target": {"topic": "T"}, "before": {}, "after": None},
        {"code": 318, "target": {}, "before": {"kvConfigPath": "********"}, "after": {"kvConfigPath": "/b"}},
        {"code": 318, "target": {}, "before": {"nobodyKnowsThis": "1"}, "after": {"nobodyKnowsThis": "2"}},
        {"code": 318, "target": {}, "before": {"...": 7}, "after": {"...": 7}},
        {"code": 318, "target": {}, "before": {"cut": "{", "bytes": 9}, "after": None},
        {"code": 318, "target": {}, "before": {f"k{n}": "v" for n in range(51)}, "after": {}},
    ],
)
def test_a_line_that_does_not_is_not(line: Mapping[str, Any]) -> None:
    assert state_of_line(line) is None
