"""What is refused before it is sent or stored."""

from typing import Any

import pytest

from cosmodrome.errors import MessageError, RocketMQError
from cosmodrome.protocol.messages import checks, properties

FORBIDDEN, ILLEGAL, BAD_NAME = 16, 13, 29
BROKERS_TEXT = (
    "the message is illegal, maybe msg body or properties length not matched. "
    "msg body length limit 4194304B, msg properties length limit 32KB."
)


def refused(check: Any, *asked: Any) -> tuple[int, str]:
    with pytest.raises(MessageError) as raised:
        check(*asked)
    assert isinstance(raised.value, RocketMQError)
    assert str(raised.value) == raised.value.text
    return raised.value.code, raised.value.text


@pytest.mark.parametrize("topic", ["T", "t" * 127, "%RETRY%" + "g" * 248, "%DLQ%" + "g" * 250, "a|b%c_d-E9"])
def test_topics(topic: str) -> None:
    checks.check_topic(topic)


@pytest.mark.parametrize("topic", ["", " ", "\t\n"])
def test_a_blank_topic(topic: str) -> None:
    assert refused(checks.check_topic, topic) == (BAD_NAME, "The specified topic is blank.")


@pytest.mark.parametrize("topic", ["a b", "a.b", "\u6807", "T\n", "a/b", "\N{ARABIC-INDIC DIGIT ONE}"])
def test_a_topic_with_a_bad_character(topic: str) -> None:
    text = f"The specified topic: {topic}, contains illegal characters, allowing only ^[%|a-zA-Z0-9_-]+$"

    assert refused(checks.check_topic, topic) == (BAD_NAME, text)


def test_a_long_topic() -> None:
    topic, retry = "t" * 128, "%RETRY%" + "g" * 249

    assert refused(checks.check_topic, topic) == (
        BAD_NAME,
        f"The specified topic: {topic}, is longer than topic max length: 127",
    )
    assert refused(checks.check_topic, retry) == (
        BAD_NAME,
        f"The specified topic is DLQ or Retry topic: {retry}, and it's longer than topic max length: 255",
    )


@pytest.mark.parametrize(
    "topic",
    [
        "SCHEDULE_TOPIC_XXXX", "RMQ_SYS_TRANS_HALF_TOPIC", "RMQ_SYS_TRANS_OP_HALF_TOPIC", "TRANS_CHECK_MAX_TIME_TOPIC",
        "SELF_TEST_TOPIC", "OFFSET_MOVED_EVENT", "rmq_sys_wheel_timer",
    ],
)  # fmt: skip
def test_topics_that_nobody_may_send_to(topic: str) -> None:
    checks.check_topic(topic)

    assert refused(checks.check_topic_is_open, topic) == (
        FORBIDDEN,
        f"Sending message to topic[{topic}] is forbidden.",
    )


@pytest.mark.parametrize("topic", ["T", "TBW102", "BenchmarkTest", "%RETRY%g"])
def test_topics_that_are_open(topic: str) -> None:
    checks.check_topic_is_open(topic)


def test_groups() -> None:
    checks.check_group("g" * 120)
    checks.check_group("DEFAULT_PRODUCER")
    assert refused(checks.check_group, "") == (BAD_NAME, "The specified group is blank.")
    assert refused(checks.check_group, "a b") == (
        BAD_NAME,
        "The specified group: a b, contains illegal characters, allowing only ^[%|a-zA-Z0-9_-]+$",
    )
    code, text = refused(checks.check_group, "g" * 121)
    assert code == BAD_NAME
    assert "120" in text


