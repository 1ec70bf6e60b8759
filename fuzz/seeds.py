"""First inputs for every target, made of recorded frames.

Owns: which parts of tests/golden a target begins with, and in which form.
Must not know: how inputs are changed.
"""

import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

import lz4.frame
import zstandard
from tests.support import golden, golden_broker, recorded_messages, wire
from tests.support.sql_expressions import Expressions

from fuzz.asking import TABLE_CODES

_LONGEST: Final = 4000
_EACH: Final = 3
"""How many recorded frames of one code and recording are taken."""

_PROPERTIES: Final = (
    b"\x04keys\x05value",
    b"\x0alistenPort\x049876",
)
_PROPERTIES_TEXT: Final = (
    b"# comment\nlistenPort = 9876\n! other\nkvConfigPath=/a\\\n  b\nk\\u00e9y:va\\tlue\n",
    b"\xef\xbb\xbfa=b\r\nc\r\nd=e\\nf\r\n",
    b"bad=\\u12",
    b"\xe9=latin\n",
)
_TOML: Final = (
    b"\0\0a=" + b"[" * 3000,
    b"\0\0" + b"a." * 1500 + b"a=1",
    b'\x00\x03abclistenPort = 9876\nadminAllow = ["10.0.0.0/8"]\n[tls.server]\nmode = "disabled"\n',
    b"\x05\x00a.b.c = 1979-05-27T07:32:00Z\n[[x]]\ny = {z = 1}\n",
)
_VALUES: Final = (
    "true", "9876", "-1", "JSON", "hardened", "10.0.0.0/8;::1", "127.0.0.1:9876", "/var/lib/x", "a;b", "\u00e9\u2028", "permissive",
)  # fmt: skip
_MAGICS: Final = (b"\xda\xa3\x20\xa7", b"\xda\xa3\x20\xab")
_SENDS: Final = (10, 310, 320)
_LENIENT: Final = (
    b"{a:1,'b':[true,,false,],/*c*/\"d\":{0:'x'}} // end", b'{"a":"\\ud83d\\ude00\\ud800"}', b"[[[[1.5e3,-7,NaN]]]]",
    b'{"brokerAddrs":{0:"a:1",1:"b:2"}}',
)  # fmt: skip
_EXTREME: Final = (
    b"[" * 3000, b"[" * 1900 + b"]" * 1900, b'{"a":' * 700 + b"1" + b"}" * 700, b"9" * 3900, b"-" + b"9" * 300 + b".5e7",
    b'{"a":1e999999}', b"[" + b"1," * 1900 + b"1]", b"'" + b"\\'" * 1900 + b"'", b"/*" * 1900, b'"\\u' * 900,
)  # fmt: skip
"""Documents that are deep, long or large for their length."""
_KEYED: Final = (
    b'{{"brokerName":"b","queueId":0,"topic":"T"}:5,{"brokerName":"}{\\"","queueId":1,"topic":"T"}:6}', b"{1:{-2:3}}",
    b'{"a":{"$ref":"$.offsetTable.b"},"b":[1,{"c":2}],"d":{"$ref":"@"},"e":{"$ref":"$[\'b\'][0]"}}', b"{{}:{}}", b',{"' * 900,
)  # fmt: skip
"""Maps whose keys are objects or numbers, and references."""
_GREETINGS: Final = (
    b"PROXY TCP4 10.1.1.1 10.2.2.2 1111 2222\r\n", b"PROXY TCP6 ::1 fe80::1 1 2\r\n", b"PROXY UNKNOWN\r\n",
    b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\x0a\0\0\1\x0a\0\0\2\x04\xd2\x16\x2e", b"\r\n\r\n\0\r\nQUIT\n\x20\0\0\0",
    b"GET / HTTP/1.1\r\n\r\n", b"PRI * HTTP/2.0\r\n", b"PING\r\n", b"SSH-2.0-x\r\n", b"\x16\x03\x01\0\x05hello",
)  # fmt: skip

_HEADS: Final = (
    b"GET /livez HTTP/1.1\r\nHost: a\r\n\r\n", b"HEAD /readyz?x HTTP/1.0\r\n\r\n", b"GET / HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n\r\n",
    b"POST /livez HTTP/1.1\r\nContent-Length: 1\r\n\r\nx", b"GET /livez HTTP/1.1\r\nContent-Length: 0\r\n\r\n",
    b"GET /x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", b"GET  / HTTP/1.1\n\n", b"GET /" + b"x" * 3900, b"HEAD ",
)  # fmt: skip
"""Heads of HTTP requests on the remoting port."""


def seeds(target: str) -> Iterator[bytes]:
    """Give the first inputs of a target, the same in each call."""
    yield b""
    for seed in dict.fromkeys(_SEEDS[target]()):
        if len(seed) <= _LONGEST:
            yield seed


