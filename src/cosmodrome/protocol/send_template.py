"""The hot path of a producer: the frame of a send, of which most is the same for every message of a topic.

Owns: what stays the same, encoded once; the frame of one message.
Must not know: how a message was made; connections.
"""

from collections.abc import Mapping
from typing import Final, Protocol

import msgspec

from cosmodrome.protocol.acl import SIGNATURE
from cosmodrome.protocol.codes import FLAG_ONEWAY, BrokerRequestCode, LanguageCode, SerializeType
from cosmodrome.protocol.command import RemotingCommand
from cosmodrome.protocol.frame import encode_frame
from cosmodrome.protocol.header_json import encode_json_text
from cosmodrome.protocol.headers.send import SendMessageRequestHeader, encode_short_send_header
from cosmodrome.protocol.versions import SERVER_VERSION

DEFAULT_TOPIC: Final = "TBW102"
"""The topic whose settings a topic gets that a send makes."""
DEFAULT_TOPIC_QUEUE_NUMS: Final = 4


_JSON: Final = SerializeType.JSON
"""Here, because looking up a member of an enumeration costs as much as a call."""


class Content(msgspec.Struct, gc=False):
    """What a message brings along wherever it goes: `properties` is the text."""

    body: bytes
    properties: str
    sys_flag: int
    flag: int


class Signer(Protocol):
    """Who signs requests, with names that come before all those of a send's fields."""

    def fields(self) -> Mapping[str, str | None]:
        """Give the fields that say who signs."""

    def signature_of(self, content: bytes) -> str:
        """Give the signature of a content."""


class SendTemplate:
    """Makes the requests that carry messages of one producer group to one topic at one broker."""

    def __init__(
        self,
        common: SendMessageRequestHeader,
        language: LanguageCode = LanguageCode.PYTHON,
        signer: Signer | None = None,
    ) -> None:
        """Take what all messages have in common: names, `unit_mode`, `batch`; a default topic is added.

        With a signer, frames are signed, commands are not.
        """
        self._common = msgspec.structs.replace(
            common,
            default_topic=common.default_topic or DEFAULT_TOPIC,
            default_topic_queue_nums=common.default_topic_queue_nums or DEFAULT_TOPIC_QUEUE_NUMS,
            unit_mode=common.unit_mode or False,
            batch=common.batch or False,
        )
        self._language = language
        self.code = BrokerRequestCode.SEND_BATCH_MESSAGE if common.batch else BrokerRequestCode.SEND_MESSAGE_V2
        self._signer = signer
        names = encode_short_send_header(self._common)
        self._header = _header_pattern(names, {} if signer is None else signer.fields(), self.code, language)
        self._content = b"" if signer is None else _content_pattern(names, signer.fields())

    def frame(
        self, opaque: int, queue_id: int, born_timestamp: int, content: Content, *, is_oneway: bool = False
    ) -> bytes:
        """Give the whole request; `born_timestamp` is wall-clock ms.

        Raises:
            ValueError: The header is too long for a frame.
        """
        body, flag = content.body, FLAG_ONEWAY if is_oneway else 0
        properties = encode_json_text(content.properties)
        if self._signer is None:
            header = self._header % (
                queue_id,
                content.sys_flag,
                born_timestamp,
                content.flag,
                properties,
                flag,
                opaque,
            )
        else:
            numbers = (queue_id, content.sys_flag, born_timestamp, content.flag)
            signed = self._content % (*numbers, content.properties.encode("utf-8", "replace")) + body
            header = self._header % (*numbers, properties, self._signer.signature_of(signed).encode(), flag, opaque)
        return encode_frame(_JSON, header, body)

    def command(
        self, queue_id: int, born_timestamp: int, content: Content, *, is_oneway: bool = False
    ) -> RemotingCommand:
        """Give the same request as a command, without a signature and an opaque."""
        header = msgspec.structs.replace(
            self._common,
            queue_id=queue_id,
            sys_flag=content.sys_flag,
            born_timestamp=born_timestamp,
            flag=content.flag,
            properties=content.properties,
            reconsume_times=0,
        )
        return RemotingCommand(
            self.code,
            0,
            FLAG_ONEWAY if is_oneway else 0,
            SERVER_VERSION,
            self._language,
            ext_fields=encode_short_send_header(header),
            body=content.body,
        )


_PLACES: Final = {"e": b"%d", "f": b"%d", "g": b"%d", "h": b"%d", "i": b"%b", "j": b"0"}
"""The fields that differ between messages; `j`, how often a message was delivered, is 0 of one that is sent."""


def _header_pattern(
    names: Mapping[str, str | None], signing: Mapping[str, str | None], code: int, language: LanguageCode
) -> bytes:
    """Give the JSON header, as header_json writes it, with places for what differs, and for a signature."""
    places = {name: place if name == "i" else b'"%b"' % place for name, place in _PLACES.items()}
    members = sorted({**_escaped(names, as_json=True), **places}.items()) + list(
        _escaped(signing, as_json=True).items()
    )
    if signing:
        members.append((SIGNATURE, b'"%b"'))
    ext = b",".join(b'"%b":%b' % (name.encode("ascii"), text) for name, text in members)
    head, tail = (
        b'{"code":%d,"extFields":{' % code,
        b'"opaque":%%d,"serializeTypeCurrentRPC":"JSON","version":%d}' % SERVER_VERSION,
    )
    return b'%b%b},"flag":%%d,"language":"%b",%b' % (head, ext, language.name.encode("ascii"), tail)


def _content_pattern(names: Mapping[str, str | None], signing: Mapping[str, str | None]) -> bytes:
    """Give what is signed but the body, as acl.signed_content does, with places for what differs."""
    members = {**_escaped(names, as_json=False), **_escaped(signing, as_json=False), **_PLACES}
    return b"".join(members[name] for name in sorted(members))


def _escaped(texts: Mapping[str, str | None], *, as_json: bool) -> dict[str, bytes]:
    """Give texts as they stand in a pattern."""
    encode = encode_json_text if as_json else lambda text: text.encode("utf-8", "replace")
    return {name: encode(text).replace(b"%", b"%%") for name, text in texts.items() if text is not None}
