"""RemotingCommand, and commands made from others. The vectors are those of the specification, appendix A."""

from cosmodrome.protocol.codes import LanguageCode, SerializeType
from cosmodrome.protocol.command import RemotingCommand, decode_command, encode_command, request, response_to
from cosmodrome.protocol.frame import FrameDecoder

A1 = (
    b'\0\0\0\x87\0\0\0\x83{"code":105,"extFields":{"topic":"TopicTest"},"flag":0,"language":"JAVA","opaque":7,'
    b'"serializeTypeCurrentRPC":"JSON","version":401}'
)
A2 = bytes.fromhex(
    "00000025 01000021 0069 09 013d 00000007 00000000 00000000 0000000c 0005 746f706963 00000001 54".replace(" ", "")
)
A3 = bytes.fromhex("00000019 01000015 0000 00 0199 00000009 00000001 00000000 00000000".replace(" ", ""))
A4 = (
    b'{"code":3,"flag":1,"language":"JAVA","opaque":1,"remark":" request type 999 not supported",'
    b'"serializeTypeCurrentRPC":"JSON","version":513}'
)


def decoded(data: bytes) -> RemotingCommand:
    decoder = FrameDecoder()
    decoder.feed(data)
    frame = decoder.next_frame()
    assert frame is not None
    return decode_command(frame)


def test_a_request_in_json() -> None:
    command = RemotingCommand(105, opaque=7, version=401, ext_fields={"topic": "TopicTest"})

    assert decoded(A1) == command
    assert encode_command(command) == A1


def test_a_request_in_binary() -> None:
    command = RemotingCommand(
        105,
        opaque=7,
        version=317,
        language=LanguageCode.GO,
        ext_fields={"topic": "T"},
        serialize_type=SerializeType.ROCKETMQ,
    )

    assert decoded(A2) == command
    assert encode_command(command) == A2


def test_a_response_in_binary() -> None:
    command = RemotingCommand(0, opaque=9, flag=1, version=409, serialize_type=SerializeType.ROCKETMQ)

    assert decoded(A3) == command
    assert encode_command(command) == A3


def test_an_answer_in_json() -> None:
    answer = response_to(RemotingCommand(999, opaque=1), 3, " request type 999 not supported")

    assert encode_command(answer)[8:] == A4


def test_an_answer_has_the_opaque_and_codec_of_its_request_and_nothing_else() -> None:
    asked = RemotingCommand(105, 7, 0, 317, LanguageCode.GO, "why", {"a": "b"}, b"body", SerializeType.ROCKETMQ)

    assert response_to(asked, 0, None, {"c": "d"}, b"answer") == RemotingCommand(
        0, 7, 1, 513, LanguageCode.JAVA, None, {"c": "d"}, b"answer", SerializeType.ROCKETMQ
    )


def test_requests_of_ours() -> None:
    assert request(905, {"a": "b"}, b"x") == RemotingCommand(905, version=513, ext_fields={"a": "b"}, body=b"x")
    oneway = request(905, opaque=3, is_oneway=True)
    assert (oneway.flag, oneway.opaque) == (2, 3)


def test_flags() -> None:
    meanings = [
        (RemotingCommand(0, flag=flag).is_response, RemotingCommand(0, flag=flag).is_oneway) for flag in range(4)
    ]

    assert meanings == [(False, False), (True, False), (False, True), (True, True)]
    assert not RemotingCommand(0, flag=4).is_response
