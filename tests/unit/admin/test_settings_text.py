"""Values as Java writes them."""

import pytest

from cosmodrome.admin.settings_text import (
    attributes_from,
    attributes_text,
    group_config_text,
    java,
    java_double,
    perm_text,
    rounded,
    topic_config_text,
)
from cosmodrome.protocol.bodies.groups import (
    CustomizedRetryPolicy,
    ExponentialRetryPolicy,
    GroupRetryPolicy,
    SimpleSubscriptionData,
    SubscriptionGroupConfig,
)
from cosmodrome.protocol.bodies.topics import BrokerTopicConfig


# What Double.toString of OpenJDK 17 gives, except where it gives more digits than are needed.
@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.0, "0.0"), (-0.0, "-0.0"), (1.0, "1.0"), (0.5, "0.5"), (0.001, "0.001"), (0.0001, "1.0E-4"),
        (9999999.0, "9999999.0"), (1e7, "1.0E7"), (123456789.0, "1.23456789E8"), (-1.5e-7, "-1.5E-7"),
        (1e22, "1.0E22"), (float("inf"), "Infinity"), (float("-inf"), "-Infinity"), (float("nan"), "NaN"),
    ],
)  # fmt: skip
def test_doubles(number: float, text: str) -> None:
    assert java_double(number) == text


@pytest.mark.parametrize(
    ("number", "text"), [(1.005, "1.01"), (-1.005, "-1.01"), (0.0, "0.00"), (1e300, "1.0E300"), (float("nan"), "NaN")]
)
def test_rounding(number: float, text: str) -> None:
    assert rounded(number, 2) == text


def test_permissions() -> None:
    assert [perm_text(perm) for perm in (0, 2, 4, 6, 7)] == ["---", "-W-", "R--", "RW-", "RWX"]


def test_values() -> None:
    assert [java(value) for value in (None, True, False, 5, 0.5, {"a": None}, "x")] == [
        "null", "true", "false", "5", "0.5", "{a=null}", "x",
    ]  # fmt: skip


def test_attributes_come_back_as_they_were() -> None:
    assert attributes_from("+a=b,+c=d=e,-f") == {"+a": "b", "+c": "d=e", "-f": ""}
    assert attributes_text(attributes_from("+a=b,-f")) == "+a=b,-f"
    assert attributes_from("") == {}


@pytest.mark.parametrize("text", ["a", "+a", "-a=b", "=b", "+=b", "-", "+a=b,+a=c"])
def test_attributes_that_are_none(text: str) -> None:
    with pytest.raises(ValueError):
        attributes_from(text)


def test_a_topic() -> None:
    assert topic_config_text(BrokerTopicConfig(topic_name="T", attributes={"+a": "b"})) == (
        "TopicConfig [topicName=T, readQueueNums=16, writeQueueNums=16, perm=RW-, topicFilterType=SINGLE_TAG, "
        "topicSysFlag=0, order=false, attributes={+a=b}]"
    )


def test_a_group_with_everything() -> None:
    config = SubscriptionGroupConfig(
        group_name="g",
        consume_timeout_minute=5,
        group_retry_policy=GroupRetryPolicy(
            exponential_retry_policy=ExponentialRetryPolicy(),
            customized_retry_policy=CustomizedRetryPolicy(next=(1, 2)),
        ),
        subscription_data_set=(SimpleSubscriptionData(topic="T", expression="*"),),
    )
    text = group_config_text(config)

    assert "ExponentialRetryPolicy{initial=5000, max=7200000, multiplier=2}" in text
    assert "customizedRetryPolicy=CustomizedRetryPolicy{next=[1, 2]}}" in text
    assert "consumeTimeoutMinute=5" in text
    assert "[SimpleSubscriptionData{topic=T, expressionType=null, expression=*, version=0}]" in text
