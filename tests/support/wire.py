"""A blocking remoting client on a raw socket, for tests that must see the very bytes.

Owns: frames, both header codecs, answers, and the bodies that brokers send with REGISTER_BROKER.
Must not know: the package under test. This module is an oracle, so it imports the standard
library only and repeats the formats of the protocol in its own words.
"""

import json
import re
import select
import socket
import ssl
import struct
import time
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, Literal, NamedTuple, Self

Codec = Literal["JSON", "ROCKETMQ"]
Ext = Mapping[str, str | None]
Json = Mapping[str, Any]

FLAG_RESPONSE: Final = 1
FLAG_ONEWAY: Final = 2
REGISTER_BROKER: Final = 103
VERSION_5_5_0: Final = 513
SECOND_BODY_VERSION: Final = 37
"""From this version (V3_0_11) on a registration carries a RegisterBrokerBody."""

_MASKED: Final = 0x7FFFFFFF
_LANGUAGES: Final = (
    "JAVA",
    "CPP",
    "DOTNET",
    "PYTHON",
    "DELPHI",
    "ERLANG",
    "RUBY",
    "OTHER",
    "HTTP",
    "GO",
    "PHP",
    "OMS",
    "RUST",
    "NODE_JS",
)
_STRING_OR_BARE_KEY: Final = re.compile(r'"(?:[^"\\]|\\.)*"|(?<=[{,])(-?\d+)(?=:)')


class Answer(NamedTuple):
    """One decoded frame.

    `ext` is None when the frame carries no extFields; the JSON codec can also carry an empty
    object, read as `{}`, which the ROCKETMQ codec cannot. `raw_header` is the header as received.
    """

    code: int
    flag: int
    opaque: int
    language: str | None
    version: int
    remark: str | None
    ext: dict[str, str] | None
    body: bytes
    codec: Codec
    raw_header: bytes

    def json(self) -> Any:
        """Return the body as a value, see `parse_body`; None for an empty body."""
        return parse_body(self.body) if self.body else None


def encode_request(
    code: int,
    ext: Ext | None = None,
    body: bytes = b"",
    *,
    opaque: int,
    version: int = VERSION_5_5_0,
    language: str = "JAVA",
    flag: int = 0,
    remark: str | None = None,
    codec: Codec = "JSON",
) -> bytes:
    """Return one whole frame. A None among the values of `ext` leaves that field out.

    `ext=None` sends no extFields at all, `ext={}` sends an empty object (JSON codec only).
    """
    fields = None if ext is None else {name: value for name, value in ext.items() if value is not None}
    if codec == "JSON":
        header: dict[str, Any] = {"code": code}
        if fields is not None:
            header["extFields"] = fields
        header |= {"flag": flag, "language": language, "opaque": opaque}
        if remark is not None:
            header["remark"] = remark
        header |= {"serializeTypeCurrentRPC": "JSON", "version": version}
        return frame(dump(header), body, header_type=0)
    head = struct.pack(">hBhii", code, _LANGUAGES.index(language), version, opaque, flag)
    text = (remark or "").encode()
    entries = b"".join(_binary_entry(name, value) for name, value in (fields or {}).items())
    tail = struct.pack(">i", len(text)) + text + struct.pack(">i", len(entries)) + entries
    return frame(head + tail, body, header_type=1)


def frame(header: bytes, body: bytes = b"", *, header_type: int = 0) -> bytes:
    """Put the two length words in front of a header and body that are already encoded."""
    return struct.pack(">iI", 4 + len(header) + len(body), header_type << 24 | len(header)) + header + body


def split(data: bytes) -> tuple[list[Answer], bytes]:
    """Return the frames that `data` completes, in order, and the bytes left over."""
    answers = []
    while len(data) >= 4:
        (length,) = struct.unpack_from(">i", data)
        if len(data) < 4 + length:
            break
        answers.append(decode(data[4 : 4 + length]))
        data = data[4 + length :]
    return answers, data


def decode(content: bytes) -> Answer:
    """Decode one frame, given without its first length word."""
    (word,) = struct.unpack_from(">I", content)
    header, body = content[4 : 4 + (word & 0xFFFFFF)], content[4 + (word & 0xFFFFFF) :]
    match word >> 24:
        case 0:
            return _decode_json(header, body)
        case 1:
            return _decode_binary(header, body)
        case other:
            raise AssertionError(f"header type {other} in {content[:64]!r}")


