"""Field cases about request codes, opaques and flags at the ends of their ranges."""

# ruff: noqa: N802  # case ids are written in capitals

import json
import struct
from typing import Final

import pytest
from tests.support.field import Names, StartServer
from tests.support.peer import MASTER, NO_ROUTE, NOT_SUPPORTED, ROUTE, SUCCESS, Peer, topics_named
from tests.support.server_log import wait_for_line
from tests.support.server_process import ServerProcess
from tests.support.wire import FLAG_ONEWAY, FLAG_RESPONSE, encode_request, frame

INT32_MIN: Final = -(2**31)
INT32_MAX: Final = 2**31 - 1


def test_F070_codes_that_nobody_serves(server: ServerProcess, names: Names) -> None:
    """Codes and remarks were recorded from Apache RocketMQ NameServer 5.5.0, the leading blank among them."""
    broker = names.broker()
    with Peer(server.address) as peer:
        peer.registered(broker, topics_named(names("T"), names("U")))
        for code in (200050, INT32_MAX, -5, 999):
            answer = peer.request(code, {"topic": names("T")}, opaque=code ^ 77)
            assert (answer.code, answer.opaque) == (NOT_SUPPORTED, code ^ 77)
            assert answer.remark == f" request type {code} not supported"
            assert (answer.flag, answer.body, answer.codec) == (FLAG_RESPONSE, b"", "JSON")
        peer.send(frame(_json_header(code='"200050"', opaque="71")))
        answer = peer.answer_to(71)
        assert (answer.code, answer.remark) == (NOT_SUPPORTED, " request type 200050 not supported")
        peer.send(frame(_json_header(code='"105"', opaque="72", topic=names("T"))))
        assert peer.answer_to(72).code == SUCCESS
        for code, read_as in ((3442, 3442), (32767, 32767), (65535, -1), (32768, -32768)):
            peer.send(frame(_binary_header(code, opaque=code ^ 77), header_type=1))
            answer = peer.answer_to(code ^ 77)
            assert answer.code == NOT_SUPPORTED
            assert answer.remark == f" request type {read_as} not supported"
            assert answer.codec == "ROCKETMQ"
        assert peer.routed(names("T")).brokers == {broker.name: {MASTER: broker.addr}}, "the connection stays open"


def test_F070_oneway_requests_get_no_answer_whatever_the_code(server: ServerProcess, names: Names) -> None:
    with Peer(server.address) as peer:
        for code in (200050, INT32_MAX, -5):
            peer.oneway(code, {"topic": names("T")}, opaque=5)
        peer.send(frame(_json_header(code='"200050"', opaque="5", flag=str(FLAG_ONEWAY))))
        for code in (3442, 32767, 65535):
            peer.send(frame(_binary_header(code, opaque=5, flag=FLAG_ONEWAY), header_type=1))
        assert peer.ask_route(names("T"), opaque=6).code == NO_ROUTE
        assert peer.is_silent(0.3)
        assert peer.untaken() == []


@pytest.mark.parametrize("opaque", [0, -1, INT32_MIN, INT32_MAX])
@pytest.mark.parametrize("codec", ["JSON", "ROCKETMQ"])
def test_F074_opaques_come_back_unchanged_and_once_each(
    server: ServerProcess, names: Names, opaque: int, codec: str
) -> None:
    broker = names.broker()
    with Peer(server.address) as peer:
        peer.registered(broker, topics_named(names("T"), names("U")), opaque=1)
        kind = "JSON" if codec == "JSON" else "ROCKETMQ"
        one = encode_request(ROUTE, {"topic": names("T")}, opaque=opaque, codec=kind)  # type: ignore[arg-type]
        peer.send(one * 100)
        answers = [peer.read_answer() for _ in range(100)]
        assert {(answer.opaque, answer.code, answer.flag) for answer in answers} == {(opaque, SUCCESS, FLAG_RESPONSE)}
        assert len({answer.body for answer in answers}) == 1
        assert peer.is_silent(0.1), "not one answer more"


