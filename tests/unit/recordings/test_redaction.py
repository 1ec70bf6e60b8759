"""What of a recording may be shown to others, and what may not."""

import json

import pytest

from cosmodrome.protocol.codes import FLAG_RESPONSE
from cosmodrome.protocol.command import RemotingCommand, encode_command, request, response_to
from cosmodrome.recordings.questions import command_of
from cosmodrome.recordings.readable import Reader
from cosmodrome.recordings.recorded import Direction, Recorded
from cosmodrome.recordings.redaction import Redactor

SECRET = "s3cret"  # noqa: S105  # stands for one


def shown(*commands: RemotingCommand) -> list[bytes]:
    redactor = Redactor()
    found = []
    for command in commands:
        direction: Direction = "response" if command.flag & FLAG_RESPONSE else "request"
        found.append(redactor.redacted(Recorded(0.0, 1, direction, encode_command(command))).data)
    return found


ASKED = {
    "KV value": request(100, {"namespace": "n", "key": "k", "value": SECRET}),
    "configuration": request(318, {}, SECRET.encode()),
    "message": request(10, {"topic": "T", "properties": f"KEYS\x01{SECRET}"}, SECRET.encode()),
    "message, short names": request(310, {"a": "g", "b": "T", "i": f"KEYS\x01{SECRET}"}, SECRET.encode()),
    "batch": request(320, {"a": "g", "b": "T", "m": "true"}, SECRET.encode()),
    "signature": request(105, {"topic": "T", "AccessKey": "who", "Signature": SECRET}),
    "account": request(3001, {"username": "u"}, SECRET.encode()),
    "unknown code": request(9999, {}, SECRET.encode()),
}


@pytest.mark.parametrize("command", ASKED.values(), ids=ASKED)
def test_it_is_not_in_the_request(command: RemotingCommand) -> None:
    (data,) = shown(command)
    assert SECRET.encode() not in data
    assert command_of(data).code == command.code
    assert len(command_of(data).body) == len(command.body)


@pytest.mark.parametrize(
    ("code", "ext", "body"), [(11, {}, SECRET), (319, {}, SECRET), (101, {"value": SECRET}, ""), (219, {}, SECRET)]
)
def test_it_is_not_in_the_answer(code: int, ext: dict[str, str | None], body: str) -> None:
    asked = request(code, {"topic": "T"}, opaque=4)
    _, data = shown(asked, response_to(asked, 0, None, ext, body.encode()))
    assert SECRET.encode() not in data


def test_an_answer_to_nobody_knows_what_is_taken_out() -> None:
    (data,) = shown(response_to(request(105), 0, None, None, SECRET.encode()))
    assert SECRET.encode() not in data


def test_bytes_that_are_no_frame_are_taken_out() -> None:
    for recorded in (
        Recorded(0, 1, "request", SECRET.encode(), is_frame=False),
        Recorded(0, 1, "request", SECRET.encode()),
    ):
        assert Redactor().redacted(recorded).data == bytes(len(SECRET))


def test_routes_stay_as_they_were() -> None:
    asked = request(105, {"topic": "T"}, opaque=4)
    answer = response_to(asked, 0, None, None, json.dumps({"brokerDatas": []}).encode())
    assert shown(asked, answer) == [encode_command(asked), encode_command(answer)]


def test_a_reader_says_that_it_was_taken_out() -> None:
    recorded = Redactor().redacted(Recorded(0.0, 1, "request", encode_command(ASKED["message"])))
    reading = Reader().read(recorded)
    assert (reading.form, reading.body_bytes, reading.ext_fields["properties"]) == (
        "redacted",
        len(SECRET),
        "(redacted)",
    )
