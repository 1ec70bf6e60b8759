"""Partial results, and when failures are errors."""

import pytest

from cosmodrome.client.admin.answers import Answers, advised, checked, done
from cosmodrome.errors import (
    AuthenticationError,
    BrokersFailedError,
    ConnectError,
    NotPermittedError,
    NotSupportedError,
    RefusedError,
    RocketMQError,
)

DOWN = ConnectError("cannot connect to 127.0.0.1:1")
BUSY = RefusedError("127.0.0.1:2", 2, "busy")


def test_a_result_without_failures_is_whole() -> None:
    answers = Answers(values={"a": 1})

    assert not answers.is_partial
    assert answers.whole() is answers
    assert answers.one() == 1
    assert checked("x", answers) is answers
    assert done("x", answers) is answers


def test_a_result_of_which_a_part_is_missing_says_so() -> None:
    answers = checked("x", Answers(values={"a": 1}, failures={"b": DOWN}))

    assert answers.is_partial
    for ask in (answers.whole, answers.one):
        with pytest.raises(BrokersFailedError, match="b: cannot connect"):
            ask()


def test_a_result_of_which_all_is_missing_is_an_error() -> None:
    with pytest.raises(ConnectError):
        checked("it", Answers(failures={"a": DOWN}))
    with pytest.raises(BrokersFailedError, match=r"it: a: cannot connect.*; b: .*code 2: busy") as error:
        checked("it", Answers(failures={"a": DOWN, "b": BUSY}))
    assert error.value.failures == {"a": DOWN, "b": BUSY}
    assert error.value.__notes__ == [
        "a: do: see whether the server runs and its address can be reached from here",
        "b: do: the broker has too much to do: ask again later",
    ]
    assert error.value.done == ()


def test_nothing_to_ask_is_no_failure() -> None:
    assert checked("x", Answers()).values == {}


def test_a_change_that_was_not_made_everywhere_is_an_error_that_names_where_it_was() -> None:
    with pytest.raises(BrokersFailedError, match=r"\(done at a\)") as error:
        done("it", Answers(values={"a": None}, failures={"b": BUSY}))
    assert error.value.done == ("a",)


def test_one_value_is_one_value() -> None:
    with pytest.raises(ValueError, match="2 values: a, b"):
        Answers(values={"a": 1, "b": 2}).one()


@pytest.mark.parametrize(
    ("error", "word"),
    [
        (AuthenticationError("a:1", 16, "no"), "credentials"),
        (NotPermittedError("a:1", 16, "no"), "administrator"),
        (NotSupportedError("a:1", 3, "no"), "release"),
        (DOWN, "reached"),
        (RefusedError("a:1", 206, "no"), "start a consumer"),
        (RefusedError("a:1", 26, "no"), "groups.create"),
    ],
)
def test_errors_say_whom_they_are_about_and_what_to_do(error: RocketMQError, word: str) -> None:
    notes = advised("broker-a", error).__notes__

    assert "asked: broker-a" in notes
    assert any(word in note for note in notes if note.startswith("do:"))


def test_a_code_without_advice_has_none() -> None:
    assert advised("broker-a", RefusedError("a:1", 999, "odd")).__notes__ == ["asked: broker-a"]
