"""What a frame says, for people.

Owns: names of codes, and which form the body of a request or of its answer has.
Must not know: how it is laid out (layout.py); where the frame comes from.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from cosmodrome.errors import MalformedBodyError, MissingLibraryError, ProtocolError
from cosmodrome.protocol.answer_differences import ABSENT, body_value
from cosmodrome.protocol.bodies.register_broker import decode_register_broker_body, is_compressed_body
from cosmodrome.protocol.codes import BrokerRequestCode, ClientRequestCode, RequestCode, ResponseCode
from cosmodrome.protocol.command import RemotingCommand
from cosmodrome.protocol.greeting import recognise
from cosmodrome.protocol.headers.send import SHORT_NAMES, decode_send_header
from cosmodrome.protocol.messages.batch import decode_batch
from cosmodrome.protocol.messages.compression import inflate
from cosmodrome.protocol.messages.properties import decode_properties, properties_text
from cosmodrome.protocol.messages.record import MAGIC_V1, MAGIC_V2, StoredMessage, decode_records
from cosmodrome.protocol.versions import clamp_version, version_name
from cosmodrome.recordings.questions import SENDS, Questions, command_of
from cosmodrome.recordings.recorded import Recorded
from cosmodrome.recordings.redaction import is_taken_out

_MAGICS: Final = frozenset(magic.to_bytes(4, "big", signed=True) for magic in (MAGIC_V1, MAGIC_V2))
_SHOWN_BYTES: Final = 256
_LONG_NAMES: Final = {short: long for long, short in SHORT_NAMES.items()}

Facts = dict[str, Any]


class Reading(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What one frame says. `kind` is request, oneway, answer or bytes (no frame); `fault` is why it cannot be read.

    `form` says what `body` is: json, registration, messages, batch, message, text, bytes, redacted.
    """

    t_ms: float
    connection: int
    direction: str
    kind: str
    bytes: int
    code: int | None = None
    name: str | None = None
    question: str | None = None
    opaque: int | None = None
    language: str | None = None
    version: str | None = None
    serialize_type: str | None = None
    remark: str | None = None
    ext_fields: Mapping[str, str | None] = {}
    body_bytes: int = 0
    form: str | None = None
    body: Any = None
    fault: str | None = None


class Reader:
    """Reads frames in the order in which they passed: what an answer means depends on its question."""

    def __init__(self) -> None:
        self._questions = Questions()

    def read(self, recorded: Recorded) -> Reading:
        """Say what it says; never raises for what it holds."""
        around: Facts = {
            "t_ms": recorded.t_ms,
            "connection": recorded.connection,
            "direction": recorded.direction,
            "bytes": len(recorded.data),
        }
        if not recorded.is_frame:
            return Reading(
                **around, kind="bytes", fault=_what_it_is(recorded.data), form="bytes", body=_hex(recorded.data)
            )
        try:
            command = command_of(recorded.data)
        except ProtocolError as error:
            return Reading(**around, kind="bytes", fault=str(error), form="bytes", body=_hex(recorded.data))
        asked = self._questions.code_of(recorded, command)
        return Reading(
            **around,
            kind="answer" if command.is_response else "oneway" if command.is_oneway else "request",
            code=command.code,
            name=response_name(command.code) if command.is_response else request_name(command.code),
            question=None if asked is None or not command.is_response else request_name(asked),
            opaque=command.opaque,
            language=None if command.language is None else command.language.name,
            version=version_name(command.version),
            serialize_type=command.serialize_type.name,
            remark=command.remark,
            ext_fields=_ext_fields(command),
            body_bytes=len(command.body),
            **_body(command, is_redacted=recorded.is_redacted),
        )


def request_name(code: int) -> str:
    """Give the name of a request code; UNKNOWN of one that no release has."""
    return _REQUEST_NAMES.get(code, "UNKNOWN")


def response_name(code: int) -> str:
    """Give the name of a response code."""
    return _RESPONSE_NAMES.get(code, "UNKNOWN")


_REQUEST_NAMES: Final[Mapping[int, str]] = {
    int(member): member.name for codes in (ClientRequestCode, BrokerRequestCode, RequestCode) for member in codes
}
_RESPONSE_NAMES: Final[Mapping[int, str]] = {int(member): member.name for member in ResponseCode}


