"""What bad peers send: bytes that no RocketMQ program would.

Owns: random frames, false lengths, other protocols' greetings, deep and huge values, inflate bombs.
Must not know: the package under test; who sends them, how often, and what becomes of it (bad_peers.py).
"""

import random
import struct
import zlib
from collections.abc import Iterator
from typing import Final

from tests.support import wire

MIB: Final = 1024 * 1024
FRAME_LIMIT: Final = 16 * MIB
INT_MAX: Final = 2**31 - 1

_NOISE: Final = wire.Broker(name="noise-random", cluster="noise-random", addr="10.9.9.9:10911")
_JSON_HEAD: Final = b'{"code":105,"flag":0,"language":"JAVA","opaque":7,"version":513,"extFields":'


def _usual_requests() -> list[bytes]:
    """Give requests as brokers and clients send them, the material of mutations. None of them writes to a disk."""
    body = wire.register_body([wire.topic_config(f"noise-random-{number}") for number in range(5)])
    packed = wire.compressed_register_body([wire.topic_config("noise-random-1")])
    registration = wire.registration_ext(_NOISE, crc=0)
    version = wire.dump(wire.data_version())
    requests: list[tuple[int, wire.Ext | None, bytes]] = [
        (103, registration, body),
        (103, registration | {"compressed": "true"}, packed),
        (104, wire.identity_ext(_NOISE), b""),
        (105, {"topic": "noise-random-1"}, b""),
        (106, None, b""),
        (206, None, b""),
        (217, {"topic": "noise-random-2"}, b'{"queueDatas":[{"brokerName":"noise-random","perm":6}]}'),
        (322, wire.identity_ext(_NOISE), version),
        (904, wire.identity_ext(_NOISE), b""),
    ]
    return [
        wire.encode_request(code, ext, content, opaque=7, codec="JSON" if codec else "ROCKETMQ")
        for code, ext, content in requests
        for codec in (True, False)
    ]


USUAL: Final = _usual_requests()


def random_bytes(rng: random.Random) -> bytes:
    """Give noise: without any frame, in a frame, or a usual request with a few bytes changed."""
    match rng.randrange(4):
        case 0:
            return rng.randbytes(rng.randrange(1, 2000))
        case 1:
            header_type = rng.choice((0, 0, 1, 1, 2, 255))
            return wire.frame(
                rng.randbytes(rng.randrange(200)), rng.randbytes(rng.randrange(200)), header_type=header_type
            )
        case _:
            return mutated(rng, rng.choice(USUAL))


def mutated(rng: random.Random, data: bytes) -> bytes:
    """Give `data` with a few bytes changed, its length words left alone most of the time."""
    changed = bytearray(data)
    for _ in range(rng.randrange(1, 5)):
        start = 0 if rng.randrange(10) == 0 else 8
        changed[rng.randrange(start, len(changed))] = rng.randrange(256)
    return bytes(changed)


def false_lengths() -> list[bytes]:
    """Give frames and headers that claim what they do not hold."""
    some = b"x" * 1024
    frames = [struct.pack(">i", length) + some for length in (-1, 0, 1, 2, 3, -(2**31), INT_MAX, 64 * MIB)]
    frames += [struct.pack(">ii", FRAME_LIMIT + 1, 100) + some]
    frames += [struct.pack(">iI", 1024, length) + some for length in (1025, 0xFFFFFF, 0x01FFFFFF, 0x02000010)]
    for remark in (INT_MAX, -1, 10_000):
        frames.append(_binary_frame(struct.pack(">i", remark) + some))
    for ext in (INT_MAX, -1, 10_000):
        frames.append(_binary_frame(struct.pack(">ii", 0, ext) + some))
    for key in (65535, 32768, 1024):
        frames.append(_binary_frame(struct.pack(">iiH", 0, 1024, key) + some[:1022]))
    for value in (INT_MAX, -1, 10_000):
        frames.append(
            _binary_frame(struct.pack(">iih", 0, 1024, 5) + b"topic" + struct.pack(">i", value) + some[:1013])
        )
    return frames


def strange_headers() -> list[bytes]:
    """Give whole frames whose JSON is deep, huge, or of another type than it should be."""
    values = [
        b"[" * 100_000,
        b'{"a":' * 20_000 + b"1" + b"}" * 20_000,
        b'{"topic":' + b"9" * 10_000 + b"}",
        b'{"topic":1e400}',
        b'{"@type":"java.lang.Runtime","topic":{"$ref":"$"}}',
        b'{"topic":"\\ud800"}',
        b'{"' + b"k" * MIB + b'":"v"}',
        b'{"topic":"' + b"t" * MIB + b'"}',
        b"null",
        b"[]",
    ]
    return [wire.frame(_JSON_HEAD + value + b"}") for value in values]


def other_greetings() -> list[bytes]:
    """Give what peers of other protocols say first."""
    return [
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"*1\r\n$4\r\nPING\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 100,
        b"\x16\x03\x01\xff\xff" + b"\xff" * 500,
        b"PROXY TCP4 999.1.1.1 10.0.0.1 70000 9876\r\n",
        b"PROXY " + b"A" * 300,
        b"\r\n\r\n\x00\r\nQUIT\n\x2f\x11\xff\xff" + b"\x00" * 50,
        b"\r\n\r\n\x00\r\nQUIT\n\x21\x11\x00\x0c",
    ]


def route_request(topic: str, opaque: int = 7) -> bytes:
    """Give an ordinary question for a route."""
    return wire.encode_request(105, {"topic": topic}, opaque=opaque)


def half_frame() -> bytes:
    """Give the beginning of a registration that claims nearly the largest frame."""
    whole = wire.encode_request(103, wire.registration_ext(_NOISE), b"{" * 1024, opaque=7)
    return struct.pack(">i", FRAME_LIMIT - 16) + whole[4:]


def junk_registration(body_bytes: int) -> bytes:
    """Give a registration whose body of this size has the right checksum and no meaning."""
    body = random.Random(body_bytes).randbytes(body_bytes)
    fields = wire.registration_ext(_NOISE, crc=wire.crc32_masked(body))
    return wire.encode_request(103, fields, body, opaque=7)


def inflate_bomb(packed_bytes: int, inflated_bytes: int) -> bytes:
    """Give a registration whose compressed body has about these sizes; it claims one text of all that length.

    A text of its full length makes a reader that believes lengths keep all of it, twice or thrice.
    """
    body = _packed(_texts(packed_bytes, inflated_bytes), inflated_bytes)
    fields = wire.registration_ext(_NOISE, compressed=True, crc=wire.crc32_masked(body))
    return wire.encode_request(103, fields, body, opaque=7)


def _packed(texts: Iterator[bytes], inflated_bytes: int) -> bytes:
    packer = zlib.compressobj(6)
    parts = [packer.compress(struct.pack(">i", inflated_bytes - 8))]
    parts += [packer.compress(text) for text in texts]
    return b"".join([*parts, packer.flush()])


def _texts(packed_bytes: int, inflated_bytes: int) -> Iterator[bytes]:
    """Give blocks that together inflate to so much: blanks, and what does not compress to fill the packed size."""
    block = 64 * 1024
    count = max(1, inflated_bytes // block)
    incompressible = min(block, max(0, packed_bytes // count - 80))
    noise = random.Random(packed_bytes)
    return (noise.randbytes(incompressible) + b" " * (block - incompressible) for _ in range(count))


def _binary_frame(rest: bytes) -> bytes:
    return wire.frame(struct.pack(">hBhii", 105, 0, 513, 7, 0) + rest, header_type=1)