def write_seeds(target: str, folder: Path) -> None:
    """Put them into a folder, as files."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(seeds(target)):
        (folder / f"seed-{number:04}").write_bytes(seed)


def _recorded(*, is_request: bool | None = None) -> Iterator[golden.RecordedFrame]:
    """Give a few frames of each code and codec."""
    seen: dict[tuple[object, ...], int] = {}
    for name in golden.recording_names():
        for frame in golden.recording(name).frames:
            command = frame.command
            kind = (command.code, frame.is_request, command.codec, command.version, bool(command.body))
            if is_request in (None, frame.is_request) and seen.get(kind, 0) < _EACH:
                seen[kind] = seen.get(kind, 0) + 1
                yield frame


def _frames() -> Iterator[bytes]:
    streams = [frame.data for frame in _recorded()]
    for at, data in enumerate(streams):
        yield b"\0\x03\x01\x05\x40\0" + data + streams[(at + 1) % len(streams)]


def _headers(codec: str) -> Iterator[bytes]:
    if codec == "JSON":
        for value in _EXTREME:
            yield b'{"code":105,"opaque":1,"remark":' + value[:3900] + b"}"
            yield b'{"code":105,"opaque":1,"extFields":{"a":' + value[:3900] + b"}}"
    for frame in _recorded():
        if frame.command.codec == codec:
            yield frame.command.raw_header


def _registrations() -> Iterator[bytes]:
    topics = [wire.topic_config("T1"), wire.topic_config("T2", perm=4)]
    mappings = [wire.mapping_info("T1", "a", {0: 1, 1: 2})]
    yield b"\0\0" + wire.register_body(topics, mappings=mappings, filter_servers=["f:1"])
    yield b"\0\3" + zlib.decompress(wire.compressed_register_body(topics, mappings=mappings))
    yield b"\3\0" + wire.old_register_body(topics)
    for value in _EXTREME:
        mapping = b'{"topicQueueMappingInfoMap":{"T1":{"topic":' + value[:3800] + b"}}}"
        yield b'\0\0{"filterServerList":' + value[:3800] + b',"topicConfigSerializeWrapper":{}}'
        yield b'\0\0{"filterServerList":[],"topicConfigSerializeWrapper":' + mapping + b"}"
    for frame in _recorded(is_request=True):
        body = frame.command.body
        if frame.command.code == wire.REGISTER_BROKER and body:
            is_zlib = body[:1] == b"\x78"
            yield (b"\0\3" + zlib.decompress(body)) if is_zlib else b"\0\0" + body
            yield b"\0\1" + body
            yield b"\0\x3c" + body


def _bodies() -> Iterator[bytes]:
    for number, value in enumerate(_EXTREME):
        yield bytes([number]) + b'{"orderTopicConf":' + value[:3900] + b"}"
        yield bytes([number]) + value[:3900]
    for frame in _recorded(is_request=False):
        for number in range(8):
            if frame.command.body:
                yield bytes([number]) + frame.command.body


def _broker_bodies() -> Iterator[bytes]:
    for number, value in enumerate((*_EXTREME, *_KEYED)):
        yield bytes([number]) + b'{"offsetTable":' + value[:3900] + b"}"
    for frame in golden_broker.selected_broker_frames():
        if frame.command.body[:1] == b"{":
            for number in range(26):
                yield bytes([number]) + frame.command.body


def _json_texts() -> Iterator[bytes]:
    yield from _LENIENT
    yield from _EXTREME
    for frame in _recorded():
        if frame.command.body[:1] == b"{":
            yield frame.command.body


def _kv_files() -> Iterator[bytes]:
    for value in _EXTREME:
        yield b'{"configTable":{"n":{"k":' + value[:3900] + b"}}}"
    yield b'{"configTable":{"ORDER_TOPIC_CONFIG":{"T1":"a:4;b:4"},"n":{"k":1,"l":null}}}'
    yield b"{configTable:{'a':{b:true}}}"


def _greetings() -> Iterator[bytes]:
    for mode in range(3):
        for seed in _GREETINGS:
            yield bytes([mode]) + b"\x02\x05\x40" + seed
            yield bytes([mode]) + b"\0" + seed + b"\0\0\0\x20"


def _port_pages() -> Iterator[bytes]:
    for head in _HEADS:
        for plan in (b"\0", b"\x01\x01", b"\x03\x05\x40\x07"):
            yield plan + head


def _properties() -> Iterator[bytes]:
    for change in _PROPERTIES:
        for text in _PROPERTIES_TEXT:
            yield change + text


def _values() -> Iterator[bytes]:
    for value in _VALUES:
        yield b"\0" + value.encode()
        for number in range(0, 110, 7):
            yield bytes([1, number]) + value.encode()


def _signed() -> Iterator[bytes]:
    yield b"\x0712345678\x02\x01\x01a\x01\x01b\x00\x01\x05query" + b"body"
    yield b"\x03key\x01\x01\xf0\x9f\x98\x80\x01\x02xy"


def _accounts() -> Iterator[bytes]:
    yield b'[[account]]\naccessKey = "admin"\nsecretKey = "12345678"\nrole = "admin"\nnetworks = ["10.0.0.0/8"]\n'
    yield b"a=" + b"[" * 3000
    yield b"a." * 1500 + b"a=1"
    yield b'account = [{accessKey="a", secretKey="1234567", role="broker"}, {accessKey="b"}]'


def _store_records() -> Iterator[bytes]:
    for frame in recorded_messages.selected_frames():
        if frame.command.body[4:8] in _MAGICS:
            yield frame.command.body
    handwritten = recorded_messages.stores()["store-handwritten-v6-v2"]
    for _, content in handwritten.files("commitlog"):
        yield content


def _batches() -> Iterator[bytes]:
    for frame in recorded_messages.selected_frames():
        if frame.is_request and frame.command.code in _SENDS and (frame.command.ext or {}).get("m") == "true":
            yield b"\0\x40" + frame.command.body
            yield b"\xff\xff" + frame.command.body * 3


def _message_properties() -> Iterator[bytes]:
    yield b"KEYS\1K1 K2\2TAGS\1TagA"
    yield b"k\0011\2\2k\0012\2k\1\2\1v\2a\1b\1c\2\xff\1\xfe\2"
    for frame in recorded_messages.selected_frames():
        if frame.is_request and frame.command.code in _SENDS:
            yield ((frame.command.ext or {}).get("i") or "").encode()


def _compressed() -> Iterator[bytes]:
    for plain in (b"", b"compress me " * 100, bytes(range(256))):
        bodies = (zlib.compress(plain), lz4.frame.compress(plain), zstandard.compress(plain), zlib.compress(plain, 0))
        for kind, body in enumerate(bodies):
            yield bytes([kind]) + b"\x04\xb0" + body
            yield bytes([kind]) + b"\0\xff" + body


def _asked() -> Iterator[bytes]:
    """Give one request of each kind and form, then some after a registration."""
    register = b"\0\0\0\1"
    for code in range(len(TABLE_CODES)):
        for kind, plan, form in ((0, 0, 1), (0x40, 1, 2), (7, 2, 0), (0, 0x23, 8), (0, 3, 7)):
            yield register + bytes([code, kind, plan, form]) + b"\x0b\x0b" + bytes([code, 0, 0, form])


def _plays() -> Iterator[bytes]:
    """Give scripts: recorded frames in pieces, requests one by one, peers that stop reading, finish and break off."""
    for number, frame in enumerate(_recorded(is_request=True)):
        length = len(frame.data).to_bytes(2, "big")
        yield bytes([number % 64, 5]) + length + frame.data + b"\x02\x03\x40" + b"\x1b\x09"
        yield bytes([number % 3, 7, 0]) + length + frame.data + b"\x2b\x08\x00\x20\x18\x4a"
    for action in (1, 4, 0x41, 0x81, 0xC4):
        for code in range(len(TABLE_CODES)):
            ask = bytes([action, code, 0, code % 4, code % 11])
            yield b"\2" + b"\1\0\0\0\1" + ask + b"\x0e" + ask + b"\x09\x1b\x0d" + ask + b"\x1a\x5a"
            yield b"\1\7" + ask * 4 + b"\x0b\x08\0\x10" + ask + b"\x09\x18"
    for greeting in _GREETINGS:
        yield b"\0\5" + len(greeting).to_bytes(2, "big") + greeting + b"\1\3\1\1\0\0\0\x5a"
        yield b"\0\0" + len(greeting).to_bytes(2, "big") + greeting + b"\1\5\0\0\0"


def _filters() -> Iterator[bytes]:
    expressions = Expressions(1)
    for _ in range(40):
        yield expressions.next().encode()
    yield b"(" * 63 + b"a = 5" + b")" * 63
    yield b"NOT " * 900 + b"a"
    yield b"a" + b" = TRUE" * 300
    yield b"a IN (" + b"'x'," * 900 + b"'y')"


_SEEDS: Final[Mapping[str, Callable[[], Iterator[bytes]]]] = {
    "frame_decoder": _frames,
    "json_header": lambda: _headers("JSON"),
    "binary_header": lambda: _headers("ROCKETMQ"),
    "registration_body": _registrations,
    "lenient_json": _json_texts,
    "client_bodies": _bodies,
    "broker_bodies": _broker_bodies,
    "kv_file": _kv_files,
    "greeting": _greetings,
    "port_page": _port_pages,
    "properties_file": _properties,
    "toml_file": lambda: iter(_TOML),
    "config_values": _values,
    "acl_signature": _signed,
    "account_file": _accounts,
    "store_records": _store_records,
    "batch_body": _batches,
    "message_properties": _message_properties,
    "compressed_body": _compressed,
    "sql_filter": _filters,
    "requests": _asked,
    "connection": _plays,
}
