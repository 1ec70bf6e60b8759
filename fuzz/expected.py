"""What a peer must have got for what it sent.

Owns: the requests in a stream of bytes, read whole and alone, and how answers belong to them.
Must not know: how the bytes were split; what else went on.
"""

from typing import Final, NamedTuple

from tests.support import wire

from cosmodrome.errors import GreetingRefusedError, ProtocolError
from cosmodrome.protocol.command import RemotingCommand, decode_command
from cosmodrome.protocol.frame import FrameDecoder
from cosmodrome.transport.entrance import Entrance, EntrancePolicy
from cosmodrome.transport.port_pages import PortPages

_PAGES: Final = PortPages(unready=lambda: "", dashboard=lambda: "")
"""As a server without an HTTP listener has them."""


class Expected(NamedTuple):
    """Requests that want an answer, in order; a text to send before closing; whether the stream goes wrong."""

    requests: list[RemotingCommand]
    oneways: list[RemotingCommand]
    farewell: bytes
    is_wrong: bool


def expected(sent: bytes) -> Expected:
    """Read a stream."""
    requests: list[RemotingCommand] = []
    oneways: list[RemotingCommand] = []
    try:
        decoder = FrameDecoder()
        decoder.feed(Entrance(EntrancePolicy(pages=_PAGES)).receive(sent).plain)
        for frame in iter(decoder.next_frame, None):
            command = decode_command(frame)
            if not command.is_response:
                (oneways if command.is_oneway else requests).append(command)
    except GreetingRefusedError as error:
        return Expected(requests, oneways, error.reply, is_wrong=True)
    except ProtocolError:
        return Expected(requests, oneways, b"", is_wrong=True)
    return Expected(requests, oneways, b"", is_wrong=False)


def check_answers(sent: bytes, received: bytes, *, is_complete: bool) -> list[tuple[RemotingCommand, wire.Answer]]:
    """Check what a peer got, and give each request with its answer; `is_complete` if nothing kept it from all of them."""
    wanted = expected(sent)
    if wanted.farewell:
        assert received in (b"", wanted.farewell)
        assert received or not is_complete
        return []
    answers, rest = wire.split(received)
    assert not rest or not is_complete, "half an answer"
    assert len(answers) <= len(wanted.requests), "more answers than requests"
    if is_complete:
        assert len(answers) == len(wanted.requests), f"{len(wanted.requests) - len(answers)} requests without an answer"
    for request, answer in zip(wanted.requests, answers, strict=False):
        assert answer.opaque == request.opaque, "an answer to another request"
        assert answer.flag == wire.FLAG_RESPONSE
        assert answer.codec == request.serialize_type.name
        assert "internal error" not in (answer.remark or ""), answer.remark
    return list(zip(wanted.requests, answers, strict=False))
