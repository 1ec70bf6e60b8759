"""Whose requests these are."""

from typing import Any

import pytest

from cosmodrome.client.credentials import Credentials, is_about_credentials
from cosmodrome.client.requests import command, refusal
from cosmodrome.errors import AuthenticationError, ConfigError, NotPermittedError, RefusedError
from cosmodrome.protocol.acl import is_signed
from cosmodrome.protocol.codes import LanguageCode
from cosmodrome.protocol.command import RemotingCommand

KEYS = Credentials("RocketMQ", "12345678")


def test_the_vector_of_the_specification() -> None:
    signed = KEYS.signed(command(10, {"topic": "TopicTest", "queueId": "3"}, b"abc"))
    assert signed.ext_fields == {
        "topic": "TopicTest",
        "queueId": "3",
        "AccessKey": "RocketMQ",
        "Signature": "yOOylSPYwZ9dAPzRzJVpSZZForE=",
    }
    assert KEYS.signature_of(b"RocketMQ3TopicTestabc") == "yOOylSPYwZ9dAPzRzJVpSZZForE="


@pytest.mark.parametrize("fields", [None, {}, {"leer": "", "名": "消息"}, {"a": None, "B": "0"}])
@pytest.mark.parametrize("token", [None, "token"])
def test_what_is_signed_can_be_checked(fields: Any, token: str | None) -> None:
    keys = Credentials("ключ", "schlüssel", token)
    signed = keys.signed(command(34, fields, "тело".encode()))
    assert signed.ext_fields is not None
    assert signed.ext_fields.get("SecurityToken") == token
    assert is_signed(signed.ext_fields, signed.body, "schlüssel")
    assert not is_signed(signed.ext_fields, signed.body, "another")


def test_texts_do_not_show_secrets() -> None:
    keys = Credentials("access", "the secret", "the token")
    for text in (repr(keys), str(keys)):
        assert "access" in text
        assert "secret" not in text.replace("secret_key", "")
        assert "the token" not in text


@pytest.mark.parametrize(("access", "secret"), [("", "s"), ("a", ""), (None, "s"), ("a", 5)])
def test_half_a_pair(access: Any, secret: Any) -> None:
    with pytest.raises(ConfigError, match="is missing"):
        Credentials(access, secret)


@pytest.mark.parametrize(
    ("code", "remark", "is_so"),
    [
        (1, "org.apache.rocketmq.acl.common.AclException: No accessKey is configured, x.java", True),
        (16, "org.apache.rocketmq.acl.common.AclException: x", False),
        (16, "username cannot be null.", True),
        (16, "check signature failed.", True),
        (16, "User:K is not found.", True),
        (16, "the broker[127.0.0.1] sending message is forbidden", False),
        (16, None, False),
        (2, "check signature failed.", False),
    ],
)
def test_which_refusals_are_about_credentials(code: int, remark: str | None, is_so: bool) -> None:  # noqa: FBT001
    assert is_about_credentials(code, remark) == is_so
    error = refusal("b:1", RemotingCommand(code, remark=remark))
    assert isinstance(error, AuthenticationError) == is_so
    assert isinstance(error, RefusedError)
    assert isinstance(error, NotPermittedError) == (code == 16 or is_so)


def test_our_language_and_version() -> None:
    made = command(34)
    assert (made.language, made.version, made.ext_fields) == (LanguageCode.PYTHON, 513, None)
