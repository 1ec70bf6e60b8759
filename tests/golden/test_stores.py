"""Stores of real brokers: we find in them what is in them, leave them as they are, and write the same bytes."""

import struct
from pathlib import Path

import pytest
from tests.support.store_folders import STORE_NAMES, StoreFolder, unpack

from cosmodrome.protocol.messages.record import StoredMessage, decode_record
from cosmodrome.store.appending import NewMessage
from cosmodrome.store.files import DiskFiles
from cosmodrome.store.index_file import IndexFile, IndexSizes
from cosmodrome.store.message_store import MessageStore
from cosmodrome.store.reading import ReadLimits, ReadStatus
from cosmodrome.store.settings import StoreSettings

SEVERAL_HOSTS = "store-handwritten-v6-v2"
"""Its records were stored by several brokers; ours is one."""
OF_ONE_BROKER = [name for name in STORE_NAMES if name != SEVERAL_HOSTS]
ALL = ReadLimits(messages=10_000, size_bytes=1 << 30, units=10_000)
EVER = 1 << 62


def settings(folder: StoreFolder, root: Path | None = None, store_host: bytes = bytes(8)) -> StoreSettings:
    return StoreSettings(
        root=root or folder.path,
        store_host=store_host,
        segment_bytes=folder.sizes["mappedFileSizeCommitLog"],
        queue_file_bytes=folder.sizes["mappedFileSizeConsumeQueue"],
        index_slots=folder.sizes["maxHashSlotNum"],
        index_entries=folder.sizes["maxIndexNum"],
        is_tag_indexed=folder.release == "5.5.0",
    )


@pytest.fixture(params=STORE_NAMES)
def recorded(request: pytest.FixtureRequest, tmp_path: Path) -> StoreFolder:
    return unpack(request.param, tmp_path)


def records_of(folder: StoreFolder) -> list[StoredMessage]:
    """Read the log with the codec of the protocol, file by file, up to fillers and zeros."""
    found: list[StoredMessage] = []
    for data in folder.used("commitlog").values():
        at = 0
        while at + 8 <= len(data) and struct.unpack_from(">i", data, at)[0] and data[at + 4 : at + 6] != b"\xcb\xd4":
            record, at = decode_record(data + bytes(3), at)
            found.append(record)
    return found


def read_all(store: MessageStore, topic: str, queue_id: int) -> list[tuple[int, StoredMessage]]:
    found: list[tuple[int, StoredMessage]] = []
    offset = 0
    while True:
        result = store.reader.read((topic, queue_id), offset, ALL)
        if result.status is not ReadStatus.FOUND:
            assert result.status is ReadStatus.OFFSET_OVERFLOW_ONE
            return found
        for at, view in enumerate(result.records, offset):
            found.append((at, decode_record(view)[0]))
        offset = result.next_offset


def test_every_recorded_message_is_found(recorded: StoreFolder) -> None:
    expected = records_of(recorded)
    units = recorded.units()
    log = recorded.log()
    assert expected

    with MessageStore.open(settings(recorded)) as store:
        by_queue: dict[tuple[str, int], list[StoredMessage]] = {}
        for record in expected:
            by_queue.setdefault((record.topic, record.queue_id), []).append(record)
        found = {
            (topic, queue_id): read_all(store, topic, queue_id)
            for topic, ids in store.reader.queues().items()
            for queue_id in ids
            if store.reader.max_offset(topic, queue_id)
        }
        assert {key: [record for _, record in value] for key, value in found.items()} == by_queue
        assert all(offset == record.queue_offset for value in found.values() for offset, record in value)
        for (topic, queue_id), raw in units.items():
            for offset, unit in enumerate(raw):
                found_unit = store.reader.unit(topic, queue_id, offset)
                assert found_unit is not None
                assert tuple(found_unit) == tuple(unit)
        for record in expected:
            view = store.reader.record_at(record.commit_log_offset)
            assert view is not None
            assert view == log[record.commit_log_offset : record.commit_log_offset + len(view)]
        assert store.last_store_ms == max(record.store_timestamp_ms for record in expected)
        assert not store.report.damaged
        assert not store.report.misnumbered


