"""A frame is cut around its opaque, and the cut is proved before anything relies on it."""

import pytest
from tests.support import wire

from cosmodrome.protocol.command import RemotingCommand, decode_command
from cosmodrome.protocol.frame import FrameDecoder
from cosmodrome.protocol.opaque_place import cut_at_opaque, is_proved, joined


def said_by(data: bytes) -> RemotingCommand:
    decoder = FrameDecoder()
    decoder.feed(data)
    frame = decoder.next_frame()
    assert frame is not None
    return decode_command(frame)


def json_frame(header: str, body: bytes = b"") -> bytes:
    return wire.frame(header.encode(), body, header_type=0)


@pytest.mark.parametrize("codec", ["JSON", "ROCKETMQ"])
def test_frames_of_one_question_differ_in_the_opaque_alone(codec: wire.Codec) -> None:
    first, second = (
        wire.encode_request(105, {"topic": "T"}, b"body", opaque=opaque, codec=codec) for opaque in (123, 987)
    )

    before, opaque, behind = cut_at_opaque(first)
    assert cut_at_opaque(second)[::2] == (before, behind)
    assert is_proved((before, opaque, behind), said_by(first))
    head, tail = joined((before, opaque, behind), said_by(first).serialize_type)
    assert head + cut_at_opaque(second)[1] + tail == second


@pytest.mark.parametrize("number", ["0", "-5", "007", "1234567890", "1e2", "1.0", '"12"', " 12", "", "null"])
def test_a_number_that_is_not_written_as_usual_is_not_cut(number: str) -> None:
    assert cut_at_opaque(json_frame(f'{{"code":105,"opaque":{number},"version":1}}'))[1] == b""


@pytest.mark.parametrize(
    "header",
    [
        '{"code":105,"version":1,"opaque":12}',
        '{"code":105,"extFields":{"opaque":12,"topic":"T"},"version":1}',
        '{"code":105,"extFields":{"opaque":12,"topic":"T"},"\\u006fpaque":12,"version":1}',
        '{"code":105,"opaque":12,"opaque":13,"version":1}',
        '{"code":105,"opaque":12,"\\u006fpaque":12,"version":1}',
        """{"code":105,'remark':'"opaque":12,',"\\u006fpaque":12,"version":1}""",
    ],
)
def test_what_only_looks_like_the_opaque_is_not_proved(header: str) -> None:
    data = json_frame(header)

    assert not is_proved(cut_at_opaque(data), said_by(data))


def test_an_opaque_in_a_body_is_none() -> None:
    data = json_frame('{"code":105,"version":1}', b'{"opaque":12,"a":1}')

    assert not is_proved(cut_at_opaque(data), said_by(data))


@pytest.mark.parametrize("tail", [b"", b"x"])
def test_more_or_less_than_a_frame_is_not_proved(tail: bytes) -> None:
    data = wire.encode_request(105, {"topic": "T"}, opaque=123)
    whole = said_by(data)
    before, opaque, behind = cut_at_opaque(data)

    assert not is_proved((before, opaque, behind[:-1] if not tail else behind + tail), whole)
