"""Stored messages for tests of the consumer.

Owns: records with the members that a consumer looks at.
Must not know: what is tested.
"""

from collections.abc import Mapping

from cosmodrome.protocol.messages.properties import encode_properties, properties_bytes
from cosmodrome.protocol.messages.record import StoredMessage, body_crc

HOST = bytes((127, 0, 0, 1, 0, 0, 0x2A, 0x9F))


def stored(
    offset: int,
    body: bytes = b"x",
    *,
    topic: str = "T",
    queue_id: int = 0,
    properties: Mapping[str, str] | None = None,
    reconsume_times: int = 0,
    store_ms: int = 1_700_000_000_000,
) -> StoredMessage:
    """Give a record of a queue."""
    return StoredMessage(
        topic=topic,
        body=body,
        properties_bytes=properties_bytes(encode_properties(properties or {})),
        queue_id=queue_id,
        queue_offset=offset,
        commit_log_offset=offset * 1000,
        born_timestamp_ms=store_ms - 5,
        born_host_bytes=HOST,
        store_timestamp_ms=store_ms,
        store_host_bytes=HOST,
        body_crc=body_crc(body),
        reconsume_times=reconsume_times,
    )
