"""What real brokers sent and stored is read, and written again byte by byte."""

import struct
from typing import Any

import pytest
from tests.support.recorded_messages import MessageFrame, Store, all_frames, selected_frames, stores

from cosmodrome.errors import MalformedBodyError
from cosmodrome.protocol.messages.batch import decode_batch, encode_batch
from cosmodrome.protocol.messages.compression import inflate
from cosmodrome.protocol.messages.ids import decode_offset_msg_id, decode_unique_id, offset_msg_id
from cosmodrome.protocol.messages.properties import ENTRY_SEPARATOR, TAGS, encode_properties
from cosmodrome.protocol.messages.record import (
    MAGIC_FILLER,
    StoredMessage,
    decode_record,
    decode_records,
    encode_filler,
    encode_record,
)
from cosmodrome.protocol.messages.sys_flag import BORN_HOST_V6, COMPRESSED, STORE_HOST_V6, CompressionType, compressed
from cosmodrome.protocol.messages.tag_hash import java_hash, tag_code

MAGICS = (b"\xda\xa3\x20\xa7", b"\xda\xa3\x20\xab")
SENDS = (10, 310, 320)
QUEUE_UNIT = struct.Struct(">qiq")
DELAYED = "SCHEDULE_TOPIC_XXXX"


def bodies_of_records() -> list[MessageFrame]:
    return [frame for frame in selected_frames() if frame.command.body[4:8] in MAGICS]


def records_of(store: Store) -> dict[int, StoredMessage]:
    """Read the commit log, and check everything that says where a record is and where it ends."""
    found = {}
    for path, content in store.files("commitlog"):
        start = int(path.rpartition("/")[2])
        data = memoryview(content + bytes(min(200, store.sizes[path] - len(content))))
        position = 0
        while position + 8 <= len(data):
            size, magic = struct.unpack_from(">ii", data, position)
            if magic == MAGIC_FILLER:
                assert encode_filler(store.sizes[path] - position) == bytes(data[position : position + 8])
                with pytest.raises(MalformedBodyError):
                    decode_record(data, position)
            if size == 0 or magic == MAGIC_FILLER:
                break
            record, next_at = decode_record(data, position)
            assert next_at == position + size
            assert record.commit_log_offset == start + position
            assert record.is_intact
            assert encode_record(record) == bytes(data[position:next_at])
            found[record.commit_log_offset] = record
            position = next_at
    return found


@pytest.fixture(params=sorted(stores()))
def store(request: pytest.FixtureRequest) -> Store:
    return stores()[request.param]


def test_every_body_with_records_is_read_and_written_again() -> None:
    seen: dict[int | None, int] = {}
    for frame in all_frames():
        if frame.command.body[4:8] in MAGICS:
            records = decode_records(frame.command.body)
            assert b"".join(map(encode_record, records)) == frame.command.body, frame.recording
            assert all(record.is_intact for record in records)
            seen[frame.code] = seen.get(frame.code, 0) + len(records)

    assert all(seen[code] >= 2 for code in (11, 12, 33, 39, 200_050))


def test_what_a_pull_brings_is_what_was_asked_for() -> None:
    for frame in bodies_of_records():
        if frame.asked is None or frame.asked.code != 11 or frame.asked.ext is None or frame.command.ext is None:
            continue
        records = decode_records(frame.command.body)
        assert {(record.topic, str(record.queue_id)) for record in records} == {
            (frame.asked.ext["topic"], frame.asked.ext["queueId"])
        }
        offsets = [record.queue_offset for record in records]
        assert offsets == sorted(offsets)
        assert offsets[0] >= int(frame.asked.ext["queueOffset"])
        assert offsets[-1] < int(frame.command.ext["nextBeginOffset"])


def test_properties_are_read_whole_and_written_as_the_release_wrote_them() -> None:
    """5.x ends the last entry too; a name that stands twice in a batch of 4.9.7 is there once."""
    for frame in bodies_of_records():
        for record in decode_records(frame.command.body):
            text = record.properties_bytes.decode()
            written = encode_properties(record.properties)
            entries = text.removesuffix(ENTRY_SEPARATOR).split(ENTRY_SEPARATOR)
            assert set(entries) == set(written.removesuffix(ENTRY_SEPARATOR).split(ENTRY_SEPARATOR)), frame.recording
            if frame.recording.endswith("5.5.0"):
                assert text in (written, written.removesuffix(ENTRY_SEPARATOR))


@pytest.mark.parametrize("release", ["4.9.7", "5.5.0"])
def test_c066_records_and_ids_with_an_ipv6_store_host(release: str) -> None:
    name = f"sync-flush-ipv6-store-host-retry-chain-discard-{release}"
    frames = [frame for frame in bodies_of_records() if frame.recording == name]
    records = [record for frame in frames for record in decode_records(frame.command.body)]

    assert len(records) == 9
    assert all(record.sys_flag & (BORN_HOST_V6 | STORE_HOST_V6) == STORE_HOST_V6 for record in records)
    assert {record.store_host.ip for record in records} == {"::1"}
    assert {record.born_host.ip for record in records} == {"127.0.0.1"}
    (viewed,) = (frame for frame in frames if frame.code == 33)
    (record,) = decode_records(viewed.command.body)
    assert viewed.asked is not None
    assert viewed.asked.ext is not None
    assert record.commit_log_offset == int(viewed.asked.ext["offset"])
    told = [id_ for frame in selected_frames() if frame.recording == name for id_ in told_ids(frame)]
    assert {len(id_) for id_ in told} == {56}
    assert record.offset_msg_id in told


