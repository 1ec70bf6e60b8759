"""Subscriptions made of expressions."""

import pytest

from cosmodrome.errors import MalformedBodyError
from cosmodrome.protocol.json_structs import decode_body, encode_body
from cosmodrome.protocol.subscription import SubscriptionData, subscription_to_sql, subscription_to_tags


@pytest.mark.parametrize("expression", [None, "", "*"])
def test_everything(expression: str | None) -> None:
    data = subscription_to_tags("T", expression, 5)

    assert data == SubscriptionData(topic="T", sub_string="*", sub_version=5)
    assert data.wants_all
    assert (data.tags_set, data.code_set) == ((), ())


@pytest.mark.parametrize(
    ("expression", "tags"),
    [
        ("TagA", ("TagA",)), ("TagA || TagB", ("TagA", "TagB")), ("TagA||TagB", ("TagA", "TagB")),
        (" TagA ||||  TagB || ", ("TagA", "TagB")), ("TagA || TagA", ("TagA",)), ("a|b", ("a|b",)), ("* || a", ("*", "a")),
    ],
)  # fmt: skip
def test_tags(expression: str, tags: tuple[str, ...]) -> None:
    data = subscription_to_tags("T", expression, 5)

    assert data.tags_set == tags
    assert data.sub_string == expression
    assert data.is_by_tag
    assert not data.wants_all


def test_hashes_are_javas() -> None:
    assert subscription_to_tags("T", "TagA || TagB || order-created", 5).code_set == (2598919, 2598920, -392709271)


def test_tags_with_one_hash_have_one_code() -> None:
    """`Aa` and `BB` have the same; the consumer tells them apart."""
    data = subscription_to_tags("T", "Aa || BB", 5)

    assert (data.tags_set, data.code_set) == (("Aa", "BB"), (2112,))


@pytest.mark.parametrize("expression", ["||", " || ", " "])
def test_no_tag_at_all(expression: str) -> None:
    with pytest.raises(ValueError, match="no tag"):
        subscription_to_tags("T", expression, 5)


def test_sql() -> None:
    data = subscription_to_sql("T", "a > 1", 5)

    assert data == SubscriptionData(topic="T", sub_string="a > 1", sub_version=5, expression_type="SQL92")
    assert not data.is_by_tag
    assert not data.wants_all
    with pytest.raises(ValueError, match="blank"):
        subscription_to_sql("T", " ", 5)


def test_the_document_is_that_of_java() -> None:
    data = subscription_to_tags("TopicTest", "TagA || TagB", 1700000000000)

    assert encode_body(data) == (
        b'{"classFilterMode":false,"codeSet":[2598919,2598920],"expressionType":"TAG","subString":"TagA || TagB",'
        b'"subVersion":1700000000000,"tagsSet":["TagA","TagB"],"topic":"TopicTest"}'
    )
    assert decode_body(SubscriptionData, encode_body(data)) == data


def test_what_cpp_clients_send() -> None:
    """Numbers as texts, most members left out; an expression type that is empty means tags."""
    data = decode_body(
        SubscriptionData, b'{"subString":"*","subVersion":"1700000000000","topic":"T","expressionType":""}'
    )

    assert (data.sub_version, data.wants_all) == (1700000000000, True)
    with pytest.raises(MalformedBodyError):
        decode_body(SubscriptionData, b'{"subString":"*"}')
