"""The forms in which a broker stores messages."""

import pytest

from cosmodrome.broker.messages import (
    OwnProperties,
    born_host,
    committed,
    delayed,
    due,
    failed,
    half,
    properties_of,
)
from cosmodrome.protocol.messages.hosts import encode_host
from cosmodrome.protocol.messages.properties import encode_properties
from cosmodrome.protocol.messages.record import StoredMessage, body_crc
from cosmodrome.store.appending import NewMessage

HOST = encode_host("10.0.0.1", 10911)


def message(**properties: str) -> NewMessage:
    return NewMessage("T", 3, b"body", encode_properties(properties).encode(), 1000, HOST)


def record(topic: str = "T", **properties: str) -> StoredMessage:
    return StoredMessage(
        topic=topic, body=b"body", properties_bytes=encode_properties(properties).encode(), queue_id=0, queue_offset=7,
        commit_log_offset=500, born_timestamp_ms=1000, born_host_bytes=HOST, store_timestamp_ms=2000, store_host_bytes=HOST,
        body_crc=body_crc(b"body"), sys_flag=1, flag=9, reconsume_times=2,
    )  # fmt: skip


@pytest.mark.parametrize("text", ["", "a\x01b\x02", "a\x01b"])
def test_own_properties_are_added_to_any_text(text: str) -> None:
    own = OwnProperties("C", "R", is_traced=True)
    added = message()._replace(properties=own.added_to(text).encode())
    assert properties_of(added) == ({"a": "b"} if text else {}) | {
        "CLUSTER": "C",
        "MSG_REGION": "R",
        "TRACE_ON": "true",
    }


@pytest.mark.parametrize(("level", "stored"), [(1, 1), (18, 18), (99, 18)])
def test_a_delayed_message_waits_in_the_queue_of_its_level_and_comes_back_to_its_own(level: int, stored: int) -> None:
    parked = delayed(message(DELAY=str(level), TAGS="a"), level, 18)
    assert (parked.topic, parked.queue_id) == ("SCHEDULE_TOPIC_XXXX", stored - 1)
    named = properties_of(parked)
    assert named == {"DELAY": str(stored), "TAGS": "a", "REAL_TOPIC": "T", "REAL_QID": "3"}
    back = due(record("SCHEDULE_TOPIC_XXXX", **named))
    assert back is not None
    assert (back.topic, back.queue_id, properties_of(back)) == ("T", 3, named)


@pytest.mark.parametrize(
    "properties",
    [
        {},
        {"REAL_TOPIC": "T"},
        {"REAL_TOPIC": "T", "REAL_QID": "x"},
        {"REAL_TOPIC": "T", "REAL_QID": "-1"},
        {"REAL_TOPIC": "RMQ_SYS_TRANS_HALF_TOPIC", "REAL_QID": "0"},
        {"REAL_TOPIC": "SCHEDULE_TOPIC_XXXX", "REAL_QID": "0"},
    ],
)
def test_one_that_does_not_say_to_where_is_not_delivered(properties: dict[str, str]) -> None:
    assert due(record(**properties)) is None


def test_a_half_message_loses_its_delay_and_comes_back_committed() -> None:
    parked = half(message(TRAN_MSG="true", PGROUP="pg", UNIQ_KEY="U", DELAY="3")._replace(sys_flag=4 | 1))
    named = properties_of(parked)
    assert (parked.topic, parked.queue_id, parked.sys_flag) == ("RMQ_SYS_TRANS_HALF_TOPIC", 0, 1)
    assert "DELAY" not in named
    assert named["__transactionId__"] == "U"
    real = committed(record("RMQ_SYS_TRANS_HALF_TOPIC", **named))
    assert real is not None
    assert (real.topic, real.queue_id, real.sys_flag, real.prepared_transaction_offset) == ("T", 3, 9, 500)
    assert properties_of(real).keys() == {"TRAN_MSG", "PGROUP", "UNIQ_KEY", "__transactionId__"}


def test_a_failed_message_remembers_where_it_came_from_first() -> None:
    first = failed(record(TAGS="a"), "%RETRY%G", 0, 3)
    assert first.reconsume_times == 3
    named = properties_of(first)
    assert named["RETRY_TOPIC"] == "T"
    assert named["ORIGIN_MESSAGE_ID"] == record().offset_msg_id
    again = failed(record("%RETRY%G", **named), "%RETRY%G", 0, 4)
    assert properties_of(again)["RETRY_TOPIC"] == "T"
    assert properties_of(again)["ORIGIN_MESSAGE_ID"] == named["ORIGIN_MESSAGE_ID"]


@pytest.mark.parametrize(("address", "host"), [("10.0.0.1:10911", HOST), ("[::1]:7", encode_host("::1", 7))])
def test_born_hosts(address: str, host: bytes) -> None:
    assert born_host(address) == host
    assert born_host("unknown") == encode_host("0.0.0.0", 0)  # noqa: S104 -- compared
