"""What two stores of the same messages may not have in common is blanked; everything else stays as it is on disk.

Owns: which bytes of a record, a unit and an entry must differ between two brokers, by the specification.
Must not know: the messages; which broker wrote a file.
"""

import re
import struct
from collections.abc import Iterator
from typing import Final, NamedTuple

from tests.support.faulty_broker.records import Record, decode_records
from tests.support.store_folders import RawUnit, StoreFolder

SCHEDULE_TOPIC: Final = "SCHEDULE_TOPIC_XXXX"
MADE_BY_BROKER: Final = frozenset({"RMQ_SYS_TRANS_OP_HALF_TOPIC"})
"""Topics whose messages a broker makes itself, at its own time."""
FILLER: Final = 0xCBD43194
_BORN_TIME: Final = slice(40, 48)
_BORN_PORT: Final = slice(52, 56)
_STORE_TIME: Final = slice(56, 64)
_STORE_PORT: Final = slice(68, 72)
_INDEX_TIMES: Final = slice(0, 16)
_INDEX_SLOTS_USED: Final = slice(32, 36)
TIMES: Final = frozenset({b"TIMER_OUT_MS", b"TIMER_ENQUEUE_MS", b"TIMER_DEQUEUE_MS"})
MADE_ID: Final = b"\x01" + b"M" * 32
_SENT_ID: Final = re.compile(rb"7F0000010{16}[0-9A-F]{8}")
_ANY_ID: Final = re.compile(rb"[0-9A-F]{32}")
_OFFSET_ID: Final = re.compile(rb"(7F000001)[0-9A-F]{8}([0-9A-F]{16})")


class MaskedIndex(NamedTuple):
    """An index file without its times: header, slots, and (hash, log offset, previous) of each entry."""

    header: bytes
    slots: tuple[int, ...]
    entries: tuple[tuple[int, int, int], ...]


def masked_log(store: StoreFolder) -> list[tuple[int, bytes]]:
    """Give every record of the log with its place, and the fillers between them."""
    return [(at, data if is_filler else _masked(data)) for at, data, is_filler in _walk(store.log())]


def records(store: StoreFolder) -> list[Record]:
    """Give the records of the log as they are read, to explain a difference."""
    return [decode_records(data)[0] for _, data, is_filler in _walk(store.log()) if not is_filler]


def masked_units(store: StoreFolder) -> dict[tuple[str, int], list[RawUnit]]:
    """Give the units of all queues; the time of a delivery stands as the delay behind its record's time."""
    stored_at = {record.offset: record.store_ms for record in records(store)}
    found = store.units()
    for (topic, _), units in found.items():
        if topic == SCHEDULE_TOPIC:
            units[:] = [each._replace(tag_code=each.tag_code - stored_at[each.log_offset]) for each in units]
    return found


def masked_index(store: StoreFolder) -> list[MaskedIndex]:
    """Give the index files, the oldest first; ids that a broker made leave their hash only out of those at the end."""
    slot_count = store.sizes["maxHashSlotNum"]
    made = [at for at, data in masked_log(store) if MADE_ID in data]
    files = []
    for data, entries in zip(store.used("index").values(), store.index_entries(), strict=True):
        header = bytearray(data[:40])
        header[_INDEX_TIMES] = bytes(16)
        slots = struct.unpack(f">{slot_count}i", data[40:].ljust(4 * slot_count, b"\0")[: 4 * slot_count])
        kept = [(each.key_hash, each.log_offset, each.previous) for each in entries]
        if made and entries[-1].log_offset >= made[0]:
            header[_INDEX_SLOTS_USED], slots = bytes(4), ()
            kept = [(0, at, 0) if at in made else (key_hash, at, previous) for key_hash, at, previous in kept]
        files.append(MaskedIndex(bytes(header), slots, tuple(kept)))
    return files


def _walk(log: bytes) -> Iterator[tuple[int, bytes, bool]]:
    at = 0
    while at < len(log):
        size, magic = struct.unpack_from(">iI", log, at)
        assert size > 0, f"a record of {size} bytes at {at}"
        yield at, log[at : at + size], magic == FILLER
        at += size


def _masked(data: bytes) -> bytes:
    (record,) = decode_records(data)
    blank = bytearray(data)
    for part in (_BORN_PORT, _STORE_TIME, _STORE_PORT):
        blank[part] = bytes(part.stop - part.start)
    if record.topic in MADE_BY_BROKER:
        blank[_BORN_TIME] = bytes(8)
    size = len(record.properties)
    entries = sorted(map(_masked_entry, record.properties.split(b"\x02")))
    return bytes(blank[: len(blank) - size]) + b"\x02".join(entries)


def _masked_entry(entry: bytes) -> bytes:
    name, _, value = entry.partition(b"\x01")
    if name == b"ORIGIN_MESSAGE_ID":
        return name + b"\x01" + _OFFSET_ID.sub(rb"\1PORT----\2", value)
    if name in TIMES:
        return name + b"\x01" + b"T" * len(value)
    is_made = _ANY_ID.fullmatch(value) and not _SENT_ID.fullmatch(value)
    return name + MADE_ID if is_made else entry
