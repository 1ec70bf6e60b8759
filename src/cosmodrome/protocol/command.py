"""RemotingCommand: what one frame says.

Owns: the command value; requests, responses and oneways made from it; which codec reads and writes a header.
Must not know: what a code means; the layout of a header (header_json.py, header_binary.py).
"""

from collections.abc import Mapping
from typing import Final

from cosmodrome.protocol import header_binary, header_json
from cosmodrome.protocol.codes import FLAG_ONEWAY, FLAG_RESPONSE, LanguageCode, SerializeType
from cosmodrome.protocol.frame import Frame, encode_frame
from cosmodrome.protocol.header import Header
from cosmodrome.protocol.versions import SERVER_VERSION

_JSON: Final = SerializeType.JSON
"""Here, because looking up a member of an enumeration costs as much as a call."""


class RemotingCommand(Header, frozen=True, gc=False):
    """A request or a response: its header, its body (an absent one is empty), and the codec of its header."""

    body: bytes = b""
    serialize_type: SerializeType = SerializeType.JSON

    @property
    def is_response(self) -> bool:
        """Whether this answers a request that the receiver sent."""
        return self.flag & FLAG_RESPONSE != 0

    @property
    def is_oneway(self) -> bool:
        """Whether no answer may be sent, not even an error."""
        return self.flag & FLAG_ONEWAY != 0


def request(
    code: int,
    ext_fields: Mapping[str, str | None] | None = None,
    body: bytes = b"",
    *,
    opaque: int = 0,
    is_oneway: bool = False,
) -> RemotingCommand:
    """Make a request of ours, in JSON, with our version."""
    flag = FLAG_ONEWAY if is_oneway else 0
    return RemotingCommand(code, opaque, flag, SERVER_VERSION, ext_fields=ext_fields, body=body)


def response_to(
    command: RemotingCommand,
    code: int,
    remark: str | None = None,
    ext_fields: Mapping[str, str | None] | None = None,
    body: bytes = b"",
) -> RemotingCommand:
    """Make the answer to `command`: its opaque, its header codec, nothing else of it.

    COMPAT: Java 5.x answers in the server's codec whatever the request's was; clients that do not know the
    binary one exist, none that cannot read its own (docs/compatibility.md, mirrored-codec).
    """
    return RemotingCommand(
        code,
        command.opaque,
        FLAG_RESPONSE,
        SERVER_VERSION,
        LanguageCode.JAVA,
        remark,
        ext_fields,
        body,
        command.serialize_type,
    )


def decode_command(frame: Frame) -> RemotingCommand:
    """Read a frame's header.

    Raises:
        MalformedHeaderError: The header is not what its type byte says. Close the connection.
    """
    if frame.serialize_type is _JSON:
        return RemotingCommand(*header_json.decode_values(frame.header), frame.body, _JSON)
    header = header_binary.decode_header(frame.header)
    return RemotingCommand(
        header.code,
        header.opaque,
        header.flag,
        header.version,
        header.language,
        header.remark,
        header.ext_fields,
        frame.body,
        frame.serialize_type,
    )


def encode_command(command: RemotingCommand) -> bytes:
    """Write a command as one frame, its header in the codec that `serialize_type` names.

    Raises:
        ValueError: A code or a field is too large for the binary codec.
    """
    codec = header_json if command.serialize_type is SerializeType.JSON else header_binary
    return encode_frame(command.serialize_type, codec.encode_header(command), command.body)
