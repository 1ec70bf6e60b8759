"""Field cases about headers and lengths that are not what they say."""

# ruff: noqa: N802  # case ids are written in capitals

import contextlib
import itertools
import json
import struct
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import pytest
from tests.support.field import Names, StartServer
from tests.support.peer import MASTER, NO_ROUTE, ROUTE, SUCCESS, Peer, topics_named
from tests.support.process_figures import memory_of
from tests.support.server_log import log_lines, wait_for_line
from tests.support.server_process import ServerProcess
from tests.support.standing_rule import StandingRule
from tests.support.waiting import wait_until
from tests.support.wire import frame

INT32_MAX: Final = 2**31 - 1
MIB: Final = 1024 * 1024
FIXED: Final = struct.pack(">hBhii", ROUTE, 0, 399, 7, 0)
TOPIC: Final = b"\0\5topic\0\0\0\1T"


def binary(
    remark: bytes = b"", *, remark_length: int | None = None, ext: bytes = b"", ext_length: int | None = None
) -> bytes:
    """Give a binary header whose lengths may be false."""
    first = len(remark) if remark_length is None else remark_length
    second = len(ext) if ext_length is None else ext_length
    return FIXED + struct.pack(">i", first) + remark + struct.pack(">i", second) + ext


HEADER_BYTES: Final = len(binary(ext=TOPIC))

FALSE_LENGTHS: Final = {
    "remark of 2 GiB": binary(ext=TOPIC, remark_length=INT32_MAX),
    "remark of -1": binary(ext=TOPIC, remark_length=-1),
    "remark of the header and one": binary(ext=TOPIC, remark_length=HEADER_BYTES + 1),
    "fields of 2 GiB": binary(ext=TOPIC, ext_length=INT32_MAX),
    "fields of the header and one": binary(ext=TOPIC, ext_length=HEADER_BYTES + 1),
    "key of 65535": binary(ext=b"\xff\xff" + TOPIC[2:]),
    "key of 32768": binary(ext=b"\x80\x00" + TOPIC[2:]),
    "key of 32767": binary(ext=b"\x7f\xff" + TOPIC[2:]),
    "value of 2 GiB": binary(ext=b"\0\5topic\x7f\xff\xff\xffT"),
    "value of -1": binary(ext=b"\0\5topic\xff\xff\xff\xffT"),
    "value of one too many": binary(ext=b"\0\5topic\0\0\0\2T"),
}


@pytest.fixture
def beside(server: ServerProcess, names: Names) -> Iterator[Callable[[], None]]:
    """Give a check that another connection is answered rightly, whatever was done to those of the test."""
    broker = names.broker()
    with Peer(server.address) as peer:
        peer.registered(broker, topics_named(names("T"), names("U")))

        def check() -> None:
            assert peer.routed(names("T")).brokers == {broker.name: {MASTER: broker.addr}}

        yield check
        check()
        peer.unreg(broker)


def assert_closes(server: ServerProcess, data: bytes, *, ends: bool = False) -> None:
    """Send bytes on a new connection, which must be closed without a word."""
    with contextlib.closing(Peer(server.address)) as peer:
        peer.send(data)
        if ends:
            peer.end_sending()
        else:
            peer.expect_closed(5)


@pytest.mark.parametrize("header", FALSE_LENGTHS.values(), ids=FALSE_LENGTHS.keys())
def test_F065_a_false_length_closes_its_own_connection(
    server: ServerProcess, beside: Callable[[], None], header: bytes
) -> None:
    for body in (b"", b"x" * 1000):
        assert_closes(server, frame(header, body, header_type=1))
        beside()


def test_F065_fields_of_minus_one_are_no_fields(server: ServerProcess) -> None:
    """As in Java; the connection stays open."""
    with Peer(server.address) as peer:
        peer.send(frame(binary(ext=TOPIC, ext_length=-1), header_type=1))
        answer = peer.read_answer()
        assert (answer.code, answer.opaque) == (NO_ROUTE, 7)
        assert "the topic: null" in (answer.remark or "")


def test_F065_two_hundred_connections_in_a_loop(tmp_path: Path, names: Names) -> None:
    """For 3 seconds instead of 60; one line at once, and one more with the count at the end."""
    attacks = [frame(header, header_type=1) for header in FALSE_LENGTHS.values()]
    with ServerProcess(tmp_path, "--log-format=json") as server:
        assert_closes(server, attacks[0])
        rule = StandingRule(server)
        sent = attack(server, attacks, names)
        assert sent > 400
        rule.check()
        assert len(log_lines(server, event="connection.refused")) == 1, "one peer, one line"
    lines = log_lines(server, event="connection.refused")
    assert [line.get("repeated") for line in lines] == [None, sent]
    assert {line["cause"] for line in lines} == {"malformed_header"}