def test_every_message_that_the_broker_acknowledged_is_where_it_said(recorded: StoreFolder) -> None:
    sent = [step for step in recorded.steps if step.get("code") == 0 and "queueOffset" in step.get("ext", {})]

    with MessageStore.open(settings(recorded)) as store:
        for step in sent:
            for place, queue_offset in zip(
                step["ext"]["msgId"].split(","), range(int(step["ext"]["queueOffset"]), 1 << 31), strict=False
            ):
                view = store.reader.record_at(int(place[-16:], 16))
                assert view is not None, step
                assert decode_record(view)[0].queue_offset == queue_offset
    assert sent or not recorded.release[0].isdigit(), "only those written by hand have no answers"


def test_every_key_leads_to_its_messages(recorded: StoreFolder) -> None:
    before = recorded.index_entries()
    records = records_of(recorded)

    with MessageStore.open(settings(recorded)) as store:
        for record in records:
            words = [record.properties.get("UNIQ_KEY", ""), *record.properties.get("KEYS", "").split(" ")]
            for key in filter(None, words):
                found = [bytes(view) for view in store.reader.find(record.topic, key, 100, 0, EVER)]
                assert record in [decode_record(each)[0] for each in found], key
            assert not store.reader.find(record.topic, "no such key", 100, 0, EVER)

    assert not before or [entry for file in recorded.index_entries() for entry in file] == [
        entry for file in before for entry in file
    ]


def test_index_files_are_read_as_they_are(recorded: StoreFolder) -> None:
    sizes = IndexSizes(recorded.sizes["maxHashSlotNum"], recorded.sizes["maxIndexNum"])
    paths = sorted((recorded.path / "index").glob("*"))

    files = [IndexFile(DiskFiles(), path, sizes) for path in paths]

    assert [[tuple(entry) for entry in file.entries()] for file in files] == [
        [tuple(entry) for entry in entries] for entries in recorded.index_entries()
    ]
    for file in files:
        file.close()


def test_log_and_queues_are_left_as_they_are(recorded: StoreFolder) -> None:
    """Twice: once after the broker's own end, once after ours."""
    log, queues = recorded.used("commitlog"), recorded.used("consumequeue")

    for _ in range(2):
        MessageStore.open(settings(recorded)).close()

        assert recorded.used("commitlog") == log
        assert not queues or recorded.used("consumequeue") == queues
        assert not (recorded.path / "abort").exists()


@pytest.mark.parametrize("name", OF_ONE_BROKER)
def test_the_same_messages_make_the_same_bytes(name: str, tmp_path: Path) -> None:
    recorded = unpack(name, tmp_path / "theirs")
    records = records_of(recorded)
    host = records[0].store_host_bytes
    ours = StoreFolder(tmp_path / "ours", recorded.release, recorded.sizes, ())

    with MessageStore.open(settings(recorded, ours.path, host)) as store:
        for record in records:
            assert record.store_host_bytes == host
            message = NewMessage(
                record.topic, record.queue_id, record.body, record.properties_bytes, record.born_timestamp_ms,
                record.born_host_bytes, record.sys_flag, record.flag, record.reconsume_times,
                record.prepared_transaction_offset,
            )  # fmt: skip
            position = store.add(message, record.store_timestamp_ms)
            assert position.commit_log_offset == record.commit_log_offset
            assert position.queue_offset == record.queue_offset
        store.write()

    assert ours.used("commitlog") == recorded.used("commitlog")
    assert ours.used("consumequeue") == recorded.used("consumequeue")
    theirs = list(recorded.used("index").values())
    assert not theirs or list(ours.used("index").values()) == theirs


def test_only_one_store_is_left_out() -> None:
    assert len(OF_ONE_BROKER) == 7
