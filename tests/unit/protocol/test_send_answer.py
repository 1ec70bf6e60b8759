"""Answers to sends, read many at a time: the same as the general way reads."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosmodrome.errors import ProtocolError
from cosmodrome.protocol.command import RemotingCommand, decode_command
from cosmodrome.protocol.frame import FrameDecoder
from cosmodrome.protocol.send_answer import SendAnswer, read_send_answers, stored_fields

NAMES = ("queueId", "queueOffset", "msgId", "transactionId", "recallHandle", "batchUniqId", "MSG_REGION", "TRACE_ON")
USUAL: dict[str, Any] = {
    "code": 0, "flag": 1, "language": "JAVA", "opaque": 7, "serializeTypeCurrentRPC": "JSON", "version": 513,
    "extFields": {
        "queueId": "6", "transactionId": "7F00000103CA4685668A992CFD520000", "msgId": "7F00000100005FE80000000054CF94AB",
        "TRACE_ON": "true", "MSG_REGION": "DefaultRegion", "queueOffset": "549988",
    },
}  # fmt: skip

ODD: tuple[Any, ...] = (
    None, True, 0, 1, -1, 2**31 - 1, 2**31, -(2**70), 0.0, 1.0, 1e300, "", "0", "false", "x", "GO", "KLINGON", '\u00e9\u0001"', [], {"a": [{}]},
)  # fmt: skip
MEMBERS = ("code", "flag", "opaque", "version", "language", "remark", "extFields", "news")

texts = st.text(max_size=12)
places = st.sampled_from([*((name,) for name in MEMBERS), *(("extFields", name) for name in (*NAMES, "news", ""))])


@st.composite
def answers(draw: st.DrawFn) -> bytes:
    """Give the frame of an answer: the usual one, with some members changed, or with some bytes changed."""
    header = {**USUAL, "opaque": draw(st.integers(0, 2**31 - 1)), "extFields": {**USUAL["extFields"]}}
    for place in draw(st.lists(places, max_size=2)):
        fields = header
        if len(place) > 1 and isinstance(header["extFields"], dict):
            fields = header["extFields"] = {**header["extFields"]}
        fields[place[-1]] = draw(st.sampled_from(ODD))
    data = bytearray(json.dumps(header).encode())
    if draw(st.integers(0, 3)) == 0:
        at = draw(st.integers(0, len(data)))
        data[at : at + draw(st.integers(0, 3))] = draw(st.binary(max_size=3))
    return framed(bytes(data), draw(st.sampled_from([b"", b"", b"", b"body"])))


def framed(header: bytes, body: bytes = b"", serialize_type: int = 0) -> bytes:
    """Put a header into a frame."""
    word = serialize_type << 24 | len(header)
    return (4 + len(header) + len(body)).to_bytes(4) + word.to_bytes(4) + header + body


def usual(**members: Any) -> bytes:
    """Give the frame of the usual answer with some members changed; None leaves one out."""
    return framed(json.dumps({key: value for key, value in {**USUAL, **members}.items() if value is not None}).encode())


def general(data: bytes) -> tuple[list[RemotingCommand], bool]:
    """Give what the general way makes of bytes, and whether it met an error."""
    decoder = FrameDecoder()
    decoder.feed(data)
    found: list[RemotingCommand] = []
    try:
        while (frame := decoder.next_frame()) is not None:
            found.append(decode_command(frame))
    except ProtocolError:
        return found, True
    return found, False


def both_ways(data: bytes) -> tuple[list[RemotingCommand], bool]:
    """Give what the quick way takes and the general way makes of the rest, in turn."""
    decoder = FrameDecoder()
    decoder.feed(data)
    found: list[RemotingCommand] = []
    try:
        while True:
            found += [answer.command() for answer in decoder.take(read_send_answers)]
            frame = decoder.next_frame()
            if frame is None:
                return found, False
            found.append(decode_command(frame))
    except ProtocolError:
        return found, True


@given(st.lists(answers(), max_size=5), st.binary(max_size=12))
def test_whatever_is_taken_is_what_the_general_way_reads(frames: list[bytes], rest: bytes) -> None:
    """Also how far: what is left is where the general way would go on."""
    data = b"".join(frames) + rest
    assert both_ways(data) == general(data)


@given(st.lists(answers(), min_size=1, max_size=4), st.data())
def test_bytes_that_come_in_pieces(frames: list[bytes], data: st.DataObject) -> None:
    whole = b"".join(frames)
    cut = data.draw(st.integers(0, len(whole)))
    decoder = FrameDecoder()
    found: list[RemotingCommand] = []
    try:
        for piece in (whole[:cut], whole[cut:]):
            decoder.feed(piece)
            while True:
                found += [answer.command() for answer in decoder.take(read_send_answers)]
                if (frame := decoder.next_frame()) is None:
                    break
                found.append(decode_command(frame))
    except ProtocolError:
        assert general(whole) == (found, True)
    else:
        assert general(whole) == (found, False)


@given(st.dictionaries(st.sampled_from(NAMES), texts))
def test_fields_mean_the_same_either_way(changed: dict[str, str]) -> None:
    [answer], _ = read_send_answers(usual(extFields={**USUAL["extFields"], **changed}), 0)
    slow = stored_fields(answer.command().ext_fields or {})
    for name in ("queue_id", "queue_offset", "msg_id"):
        assert getattr(slow, name) == getattr(answer.ext_fields, name)
    for name in ("transaction_id", "recall_handle", "region"):
        assert (getattr(slow, name) or None) == (getattr(answer.ext_fields, name) or None)
    assert (slow.trace_on == "false") == (answer.ext_fields.trace_on == "false")


def test_a_run_is_taken_up_to_what_is_not_usual() -> None:
    one, other = usual(opaque=1), usual(opaque=2)
    refused = usual(opaque=3, code=14)
    data = b"skip" + one + other + refused + one
    found, start = read_send_answers(data, 4)
    assert [each.opaque for each in found] == [1, 2]
    assert data[start:] == refused + one
    assert read_send_answers(bytearray(one + other[:-1]), 0)[1] == len(one)


@pytest.mark.parametrize(
    "frame",
    [
        usual(code=10),
        usual(flag=0),
        usual(flag=3),
        usual(opaque=None),
        usual(opaque=2**31),
        usual(extFields=None),
        usual(extFields={"queueId": "1", "queueOffset": "2"}),
        usual(extFields={**USUAL["extFields"], "msgId": None}),
        usual(extFields={**USUAL["extFields"], "queueId": 6}),
        usual(extFields={**USUAL["extFields"], "transactionId": None}),
        usual(extFields={**USUAL["extFields"], "news": "1"}),
        usual(remark="x" * 5000),
        framed(json.dumps(USUAL).encode(), b"body"),
        framed(json.dumps(USUAL).encode(), b"", 1),
        framed(b""),
        framed(b"\xff" * 20),
        framed(b"[" * 4000),
        (-1).to_bytes(4, signed=True) + bytes(4),
    ],
)
def test_what_is_not_usual_is_left(frame: bytes) -> None:
    assert read_send_answers(frame, 0) == ([], 0)


def test_the_usual_answer() -> None:
    [answer], _ = read_send_answers(usual(), 0)
    assert isinstance(answer, SendAnswer)
    assert (answer.ext_fields.queue_id, answer.ext_fields.queue_offset) == ("6", "549988")
    assert [answer.command()] == general(usual())[0]
    assert answer.command().ext_fields == USUAL["extFields"]


def test_an_answer_that_does_not_say_where() -> None:
    with pytest.raises(KeyError):
        stored_fields({"queueId": "1", "msgId": "2"})
    assert stored_fields({"queueId": None, "msgId": None, "queueOffset": None}).queue_id == ""