def attack(server: ServerProcess, attacks: Sequence[bytes], names: Names) -> int:
    """Send bad headers on 200 connections at a time beside a client that asks for routes; return how many were sent."""
    broker = names.broker()
    sent = itertools.count()
    until_s = time.monotonic() + 3

    def send(number: int) -> None:
        while time.monotonic() < until_s:
            assert_closes(server, attacks[(number + next(sent)) % len(attacks)])

    with Peer(server.address) as peer, ThreadPoolExecutor(200) as pool:
        peer.registered(broker, topics_named(names("T"), names("U")))
        before = memory_of(server.pid)
        senders = [pool.submit(send, number) for number in range(200)]
        while time.monotonic() < until_s:
            begin = time.monotonic()
            assert peer.routed(names("T")).brokers == {broker.name: {MASTER: broker.addr}}
            assert time.monotonic() - begin < 3, "a client gives up after three seconds"
        for sender in senders:
            sender.result()
        assert memory_of(server.pid) - before < 32 * MIB
        return next(sent)


def whole(length: int, word: int, rest: bytes = b"") -> bytes:
    return struct.pack(">iI", length, word) + rest


DEEP: Final = 100_000
BAD_FRAMES: Final = {
    **{f"total length {length}": whole(length, 0, b"{}") for length in (0, 1, 2, 3, -1, -(2**31))},
    "no header at all": whole(4, 0),
    "header of 0 bytes": frame(b"", b"body"),
    "header above the frame": whole(6, 3, b"{}"),
    "header of 16777215": whole(6, 0xFFFFFF, b"{}"),
    "header over the limit": whole(16 * MIB - 4, MIB + 1),
    **{f"serialisation byte {number}": whole(6, number << 24 | 2, b"{}") for number in (2, 127, 255)},
    "not JSON": frame(b"code=105"),
    "half a JSON": frame(b'{"code":105'),
    **{f"JSON {text}": frame(text.encode()) for text in ("null", "[]", '"text"', "12", "true")},
    "lists nested deeply": frame(b"[" * DEEP + b"]" * DEEP),
    "objects nested deeply": frame(b'{"a":' * DEEP + b"1" + b"}" * DEEP),
    "a field nested deeply": frame(b'{"code":105,"opaque":7,"extFields":{"topic":' + b"[" * DEEP + b"]" * DEEP + b"}}"),
    "a number of 10,000 digits": frame(b'{"code":' + b"1" * 10_000 + b',"opaque":7}'),
    "1e400": frame(b'{"code":105,"opaque":1e400}'),
    "NaN": frame(b'{"code":105,"opaque":NaN,"flag":Infinity}'),
    "a list of fields": frame(b'{"code":105,"opaque":7,"extFields":[]}'),
    "fields without end": frame(
        json.dumps({"code": 105, "opaque": 7, "extFields": {f"k{number}": "v" for number in range(2000)}}).encode()
    ),
    "a key of 1 MiB": frame(json.dumps({"code": 105, "opaque": 7, "extFields": {"k" * MIB: "v"}}).encode()),
    "binary, empty": frame(b"", header_type=1),
    "binary, 20 bytes": frame(binary()[:20], header_type=1),
}


@pytest.mark.parametrize("data", BAD_FRAMES.values(), ids=BAD_FRAMES.keys())
def test_F066_a_bad_frame_closes_its_connection_on_every_try(
    server: ServerProcess, beside: Callable[[], None], data: bytes
) -> None:
    for _ in range(3):
        assert_closes(server, data)
        beside()
    assert "Traceback" not in server.stderr
    assert '"level": "ERROR"' not in server.stderr


@pytest.mark.parametrize("count", range(8))
def test_F066_less_than_a_frame(server: ServerProcess, beside: Callable[[], None], count: int) -> None:
    """What ends before it has said anything is closed, and is no error."""
    assert_closes(server, whole(100, 50)[:count], ends=True)
    beside()


def test_F066_a_key_of_nearly_a_mebibyte_is_read(server: ServerProcess) -> None:
    """Up to the stated limit of headers (maxHeaderBytes) it is a field like others, which nobody asks for."""
    with Peer(server.address) as peer:
        answer = peer.request(ROUTE, {"k" * 1_000_000: "v", "topic": "T"})
        assert answer.code == NO_ROUTE


def test_F066_a_header_over_the_limit_is_told_with_both_sizes(own_server: StartServer) -> None:
    server = own_server("--log-format=json", maxHeaderBytes=5000)
    assert_closes(server, whole(10_000, 5001))
    line = wait_for_line(server, event="connection.refused", cause="header_too_large")
    assert "5001" in line["reason"]
    assert "5000" in line["reason"]
    with Peer(server.address) as peer:
        assert peer.ask_route("x" * 4000).code == NO_ROUTE