def told_ids(frame: MessageFrame) -> list[str]:
    ids = (frame.command.ext or {}).get("msgId", "") if not frame.is_request and frame.code in SENDS else ""
    return ids.split(",") if ids else []


def test_every_id_that_brokers_gave() -> None:
    told = [id_ for frame in all_frames() for id_ in told_ids(frame)]

    assert len(told) > 20
    for id_ in told:
        read = decode_offset_msg_id(id_)
        assert read is not None
        assert offset_msg_id(*read) == id_


def test_every_batch_that_a_broker_took_and_no_other() -> None:
    taken = refused = 0
    for frame in all_frames():
        ext = (frame.asked and frame.asked.ext) or {}
        if frame.code not in SENDS or frame.asked is None or "true" not in (ext.get("m"), ext.get("batch")):
            continue
        if frame.command.code == 0:
            assert encode_batch(decode_batch(frame.asked.body)) == frame.asked.body
            taken += 1
        elif not frame.asked.body or any(word in (frame.command.remark or "") for word in ("Underflow", "newPosition")):
            with pytest.raises(MalformedBodyError):
                decode_batch(frame.asked.body)
            refused += 1
    assert taken >= 2
    assert refused in (0, 6), "none of these is in the selection"


def test_every_record_of_a_store(store: Store) -> None:
    counts = {
        "store-4.9.7": 17, "store-4.9.7-killed": 21, "store-4.9.7-small-files": 32,
        "store-5.5.0": 19, "store-5.5.0-killed": 21, "store-5.5.0-small-files": 33,
        "store-handwritten": 6, "store-handwritten-v6-v2": 6,
    }  # fmt: skip

    assert len(records_of(store)) == counts[store.name]


def test_ids_in_a_store_are_those_that_senders_were_told(store: Store) -> None:
    ids = {record.offset_msg_id for record in records_of(store).values()}
    told = [id_ for step in store.steps for id_ in (step.get("ext") or {}).get("msgId", "").split(",") if id_]

    assert set(told) <= ids
    assert told or store.name.startswith("store-handwritten")


def test_tag_codes_in_the_queues_of_a_store(store: Store) -> None:
    records = records_of(store)
    units = 0
    for path, content in store.files("consumequeue"):
        _, topic, queue_id, _ = path.split("/")
        for offset, size, code in QUEUE_UNIT.iter_unpack(content + bytes(-len(content) % QUEUE_UNIT.size)):
            record = records[offset]
            assert (record.topic, record.queue_id) == (topic, int(queue_id))
            assert len(encode_record(record)) == size
            if topic != DELAYED:
                assert tag_code(record.properties.get(TAGS)) == code
                units += 1
    assert units == (0 if store.name == "store-handwritten-v6-v2" else len(records) - len(delayed(records)))


def delayed(records: dict[int, StoredMessage]) -> list[StoredMessage]:
    return [record for record in records.values() if record.topic == DELAYED]


@pytest.mark.parametrize("release", ["4.9.7", "5.5.0"])
def test_what_was_sent_is_in_the_records(release: str) -> None:
    store = stores()[f"store-{release}"]
    by_id = {record.offset_msg_id: record for record in records_of(store).values()}
    seen = set()
    for step in store.steps:
        if "body_hex" in step and "bornTimestamp" in step:
            record = by_id[step["ext"]["msgId"]]
            assert_holds(record, step)
            seen.add(step["step"])

    assert {"plain", "no properties", "utf8", "zlib body", "delay level 1", "half commit"} <= seen


def assert_holds(record: StoredMessage, step: dict[str, Any]) -> None:
    assert record.body.hex() == step["body_hex"]
    assert record.born_timestamp_ms == step["bornTimestamp"]
    assert record.flag == step.get("flag", 0)
    assert record.queue_offset == int(step["ext"]["queueOffset"])
    assert str(record.store_host) == f"127.0.0.1:{int(step['ext']['msgId'][8:16], 16)}"
    sent = {name: value for name, value in step["properties"].items() if name != "WAIT"}
    if not step["step"].startswith(("delay", "timer")):
        assert sent.items() <= record.properties.items()
    assert record.properties.get("UNIQ_KEY") in (sent.get("UNIQ_KEY"), step["ext"].get("transactionId"))
    assert record.msg_id == record.properties.get("UNIQ_KEY", record.offset_msg_id)


@pytest.mark.parametrize("release", ["4.9.7", "5.5.0"])
def test_the_compressed_body_of_a_store(release: str) -> None:
    records = records_of(stores()[f"store-{release}"]).values()
    packed = [record for record in records if record.sys_flag & COMPRESSED]

    assert {record.sys_flag for record in packed} == {compressed(0, CompressionType.ZLIB)}
    assert {inflate(record.body, record.sys_flag) for record in packed} == {b"compress me " * 50}


def test_the_id_that_a_broker_made_up() -> None:
    store = stores()["store-5.5.0"]
    made_up = next(step["ext"]["transactionId"] for step in store.steps if step.get("step") == "no properties")
    read = decode_unique_id(made_up)

    assert read is not None
    assert read.ip.startswith("fd00::")
    assert len(made_up) == 56


def test_hashes_are_those_of_the_specification() -> None:
    assert java_hash("TopicTest#KEY1") == -1656969516
    assert [tag_code(tag) for tag in ("TagA", "TagB", "order-created", None)] == [2598919, 2598920, -392709271, 0]
