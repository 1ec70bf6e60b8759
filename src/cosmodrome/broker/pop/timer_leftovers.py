"""Check points and acknowledgements that an Apache broker left in its timer.

Owns: finding them in the timer topic; which of them have reached the revive topic already.
Must not know: what becomes of them; the event loop.

Apache's brokers keep these records in the timer topic until their time has come. A store that comes from one has check
points there of which the revive topic knows nothing yet.
"""

from collections.abc import Callable, Iterator
from typing import Final

from cosmodrome.errors import MalformedBodyError
from cosmodrome.protocol.messages.properties import REAL_QID, REAL_TOPIC, TIMER_DELIVER_MS
from cosmodrome.protocol.messages.record import StoredMessage, decode_record
from cosmodrome.store.reading import Reader

TIMER_TOPIC: Final = "rmq_sys_wheel_timer"
MARGIN_MS: Final = 60_000
"""What was due so long before the store's last record has left the timer."""
_REACH_MS: Final = 3 * 86_400_000
"""How far ahead the timer of Apache's brokers reaches."""
_QUEUE_ID: Final = 0


def leftovers(
    reader: Reader, topic: str, last_store_ms: int, is_known: Callable[[StoredMessage], bool]
) -> list[tuple[int, StoredMessage]]:
    """Give what is in the timer for the revive topic `topic` and not in that topic: revive queue and record, the oldest first.

    Args:
        reader: Of the store.
        topic: The revive topic.
        last_store_ms: Store time of the newest record of the store, before anything was stored by this process.
        is_known: Whether a record like this one is in the revive topic.
    """
    found = []
    for record in _newest_first(reader):
        if record.store_timestamp_ms < last_store_ms - _REACH_MS:
            break
        queue_id, due_ms = _number(record, REAL_QID), _number(record, TIMER_DELIVER_MS)
        if record.properties.get(REAL_TOPIC) != topic or queue_id is None or due_ms is None:
            continue
        if due_ms > last_store_ms - MARGIN_MS and not is_known(record):
            found.append((queue_id, record))
    return found[::-1]


def _newest_first(reader: Reader) -> Iterator[StoredMessage]:
    low, high = reader.min_offset(TIMER_TOPIC, _QUEUE_ID), reader.max_offset(TIMER_TOPIC, _QUEUE_ID)
    for offset in range(high - 1, low - 1, -1):
        unit = reader.unit(TIMER_TOPIC, _QUEUE_ID, offset)
        view = None if unit is None else reader.record_at(unit.log_offset)
        try:
            if view is not None:
                yield decode_record(view)[0]
        except MalformedBodyError:
            continue


def _number(record: StoredMessage, name: str) -> int | None:
    text = record.properties.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None