@pytest.mark.parametrize("group", ["DEFAULT_PRODUCER", "DEFAULT_CONSUMER", "", "a b"])
def test_groups_that_a_client_must_not_have(group: str) -> None:
    code, text = refused(checks.check_client_group, group)

    assert code == BAD_NAME
    assert group in text
    checks.check_client_group("orders")


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (None, "the message body is null"),
        (b"", "the message body length is zero"),
        (b"x" * 11, "the message body size over max value, MAX: 10"),
    ],
)
def test_bodies(body: bytes | None, text: str) -> None:
    assert refused(checks.check_body, body, 10) == (ILLEGAL, text)


def test_the_largest_body() -> None:
    checks.check_body(b"x" * 4_194_304)
    assert refused(checks.check_body, b"x" * 4_194_305) == (
        ILLEGAL,
        "the message body size over max value, MAX: 4194304",
    )


@pytest.mark.parametrize("length", [32_768, 65_535, 65_536, 70_000])
def test_c009_too_long_properties_are_refused(length: int) -> None:
    text = "v" * length

    code, said = refused(checks.check_properties_length, text)
    assert (code, f"{length} bytes" in said) == (ILLEGAL, True)
    assert refused(checks.check_stored_sizes, 1, length) == (ILLEGAL, BROKERS_TEXT)


@pytest.mark.parametrize("length", [32_766, 32_767])
def test_c009_the_longest_properties_pass(length: int) -> None:
    assert checks.check_properties_length("v" * length) == b"v" * length
    checks.check_stored_sizes(4_194_304, length)


def test_c009_bytes_are_counted_not_characters() -> None:
    code, said = refused(checks.check_properties_length, "\u6807" * 10_923)

    assert (code, "32769 bytes" in said) == (ILLEGAL, True)
    checks.check_properties_length("\u6807" * 10_922)


def test_a_body_that_is_larger_than_a_broker_stores() -> None:
    code, said = refused(checks.check_stored_sizes, 1001, 0, 1000)

    assert (code, "limit 1000B" in said) == (ILLEGAL, True)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("k", None, "the value of property 'k' is of type NoneType, not str"),
        ("k", 7, "the value of property 'k' is of type int, not str"),
        (7, "v", "the name of property 7 is of type int, not str"),
        ("k", b"v", "the value of property 'k' is of type bytes, not str"),
        ("k", "", "the value of property 'k' is empty"),
        ("", "v", "the name of property '' is empty"),
        ("k", "a\x01b", "the value of property 'k' holds a separator, U+0001 or U+0002"),
        ("k", "a\x02b", "the value of property 'k' holds a separator, U+0001 or U+0002"),
        ("k\x02", "v", r"the name of property 'k\x02' holds a separator, U+0001 or U+0002"),
        ("k", "\ud800", "the value of property 'k' holds half a surrogate pair, which UTF-8 does not have"),
        ("\udfff", "v", r"the name of property '\udfff' holds half a surrogate pair, which UTF-8 does not have"),
        ("__RMQ.TRANSIENT.x", "v", "the name of property '__RMQ.TRANSIENT.x' belongs to RocketMQ"),
    ],
)
def test_c011_properties_that_would_not_arrive_are_named(name: Any, value: Any, said: str) -> None:
    assert refused(checks.check_user_properties, {"ok": "1", name: value}) == (ILLEGAL, said)


@pytest.mark.parametrize("name", sorted(properties.RESERVED))
def test_c011_reserved_names(name: str) -> None:
    said = f"the name of property {name!r} belongs to RocketMQ"

    assert refused(checks.check_user_properties, {name: "v"}) == (ILLEGAL, said)


def test_c011_properties_that_arrive() -> None:
    checks.check_user_properties({})
    checks.check_user_properties(
        {"k": " ", "\N{GRINNING FACE}": "\u6807", "Tags": "x", **{f"n{n}": "v" for n in range(10_000)}}
    )


def test_c031_a_tag_that_is_no_text() -> None:
    assert refused(checks.check_text, "the tag", b"x") == (ILLEGAL, "the tag is of type bytes, not str")
    code, _ = refused(checks.check_properties_length, "\ud800")
    assert code == ILLEGAL
