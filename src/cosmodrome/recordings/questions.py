"""Which request an answer answers.

Owns: reading the frame of a recording; remembering requests by connection, asker and opaque.
Must not know: what anybody does with them.
"""

from collections.abc import Mapping
from typing import Final

from cosmodrome.errors import MalformedFrameError
from cosmodrome.protocol.codes import BrokerRequestCode
from cosmodrome.protocol.command import RemotingCommand, decode_command
from cosmodrome.protocol.frame import FrameDecoder
from cosmodrome.recordings.recorded import Direction, Recorded

SENDS: Final = frozenset(
    {
        BrokerRequestCode.SEND_MESSAGE, BrokerRequestCode.SEND_MESSAGE_V2, BrokerRequestCode.SEND_BATCH_MESSAGE,
        BrokerRequestCode.SEND_REPLY_MESSAGE, BrokerRequestCode.SEND_REPLY_MESSAGE_V2,
    }
)  # fmt: skip
"""Requests whose body is a message, or a batch of them."""

_OTHER_SIDE: Final[Mapping[Direction, Direction]] = {"request": "response", "response": "request"}
_MOST_WAITING: Final = 100_000
"""Requests that never get an answer do not pile up without end; the oldest are forgotten."""


class Questions:
    """Told all frames in their order, it knows the code of the request behind an answer."""

    def __init__(self) -> None:
        self._asked: dict[tuple[int, Direction, int], int] = {}

    def code_of(self, recorded: Recorded, command: RemotingCommand) -> int | None:
        """Give the code of the request that this frame is or answers; None when that request was not recorded."""
        if not command.is_response:
            if not command.is_oneway:
                self._remember((recorded.connection, recorded.direction, command.opaque), command.code)
            return command.code
        # Bare frames say nothing of who sent them: then it is the same side that seems to have asked.
        sides = (_OTHER_SIDE[recorded.direction], recorded.direction)
        keys = ((recorded.connection, side, command.opaque) for side in sides)
        return next((code for key in keys if (code := self._asked.pop(key, None)) is not None), None)

    def _remember(self, key: tuple[int, Direction, int], code: int) -> None:
        self._asked[key] = code
        if len(self._asked) > _MOST_WAITING:
            del self._asked[next(iter(self._asked))]


def command_of(data: bytes) -> RemotingCommand:
    """Read one whole frame.

    Raises:
        ProtocolError: It is none.
    """
    decoder = FrameDecoder()
    decoder.feed(data)
    frame = decoder.next_frame()
    if frame is None:
        raise MalformedFrameError("the frame is cut")
    return decode_command(frame)
