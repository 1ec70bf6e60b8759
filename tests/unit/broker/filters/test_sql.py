"""SQL92 filters on stored records."""

import pytest

from cosmodrome.broker.filters.sql import sql_filter
from cosmodrome.errors import FilterError, MalformedBodyError
from cosmodrome.protocol.messages.properties import encode_properties
from cosmodrome.protocol.messages.record import StoredMessage, encode_record, properties_in
from cosmodrome.protocol.messages.sys_flag import BORN_HOST_V6, STORE_HOST_V6


def record(topic: str = "T", sys_flag: int = 0, body: bytes = b"body", **properties: str) -> bytes:
    message = StoredMessage(
        topic=topic,
        body=body,
        properties_bytes=encode_properties(properties).encode(),
        queue_id=0,
        queue_offset=0,
        commit_log_offset=0,
        born_timestamp_ms=1,
        born_host_bytes=bytes(20 if sys_flag & BORN_HOST_V6 else 8),
        store_timestamp_ms=1,
        store_host_bytes=bytes(20 if sys_flag & STORE_HOST_V6 else 8),
        body_crc=0,
        sys_flag=sys_flag,
    )
    return encode_record(message)


@pytest.mark.parametrize("sys_flag", [0, BORN_HOST_V6, STORE_HOST_V6, BORN_HOST_V6 | STORE_HOST_V6])
@pytest.mark.parametrize("topic", ["T", "T" * 200])
@pytest.mark.parametrize("body", [b"", b"body", bytes(5000)])
def test_the_properties_of_any_record_are_found(sys_flag: int, topic: str, body: bytes) -> None:
    data = record(topic, sys_flag, body, a="5")
    assert properties_in(memoryview(data)) == b"a\x015\x02"
    assert sql_filter("a = 5")(memoryview(data))
    assert not sql_filter("a = 6")(memoryview(data))


def test_a_record_that_is_cut_is_refused_and_not_wanted() -> None:
    data = record(a="5")
    for length in range(len(data)):
        with pytest.raises(MalformedBodyError):
            properties_in(data[:length])
        assert not sql_filter("a IS NULL OR a = 5")(memoryview(data)[:length])


def test_a_message_that_makes_trouble_is_not_wanted() -> None:
    assert not sql_filter("a = 5 OR TRUE")(memoryview(record(a="x")))


def test_an_expression_is_read_once() -> None:
    assert sql_filter("a = 'once'") is sql_filter("a = 'once'")


def test_what_is_no_expression_is_refused_each_time() -> None:
    for _ in range(2):
        with pytest.raises(FilterError):
            sql_filter("a = ")