def test_F074_flags_with_unknown_bits(server: ServerProcess, names: Names) -> None:
    """Which of them are answered was recorded from Apache RocketMQ NameServer 5.5.0."""
    broker = names.broker()
    with Peer(server.address) as peer:
        peer.registered(broker, topics_named(names("T"), names("U")), opaque=1)
        for flag in (4, 8, 252, INT32_MIN, -4, INT32_MAX - 3):
            answer = peer.ask_route(names("T"), opaque=flag, flag=flag)
            assert (answer.code, answer.opaque, answer.flag) == (SUCCESS, flag, FLAG_RESPONSE)
            answer = peer.ask_route(names("T"), opaque=flag, flag=flag, codec="ROCKETMQ")
            assert (answer.code, answer.opaque, answer.flag) == (SUCCESS, flag, FLAG_RESPONSE)
        for flag in (1, 2, 3, -1, -2, -3, INT32_MAX):
            for codec in ("JSON", "ROCKETMQ"):
                peer.oneway(ROUTE, {"topic": names("T")}, opaque=flag, flag=flag, codec=codec)
        assert peer.ask_route(names("T"), opaque=99).code == SUCCESS
        assert peer.is_silent(0.3), "responses and oneway requests are not answered"
        assert peer.untaken() == []


def test_F074_responses_to_nothing_are_ignored_and_told(own_server: StartServer, names: Names) -> None:
    """There is no metric of it; the line at level debug is the trace."""
    server = own_server("--log-level=debug")
    with Peer(server.address) as peer:
        peer.oneway(ROUTE, {"topic": names("T")}, opaque=4711, flag=FLAG_RESPONSE)
        assert peer.route(names("T")) is None
        wait_for_line(server, "4711", peer.local_address)


@pytest.mark.parametrize(("text", "opaque"), [('"5"', 5), ("5.0", 5), ('"-1"', -1), ("1e3", 1000)])
def test_F074_numbers_as_texts_or_floats(server: ServerProcess, names: Names, text: str, opaque: int) -> None:
    """As Apache RocketMQ NameServer 5.5.0 reads them."""
    with Peer(server.address) as peer:
        peer.send(frame(_json_header(code="105", opaque=text, topic=names("T"))))
        answer = peer.read_answer()
        assert (answer.code, answer.opaque) == (NO_ROUTE, opaque)
        for header in (
            _json_header(code="105", opaque="7", flag=f'"{FLAG_ONEWAY}"', topic=names("T")),
            _json_header(code="105", opaque="7", flag='"1"', topic=names("T")),
            _json_header(code="105.0", opaque="8", flag='"0"', topic=names("T")),
            _json_header(code='"105"', opaque="9", flag="0.0", topic=names("T")),
        ):
            peer.send(frame(header))
        assert [peer.read_answer().opaque for _ in range(2)] == [8, 9]
        assert peer.is_silent(0.2)


@pytest.mark.parametrize("text", ['"x"', "2147483648", "-2147483649"])
def test_F074_a_number_that_is_none_closes_the_connection(server: ServerProcess, names: Names, text: str) -> None:
    for field in ("opaque", "flag", "code"):
        with Peer(server.address) as peer:
            peer.send(frame(_json_header(**{"code": "105", "opaque": "7", "topic": names("T")} | {field: text})))
            peer.expect_closed(5)


def _json_header(code: str, opaque: str, flag: str = "0", topic: str = "nobody") -> bytes:
    ext = json.dumps({"topic": topic})
    return (
        f'{{"code":{code},"extFields":{ext},"flag":{flag},"language":"JAVA","opaque":{opaque},"version":399}}'.encode()
    )


def _binary_header(code: int, opaque: int, flag: int = 0) -> bytes:
    return struct.pack(">HBhiiii", code, 0, 399, opaque, flag, 0, 0)
