"""Questions about what is stored.

Owns: views and queries of messages (33, 12), offsets of queues (29, 30, 31), the time of the first message (32).
Must not know: how messages came.
"""

from typing import Final

from tests.support.faulty_broker.journal import Reply
from tests.support.faulty_broker.line import Under
from tests.support.faulty_broker.records import Record
from tests.support.faulty_broker.rules import RefusedError, Release
from tests.support.faulty_broker.store import MemoryStore, Queue

_MOST: Final = 32


class Queries:
    """Answers from the store, without changing it."""

    def __init__(self, store: MemoryStore, release: Release) -> None:
        self._store = store
        self._release = release

    def view(self, under: Under) -> Reply:
        """33."""
        offset = int(under.arrival.ext["offset"])
        found = self._store.at(offset)
        if found is None:
            raise RefusedError(1, f"can not find message by the offset, {offset}")
        return Reply(0, None, None, found.encode())

    def query(self, under: Under) -> Reply:
        """12: by a word of KEYS, or by the sender's id."""
        ext = under.arrival.ext
        first_ms, last_ms = int(ext["beginTimestamp"]), int(ext["endTimestamp"])
        index_type = ext.get("indexType", "") if self._release.is_5 else ""
        kind = "U" if ext.get("_UNIQUE_KEY_QUERY") == "true" else index_type
        found = [
            record
            for record in self._store.messages(ext["topic"])
            if _has_key(record, ext["key"], kind) and first_ms <= record.store_ms <= last_ms
        ][: min(int(ext["maxNum"]), _MOST)]
        newest = max(found, key=lambda record: record.offset, default=Record(topic=""))
        fields = {
            "indexLastUpdateTimestamp": str(newest.store_ms),
            "indexLastUpdatePhyoffset": str(newest.offset),
        }
        if not found:
            raise RefusedError(22, "can not find message, maybe time range not correct", fields)
        return Reply(0, None, fields, b"".join(record.encode() for record in found))

    def largest(self, under: Under) -> Reply:
        """30."""
        return Reply(0, None, {"offset": str(self._queue(under).end)})

    def smallest(self, under: Under) -> Reply:
        """31; 5.5.0 says so with an empty remark."""
        return Reply(0, "" if self._release.is_5 else None, {"offset": str(self._queue(under).first)})

    def earliest(self, under: Under) -> Reply:
        """32."""
        records = self._queue(under).records
        return Reply(0, None, {"timestamp": str(records[0].store_ms if records else -1)})

    def by_time(self, under: Under) -> Reply:
        """29."""
        queue, ext = self._queue(under), under.arrival.ext
        wanted_ms = int(ext["timestamp"])
        if not queue.records:
            return Reply(0, None, {"offset": "0"})
        not_before = sum(record.store_ms < wanted_ms for record in queue.records)
        not_after = sum(record.store_ms <= wanted_ms for record in queue.records)
        if ext.get("boundaryType", "LOWER").upper() == "UPPER" and self._release.is_5:
            offset = queue.first + max(0, not_after - 1)
        elif self._release.is_5:
            offset = queue.first + not_before
        else:
            offset = queue.first + _nearest(queue, not_before, wanted_ms)
        return Reply(0, None, {"offset": str(offset)})

    def _queue(self, under: Under) -> Queue:
        ext = under.arrival.ext
        return self._store.queue(ext["topic"], int(ext["queueId"]))


def _nearest(queue: Queue, not_before: int, wanted_ms: int) -> int:
    """Give the place of the message that was stored nearest to a time, as 4.9 does."""
    if not_before == len(queue.records):
        return not_before - 1
    if not_before == 0:
        return 0
    after_ms = queue.records[not_before].store_ms - wanted_ms
    before_ms = wanted_ms - queue.records[not_before - 1].store_ms
    return not_before if after_ms <= before_ms else not_before - 1


def _has_key(record: Record, key: str, kind: str) -> bool:
    named = record.named
    if kind == "T":
        return named.get("TAGS") == key
    return named.get("UNIQ_KEY") == key or (kind != "U" and key in named.get("KEYS", "").split(" "))
