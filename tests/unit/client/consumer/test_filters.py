"""Expressions: what is a list of tags, what is refused, and the last word of the client about tags."""

import pytest
from tests.unit.client.consumer.stored import stored

from cosmodrome.client.consumer.filters import Sql, acceptance, subscription


@pytest.mark.parametrize("expression", [None, "", "*", "  ", " * "])
def test_c063_everything(expression: str | None) -> None:
    data = subscription("T", expression, 5)

    assert (data.wants_all, data.sub_version) == (True, 5)
    assert acceptance(data) is None


@pytest.mark.parametrize("expression", ["a || b", " a || b ", "a||b", "b || a || a"])
def test_c063_lists_of_tags(expression: str) -> None:
    assert set(subscription("T", expression, 1).tags_set) == {"a", "b"}


@pytest.mark.parametrize("expression", ["Tag=test AND x='y'", "a, b", "a | b", "a b", "a > 3", "(a)", "||"])
def test_c063_what_is_no_list_of_tags_is_refused(expression: str) -> None:
    with pytest.raises(ValueError, match="tag"):
        subscription("T", expression, 1)


def test_c063_sql_is_said_to_be_sql() -> None:
    data = subscription("T", Sql("a > 3 AND b = 'x'"), 1)

    assert (data.expression_type, data.sub_string, data.is_by_tag) == ("SQL92", "a > 3 AND b = 'x'", False)
    assert acceptance(data) is None


@pytest.mark.parametrize("text", ["", "  ", None, 5])
def test_c063_sql_that_is_none_is_refused(text: object) -> None:
    with pytest.raises(ValueError, match="SQL"):
        Sql(text)  # type: ignore[arg-type]


@pytest.mark.parametrize("expression", [3, ["a"], b"a"])
def test_c063_other_types_are_refused(expression: object) -> None:
    with pytest.raises(TypeError, match="expression"):
        subscription("T", expression, 1)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("tag", "wanted"),
    [
        ("Aa", True),
        ("BB", False),
        ("AaAa", True),
        ("BBBB", False),
        (None, False),
        ("标签", True),
        ("😀", True),
        ("aa", False),
    ],
)
def test_c064_tags_of_one_hash_are_told_apart(tag: str | None, wanted: bool) -> None:  # noqa: FBT001
    is_wanted = acceptance(subscription("T", "Aa || AaAa || 标签 || 😀", 1))

    assert is_wanted is not None
    assert is_wanted(stored(0, properties={} if tag is None else {"TAGS": tag})) is wanted
