"""Where the opaque stands in a frame.

Owns: cutting a frame around its opaque, and the proof that the cut is at the right place.
Must not know: what a frame asks; who keeps the pieces.

Frames of one question differ in the opaque alone. What is before and behind it names the question, once it has been
proved for one such frame that only the opaque stands between them.
"""

from typing import Final

import msgspec

from cosmodrome.errors import ProtocolError
from cosmodrome.protocol.codes import SerializeType
from cosmodrome.protocol.command import RemotingCommand, decode_command
from cosmodrome.protocol.frame import FrameDecoder

_MARK: Final = b'"opaque":'
_TYPE_AT: Final = 4
SHORTEST_BYTES: Final = _TYPE_AT + 1
"""Of what can be cut."""
_BINARY_AT: Final = 13
_BINARY_END: Final = 17
"""Two lengths, the code, the language and the version come before the opaque of a binary header."""
_LONGEST_DIGITS: Final = 9
"""No such number is beyond int32."""
_ZERO: Final = ord("0")

Cut = tuple[bytes, bytes, bytes]
"""What is before the opaque, the opaque as it is written, and what is behind it."""


def cut_at_opaque(frame: bytes) -> Cut:
    """Cut a frame of SHORTEST_BYTES or more; what is no frame is cut anywhere.

    In JSON the opaque is a number above 0 as it is usually written, or nothing.
    """
    if frame[_TYPE_AT]:
        return frame[:_BINARY_AT], frame[_BINARY_AT:_BINARY_END], frame[_BINARY_END:]
    before, _, rest = frame.partition(_MARK)
    opaque, _, behind = rest.partition(b",")
    if not opaque.isdigit() or opaque[0] == _ZERO or len(opaque) > _LONGEST_DIGITS:
        return before, b"", behind
    return before, opaque, behind


def is_proved(cut: Cut, command: RemotingCommand) -> bool:
    """Whether any opaque that is written with as many bytes can stand at the cut of the frame that says `command`.

    The frame with another number there has to say the same with another opaque. Behind that, nothing is assumed of
    the header: a field that is called opaque, or a text that looks like one, does not pass.
    """
    before, opaque, behind = cut
    if not opaque:
        return False
    if command.serialize_type is SerializeType.JSON:
        other = b"1" * len(opaque) if opaque[:1] != b"1" else b"2" * len(opaque)
        number = int(other)
        changed = b"".join((before, _MARK, other, b",", behind))
    else:
        other = bytes(byte ^ 1 for byte in opaque)
        number = int.from_bytes(other, "big", signed=True)
        changed = before + other + behind
    return _said_by(changed) == msgspec.structs.replace(command, opaque=number)


def joined(cut: Cut, serialize_type: SerializeType) -> tuple[bytes, bytes]:
    """Give what to write before and behind another opaque in place of that of a cut."""
    before, _, behind = cut
    return (before + _MARK, b"," + behind) if serialize_type is SerializeType.JSON else (before, behind)


def _said_by(data: bytes) -> RemotingCommand | None:
    decoder = FrameDecoder()
    decoder.feed(data)
    try:
        frame = decoder.next_frame()
        return None if frame is None or decoder.buffered_bytes else decode_command(frame)
    except ProtocolError:
        return None
