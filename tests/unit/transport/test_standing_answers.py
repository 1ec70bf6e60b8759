"""A question that was answered before is answered by its bytes, for as long as its answer stands."""

import msgspec
import pytest
from tests.support import wire

from cosmodrome.protocol.codes import ResponseCode
from cosmodrome.protocol.command import RemotingCommand, decode_command, encode_command, response_to
from cosmodrome.protocol.frame import Frame, FrameDecoder
from cosmodrome.transport import standing_answers
from cosmodrome.transport.standing_answers import LONGEST_QUESTION_BYTES, StandingAnswers

ROUTE = 105


class Kept(msgspec.Struct):
    """A body that can be withdrawn."""

    body: bytes | None = b'{"brokerDatas":[]}'


def frame_of(data: bytes) -> Frame:
    decoder = FrameDecoder()
    decoder.feed(data)
    frame = decoder.next_frame()
    assert frame is not None
    return frame


def question(opaque: int, topic: str = "T", codec: wire.Codec = "JSON") -> bytes:
    return wire.encode_request(ROUTE, {"topic": topic}, opaque=opaque, codec=codec)


def answered_as(data: bytes, body: bytes) -> bytes:
    return encode_command(response_to(decode_command(frame_of(data)), ResponseCode.SUCCESS, None, None, body))


def learn(standing: StandingAnswers, data: bytes, answer: bytes) -> None:
    frame = frame_of(data)
    standing.learn(decode_command(frame), frame, answer)


def learnt(kept: Kept, data: bytes) -> StandingAnswers:
    standing = StandingAnswers(ROUTE, lambda _: kept)
    assert kept.body is not None
    learn(standing, data, answered_as(data, kept.body))
    return standing


@pytest.mark.parametrize("codec", ["JSON", "ROCKETMQ"])
def test_the_same_question_gets_the_same_answer_with_its_own_opaque(codec: wire.Codec) -> None:
    kept = Kept()
    standing = learnt(kept, question(123, codec=codec))

    assert kept.body is not None
    assert standing.answer(question(321, codec=codec)) == answered_as(question(321, codec=codec), kept.body)
    assert standing.answered_count == 1


@pytest.mark.parametrize(
    "data",
    [
        question(123, "U"),
        question(1234),
        question(12),
        question(123, codec="ROCKETMQ"),
        question(123) + question(124, "U"),
        question(123) + question(124)[:-1],
        question(123) + b"\0\0\0\0",
        question(123) + b"\xff\xff\xff\xff" + question(123),
        question(123)[:-1],
        question(123)[:4],
        b"",
        wire.encode_request(106, {"topic": "T"}, opaque=123),
        wire.encode_request(ROUTE, {"topic": "T"}, opaque=123, version=1),
        wire.encode_request(ROUTE, {"topic": "T"}, opaque=123, flag=wire.FLAG_ONEWAY),
        question(123).replace(b'"opaque":123', b'"opaque":012'),
        question(123).replace(b'"opaque":123', b'"opaque":-12'),
        question(123).replace(b'"opaque":123', b'"opaque":12 '),
    ],
)
def test_any_other_bytes_are_read_like_every_request(data: bytes) -> None:
    assert learnt(Kept(), question(123)).answer(data) is None


@pytest.mark.parametrize("codec", ["JSON", "ROCKETMQ"])
def test_questions_that_come_in_one_piece_are_answered_in_one(codec: wire.Codec) -> None:
    kept = Kept()
    standing = learnt(kept, question(123, codec=codec))

    assert kept.body is not None
    asked = [question(opaque, codec=codec) for opaque in (321, 456, 789)]
    assert standing.answer(b"".join(asked)) == b"".join(answered_as(data, kept.body) for data in asked)
    assert standing.answered_count == 3


def test_so_much_is_not_answered_in_one_piece() -> None:
    standing = learnt(Kept(b"x" * 10_000), question(123))

    assert standing.answer(question(321)) is not None
    assert standing.answer(question(321) + question(321)) is None
    assert (standing.answered_count, standing.body_bytes) == (1, 10_000), "what is answered elsewhere is counted there"


def test_an_answer_that_is_withdrawn_is_not_given_again() -> None:
    kept = Kept()
    standing = learnt(kept, question(123))

    kept.body = None
    assert standing.answer(question(124)) is None
    kept.body = b"{}"
    assert standing.answer(question(125)) is None


def test_nothing_is_known_after_a_clearing_and_nothing_learnt_after_the_end() -> None:
    standing = learnt(Kept(), question(123))

    standing.clear()
    assert standing.answer(question(124)) is None
    learn(standing, question(124), answered_as(question(124), b'{"brokerDatas":[]}'))
    assert standing.answer(question(125)) is not None
    standing.close()
    assert standing.answer(question(126)) is None
    learn(standing, question(126), answered_as(question(126), b'{"brokerDatas":[]}'))
    assert standing.answer(question(127)) is None


def test_only_an_answer_made_of_the_standing_body_is_learnt() -> None:
    standing = StandingAnswers(ROUTE, lambda _: Kept())
    learn(standing, question(123), answered_as(question(123), b"another"))
    assert standing.answer(question(124)) is None

    nothing_stands = StandingAnswers(ROUTE, lambda _: None)
    learn(nothing_stands, question(123), answered_as(question(123), b"another"))
    assert nothing_stands.answer(question(124)) is None


def test_a_long_question_is_not_learnt() -> None:
    assert (
        learnt(Kept(), question(123, "T" * LONGEST_QUESTION_BYTES)).answer(question(124, "T" * LONGEST_QUESTION_BYTES))
        is None
    )


def test_the_questions_that_were_learnt_first_make_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(standing_answers, "MOST_QUESTIONS", 2)
    kept = Kept()
    standing = StandingAnswers(ROUTE, lambda _: kept)
    assert kept.body is not None
    for topic in "ABC":
        learn(standing, question(123, topic), answered_as(question(123, topic), kept.body))

    assert [standing.answer(question(124, topic)) is not None for topic in "ABC"] == [False, True, True]


def test_an_error_is_not_taken_for_the_body() -> None:
    """A remark that ends like the body does not make an answer a standing one."""
    kept = Kept(b"}")
    standing = StandingAnswers(ROUTE, lambda _: kept)
    refusal = encode_command(response_to(decode_command(frame_of(question(123))), ResponseCode.TOPIC_NOT_EXIST, "no"))
    learn(standing, question(123), refusal)

    assert standing.answer(question(124)) is None


def test_a_response_is_told_by_its_request_alone() -> None:
    asked: list[RemotingCommand] = []

    def find(request: RemotingCommand) -> Kept:
        asked.append(request)
        return Kept()

    standing = StandingAnswers(ROUTE, find)
    learn(standing, question(123), answered_as(question(123), b'{"brokerDatas":[]}'))
    standing.answer(question(124))

    assert [request.opaque for request in asked] == [123]
