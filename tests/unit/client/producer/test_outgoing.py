"""A message as it goes out."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from cosmodrome.client.message import Message
from cosmodrome.client.producer.outgoing import MessageIds, Preparer, month_around
from cosmodrome.client.producer.settings import ProducerSettings
from cosmodrome.errors import MessageError
from cosmodrome.protocol.messages.compression import inflate
from cosmodrome.protocol.messages.ids import decode_unique_id
from cosmodrome.protocol.messages.properties import decode_properties


def preparer(**values: Any) -> Preparer:
    settings = ProducerSettings(group="g", namesrv="127.0.0.1:1", **values)
    return Preparer(settings, MessageIds("10.0.0.5"))


def test_what_is_added() -> None:
    message = Message(
        topic="T", body=b"x", tag="t", keys=["k1", "k2"], properties={"a": "b"}, sharding_key="s", flag=3, delay_level=2
    )
    outgoing = preparer().prepared(message, {"extra": "e"})
    assert (outgoing.topic, outgoing.body, outgoing.flag, outgoing.sys_flag) == ("T", b"x", 3, 0)
    assert decode_properties(outgoing.properties) == {
        "UNIQ_KEY": outgoing.msg_id,
        "WAIT": "true",
        "TAGS": "t",
        "KEYS": "k1 k2",
        "__SHARDINGKEY": "s",
        "DELAY": "2",
        "a": "b",
        "extra": "e",
    }


def test_the_id_is_made_or_taken() -> None:
    one = preparer()
    ids = {one.prepared(Message(topic="T", body=b"x")).msg_id for _ in range(100)}
    assert len(ids) == 100
    for each in ids:
        decoded = decode_unique_id(each)
        assert decoded is not None
        assert decoded.ip == "10.0.0.5"
    assert one.prepared(Message(topic="T", body=b"x", msg_id="MINE")).msg_id == "MINE"


@pytest.mark.parametrize(
    ("delay", "entry"),
    [
        ({"delay": 1.5}, ("TIMER_DELAY_MS", "1500")),
        ({"delay": timedelta(seconds=3)}, ("TIMER_DELAY_MS", "3000")),
        ({"delay": 0}, ("TIMER_DELAY_MS", "0")),
        ({"deliver_at": datetime(2030, 1, 1, tzinfo=UTC)}, ("TIMER_DELIVER_MS", "1893456000000")),
        ({"delay_level": 18}, ("DELAY", "18")),
    ],
)
def test_delays(delay: dict[str, Any], entry: tuple[str, str]) -> None:
    properties = decode_properties(preparer().prepared(Message(topic="T", body=b"x", **delay)).properties)
    assert entry in properties.items()


def test_a_namespace_goes_before_the_topic() -> None:
    one = preparer(namespace="NS")
    outgoing = one.prepared(Message(topic="T", body=b"x"))
    assert outgoing.topic == "NS%T"
    assert decode_properties(outgoing.properties)["INSTANCE_ID"] == "NS"
    assert one.prepared(Message(topic="%RETRY%g", body=b"x")).topic == "%RETRY%NS%g"
    assert one.prepared(Message(topic="TBW102", body=b"x")).topic == "TBW102"


def test_bodies_from_the_limit_on_are_compressed() -> None:
    one = preparer(compress_over_bytes=100)
    small, large = (one.prepared(Message(topic="T", body=bytes(size))) for size in (99, 100))
    assert [one.wants_compression(each) for each in (small, large)] == [False, True]
    one.compress(large)
    assert large.sys_flag == 0x301
    assert inflate(large.body, large.sys_flag) == bytes(100)


def test_what_does_not_get_smaller_stays() -> None:
    one = preparer(compress_over_bytes=1)
    outgoing = one.prepared(Message(topic="T", body=b"random"))
    one.compress(outgoing)
    assert (outgoing.body, outgoing.sys_flag) == (b"random", 0)


def test_compression_can_be_off() -> None:
    one = preparer(compress_over_bytes=None)
    assert not one.wants_compression(one.prepared(Message(topic="T", body=bytes(4_194_304))))


@pytest.mark.parametrize(
    ("topic", "body", "words"),
    [
        ("T", b"", "the message body length is zero"),
        ("T", bytes(11), "the message body size over max value, MAX: 10"),
        (" ", b"x", "blank"),
        ("a+b", b"x", "illegal"),
        ("OFFSET_MOVED_EVENT", b"x", "forbidden"),
    ],
)
def test_what_cannot_be_sent(topic: str, body: bytes, words: str) -> None:
    with pytest.raises(MessageError, match=words):
        preparer(max_message_bytes=10).prepared(Message(topic=topic, body=body))


@pytest.mark.parametrize("moment", [datetime(2026, 12, 31, 23, 59).astimezone(), datetime(2027, 1, 1).astimezone()])
def test_months_are_local(moment: datetime) -> None:
    now_ms = int(moment.timestamp() * 1000)
    start_ms, end_ms = month_around(now_ms)
    assert start_ms <= now_ms < end_ms
    start, end = (datetime.fromtimestamp(each / 1000).astimezone() for each in (start_ms, end_ms))
    assert (start.day, start.hour, end.day, end.hour, end.month) == (1, 0, 1, 0, moment.month % 12 + 1)


def test_ids_go_on_over_the_end_of_a_month() -> None:
    ids = MessageIds("10.0.0.5")
    end_ms = month_around(1_700_000_000_000)[1]
    before, after = (decode_unique_id(ids.next(moment)) for moment in (end_ms - 1, end_ms))
    assert before is not None
    assert after is not None
    assert (before.ms_in_month > 2_000_000_000, after.ms_in_month) == (True, 0)