def _decode_json(header: bytes, body: bytes) -> Answer:
    fields = json.loads(header)
    return Answer(
        code=fields["code"],
        flag=fields["flag"],
        opaque=fields["opaque"],
        language=fields.get("language"),
        version=fields.get("version", 0),
        remark=fields.get("remark"),
        ext=fields.get("extFields"),
        body=body,
        codec="JSON",
        raw_header=header,
    )


def _decode_binary(header: bytes, body: bytes) -> Answer:
    code, language, version, opaque, flag, remark_bytes = struct.unpack_from(">hBhiii", header)
    remark = header[17 : 17 + remark_bytes].decode()
    (ext_bytes,) = struct.unpack_from(">i", header, 17 + remark_bytes)
    entries = header[21 + remark_bytes :]
    assert len(entries) == ext_bytes, f"ext fields of {ext_bytes} bytes in {header!r}"
    return Answer(
        code=code,
        flag=flag,
        opaque=opaque,
        language=_LANGUAGES[language] if language < len(_LANGUAGES) else None,
        version=version,
        remark=remark or None,
        ext=_binary_entries(entries) or None,
        body=body,
        codec="ROCKETMQ",
        raw_header=header,
    )


def _binary_entry(name: str, value: str) -> bytes:
    key, text = name.encode(), value.encode()
    return struct.pack(">h", len(key)) + key + struct.pack(">i", len(text)) + text


def _binary_entries(data: bytes) -> dict[str, str]:
    entries, at = {}, 0
    while at < len(data):
        (key_bytes,) = struct.unpack_from(">h", data, at)
        key = data[at + 2 : at + 2 + key_bytes].decode()
        at += 2 + key_bytes
        (value_bytes,) = struct.unpack_from(">i", data, at)
        entries[key] = data[at + 4 : at + 4 + value_bytes].decode()
        at += 4 + value_bytes
    assert at == len(data), f"entries overrun in {data!r}"
    return entries


def parse_body(data: bytes) -> Any:
    """Read a JSON body as fastjson writes it; unquoted integer keys become strings."""
    return json.loads(_STRING_OR_BARE_KEY.sub(lambda m: f'"{m[1]}"' if m[1] else m[0], data.decode()))


