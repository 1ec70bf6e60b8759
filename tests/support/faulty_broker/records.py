"""What a broker stores, in the words of the specification.

Owns: store records, property texts, batch bodies, both kinds of message id and the tag hash, as the double writes them.
Must not know: the package under test. It is an oracle, like `wire`, and repeats the formats in its own words.
"""

import dataclasses
import ipaddress
import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

Host = tuple[str, int]

COMPRESSED: Final = 0x1
PREPARED: Final = 0x4
COMMITTED: Final = 0x8
TRANSACTION_BITS: Final = 0xC
BORN_V6: Final = 0x10
STORE_V6: Final = 0x20

_MAGIC_V1: Final = 0xDAA320A7
_MAGIC_V2: Final = 0xDAA320AB
_FIXED: Final = struct.Struct(">IIIiiqqiq")
_BATCH_HEAD: Final = struct.Struct(">iiiii")
_KEY_END: Final = "\x01"
_VALUE_END: Final = "\x02"


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One stored message. `offset` is where it stands in the commit log; `properties` is their text as stored."""

    topic: str
    body: bytes = b""
    properties: bytes = b""
    queue_id: int = 0
    queue_offset: int = 0
    offset: int = 0
    sys_flag: int = 0
    flag: int = 0
    born_ms: int = 0
    born_host: Host = ("127.0.0.1", 0)
    store_ms: int = 0
    store_host: Host = ("127.0.0.1", 0)
    reconsume_times: int = 0
    prepared_offset: int = 0

    @property
    def named(self) -> dict[str, str]:
        """The properties by name; bytes that are no UTF-8 come as surrogates."""
        return decode_properties(self.properties.decode("utf-8", "surrogateescape"))

    @property
    def unique_key(self) -> str:
        """The id that the sender gave; "" for none."""
        return self.named.get("UNIQ_KEY", "")

    @property
    def tag(self) -> str:
        """The tag; "" for none."""
        return self.named.get("TAGS", "")

    @property
    def msg_id(self) -> str:
        """The broker's id (Java: offsetMsgId)."""
        return offset_msg_id(self.store_host, self.offset)

    def changed(self, **values: object) -> "Record":
        """Give the same with some members changed."""
        return dataclasses.replace(self, **values)  # type: ignore[arg-type]  # callers name members

    def with_properties(self, **values: str | None) -> "Record":
        """Give the same with some properties set, or taken away by None."""
        named = self.named | values
        return self.changed(
            properties=encode_properties({key: value for key, value in named.items() if value is not None})
        )

    def encode(self) -> bytes:
        """Write the record as the log, a pull and a view carry it."""
        topic, is_v2 = self.topic.encode(), len(self.topic.encode()) > 127
        born, store = _host(self.born_host), _host(self.store_host)
        flags = self.sys_flag & ~(BORN_V6 | STORE_V6)
        flags |= (BORN_V6 if len(born) > 8 else 0) | (STORE_V6 if len(store) > 8 else 0)
        tail = b"".join((
            struct.pack(">i", len(self.body)), self.body,
            struct.pack(">H" if is_v2 else ">B", len(topic)), topic,
            struct.pack(">h", len(self.properties)), self.properties,
        ))  # fmt: skip
        size = _FIXED.size + len(born) + 8 + len(store) + 12 + len(tail)
        head = _FIXED.pack(
            size, _MAGIC_V2 if is_v2 else _MAGIC_V1, zlib.crc32(self.body) & 0x7FFFFFFF, self.queue_id, self.flag,
            self.queue_offset, self.offset, flags, self.born_ms,
        )  # fmt: skip
        times = struct.pack(">q", self.store_ms)
        return head + born + times + store + struct.pack(">iq", self.reconsume_times, self.prepared_offset) + tail


def decode_records(data: bytes) -> list[Record]:
    """Read records one after another, to the end."""
    records, at = [], 0
    while at < len(data):
        size = struct.unpack_from(">i", data, at)[0]
        assert 91 <= size <= len(data) - at, f"a record of {size} bytes at {at} of {len(data)}"
        records.append(_decode(data[at : at + size]))
        at += size
    return records


