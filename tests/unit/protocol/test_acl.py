"""Signed requests."""

import base64
import hashlib
import hmac
import json
from pathlib import Path
from typing import Any

import pytest

from cosmodrome.protocol.acl import is_signed, signature, signed_content
from cosmodrome.protocol.command import RemotingCommand, decode_command
from cosmodrome.protocol.frame import FrameDecoder

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "acl"
VECTORS: list[dict[str, Any]] = json.loads((GOLDEN / "signatures.json").read_text(encoding="utf-8"))["vectors"]
RECORDED = [json.loads(line) for line in (GOLDEN / "signed-requests.jsonl").read_text(encoding="utf-8").splitlines()]
UNIQUE_KEY_QUERY = "_UNIQUE_KEY_QUERY"


def signed(fields: dict[str, str | None], body: bytes, secret: str, *, without: str = "") -> dict[str, str | None]:
    """Sign by hand: values in the order of the names, then the body."""
    content = "".join(fields[name] or "" for name in sorted(fields) if name != without).encode() + body
    digest = hmac.new(secret.encode(), content, hashlib.sha1).digest()
    return fields | {"Signature": base64.b64encode(digest).decode()}


def frame(line: dict[str, Any]) -> RemotingCommand:
    decoder = FrameDecoder()
    decoder.feed(base64.b64decode(line["frame_b64"]))
    whole = decoder.next_frame()
    assert whole is not None
    return decode_command(whole)


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["name"])
def test_contents_and_signatures_are_those_of_java(vector: dict[str, Any]) -> None:
    body = bytes.fromhex(vector["body_hex"])

    content = signed_content(vector["fields"], body)

    assert content.hex() == vector["content_hex"]
    assert signature(vector["secretKey"], content) == vector["signature"]
    assert is_signed(vector["fields"] | {"Signature": vector["signature"]}, body, vector["secretKey"])


@pytest.mark.parametrize("line", RECORDED, ids=lambda line: f"{line['client']} {line['code']}")
def test_requests_of_real_clients_are_taken_and_any_change_breaks_them(line: dict[str, Any]) -> None:
    request = frame(line)
    fields = dict(request.ext_fields or {})

    assert is_signed(fields, request.body, line["secretKey"])
    assert not is_signed(fields, request.body, line["secretKey"] + "x")
    assert not is_signed(fields, request.body + b"x", line["secretKey"])
    assert not is_signed(fields | {"__ZONE_NAME": "z"}, request.body, line["secretKey"])
    for name, value in fields.items():
        assert not is_signed(fields | {name: f"{value}x"}, request.body, line["secretKey"])


@pytest.mark.parametrize("without", ["", UNIQUE_KEY_QUERY])
def test_the_field_that_4_9_leaves_out_may_be_signed_or_not(without: str) -> None:
    fields: dict[str, str | None] = {"AccessKey": "ops", "topic": "T", UNIQUE_KEY_QUERY: "true"}

    assert is_signed(signed(fields, b"b", "12345678", without=without), b"b", "12345678")
    assert not is_signed(signed(fields, b"b", "12345678", without="topic"), b"b", "12345678")


@pytest.mark.parametrize("given", [None, "", "x", "ä", "\ud800", "yOOylSPYwZ9dAPzRzJVpSZZForE"])
def test_what_is_no_signature(given: str | None) -> None:
    fields = {"topic": "TopicTest", "queueId": "3", "AccessKey": "RocketMQ", "Signature": given}

    assert not is_signed(fields, b"abc", "12345678")


def test_no_field_is_needed_and_none_can_break_it() -> None:
    assert not is_signed({}, b"", "12345678")
    assert signed_content({"\ud800": "a", "b": None, "c": "\ud800"}) == b"?a"