def dump(value: Any) -> bytes:
    """Write JSON without white space and with raw UTF-8, in the order given."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


class Wire:
    """One connection to a server.

    `timeout` (seconds) bounds the connect and every wait for an answer; a wait that ends without
    one raises TimeoutError, a connection the peer closed raises ConnectionError. `preface` is sent
    in plain text before everything else, TLS hello included (PROXY protocol).
    """

    def __init__(
        self, address: str, timeout: float = 10, *, tls: ssl.SSLContext | None = None, preface: bytes = b""
    ) -> None:
        """Connect to `host:port`."""
        host, _, port = address.rpartition(":")
        self.timeout = timeout
        self._socket = socket.create_connection((host.strip("[]"), int(port)), timeout)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if preface:
            self._socket.sendall(preface)
        if tls is not None:
            self._socket = tls.wrap_socket(self._socket, server_hostname=host)
        self._opaque = 0
        self._buffer = b""
        self._waiting: list[Answer] = []

    def __enter__(self) -> Self:
        """Return the connection itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the connection."""
        self.close()

    @property
    def local_address(self) -> str:
        """Our own end, as `host:port`."""
        host, port = self._socket.getsockname()[:2]
        return f"{host}:{port}"

    def next_opaque(self) -> int:
        """Return a number not used on this connection before."""
        self._opaque += 1
        return self._opaque

    def request(self, code: int, ext: Ext | None = None, body: bytes = b"", **header: Any) -> Answer:
        """Send one request and return its answer; others that arrive meanwhile are kept.

        `header` takes the keyword arguments of `encode_request`, `opaque` among them.
        """
        opaque = header.setdefault("opaque", self.next_opaque())
        self.send(encode_request(code, ext, body, **header))
        return self.answer_to(opaque)

    def oneway(self, code: int, ext: Ext | None = None, body: bytes = b"", **header: Any) -> None:
        """Send one request with the oneway flag and wait for nothing."""
        header = {"opaque": self.next_opaque(), "flag": FLAG_ONEWAY} | header
        self.send(encode_request(code, ext, body, **header))

    def send(self, data: bytes) -> None:
        """Send bytes as they are."""
        self._socket.settimeout(self.timeout)
        self._socket.sendall(data)

    def answer_to(self, opaque: int) -> Answer:
        """Wait for the answer with this opaque; answers to others are kept for their turn."""
        deadline = time.monotonic() + self.timeout
        while True:
            for at, answer in enumerate(self._waiting):
                if answer.opaque == opaque:
                    return self._waiting.pop(at)
            self._receive(deadline)

    def read_answer(self) -> Answer:
        """Return the oldest answer not taken yet, waiting for one if there is none."""
        deadline = time.monotonic() + self.timeout
        while not self._waiting:
            self._receive(deadline)
        return self._waiting.pop(0)

    def untaken(self) -> list[Answer]:
        """Return the answers that have arrived and that nobody has asked for yet."""
        return list(self._waiting)

    def expect_closed(self, timeout: float | None = None) -> None:
        """Wait until the peer closes the connection.

        Raises:
            AssertionError: A frame came, or the connection is still open after `timeout` seconds.
        """
        deadline = time.monotonic() + (self.timeout if timeout is None else timeout)
        try:
            while not self._waiting:
                self._receive(deadline)
        except TimeoutError:
            raise AssertionError("the connection is still open") from None
        except ConnectionError:
            return
        raise AssertionError(f"an answer instead of a close: {self._waiting[0]}")

    def is_silent(self, seconds: float) -> bool:
        """Return whether the peer neither sends a frame nor closes for so long."""
        deadline = time.monotonic() + seconds
        try:
            while not self._waiting:
                self._receive(deadline)
        except TimeoutError:
            return True
        except ConnectionError:
            return False
        return False

    def close(self) -> None:
        """Close the connection in good order (FIN). A second call does nothing."""
        self._socket.close()

    def end_sending(self) -> None:
        """Send FIN and wait until the peer has closed as well: it knows then that we are gone."""
        self._socket.shutdown(socket.SHUT_WR)
        self.expect_closed()
        self.close()

    def abort(self) -> None:
        """Close the connection with a reset (RST)."""
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._socket.close()

    def _receive(self, deadline: float) -> None:
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("no answer in time")
        self._socket.settimeout(left)
        data = self._socket.recv(65536)
        if not data:
            raise ConnectionResetError("the peer closed the connection")
        answers, self._buffer = split(self._buffer + data)
        self._waiting += answers


def is_readable(wires: Iterable[Wire], seconds: float) -> list[Wire]:
    """Return those connections on which bytes (or a close) arrive within so many seconds."""
    sockets = {wire._socket: wire for wire in wires}
    ready, _, _ = select.select(list(sockets), [], [], seconds)
    return [sockets[each] for each in ready]


@dataclass(frozen=True, slots=True, kw_only=True)
class Broker:
    """What a broker says about itself in a request header; None leaves a field out.

    `id` and the other numbers may be strings, to send what is not a number.
    """

    name: str | None = "broker-a"
    addr: str | None = "10.0.0.1:10911"
    cluster: str | None = "DefaultCluster"
    ha_addr: str | None = "10.0.0.1:10912"
    id: int | str | None = 0
    enable_acting_master: bool | None = False
    """None makes it an "old version" broker."""
    heartbeat_timeout_millis: int | str | None = None
    zone: str | None = None


def identity_ext(broker: Broker) -> dict[str, str | None]:
    """Return the four fields that name a broker: the header of 104 and 322."""
    return {
        "brokerName": broker.name,
        "brokerAddr": broker.addr,
        "clusterName": broker.cluster,
        "brokerId": _text(broker.id),
    }


def registration_ext(
    broker: Broker, *, compressed: bool | str | None = False, crc: int | str | None = 0
) -> dict[str, str | None]:
    """Return the header of REGISTER_BROKER; every field that is None is left out."""
    return identity_ext(broker) | {
        "haServerAddr": broker.ha_addr,
        "heartbeatTimeoutMillis": _text(broker.heartbeat_timeout_millis),
        "enableActingMaster": _text(broker.enable_acting_master),
        "compressed": _text(compressed),
        "bodyCrc32": _text(crc),
        "__ZONE_NAME": broker.zone,
    }


def topic_config(name: str, read: int = 8, write: int = 8, perm: int = 6, sys_flag: int = 0) -> dict[str, Any]:
    """Return a TopicConfig as a 5.x broker writes it."""
    return {
        "attributes": {},
        "order": False,
        "perm": perm,
        "readQueueNums": read,
        "topicFilterType": "SINGLE_TAG",
        "topicName": name,
        "topicSysFlag": sys_flag,
        "writeQueueNums": write,
    }


def data_version(counter: int = 1, timestamp: int = 1_700_000_000_000, state_version: int = 0) -> dict[str, int]:
    """Return a DataVersion as a 5.x broker writes it."""
    return {"counter": counter, "stateVersion": state_version, "timestamp": timestamp}


def topic_wrapper(
    topics: Iterable[Json] = (), version: Json | None = None, *, mappings: Iterable[Json] = ()
) -> dict[str, Any]:
    """Return a topicConfigSerializeWrapper; `mappings` are TopicQueueMappingInfo objects."""
    return {
        "dataVersion": data_version() if version is None else version,
        "mappingDataVersion": data_version(0),
        "topicConfigTable": {topic["topicName"]: topic for topic in topics},
        "topicQueueMappingDetailMap": {},
        "topicQueueMappingInfoMap": {mapping["topic"]: mapping for mapping in mappings},
    }


def mapping_info(topic: str, broker_name: str, current: Mapping[int, int]) -> dict[str, Any]:
    """Return a TopicQueueMappingInfo (static topics); `dump_bare` writes its integer keys bare."""
    return {
        "bname": broker_name,
        "currIdMap": dict(current),
        "dirty": False,
        "epoch": 3,
        "scope": "__global__",
        "topic": topic,
        "totalQueues": 8,
    }


def register_body(
    topics: Iterable[Json] = (),
    version: Json | None = None,
    *,
    filter_servers: Iterable[str] | None = (),
    mappings: Iterable[Json] = (),
) -> bytes:
    """Return a RegisterBrokerBody in JSON. `topics` holds results of `topic_config`."""
    servers = None if filter_servers is None else list(filter_servers)
    wrapper = topic_wrapper(topics, version, mappings=mappings)
    return dump_bare({"filterServerList": servers, "topicConfigSerializeWrapper": wrapper})


def old_register_body(topics: Iterable[Json] = (), version: Json | None = None) -> bytes:
    """Return the body that versions below 37 send: the bare topic wrapper."""
    chosen = data_version() if version is None else version
    return dump({"dataVersion": chosen, "topicConfigTable": {topic["topicName"]: topic for topic in topics}})


def compressed_register_body(
    topics: Iterable[Json] = (),
    version: Json | None = None,
    *,
    filter_servers: Iterable[str] = (),
    mappings: Iterable[Json] | None = (),
) -> bytes:
    """Return a compressed RegisterBrokerBody; `mappings=None` leaves that part out (4.x)."""
    texts = [_topic_text(topic) for topic in topics]
    parts = [_prefixed(dump(data_version() if version is None else version)), struct.pack(">i", len(texts))]
    parts += [_prefixed(text) for text in texts]
    parts.append(_prefixed(dump(list(filter_servers))))
    if mappings is not None:
        infos = [_prefixed(dump_bare(mapping)) for mapping in mappings]
        parts += [struct.pack(">i", len(infos)), *infos]
    return zlib.compress(b"".join(parts), 9)


def crc32_masked(body: bytes) -> int:
    """Return the CRC-32 of a body as `bodyCrc32` carries it (without the top bit)."""
    return zlib.crc32(body) & _MASKED


def register(
    wire: Wire,
    broker: Broker | None = None,
    topics: Iterable[Json] = (),
    *,
    body: bytes | None = None,
    ext: Ext | None = None,
    **header: Any,
) -> Answer:
    """Send one REGISTER_BROKER with the right CRC and return its answer.

    `body` replaces the body made from `topics`. `ext` is laid over the header fields: a None there
    leaves a field out. `header` takes the keyword arguments of `encode_request`.
    """
    content = register_body(topics) if body is None else body
    fields = registration_ext(Broker() if broker is None else broker, crc=crc32_masked(content))
    return wire.request(REGISTER_BROKER, fields | dict(ext or {}), content, **header)


def dump_bare(value: Any) -> bytes:
    """Write JSON as `dump` does, with integer keys unquoted, as fastjson writes them."""
    if isinstance(value, Mapping):
        members = (_key(key) + b":" + dump_bare(each) for key, each in value.items())
        return b"{" + b",".join(members) + b"}"
    if isinstance(value, list | tuple):
        return b"[" + b",".join(dump_bare(each) for each in value) + b"]"
    return dump(value)


def _key(key: str | int) -> bytes:
    return str(key).encode() if isinstance(key, int) else dump(key)


def _topic_text(topic: Json) -> bytes:
    fields = ("topicName", "readQueueNums", "writeQueueNums", "perm", "topicFilterType")
    return b" ".join([*(str(topic[field]).encode() for field in fields), dump(topic.get("attributes", {}))])


def _prefixed(content: bytes) -> bytes:
    return struct.pack(">i", len(content)) + content


def _text(value: int | str | None) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return str(value).lower()
