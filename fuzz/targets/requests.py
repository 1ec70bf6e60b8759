"""Requests about the tables, through the dispatcher and the processors, without a connection."""

import tempfile
from pathlib import Path
from typing import Final

from tests.support import wire
from tests.support.builders import PEER, settled, surface

from cosmodrome.namesrv.routing.tables import RouteTables
from cosmodrome.protocol.codes import FLAG_RESPONSE
from cosmodrome.protocol.command import decode_command, encode_command
from cosmodrome.protocol.frame import FrameDecoder
from fuzz.asking import CHANGING, TABLE_CODES, Asked, asked
from fuzz.script import Script
from fuzz.view import view

_FOLDER: Final = Path(tempfile.gettempdir())
"""Nothing is written there: requests about files are not among these."""
_LONGEST_HISTORY: Final = 12
_GROWTH: Final = 64
"""What a request leaves behind, at most, in text for each byte of it: a topic name stands in a route for each broker."""


def requests(data: bytes) -> None:
    """Each request has its answer; one that is not answered SUCCESS changed nothing; the tables stay in proportion."""
    script = Script(data)
    tables = RouteTables()
    dispatcher = surface(tables, _FOLDER)
    before = view(tables)
    sent = 0
    for opaque in range(1, _LONGEST_HISTORY):
        if script.is_over:
            break
        ask = asked(script, TABLE_CODES)
        frame = _frame(ask, opaque)
        sent += len(frame) + _inflated(ask.body)
        decoder = FrameDecoder()
        decoder.feed(frame)
        decoded = decoder.next_frame()
        assert decoded is not None
        answer = settled(dispatcher.dispatch(decode_command(decoded), PEER))
        _check_answer(wire.decode(encode_command(answer)[4:]), ask, opaque)
        after = view(tables)
        if answer.code != 0 or ask.code not in CHANGING:
            assert after == before, f"request {ask.code} answered {answer.code} left a trace"
        assert after.size <= _GROWTH * sent
        before = after


def _frame(ask: Asked, opaque: int) -> bytes:
    return wire.encode_request(
        ask.code, ask.fields, ask.body, opaque=opaque, version=ask.version, flag=ask.flag, codec=ask.codec
    )


def _check_answer(answer: wire.Answer, ask: Asked, opaque: int) -> None:
    assert (answer.opaque, answer.flag, answer.codec) == (opaque, FLAG_RESPONSE, ask.codec)
    assert "internal error" not in (answer.remark or "")
    if answer.body:
        wire.parse_body(answer.body)


def _inflated(body: bytes) -> int:
    """Give what a compressed body becomes; the script's own are short, so are these."""
    return len(body) * 40 if body[:1] == b"\x78" else 0
