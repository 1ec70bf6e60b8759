"""The frames of sends, made from a template."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosmodrome.protocol.acl import is_signed, signature, signed_content
from cosmodrome.protocol.codes import LanguageCode
from cosmodrome.protocol.command import decode_command, encode_command
from cosmodrome.protocol.frame import FrameDecoder
from cosmodrome.protocol.headers.send import SendMessageRequestHeader, decode_send_header
from cosmodrome.protocol.send_template import Content, SendTemplate

names = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
int32 = st.integers(-(2**31), 2**31 - 1)
int64 = st.integers(-(2**63), 2**63 - 1)
contents = st.builds(Content, body=st.binary(max_size=20), properties=names, sys_flag=int32, flag=int32)


def header_of(frame: bytes) -> SendMessageRequestHeader:
    decoder = FrameDecoder()
    decoder.feed(frame)
    whole = decoder.next_frame()
    assert whole is not None
    return decode_send_header(decode_command(whole).ext_fields)


commons = st.builds(
    SendMessageRequestHeader, producer_group=names, topic=names, default_topic=names, broker_name=st.none() | names,
    batch=st.booleans(),
)  # fmt: skip


@given(commons, contents, int32, int64, st.data())
def test_a_frame_is_what_the_general_way_makes(
    common: SendMessageRequestHeader, content: Content, queue_id: int, born_ms: int, data: st.DataObject
) -> None:
    """Whatever the names hold, `%` and quotes included."""
    template = SendTemplate(common)
    opaque, is_oneway = data.draw(int32), data.draw(st.booleans())

    frame = template.frame(opaque, queue_id, born_ms, content, is_oneway=is_oneway)

    command = template.command(queue_id, born_ms, content, is_oneway=is_oneway)
    assert frame == encode_command(command.replaced(opaque=opaque))
    assert command.body == content.body
    header = header_of(frame)
    assert (header.producer_group, header.topic) == (common.producer_group, common.topic)
    assert (header.broker_name, header.batch) == (common.broker_name, common.batch)
    assert (header.queue_id, header.born_timestamp, header.reconsume_times) == (queue_id, born_ms, 0)
    assert (header.sys_flag, header.flag, header.properties) == (content.sys_flag, content.flag, content.properties)


class Keys:
    """Signs with fixed keys."""

    def __init__(self, token: str | None) -> None:
        self._token = token

    def fields(self) -> dict[str, str | None]:
        return {"AccessKey": "käy %d", "SecurityToken": self._token}

    def signature_of(self, content: bytes) -> str:
        return signature("secret", content)


@given(commons, contents, int32, st.none() | names)
def test_signed_frames(common: SendMessageRequestHeader, content: Content, queue_id: int, token: str | None) -> None:
    """The signature is the one that the general way gives, and is all that is added."""
    template = SendTemplate(common, signer=Keys(token))

    frame = template.frame(7, queue_id, 1700000000000, content)

    command = template.command(queue_id, 1700000000000, content).replaced(opaque=7)
    ext = {**(command.ext_fields or {}), **Keys(token).fields()}
    ext["Signature"] = signature("secret", signed_content(ext, content.body))
    assert is_signed(ext, content.body, "secret")
    assert frame == encode_command(command.replaced(ext_fields=ext))


def test_half_a_surrogate_pair_is_signed_as_it_is_sent() -> None:
    template = SendTemplate(SendMessageRequestHeader(producer_group="g\ud800", topic="T"), signer=Keys(None))

    decoder = FrameDecoder()
    decoder.feed(template.frame(7, 0, 0, Content(b"x", "a\udfff", 0, 0)))
    whole = decoder.next_frame()

    assert whole is not None
    assert is_signed(decode_command(whole).ext_fields or {}, b"x", "secret")


def test_what_a_frame_says() -> None:
    template = SendTemplate(SendMessageRequestHeader(producer_group="g", topic="%RETRY%T", broker_name="b"))

    frame = template.frame(7, 3, 1700000000000, Content(b"body", "TAGS\x01a\x02", 1, 5))

    length = int.from_bytes(frame[5:8])
    assert json.loads(frame[8 : 8 + length]) == {
        "code": 310,
        "extFields": {
            "a": "g", "b": "%RETRY%T", "c": "TBW102", "d": "4", "e": "3", "f": "1", "g": "1700000000000", "h": "5",
            "i": "TAGS\x01a\x02", "j": "0", "k": "false", "m": "false", "n": "b",
        },
        "flag": 0, "language": "PYTHON", "opaque": 7, "serializeTypeCurrentRPC": "JSON", "version": 513,
    }  # fmt: skip
    assert frame[8 + length :] == b"body"


def test_a_batch_and_a_oneway_and_a_language() -> None:
    template = SendTemplate(SendMessageRequestHeader(producer_group="g", topic="T", batch=True), LanguageCode.JAVA)
    command = template.command(0, 0, Content(b"", "", 0, 0), is_oneway=True)

    assert (command.code, command.is_oneway, command.language) == (320, True, LanguageCode.JAVA)
    assert command.ext_fields is not None
    assert command.ext_fields["m"] == "true"
    assert "n" not in command.ext_fields


def test_a_header_that_is_too_long_is_refused() -> None:
    template = SendTemplate(SendMessageRequestHeader(producer_group="g", topic="T"))

    with pytest.raises(ValueError, match="does not fit"):
        template.frame(1, 0, 0, Content(b"", "x" * 2**24, 0, 0))
