"""Names that somebody may have meant."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosmodrome.protocol.slices import at_once
from cosmodrome.why.near_names import near_names

NAMES = ("order-events", "orders", "invoice", "INST_1%payments", "user_logins", "abcd")


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("order-event", "order-events"),
        ("Order-Events", "order-events"),
        ("order_events ", "order-events"),
        ("oredr-events", "order-events"),
        ("order-evnets", "order-events"),
        ("payments", "INST_1%payments"),
        ("userlogins", "user_logins"),
        ("invoise", "invoice"),
    ],
)
def test_what_was_meant_is_first(asked: str, meant: str) -> None:
    assert at_once(near_names(asked, NAMES))[0] == meant


@pytest.mark.parametrize("asked", ["stock", "abxy", "ac", "order-events-archive", ""])
def test_other_words_are_not_taken_for_it(asked: str) -> None:
    assert at_once(near_names(asked, NAMES)) == ()


def test_a_name_is_not_like_itself_and_at_most_three_are_given() -> None:
    assert at_once(near_names("topic1", [f"topic{number}" for number in range(9)])) == ("topic0", "topic2", "topic3")


def test_many_names_come_in_slices() -> None:
    work = near_names("order-event", (f"name-{number}" for number in range(1000)))
    assert sum(1 for _ in work) == 5


@given(st.text(max_size=12), st.lists(st.text(max_size=12), max_size=20))
def test_any_names_are_compared(name: str, names: list[str]) -> None:
    found = at_once(near_names(name, names))
    assert set(found) <= set(names) - {name}


@given(st.text("abc-", min_size=5, max_size=9), st.integers(0, 8), st.sampled_from("abc"))
def test_one_letter_more_is_near(name: str, place: int, letter: str) -> None:
    other = name[:place] + letter + name[place:]
    assert at_once(near_names(name, [other])) == (other,)
    assert at_once(near_names(other, [name])) == (name,)
