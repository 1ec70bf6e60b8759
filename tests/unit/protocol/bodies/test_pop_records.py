"""Records of popped messages, as a 5.5.0 broker wrote them."""

import json

import pytest

from cosmodrome.errors import MalformedBodyError
from cosmodrome.protocol.bodies.pop_records import (
    PopAck,
    PopCheckPoint,
    PopKey,
    ack_id,
    ack_tag,
    bits_of,
    check_point_id,
    decode_ack,
    decode_check_point,
    encode_ack,
    encode_check_point,
)

KEY = PopKey("F", "gf", 0, 0, 1796061024231, "bk55")
CHECK_POINT = (
    b'{"bm":0,"bn":"bk55","c":"gf","d":[3,4,8],"it":4000,"n":3,"pt":1796061024231,"q":0,"reviveTime":1796061028231,'
    b'"ro":0,"so":0,"sp":false,"t":"F"}'
)
SUSPENDED = (
    b'{"bm":0,"bn":"bk55","c":"g","d":[0],"it":3000,"n":1,"pt":1796061023567,"q":0,"reviveTime":1796061026567,'
    b'"ro":0,"so":4,"sp":true,"t":"T"}'
)
ACK = b'{"ao":3,"bn":"bk55","c":"g","pt":1796061023449,"q":0,"so":0,"t":"T"}'
BATCH_ACK = b'{"ao":-1,"aol":[0,1,2],"bn":"bk55","c":"g","pt":1796061023449,"q":0,"so":0,"t":"T"}'


@pytest.mark.parametrize("body", [CHECK_POINT, SUSPENDED])
def test_a_check_point_is_read_and_written_byte_for_byte(body: bytes) -> None:
    assert encode_check_point(decode_check_point(body)) == body


def test_a_check_point_says_what_was_popped() -> None:
    point = decode_check_point(CHECK_POINT)
    assert point.offsets == (3, 4, 8)
    assert point.revive_time == 1796061028231
    assert point.key("another") == KEY
    assert decode_check_point(SUSPENDED).is_suspended


def test_a_check_point_of_an_early_5_0_names_no_broker_and_no_distances() -> None:
    point = decode_check_point(b'{"bm":-2147483647,"c":"g","it":5,"n":32,"pt":7,"q":1,"ro":0,"rt":12,"so":10,"t":"T"}')
    assert point.offsets == tuple(range(10, 42))
    assert point.key("here").broker_name == "here"
    assert point.acknowledged == (1 << 31) + 1


@pytest.mark.parametrize("number", [0, 1, 2**31 - 1, 2**31, 2**32 - 1])
def test_bits_are_a_java_int(number: int) -> None:
    point = PopCheckPoint(topic="T", group="g", count=32, bit_map=bits_of(number))
    assert decode_check_point(encode_check_point(point)).acknowledged == number
    assert -(2**31) <= bits_of(number) < 2**31


@pytest.mark.parametrize("body", [ACK, BATCH_ACK])
def test_an_acknowledgement_is_read_and_written_byte_for_byte(body: bytes) -> None:
    assert encode_ack(decode_ack(body, "another")) == body


def test_acknowledgements_have_the_ids_and_tags_of_5_5_0() -> None:
    one, several = decode_ack(ACK, ""), decode_ack(BATCH_ACK, "")
    assert (ack_tag(one), ack_id(one)) == ("ack", "T@0@3@g@1796061023449@bk55@ack")
    assert (ack_tag(several), ack_id(several)) == ("bAck", "T@0@-1@g@1796061023449@bk55@ack")
    assert several == PopAck(PopKey("T", "g", 0, 0, 1796061023449, "bk55"), (0, 1, 2))
    assert check_point_id(KEY) == "F@0@0@gf@1796061024231@bk55@ck"


@pytest.mark.parametrize(
    "change",
    [
        {"n": 0}, {"n": 33}, {"n": 4}, {"n": "x"}, {"t": ""}, {"c": ""}, {"so": -1}, {"d": [-1, 2, 3]}, {"d": [2**31, 2, 3]},
        {"bm": 2**31}, {"n": -1},
    ],
)  # fmt: skip
def test_a_check_point_of_messages_that_cannot_be_is_none(change: dict[str, object]) -> None:
    with pytest.raises(MalformedBodyError):
        decode_check_point(json.dumps(json.loads(CHECK_POINT) | change).encode())


@pytest.mark.parametrize("body", [b"", b"x", b"[]", b'{"ao":"x"}', b'{"q":3000000000}', b'{"t":"\xff"}'])
def test_anything_else_is_no_record(body: bytes) -> None:
    for decode in (decode_check_point, lambda data: decode_ack(data, "b")):
        with pytest.raises(MalformedBodyError):
            decode(body)