def test_F066_what_is_buffered_behind_a_bad_frame_is_not_executed(server: ServerProcess, names: Names) -> None:
    broker = names.broker()
    with Peer(server.address) as peer, contextlib.closing(Peer(server.address)) as bad:
        peer.registered(broker, topics_named(names("T"), names("U")))
        delete = frame(json.dumps({"code": 216, "opaque": 8, "extFields": {"topic": names("T")}}).encode())
        bad.send(BAD_FRAMES["not JSON"] + delete)
        bad.expect_closed(5)
        assert peer.route(names("T")) is not None
        peer.unreg(broker)


def entry(key: bytes, value: bytes) -> bytes:
    return struct.pack(">h", len(key)) + key + struct.pack(">i", len(value)) + value


def test_F072_a_value_that_claims_bytes_of_the_body(server: ServerProcess, beside: Callable[[], None]) -> None:
    """By ten bytes; the body is what the value would have to be."""
    overrun = b"\0\5topic" + struct.pack(">i", 11) + b"T"
    for ext_length in (len(overrun), len(overrun) + 10):
        header = binary(ext=overrun, ext_length=ext_length)
        assert_closes(server, frame(header, b"0123456789", header_type=1))
        beside()


def asked(server: ServerProcess, header: bytes, body: bytes = b"") -> str:
    """Send a route request and give the topic that it was read to ask for."""
    with Peer(server.address) as peer:
        peer.send(frame(header, body, header_type=1))
        answer = peer.read_answer()
        assert (answer.code, answer.opaque, answer.codec) == (NO_ROUTE, 7, "ROCKETMQ")
        remark = answer.remark or ""
        return remark.partition("the topic: ")[2].partition("\n")[0]


def test_F072_bytes_behind_the_fields_are_no_fields(server: ServerProcess) -> None:
    """A second map stays in the header, where nobody reads it, as in Java; so does what follows in the body."""
    second = entry(b"topic", b"other")
    assert asked(server, binary(ext=TOPIC) + struct.pack(">i", len(second)) + second) == "T"
    assert asked(server, binary(ext=TOPIC), second) == "T"
    assert asked(server, binary(ext=b""), second) == "null"


def test_F072_of_a_key_sent_twice_the_last_counts(server: ServerProcess) -> None:
    assert asked(server, binary(ext=entry(b"topic", b"first") + entry(b"topic", b"last"))) == "last"


def test_F072_texts_of_no_length_are_missing(server: ServerProcess) -> None:
    """As the reference reads them."""
    assert asked(server, binary(ext=entry(b"topic", b""))) == "null"
    assert asked(server, binary(ext=entry(b"", b"value") + TOPIC)) == "T"
    assert asked(server, binary(ext=entry(b"topic", b"first") + entry(b"topic", b""))) == "null"


@pytest.mark.parametrize(("length", "is_read"), [(32767, True), (32768, False), (40_000, False), (65_535, False)])
def test_F072_keys_of_32767_bytes_and_more(
    server: ServerProcess, beside: Callable[[], None], length: int, *, is_read: bool
) -> None:
    """The length of a key has 16 bits and a sign."""
    header = binary(ext=struct.pack(">H", length) + b"k" * length + struct.pack(">i", 1) + b"v" + TOPIC)
    if is_read:
        assert asked(server, header) == "T"
    else:
        assert_closes(server, frame(header, header_type=1))
    beside()


def test_F072_the_body_is_never_read_as_header(server: ServerProcess, names: Names) -> None:
    """A registration whose body looks like the rest of its header changes nothing but what its header says."""
    broker = names.broker()
    with Peer(server.address) as peer:
        peer.registered(broker, topics_named(names("T"), names("U")))
        answer = peer.request(216, {"topic": names("U")}, entry(b"topic", names("T").encode()), codec="ROCKETMQ")
        assert answer.code == SUCCESS
        assert peer.route(names("T")) is not None
        assert peer.route(names("U")) is None
        peer.unreg(broker)


def test_F065_each_peer_has_its_own_line(own_server: StartServer) -> None:
    """Two hosts, several connections of each; the loopback network has many."""
    server = own_server("--log-format=json")
    data = frame(FALSE_LENGTHS["remark of -1"], header_type=1)
    for host in ("127.0.0.1", "127.0.0.9"):
        for _ in range(5):
            with contextlib.closing(Peer(server.address, preface=_proxied(host))) as peer:
                peer.send(data)
                peer.expect_closed(5)
    wait_until(lambda: len(log_lines(server, event="connection.refused")) == 2, "a line for each host", 5)
    hosts = {line["peer"].rpartition(":")[0] for line in log_lines(server, event="connection.refused")}
    assert hosts == {"127.0.0.1", "127.0.0.9"}


def _proxied(host: str) -> bytes:
    return f"PROXY TCP4 {host} 127.0.0.1 4711 9876\r\n".encode()
