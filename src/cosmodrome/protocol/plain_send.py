"""Nearly all sends, read and answered without what only the others need.

Owns: the header of a 310 in JSON with the usual fields and nothing else; the frame of its answer.
Must not know: what is done with a message.

A narrow way beside the one for all (command.py, headers/send.py): what it reads, that one reads alike, and what it does
not read, that one must be asked for.
"""

from typing import Annotated, Final

import msgspec

from cosmodrome.protocol.codes import FLAG_RESPONSE, BrokerRequestCode, LanguageCode, SerializeType
from cosmodrome.protocol.frame import LENGTHS, WORD_BYTES, Frame
from cosmodrome.protocol.header import INT32_MAX, INT32_MIN
from cosmodrome.protocol.messages.properties import (
    DELAY,
    ENTRY_SEPARATOR,
    NAME_VALUE_SEPARATOR,
    POP_CK,
    TRAN_MSG,
    UNIQ_KEY,
    WAIT,
)
from cosmodrome.protocol.messages.sys_flag import COMPRESSED, COMPRESSION_MASK, MULTI_TAGS
from cosmodrome.protocol.versions import SERVER_VERSION

_Int32 = Annotated[int, msgspec.Meta(ge=INT32_MIN, le=INT32_MAX)]
_CODE: Final = int(BrokerRequestCode.SEND_MESSAGE_V2)
_BEGIN: Final = b'{"code":%d,' % _CODE
_LONGEST: Final = 4096
"""A longer header may have more fields than are allowed."""
_PLAIN_BITS: Final = COMPRESSED | MULTI_TAGS | COMPRESSION_MASK
_SYS_FLAGS: Final = {str(number): number for number in range(_PLAIN_BITS + 1) if not number & ~_PLAIN_BITS}
_TIME_DIGITS: Final = 13
_JSON: Final = SerializeType.JSON
_KEY_BEGIN: Final = UNIQ_KEY + NAME_VALUE_SEPARATOR
_KEY_BEGIN_LENGTH: Final = len(_KEY_BEGIN)
_END: Final = ENTRY_SEPARATOR
_DECIDING: Final = (DELAY, TRAN_MSG, "TIMER_", POP_CK, f"{WAIT}{NAME_VALUE_SEPARATOR}false", _KEY_BEGIN)


class _Fields(msgspec.Struct, rename={}, forbid_unknown_fields=True, gc=False):
    """The short names; headers/send.py says what they mean."""

    a: str
    b: str
    e: str
    f: str
    g: str
    h: str
    i: str
    c: str | None = None
    d: str | None = None
    j: str = "0"
    k: str | None = None
    l: str | None = None  # noqa: E741 -- its name
    m: str = "false"
    n: str | None = None


class _Header(msgspec.Struct, rename="camel", forbid_unknown_fields=True, gc=False):
    code: _Int32
    ext_fields: _Fields
    opaque: _Int32
    flag: _Int32 = 0
    version: _Int32 = 0
    language: str = "JAVA"
    remark: str | None = None
    serialize_type_current_rpc: str = msgspec.field(default="JSON", name="serializeTypeCurrentRPC")


_decode: Final = msgspec.json.Decoder(_Header).decode


class PlainSend(msgspec.Struct, gc=False):
    """A send of one message with no flag of its own, for the first time, in the usual form.

    What its properties ask for is for `is_plain` to say.

    Attributes:
        queue: The number of the queue, as it was written.
        properties: Their text.
        unique_key: Letters and digits.
        rest: The text without the unique key: the same for very many messages.
    """

    opaque: int
    topic: str
    queue: str
    sys_flag: int
    born_timestamp_ms: int
    properties: str
    unique_key: str
    rest: str


def decode_plain_send(frame: Frame) -> PlainSend | None:
    """Read a frame if it is a send in the usual form; None if it is anything else, or anything about it is unusual."""
    header = frame.header
    if not header.startswith(_BEGIN) or len(header) > _LONGEST or frame.serialize_type is not _JSON:
        return None
    try:
        read = _decode(header)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    fields = read.ext_fields
    born, text, sys_flag = fields.g, fields.i, _SYS_FLAGS.get(fields.f)
    at = text.find(_KEY_BEGIN)
    begin = at + _KEY_BEGIN_LENGTH
    end = text.find(_END, begin)
    unique_key = text[begin:end] if end >= 0 else text[begin:]
    if (
        at < 0 or (at and text[at - 1] != _END) or not unique_key.isalnum() or not unique_key.isascii()
        or sys_flag is None or fields.h != "0" or fields.j != "0" or fields.m != "false"
        or read.code != _CODE or read.flag
        or len(born) != _TIME_DIGITS or not born.isdigit() or not born.isascii() or DELAY in unique_key
    ):  # fmt: skip
        return None
    rest = text[end:] if end >= 0 else ""
    if at:
        rest = text[:at] + rest
    return PlainSend(read.opaque, fields.b, fields.e, sys_flag, int(born), text, unique_key, rest)


def is_plain(rest: str) -> bool:
    """Tell whether a text of properties, without the unique key, decides nothing: no delay, transaction or other wait."""
    return not any(word in rest for word in _DECIDING)


class PlainAnswers:
    """Frames of answers to plain sends that were stored."""

    def __init__(self, message_id_prefix: str, region: str, trace_on: str) -> None:
        """Take what all of them have in common; these texts need no escapes in JSON.

        Raises:
            ValueError: They do.
        """
        for text in (message_id_prefix, region, trace_on):
            if msgspec.json.encode(text) != f'"{text}"'.encode():
                raise ValueError(f"{text!r} cannot stand in a header as it is")
        self._begin = f',"extFields":{{"msgId":"{message_id_prefix}'
        self._own = (
            f'","MSG_REGION":"{region}","TRACE_ON":"{trace_on}"}},"flag":{FLAG_RESPONSE:d},'
            f'"language":"{LanguageCode.JAVA.name}","opaque":'
        )
        self._end = f',"serializeTypeCurrentRPC":"JSON","version":{SERVER_VERSION:d}}}'

    def frame(self, code: int, sent: PlainSend, log_offset: int, queue_offset: int) -> bytes:
        """Give the answer to a send whose message is there."""
        header = (
            f'{{"code":{code}{self._begin}{log_offset:016X}","queueId":"{sent.queue}","queueOffset":"{queue_offset}",'
            f'"transactionId":"{sent.unique_key}{self._own}{sent.opaque}{self._end}'
        ).encode()
        size = len(header)
        return LENGTHS.pack(WORD_BYTES + size, size) + header