def _decode(data: bytes) -> Record:
    _, magic, crc, queue_id, flag, queue_offset, offset, sys_flag, born_ms = _FIXED.unpack_from(data)
    assert magic in (_MAGIC_V1, _MAGIC_V2), hex(magic)
    born_host, at = _read_host(data, _FIXED.size, is_v6=bool(sys_flag & BORN_V6))
    store_ms = struct.unpack_from(">q", data, at)[0]
    store_host, at = _read_host(data, at + 8, is_v6=bool(sys_flag & STORE_V6))
    reconsume_times, prepared_offset, body_bytes = struct.unpack_from(">iqi", data, at)
    at += 16
    body, at = data[at : at + body_bytes], at + body_bytes
    assert zlib.crc32(body) & 0x7FFFFFFF == crc, "the body's CRC"
    topic_bytes, width = struct.unpack_from(">H" if magic == _MAGIC_V2 else ">B", data, at)[0], 1 + (magic == _MAGIC_V2)
    topic, at = data[at + width : at + width + topic_bytes].decode(), at + width + topic_bytes
    property_bytes = struct.unpack_from(">h", data, at)[0]
    assert at + 2 + property_bytes == len(data), "the record's length"
    return Record(
        topic=topic, body=body, properties=data[at + 2 :], queue_id=queue_id, queue_offset=queue_offset, offset=offset,
        sys_flag=sys_flag, flag=flag, born_ms=born_ms, born_host=born_host, store_ms=store_ms, store_host=store_host,
        reconsume_times=reconsume_times, prepared_offset=prepared_offset,
    )  # fmt: skip


def encode_properties(named: Mapping[str, str]) -> bytes:
    """Write a property text with its last separator, as 5.x stores it."""
    text = "".join(f"{key}{_KEY_END}{value}{_VALUE_END}" for key, value in named.items())
    return text.encode("utf-8", "surrogateescape")


def decode_properties(text: str) -> dict[str, str]:
    """Read a property text; entries without exactly a key and a value are skipped, later ones win."""
    entries = (entry.split(_KEY_END) for entry in text.split(_VALUE_END))
    return {parts[0]: parts[1] for parts in entries if len(parts) == 2 and all(parts)}


def decode_batch(data: bytes) -> Iterator[tuple[int, bytes, bytes]]:
    """Give flag, body and property text of each entry of a batch.

    Raises:
        ValueError: A length says something else than the bytes.
    """
    at = 0
    while at < len(data):
        try:
            size, _, _, flag, body_bytes = _BATCH_HEAD.unpack_from(data, at)
            start = at + _BATCH_HEAD.size
            property_bytes = struct.unpack_from(">h", data, start + body_bytes)[0]
        except struct.error as error:
            raise ValueError(f"a batch entry at {at} of {len(data)}: {error}") from error
        end = start + body_bytes + 2 + property_bytes
        if body_bytes < 0 or property_bytes < 0 or end != at + size or end > len(data):
            raise ValueError(f"a batch entry of {size} bytes at {at} of {len(data)}")
        yield flag, data[start : start + body_bytes], data[start + body_bytes + 2 : end]
        at = end


def encode_batch(entries: Iterator[tuple[int, bytes, bytes]] | list[tuple[int, bytes, bytes]]) -> bytes:
    """Write flag, body and property text of each entry as a batch body."""
    return b"".join(
        _BATCH_HEAD.pack(22 + len(body) + len(properties), 0, 0, flag, len(body))
        + body
        + struct.pack(">h", len(properties))
        + properties
        for flag, body, properties in entries
    )


def offset_msg_id(host: Host, offset: int) -> str:
    """Give the broker's id of the message at `offset`."""
    return (_host(host) + struct.pack(">q", offset)).hex().upper()


def offset_of(msg_id: str) -> int:
    """Give the commit log offset that a broker's id names.

    Raises:
        ValueError: It is none.
    """
    if len(msg_id) not in (32, 56):
        raise ValueError(f"no broker's id: {msg_id}")
    return int(struct.unpack(">q", bytes.fromhex(msg_id)[-8:])[0])


def tag_hash(tag: str) -> int:
    """Java's String.hashCode, over UTF-16 units."""
    units = tag.encode("utf-16-be", "surrogatepass")
    value = 0
    for at in range(0, len(units), 2):
        value = (31 * value + int.from_bytes(units[at : at + 2])) & 0xFFFFFFFF
    return value - (1 << 32) if value >> 31 else value


def _host(host: Host) -> bytes:
    return ipaddress.ip_address(host[0]).packed + struct.pack(">i", host[1])


def _read_host(data: bytes, at: int, *, is_v6: bool) -> tuple[Host, int]:
    width = 16 if is_v6 else 4
    port = struct.unpack_from(">i", data, at + width)[0]
    return (str(ipaddress.ip_address(data[at : at + width])), port), at + width + 4