def _what_it_is(data: bytes) -> str:
    greeting = recognise(data)
    return "no frame" if greeting is None else f"no frame; it begins as {greeting.value} does"


def _ext_fields(command: RemotingCommand) -> Mapping[str, str | None]:
    """Give the fields; those of a send in short form by their long names."""
    fields = command.ext_fields or {}
    if command.code in SENDS and not command.is_response and ("a" in fields or "b" in fields):
        return {_LONG_NAMES.get(name, name): text for name, text in fields.items()}
    return fields


def _body(command: RemotingCommand, *, is_redacted: bool) -> Facts:
    """Give `form` and `body`, and `fault` when the body is not what it should be."""
    if not command.body:
        return {}
    try:
        return _typed(command, is_redacted=is_redacted) or _plain(command.body)
    except (MalformedBodyError, MissingLibraryError) as error:
        return {"form": "bytes", "body": _hex(command.body), "fault": str(error)}


def _typed(command: RemotingCommand, *, is_redacted: bool) -> Facts | None:
    """Give a body that is more than a text; None of one that is not."""
    if is_redacted and is_taken_out(command.body):
        return {"form": "redacted"}
    if command.code == RequestCode.REGISTER_BROKER and not command.is_response:
        registration = _registration(command)
        return None if registration is None else {"form": "registration", "body": registration}
    if command.code in SENDS and not command.is_response:
        return _sent(command)
    if command.body[4:8] in _MAGICS:
        return {"form": "messages", "body": [_stored(each) for each in decode_records(command.body)]}
    return None


def _plain(data: bytes) -> Facts:
    value = body_value(data)
    if not isinstance(value, str):
        return {"form": "json", "body": None if value is ABSENT else value}
    try:
        return {"form": "text", "body": data.decode()}
    except UnicodeDecodeError:
        return {"form": "bytes", "body": _hex(data)}


def _registration(command: RemotingCommand) -> Facts | None:
    """Give what a registration says; None when it says so in JSON, which is shown as it is."""
    is_compressed = (command.ext_fields or {}).get("compressed") == "true"
    version = clamp_version(max(0, command.version))
    if not is_compressed_body(command.body, version, is_compressed=is_compressed):
        return None
    read = decode_register_broker_body(command.body, version, is_compressed=is_compressed, now_ms=0)
    return {
        "dataVersion": msgspec.to_builtins(read.table.data_version),
        "topicConfigTable": msgspec.to_builtins(read.table.topic_configs),
        "topicQueueMappingInfoMap": msgspec.to_builtins(read.table.topic_queue_mapping_infos),
        "filterServerList": read.filter_servers,
    }


def _sent(command: RemotingCommand) -> Facts:
    header = decode_send_header(command.ext_fields)
    if header.batch:
        entries = decode_batch(command.body)
        return {
            "form": "batch",
            "body": [
                {"properties": decode_properties(properties_text(each.properties)), **_content(each.body, 0)}
                for each in entries
            ],
        }
    return {"form": "message", "body": _content(command.body, header.sys_flag or 0)}


def _stored(message: StoredMessage) -> Facts:
    return {
        "topic": message.topic,
        "queueId": message.queue_id,
        "queueOffset": message.queue_offset,
        "msgId": message.msg_id,
        "bornHost": _host(message),
        "storeTimestamp": message.store_timestamp_ms,
        "reconsumeTimes": message.reconsume_times,
        "properties": dict(message.properties),
        **_content(message.body, message.sys_flag),
    }


def _host(message: StoredMessage) -> str:
    ip, port = message.born_host
    return f"{ip}:{port}"


def _content(body: bytes, sys_flag: int) -> Facts:
    """Give the plain body of a message, as text if it is some."""
    plain = inflate(body, sys_flag)
    try:
        return {"bytes": len(body), "text": plain.decode()}
    except UnicodeDecodeError:
        return {"bytes": len(body), "hex": _hex(plain)}


def _hex(data: bytes) -> str:
    more = len(data) - _SHOWN_BYTES
    return data[:_SHOWN_BYTES].hex(" ") + (f" and {more} bytes more" if more > 0 else "")
