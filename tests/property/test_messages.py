"""Messages: round trips, any bytes, and what the oracle of the faulty broker writes."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.faulty_broker import records as oracle

from cosmodrome.errors import MalformedBodyError, MessageError
from cosmodrome.protocol.messages.batch import BatchEntry, decode_batch, encode_batch, split_batch
from cosmodrome.protocol.messages.checks import check_user_properties
from cosmodrome.protocol.messages.compression import compress, inflate
from cosmodrome.protocol.messages.hosts import encode_host, parse_host
from cosmodrome.protocol.messages.ids import UniqueIds, decode_offset_msg_id, decode_unique_id, offset_msg_id
from cosmodrome.protocol.messages.properties import (
    decode_properties,
    encode_properties,
    is_reserved,
    properties_bytes,
    properties_text,
)
from cosmodrome.protocol.messages.record import StoredMessage, body_crc, decode_record, decode_records, encode_record
from cosmodrome.protocol.messages.sys_flag import BORN_HOST_V6, STORE_HOST_V6, CompressionType, compressed
from cosmodrome.protocol.messages.tag_hash import java_hash

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
PART = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x01\x02"), min_size=1, max_size=20)
PROPERTIES = st.dictionaries(PART, PART, max_size=8)
SEPARATED = st.text(st.sampled_from("\x01\x02ab"), max_size=40)
IPS = st.ip_addresses().filter(lambda ip: getattr(ip, "ipv4_mapped", None) is None).map(str)
HOSTS = st.tuples(IPS, st.integers(0, 65_535))
INTS, LONGS = st.integers(-(2**31), 2**31 - 1), st.integers(-(2**63), 2**63 - 1)


@st.composite
def messages(draw: st.DrawFn) -> StoredMessage:
    born_host, store_host = draw(HOSTS), draw(HOSTS)
    flags = (BORN_HOST_V6 if ":" in born_host[0] else 0) | (STORE_HOST_V6 if ":" in store_host[0] else 0)
    topic, body = draw(st.one_of(TEXT, st.just("t" * 200))), draw(st.binary(max_size=300))
    return StoredMessage(
        topic=topic,
        body=body,
        properties_bytes=draw(st.one_of(st.binary(max_size=100), PROPERTIES.map(encode_properties).map(str.encode))),
        queue_id=draw(INTS),
        queue_offset=draw(LONGS),
        commit_log_offset=draw(LONGS),
        born_timestamp_ms=draw(LONGS),
        born_host_bytes=encode_host(*born_host),
        store_timestamp_ms=draw(LONGS),
        store_host_bytes=encode_host(*store_host),
        body_crc=body_crc(body),
        sys_flag=draw(INTS) & ~(BORN_HOST_V6 | STORE_HOST_V6) | flags,
        flag=draw(INTS),
        reconsume_times=draw(INTS),
        prepared_transaction_offset=draw(LONGS),
        is_v2=draw(st.booleans()) or len(topic.encode()) > 127,
    )


@given(found=st.lists(messages(), max_size=5))
def test_records_there_and_back(found: list[StoredMessage]) -> None:
    data = b"".join(map(encode_record, found))

    assert decode_records(data) == decode_records(memoryview(data)) == found


@given(message=messages())
def test_a_record_is_what_the_oracle_writes(message: StoredMessage) -> None:
    queue_offset, log_offset = abs(message.queue_offset) // 2, abs(message.commit_log_offset) // 2
    written = oracle.Record(
        topic=message.topic,
        body=message.body,
        properties=message.properties_bytes,
        queue_id=abs(message.queue_id) // 2,
        queue_offset=queue_offset,
        offset=log_offset,
        sys_flag=abs(message.sys_flag) // 2,
        flag=message.flag,
        born_ms=message.born_timestamp_ms,
        born_host=message.born_host,
        store_ms=message.store_timestamp_ms,
        store_host=message.store_host,
        reconsume_times=message.reconsume_times,
        prepared_offset=message.prepared_transaction_offset,
    )
    (read,) = decode_records(written.encode())

    assert encode_record(read) == written.encode()
    assert (read.queue_offset, read.commit_log_offset) == (queue_offset, log_offset)
    assert (read.topic, read.body, read.properties_bytes) == (message.topic, message.body, message.properties_bytes)
    assert (read.born_host, read.store_host) == (message.born_host, message.store_host)
    assert (read.flag, read.reconsume_times) == (message.flag, message.reconsume_times)
    assert read.prepared_transaction_offset == message.prepared_transaction_offset
    assert (read.born_timestamp_ms, read.store_timestamp_ms) == (message.born_timestamp_ms, message.store_timestamp_ms)
    assert read.is_intact
    assert read.offset_msg_id == written.msg_id


@given(message=messages(), data=st.data())
def test_a_record_that_is_cut_or_has_more_behind_it(message: StoredMessage, data: st.DataObject) -> None:
    whole = encode_record(message)
    size = data.draw(st.integers(0, len(whole) - 1))

    for kind in (bytes, memoryview):
        with pytest.raises(MalformedBodyError):
            decode_record(kind(whole[:size]))
        assert decode_record(kind(whole + whole[:size])) == (message, len(whole))
    if size:
        with pytest.raises(MalformedBodyError):
            decode_records(whole + whole[:size])


@given(data=st.binary(max_size=400), at=st.integers(0, 200), message=messages())
def test_any_bytes_are_records_or_refused(data: bytes, at: int, message: StoredMessage) -> None:
    whole = encode_record(message)
    for candidate in (data, whole[:at] + data + whole[at + len(data) :]):
        try:
            found = decode_records(candidate)
        except MalformedBodyError:
            continue
        assert b"".join(map(encode_record, found)) == candidate


ENTRIES = st.lists(st.builds(BatchEntry, st.binary(max_size=50), st.binary(max_size=50), INTS), min_size=1, max_size=8)


@given(entries=ENTRIES, max_bytes=st.integers(0, 400))
def test_batches_there_and_back(entries: list[BatchEntry], max_bytes: int) -> None:
    data = encode_batch(entries)

    assert decode_batch(data) == entries
    assert data == oracle.encode_batch([(entry.flag, entry.body, entry.properties) for entry in entries])
    batches = split_batch(entries, max_bytes)
    assert b"".join(map(encode_batch, batches)) == data
    assert all(len(batch) == 1 or len(encode_batch(batch)) <= max_bytes for batch in batches)


@given(data=st.binary(max_size=200), entries=ENTRIES, at=st.integers(0, 100))
def test_any_bytes_are_a_batch_or_refused(data: bytes, entries: list[BatchEntry], at: int) -> None:
    whole = encode_batch(entries)
    for candidate in (data, whole[:at] + data + whole[at + len(data) :]):
        try:
            found: Any = decode_batch(candidate)
        except MalformedBodyError:
            found = None
        try:
            wanted: Any = [BatchEntry(body, text, flag) for flag, body, text in oracle.decode_batch(candidate)] or None
        except ValueError:
            wanted = None
        assert found == wanted


@given(properties=PROPERTIES)
def test_properties_there_and_back(properties: dict[str, str]) -> None:
    text = encode_properties(properties)

    assert decode_properties(text) == properties
    assert decode_properties(text[:-1]) == properties
    assert list(decode_properties(text)) == list(properties)
    assert properties_text(properties_bytes(text)) == text


@given(text=st.one_of(SEPARATED, TEXT, st.text(max_size=20)))
def test_any_text_is_properties(text: str) -> None:
    found = decode_properties(text)

    assert found == oracle.decode_properties(text)
    assert decode_properties(encode_properties(found)) == found
    assert isinstance(properties_bytes(text), bytes)


ANY_PART = st.one_of(SEPARATED, st.text(max_size=5))


@given(properties=st.dictionaries(ANY_PART.filter(lambda name: not is_reserved(name)), ANY_PART))
def test_c011_properties_that_pass_the_check_arrive_and_others_do_not(properties: dict[str, str]) -> None:
    try:
        check_user_properties(properties)
    except MessageError:
        with pytest.raises(ValueError, match=r"separator|empty|surrogates"):
            encode_properties(properties).encode()
    else:
        assert decode_properties(properties_text(properties_bytes(encode_properties(properties)))) == properties


@given(host=HOSTS, offset=LONGS)
def test_ids_of_brokers(host: tuple[str, int], offset: int) -> None:
    id_ = offset_msg_id(*host, offset)

    assert decode_offset_msg_id(id_) == (*host, offset)
    assert id_ == oracle.offset_msg_id(host, offset)
    assert parse_host(f"{host[0]}:{host[1]}") == parse_host(f"[{host[0]}]:{host[1]}") == host


@given(ip=IPS, pid=st.integers(0, 2**22), discriminator=st.integers(0, 2**32 - 1), ms=st.integers(0, 31 * 86_400_000))
def test_ids_of_senders(ip: str, pid: int, discriminator: int, ms: int) -> None:
    ids = UniqueIds(ip, pid, discriminator)

    for count in range(3):
        read = decode_unique_id(ids.next(10**12 + ms, 10**12))
        assert read == (ip, pid % 2**16, discriminator, ms, count)


@given(text=st.one_of(st.text(max_size=60), st.from_regex("[0-9a-fA-F]{32}([0-9a-f]{24})?", fullmatch=True)))
def test_any_text_is_an_id_or_none(text: str) -> None:
    read = decode_offset_msg_id(text)

    assert read is None or decode_unique_id(text) is not None


@given(text=st.text(max_size=40))
def test_hashes_are_those_of_the_oracle(text: str) -> None:
    assert java_hash(text) == oracle.tag_hash(text)


@given(plain=st.binary(max_size=2000), repeat=st.integers(1, 50), kind=st.sampled_from(CompressionType))
def test_bodies_there_and_back(plain: bytes, repeat: int, kind: CompressionType) -> None:
    body = plain * repeat

    assert inflate(compress(body, kind), compressed(0, kind), len(body)) == body
