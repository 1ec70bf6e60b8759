"""What a member tells brokers that it wants."""

import pytest

from cosmodrome.client.consumer.filters import Sql
from cosmodrome.client.consumer.subscriptions import Subscriptions


def test_the_retry_topic_comes_with_the_group_and_stays() -> None:
    subscriptions = Subscriptions("G", has_retries=True)
    subscriptions.add("T", "a || b", 5)

    assert subscriptions.topics() == ("%RETRY%G", "T")
    assert subscriptions.of("%RETRY%G").wants_all
    assert not subscriptions.remove("%RETRY%G")
    assert subscriptions.remove("T")
    assert not subscriptions.remove("T")
    assert subscriptions.topics() == ("%RETRY%G",)


def test_without_retries_there_is_no_such_topic() -> None:
    assert Subscriptions("G", has_retries=False).topics() == ()


def test_brokers_take_the_newer_version_so_each_change_has_one() -> None:
    subscriptions = Subscriptions("G", has_retries=False)
    versions = []
    for expression in ("a", "b", Sql("x = 1"), None):
        subscriptions.add("T", expression, 1000)
        versions.append(subscriptions.of("T").sub_version)

    assert versions == [1000, 1001, 1002, 1003]


def test_a_bad_expression_leaves_the_old_one() -> None:
    subscriptions = Subscriptions("G", has_retries=False)
    subscriptions.add("T", "a", 1)

    with pytest.raises(ValueError, match="no tag"):
        subscriptions.add("T", "a b", 2)

    assert subscriptions.of("T").sub_string == "a"


def test_a_topic_that_was_just_given_up_filters_nothing() -> None:
    subscriptions = Subscriptions("G", has_retries=False)

    assert subscriptions.of("T").wants_all
    assert subscriptions.acceptance("T") is None
    assert "T" not in subscriptions
