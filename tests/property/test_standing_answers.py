"""Whatever peers send, a connection that knows standing answers sends what one without them sends."""

import asyncio
import json
from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.support import wire
from tests.support.builders import Owner

from cosmodrome.protocol.codes import ResponseCode
from cosmodrome.protocol.command import RemotingCommand, response_to
from cosmodrome.transport.connection import Connection, ConnectionOptions
from cosmodrome.transport.dispatch import Answer, Peer
from cosmodrome.transport.standing_answers import StandingAnswers

ROUTE = 105


class Kept:
    def __init__(self, body: bytes) -> None:
        self.body: bytes | None = body


class Routes:
    """Two topics, whose routes change; the rest is unknown. Says what it knows about the request, so that none is mixed up."""

    def __init__(self) -> None:
        self.kept = {name: Kept(b"route-0-of-" + name.encode()) for name in ("T", "U")}

    def answer(self, request: RemotingCommand, _: Peer) -> Answer:
        kept = self.standing(request)
        if kept is None or kept.body is None:
            return response_to(request, ResponseCode.TOPIC_NOT_EXIST, f"{request.code} {request.ext_fields}")
        return response_to(request, ResponseCode.SUCCESS, None, None, kept.body)

    def standing(self, request: RemotingCommand) -> Kept | None:
        fields = request.ext_fields or {}
        return self.kept.get(fields.get("topic") or "") if request.code == ROUTE else None

    def change(self, topic: str, number: int) -> None:
        self.kept[topic].body = None
        self.kept[topic] = Kept(b"route-%d-of-%b" % (number, topic.encode()))


class Sink:
    """A transport that keeps what is written."""

    def __init__(self) -> None:
        self.written = b""

    def write(self, data: bytes) -> None:
        self.written += data

    def get_extra_info(self, name: str) -> Any:
        return None

    def get_write_buffer_size(self) -> int:
        return 0

    def pause_reading(self) -> None:
        self.written += b"<paused>"

    def resume_reading(self) -> None:
        self.written += b"<resumed>"

    def close(self) -> None:
        self.written += b"<closed>"


opaques = st.one_of(st.sampled_from([1, 2, 12, 13, 123]), st.integers(-(2**31), 2**31 - 1))
numbers = st.one_of(
    opaques.map(str), st.sampled_from(["007", "1e1", "12.0", '"12"', "null", "012", " 12", "12 ", "2147483648"])
)
texts = st.one_of(st.sampled_from(["T", "U", "V", '"opaque":12,', '\\"opaque\\":12,', "opaque"]), st.text(max_size=5))


@st.composite
def json_headers(draw: st.DrawFn) -> str:
    """Give a header in which anything may be called opaque, anywhere, often enough the real thing."""
    members = [
        f'"code":{draw(st.sampled_from([ROUTE, ROUTE, ROUTE, 106]))}',
        f'"extFields":{{"topic":{json.dumps(draw(texts))}}}',
        f'"opaque":{draw(numbers)}',
        '"language":"JAVA"',
        f'"version":{draw(st.sampled_from([401, 401, 1]))}',
    ]
    odd = st.sampled_from(
        [
            '"opaque":12',
            '"\\u006fpaque":12',
            "'opaque':13",
            '"remark":"\\"opaque\\":12,"',
            '"extFields":{"opaque":12,"topic":"T"}',
            '"flag":2',
        ]
    )
    members += draw(st.lists(odd, max_size=1))
    return "{" + ",".join(draw(st.permutations(members)) if draw(st.booleans()) else members) + "}"


usual = st.builds(
    lambda topic, opaque, codec: wire.encode_request(ROUTE, {"topic": topic}, opaque=opaque, codec=codec),
    st.sampled_from(["T", "T", "U", "V"]),
    opaques,
    st.sampled_from(["JSON", "ROCKETMQ"]),
)
frames = st.one_of(
    usual,
    usual,
    st.builds(lambda header, body: wire.frame(header.encode(), body, header_type=0), json_headers(), st.just(b"")),
    st.builds(lambda data, at: data[: at % len(data)] + b"1" + data[at % len(data) + 1 :], usual, st.integers(0, 200)),
)
pieces = st.one_of(frames, frames, frames, st.builds(bytes.__add__, frames, frames), st.binary(max_size=9))
changes = st.tuples(st.sampled_from(["T", "U"]), st.integers(1, 9))
steps = st.lists(st.one_of(pieces, pieces, pieces, changes), max_size=12)


async def sent(steps: Sequence[bytes | tuple[str, int]], *, is_standing: bool) -> tuple[bytes, int]:
    routes = Routes()
    owner = Owner(routes.answer)
    if is_standing:
        owner.standing = StandingAnswers(ROUTE, routes.standing)
    connection, sink = Connection(owner, 1, ConnectionOptions()), Sink()
    connection.connection_made(sink)  # type: ignore[arg-type]
    for step in steps:
        if isinstance(step, tuple):
            routes.change(*step)
        elif b"<closed>" not in sink.written:
            connection.data_received(step)
    return sink.written, 0 if owner.standing is None else owner.standing.answered_count


@given(steps)
def test_answers_are_the_same_with_and_without_standing_answers(steps: list[bytes | tuple[str, int]]) -> None:
    with_them, _ = asyncio.run(sent(steps, is_standing=True))
    without, _ = asyncio.run(sent(steps, is_standing=False))

    assert with_them == without


def test_standing_answers_are_given_in_this_set_up() -> None:
    """Else the comparison above would compare a thing with itself."""
    question = [wire.encode_request(ROUTE, {"topic": "T"}, opaque=opaque) for opaque in (11, 12, 13)]

    assert asyncio.run(sent([question[0], question[1], ("T", 3), question[2]], is_standing=True))[1] == 1
