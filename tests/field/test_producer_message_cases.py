"""Field cases about what a message may be, and about batches."""

# ruff: noqa: N802  # case ids are written in capitals

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pytest
from tests.support.faulty_broker import SENDS, FaultyCluster, faulty_cluster

from cosmodrome.client.message import Message, SendStatus
from cosmodrome.client.producer.producer import Producer
from cosmodrome.errors import MessageError
from cosmodrome.protocol.messages.batch import decode_batch

PLAIN: Final = Message(topic="T", body=b"plain")
SEPARATOR_BYTES: Final = 2


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[FaultyCluster]:
    async with faulty_cluster(tmp_path, topics={"T": 4, "Other": 4}) as one:
        yield one


@pytest.fixture
async def producer(cluster: FaultyCluster) -> AsyncIterator[Producer]:
    async with Producer("pg", namesrv=cluster.name_server) as one:
        yield one
        assert (await one.send(PLAIN)).status is SendStatus.OK


def sent(cluster: FaultyCluster) -> int:
    return sum(cluster.broker.journal.counts[code] for code in SENDS)


ODD: Final = {
    "a delay level": (Message(topic="T", body=b"x", delay_level=3), "delayed"),
    "a delay": (Message(topic="T", body=b"x", delay=1), "delayed"),
    "a time": (Message(topic="T", body=b"x", deliver_at=datetime(2030, 1, 1, tzinfo=UTC)), "delayed"),
    "a retry topic": (Message(topic="%RETRY%g", body=b"x"), "retry topic"),
    "another topic": (Message(topic="Other", body=b"x"), "topic is Other"),
    "another wait": (Message(topic="T", body=b"x", wait_for_store=False), "wait_for_store"),
    "an empty body": (Message(topic="T", body=b""), "length is zero"),
    "no message": ("text", "not Message"),
}


@pytest.mark.parametrize("odd", ODD)
async def test_C007_an_odd_entry_is_refused_before_anything_is_sent(
    cluster: FaultyCluster, producer: Producer, odd: str
) -> None:
    message, words = ODD[odd]
    with pytest.raises(MessageError, match=words) as caught:
        await producer.send_batch([PLAIN, PLAIN, message, PLAIN])  # type: ignore[list-item]  # the point of it
    assert caught.value.index == 2
    assert sent(cluster) == 0


@pytest.mark.parametrize(
    "name", ["DELAY", "TIMER_DELAY_SEC", "TIMER_DELAY_MS", "TIMER_DELIVER_MS", "TRAN_MSG", "PGROUP", "UNIQ_KEY"]
)
def test_C007_what_delays_or_prepares_cannot_be_set_as_a_property(name: str) -> None:
    with pytest.raises(MessageError, match=name):
        Message(topic="T", body=b"x", properties={name: "1"})


async def test_C007_an_empty_batch_and_a_batch_of_one(cluster: FaultyCluster, producer: Producer) -> None:
    with pytest.raises(MessageError, match="without a message"):
        await producer.send_batch([])
    assert sent(cluster) == 0
    result = await producer.send_batch([PLAIN])
    assert cluster.broker.store.unique_keys("T") == {result.msg_id: 1}


async def test_C008_batches_are_cut_by_encoded_bytes(cluster: FaultyCluster, producer: Producer) -> None:
    limit = producer.settings.max_message_bytes
    messages = [
        Message(topic="T", body=b"x" * 9000, keys=[f"键{n}"], properties={"属性": "值" * 200}) for n in range(1500)
    ]
    too_large = Message(topic="T", body=b"x" * limit)
    messages.insert(700, too_large)
    cluster.broker.sends.settings.max_message_bytes = limit
    pieces = producer.split_batch(messages)
    assert [message for piece in pieces for message in piece.messages] == messages
    failed = []
    for piece in pieces:
        try:
            await producer.send_batch(piece)
        except MessageError as error:
            failed.append(error.index)
    assert failed == [700]
    arrivals = [each for each in cluster.broker.journal.arrivals if each.code in SENDS]
    assert all(len(each.body) <= limit for each in arrivals)
    assert all(len(each.body) > limit - 12_000 for each in arrivals[:1]), "the first is filled"
    assert sum(len(decode_batch(each.body)) for each in arrivals) == 1500


def body_of_text(properties_bytes: int, msg_id: str) -> Message:
    """Give a message whose properties text has exactly so many bytes."""
    own = f"UNIQ_KEY\x01{msg_id}\x02WAIT\x01true\x02p\x01\x02"
    return Message(topic="T", body=b"x", msg_id=msg_id, properties={"p": "v" * (properties_bytes - len(own))})


@pytest.mark.parametrize("size", [32_768, 65_535, 65_536, 70_000])
async def test_C009_properties_that_are_too_long_are_refused(
    cluster: FaultyCluster, producer: Producer, size: int
) -> None:
    with pytest.raises(MessageError, match=f"properties have {size} bytes"):
        await producer.send(body_of_text(size, "A" * 32))
    with pytest.raises(MessageError, match=f"properties have {size} bytes") as caught:
        await producer.send_batch([PLAIN, PLAIN, body_of_text(size, "A" * 32)])
    assert caught.value.index == 2
    assert sent(cluster) == 0


