"""Messages as users make and get them."""

import math
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from cosmodrome.client.message import Message, MessageQueue, ReceivedMessage
from cosmodrome.errors import MalformedBodyError, MessageError
from cosmodrome.protocol.messages.compression import compress
from cosmodrome.protocol.messages.hosts import encode_host
from cosmodrome.protocol.messages.properties import encode_properties
from cosmodrome.protocol.messages.record import StoredMessage


def test_a_message_is_made_of_keywords_and_does_not_change() -> None:
    message = Message(topic="T", body=b"x", keys="one", properties={"a": "b"})
    assert (message.keys, message.properties, message.delay_property()) == (("one",), {"a": "b"}, None)
    with pytest.raises(AttributeError):
        message.topic = "U"  # type: ignore[misc]  # the point of it
    assert message.replaced(topic="U").topic == "U"
    with pytest.raises(TypeError):
        Message("T", b"x")  # type: ignore[call-arg]  # the point of it


def test_what_is_given_may_change_afterwards() -> None:
    keys, properties, body = ["k"], {"a": "b"}, bytearray(b"x")
    message = Message(topic="T", body=body, keys=keys, properties=properties)  # type: ignore[arg-type]  # is copied
    keys.append("l")
    properties["c"] = "d"
    body[:] = b"y"
    assert (message.body, message.keys, message.properties) == (b"x", ("k",), {"a": "b"})


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"topic": 5}, "topic is of type int"),
        ({"keys": ["a b"]}, "blank"),
        ({"keys": ["a\tb"]}, "blank"),
        ({"keys": [""]}, "empty"),
        ({"keys": [5]}, "of type int"),
        ({"tag": ""}, "tag is empty"),
        ({"properties": [("a", "b")]}, "not a mapping"),
        ({"properties": {"TAGS": "x"}}, "TAGS"),
        ({"flag": 2**31}, "32-bit"),
        ({"flag": True}, "32-bit"),
        ({"delay_level": -1}, "no level"),
        ({"delay_level": "3"}, "no level"),
        ({"delay": -1}, "no time from now on"),
        ({"delay": math.inf}, "no time from now on"),
        ({"delay": "1s"}, "neither timedelta nor seconds"),
        ({"deliver_at": datetime(2030, 1, 1)}, "time zone"),  # noqa: DTZ001
        ({"deliver_at": 5}, "time zone"),
        ({"delay_level": 1, "delay": 2}, "in one way"),
        ({"delay": timedelta(1), "deliver_at": datetime(2030, 1, 1, tzinfo=UTC)}, "in one way"),
    ],
)
def test_what_cannot_be_used(values: dict[str, Any], words: str) -> None:
    with pytest.raises(MessageError, match=words):
        Message(**{"topic": "T", "body": b"x", **values})


def stored(body: bytes = b"x", sys_flag: int = 0, **properties: str) -> StoredMessage:
    return StoredMessage(
        "T", body, encode_properties(properties).encode(), 2, 7, 4096, 1_700_000_000_000, encode_host("10.0.0.5", 1),
        1_700_000_000_123, encode_host("10.0.0.9", 10911), 0, sys_flag, 9, 3,
    )  # fmt: skip


def test_a_received_message() -> None:
    record = stored(UNIQ_KEY="ID", TAGS="tag", KEYS="k1 k2", __SHARDINGKEY="s", own="mine")
    message = ReceivedMessage(record, MessageQueue("T", "a", 2), topic="User")
    assert (message.topic, message.body, message.tag, message.keys) == ("User", b"x", "tag", ("k1", "k2"))
    assert (message.msg_id, message.offset_msg_id) == ("ID", "0A00000900002A9F0000000000001000")
    assert (message.queue_offset, message.reconsume_times, message.sharding_key, message.flag) == (7, 3, "s", 9)
    assert message.born_at == datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
    assert message.stored_at - message.born_at == timedelta(milliseconds=123)
    assert message.properties["own"] == "mine"
    assert "ID" in repr(message)


def test_without_properties() -> None:
    message = ReceivedMessage(stored(), MessageQueue("T", "a", 2))
    assert (message.topic, message.tag, message.keys, message.sharding_key) == ("T", None, (), None)
    assert message.msg_id == message.offset_msg_id


def test_a_compressed_body_is_inflated_when_it_is_asked_for() -> None:
    assert ReceivedMessage(stored(compress(bytes(9999)), 0x301), MessageQueue("T", "a", 2)).body == bytes(9999)
    damaged = ReceivedMessage(stored(b"damaged", 0x301), MessageQueue("T", "a", 2))
    with pytest.raises(MalformedBodyError):
        _ = damaged.body


def test_times_that_are_none() -> None:
    record = StoredMessage("T", b"x", b"", 0, 0, 0, 2**62, bytes(8), -(2**62), bytes(8), 0)
    message = ReceivedMessage(record, MessageQueue("T", "a", 0))
    assert message.born_at == message.stored_at == datetime(1970, 1, 1, tzinfo=UTC)


async def test_what_becomes_of_it_is_told() -> None:
    told: list[Any] = []

    class Settling:
        async def ack(self, message: ReceivedMessage) -> None:
            told.append(message)

        async def retry(self, message: ReceivedMessage, delay_level: int | None) -> None:
            told.append((message, delay_level))

    message = ReceivedMessage(stored(), MessageQueue("T", "a", 2), Settling())
    await message.ack()
    await message.retry(delay_level=3)
    await message.retry()
    assert told == [message, (message, 3), (message, None)]
    with pytest.raises(RuntimeError):
        await ReceivedMessage(stored(), MessageQueue("T", "a", 2)).ack()
