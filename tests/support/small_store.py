"""A store with small files on a simulated disk, and short words for what tests do with it.

Owns: the settings; storing, reading and ending.
Must not know: which behaviour is tested.
"""

from pathlib import Path
from typing import Any, Final

from tests.support.simulated_disk import SimulatedDisk

from cosmodrome.protocol.messages.hosts import encode_host
from cosmodrome.protocol.messages.record import StoredMessage, decode_record
from cosmodrome.store.appending import NewMessage, Position
from cosmodrome.store.message_store import MessageStore
from cosmodrome.store.reading import ReadLimits
from cosmodrome.store.settings import StoreSettings

ROOT: Final = Path("/store")
HOST: Final = encode_host("10.0.0.1", 10911)
NOW_MS: Final = 1_700_000_000_000
EVER: Final = 1 << 62
SEGMENT_BYTES: Final = 4096
FIRST_SEGMENT: Final = ROOT / "commitlog" / f"{0:020d}"
_ALL: Final = ReadLimits(messages=1 << 30, size_bytes=1 << 40, units=1 << 20)


def settings(**changes: Any) -> StoreSettings:
    """Give settings with small files."""
    values = {
        "root": ROOT, "store_host": HOST, "segment_bytes": SEGMENT_BYTES, "queue_file_bytes": 200, "index_slots": 7,
        "index_entries": 30, "index_batch": 3,
    }  # fmt: skip
    return StoreSettings(**{**values, **changes})


def opened(disk: SimulatedDisk, **changes: Any) -> MessageStore:
    """Open the store on a disk."""
    return MessageStore.open(settings(**changes), disk)


def message(body: bytes = b"body", topic: str = "T", queue_id: int = 0, **fields: Any) -> NewMessage:
    """Give a message with a key and a tag."""
    values = {"properties": b"KEYS\x01" + body.split(b".")[0] + b"\x02TAGS\x01t\x02", "born_timestamp_ms": NOW_MS}
    return NewMessage(topic=topic, queue_id=queue_id, body=body, **{**values, "born_host": HOST, **fields})


def stored(store: MessageStore, *messages: NewMessage, now_ms: int = NOW_MS) -> list[Position]:
    """Store messages in one turn."""
    positions = [store.add(each, now_ms) for each in messages]
    store.write()
    return positions


def filled(store: MessageStore, count: int, topic: str = "T", queues: int = 1, size: int = 20) -> list[bytes]:
    """Store messages in turns of one, and give their bodies."""
    bodies = [f"{number}.".encode().ljust(size, b"x") for number in range(count)]
    for number, body in enumerate(bodies):
        stored(store, message(body, topic, number % queues))
    return bodies


def dropped_first(store: MessageStore) -> bool:
    """Delete the oldest file of the log, unless it is the last one; tell whether there was one to delete."""
    if not store.detach_first_segment():
        return False
    for _ in store.dropping_what_points_nowhere():
        continue
    for path in store.detached:
        store.remove_detached(path)
        store.removed(path)
    return True


def records(store: MessageStore, topic: str = "T", queue_id: int = 0) -> list[StoredMessage]:
    """Read a queue from its first message to its end."""
    found: list[StoredMessage] = []
    offset = store.reader.min_offset(topic, queue_id)
    while offset < store.reader.max_offset(topic, queue_id):
        result = store.reader.read((topic, queue_id), offset, _ALL)
        assert result.next_offset > offset
        found += [decode_record(view)[0] for view in result.records]
        offset = result.next_offset
    return found


def bodies_of(store: MessageStore, topic: str = "T", queue_id: int = 0) -> list[bytes]:
    """Read the bodies of a queue."""
    return [record.body for record in records(store, topic, queue_id)]


def found_by_key(store: MessageStore, key: bytes, topic: str = "T") -> list[bytes]:
    """Give the bodies that the index leads to."""
    return [decode_record(view)[0].body for view in store.reader.find(topic, key.decode(), 1000, 0, EVER)]
