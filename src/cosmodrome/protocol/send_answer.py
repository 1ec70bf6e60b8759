"""The other hot path of a producer: answers that say that a message is stored, read many at a time.

Owns: what the usual answer to a send is; the reading of a run of them. Whatever is not one is left to the general way
    (frame.py, command.py), which reads the same from those that are taken here.
Must not know: what was sent; connections.
"""

from collections.abc import Mapping
from typing import Annotated, Final, Literal

import msgspec

from cosmodrome.protocol.codes import FLAG_RESPONSE, ResponseCode
from cosmodrome.protocol.command import RemotingCommand
from cosmodrome.protocol.frame import LENGTHS, WORD_BYTES
from cosmodrome.protocol.header import INT32_MAX, INT32_MIN, LANGUAGES_BY_NAME

_Int32 = Annotated[int, msgspec.Meta(ge=INT32_MIN, le=INT32_MAX)]
_Text = str | msgspec.UnsetType

_PREFIX_BYTES: Final = LENGTHS.size
_MAX_BYTES: Final = 4096
"""Of a frame. It keeps the number of fields below the limit of the general way, which is not counted here."""


class StoredFields(msgspec.Struct, rename="camel", gc=False, frozen=True, forbid_unknown_fields=True):
    """Where a message is stored, and what else brokers of any release say then; UNSET is what was not said."""

    queue_id: str
    queue_offset: str
    msg_id: str
    transaction_id: _Text = msgspec.UNSET
    recall_handle: _Text = msgspec.UNSET
    batch_uniq_id: _Text = msgspec.UNSET
    region: _Text = msgspec.field(default=msgspec.UNSET, name="MSG_REGION")
    trace_on: _Text = msgspec.field(default=msgspec.UNSET, name="TRACE_ON")


class SendAnswer(msgspec.Struct, rename="camel", gc=False, frozen=True, kw_only=True):
    """A header of JSON without a body, code SUCCESS, with no other fields than those that are known."""

    code: Literal[0]
    opaque: _Int32
    flag: Literal[1]
    ext_fields: StoredFields
    version: _Int32 = 0
    language: str = "JAVA"
    remark: str | None = None

    def command(self) -> RemotingCommand:
        """Give the same answer as the general way reads it."""
        fields = msgspec.to_builtins(self.ext_fields)
        return RemotingCommand(
            ResponseCode.SUCCESS,
            self.opaque,
            FLAG_RESPONSE,
            self.version,
            LANGUAGES_BY_NAME.get(self.language),
            self.remark,
            fields,
        )


def stored_fields(fields: Mapping[str, str | None]) -> StoredFields:
    """Give the fields of any answer that says that a message is stored.

    Raises:
        KeyError: It does not say where.
    """
    return StoredFields(
        queue_id=fields["queueId"] or "",
        queue_offset=fields["queueOffset"] or "",
        msg_id=fields["msgId"] or "",
        transaction_id=fields.get("transactionId") or msgspec.UNSET,
        recall_handle=fields.get("recallHandle") or msgspec.UNSET,
        region=fields.get("MSG_REGION") or msgspec.UNSET,
        trace_on=fields.get("TRACE_ON") or msgspec.UNSET,
    )


_decode: Final = msgspec.json.Decoder(SendAnswer).decode
_NOT_USUAL: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


def read_send_answers(data: bytes | bytearray, start: int) -> tuple[list[SendAnswer], int]:
    """Read the usual answers with which the bytes from `start` on begin; give them, and where what is left begins."""
    answers: list[SendAnswer] = []
    end = len(data)
    while start + _PREFIX_BYTES <= end:
        length, header_length = LENGTHS.unpack_from(data, start)
        stop = start + WORD_BYTES + length
        # Also the type of the header is in its length: that of JSON is 0.
        if header_length != length - WORD_BYTES or length > _MAX_BYTES or stop > end:
            break
        try:
            answers.append(_decode(data[start + _PREFIX_BYTES : stop]))
        except _NOT_USUAL:
            break
        start = stop
    return answers, start