@pytest.mark.parametrize("size", [32_500, 32_600])
async def test_C009_long_properties_round_trip(cluster: FaultyCluster, producer: Producer, size: int) -> None:
    await producer.send(body_of_text(size, "A" * 32))
    await producer.send_batch([PLAIN, PLAIN, body_of_text(size, "B" * 32)])
    kept = [record.named for record in cluster.broker.store.messages("T") if "p" in record.named]
    assert [len(each["p"]) for each in kept] == [size - 55, size - 55]


async def test_C009_bytes_are_counted_not_characters(cluster: FaultyCluster, producer: Producer) -> None:
    with pytest.raises(MessageError, match="properties have"):
        await producer.send(Message(topic="T", body=b"x", properties={"p": "值" * 11_000}))
    assert sent(cluster) == 0


BAD_PROPERTIES: Final[dict[str, Any]] = {
    "a separator in a value": {"name-a": "x\x01y"},
    "the other separator": {"name-a": "x\x02y"},
    "a separator in a name": {"name-a\x01": "x"},
    "no value": {"name-a": ""},
    "None": {"name-a": None},
    "a number": {"name-a": 5},
    "half a surrogate pair": {"name-a": "\ud83d"},
}


@pytest.mark.parametrize("bad", BAD_PROPERTIES)
def test_C011_a_bad_property_is_refused_by_its_name(bad: str) -> None:
    with pytest.raises(MessageError, match="name-a"):
        Message(topic="T", body=b"x", properties=BAD_PROPERTIES[bad])


def test_C011_a_property_without_a_name_is_refused() -> None:
    with pytest.raises(MessageError, match="is empty"):
        Message(topic="T", body=b"x", properties={"": "x"})


async def test_C011_unusual_properties_arrive(cluster: FaultyCluster, producer: Producer) -> None:
    properties = {"emoji 🚀": "🚀\n\t ünï", **{f"n{number}": "x" for number in range(3000)}}
    await producer.send(Message(topic="T", body=b"x", properties=properties))
    record = cluster.broker.store.messages("T")[0]
    assert properties.items() <= record.named.items()


@pytest.mark.parametrize(("body", "words"), [("text", "encode it"), (None, "body is null"), (5, "not bytes")])
def test_C031_a_body_that_is_no_bytes_is_refused(body: Any, words: str) -> None:
    with pytest.raises(MessageError, match=words):
        Message(topic="T", body=body)


@pytest.mark.parametrize("kind", [bytearray, memoryview])
async def test_C031_a_buffer_may_be_used_again_once_the_message_is_made(
    cluster: FaultyCluster, producer: Producer, kind: Any
) -> None:
    buffer = bytearray(b"before")
    message = Message(topic="T", body=kind(buffer))
    buffer[:] = b"after!"
    await producer.send(message)
    assert cluster.broker.store.bodies("T") == [b"before"]


@pytest.mark.parametrize("text", ["标签", "🚀", "tag with blanks", "ü"])
async def test_C031_texts_of_any_script_arrive(cluster: FaultyCluster, producer: Producer, text: str) -> None:
    await producer.send(Message(topic="T", body=b"x", tag=text, keys=[text.replace(" ", "_")], properties={text: text}))
    named = cluster.broker.store.messages("T")[0].named
    assert (named["TAGS"], named["KEYS"], named[text]) == (text, text.replace(" ", "_"), text)


@pytest.mark.parametrize("member", ["tag", "sharding_key", "msg_id"])
@pytest.mark.parametrize("text", ["", "a\x01b", "\ud83d", 5])
def test_C031_a_text_that_cannot_arrive_is_refused(member: str, text: Any) -> None:
    with pytest.raises(MessageError):
        Message(topic="T", body=b"x", **{member: text})


@pytest.mark.parametrize(
    ("topic", "words"),
    [("", "blank"), ("a b", "illegal characters"), ("T" * 128, "longer than"), ("SCHEDULE_TOPIC_XXXX", "forbidden")],
)
async def test_a_topic_that_no_broker_takes_is_refused(
    cluster: FaultyCluster, producer: Producer, topic: str, words: str
) -> None:
    with pytest.raises(MessageError, match=words):
        await producer.send(Message(topic=topic, body=b"x"))
    assert sent(cluster) == 0


async def test_a_body_over_the_limit_is_refused(cluster: FaultyCluster, producer: Producer) -> None:
    with pytest.raises(MessageError, match="the message body size over max value, MAX: 4194304"):
        await producer.send(Message(topic="T", body=b"x" * 4_194_305))
    assert sent(cluster) == 0
    assert (await producer.send(Message(topic="T", body=b"x" * 4_194_304))).status is SendStatus.OK
