"""With which keys a command signs, and that it does."""

from pathlib import Path

import pytest
from tests.support.admin_line import double_cluster
from tests.support.admin_tool import Reply

from cosmodrome.admin.credentials import Keys, chosen_keys
from cosmodrome.errors import ConfigError
from cosmodrome.protocol.acl import signature, signed_content

FORMS = {
    "accessKey: name\nsecretKey: secret\n": Keys("name", "secret"),
    "accessKey: \"a b\" # who\nsecretKey: 'x#y'\n": Keys("a b", "x#y"),
    "# comment\naccessKey:   name   # who\n\nsecretKey: s#t\nsecurityToken: t\n": Keys("name", "s#t", "t"),
    "accessKey=name\nsecretKey=secret\n": Keys("name", "secret"),
    "accessKey: name\n": None,
    "accessKey:\nsecretKey: x\n": None,
    "": None,
}


@pytest.mark.parametrize(("text", "keys"), FORMS.items())
def test_a_home_s_file(tmp_path: Path, text: str, keys: Keys | None) -> None:
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "tools.yml").write_text(text, encoding="utf-8")

    assert chosen_keys(None, {"ROCKETMQ_HOME": str(tmp_path)}) == keys


def test_the_order_of_places(tmp_path: Path) -> None:
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "tools.yml").write_text("accessKey: home\nsecretKey: s\n", encoding="utf-8")
    named = tmp_path / "mine"
    named.write_text("accessKey: file\nsecretKey: s\n", encoding="utf-8")
    environment = {"ROCKETMQ_HOME": str(tmp_path)}
    keys = environment | {"ROCKETMQ_ACCESS_KEY": "env", "ROCKETMQ_SECRET_KEY": "s"}

    assert chosen_keys(None, {}) is None
    assert chosen_keys(None, {"ROCKETMQ_HOME": str(tmp_path / "no")}) is None
    assert chosen_keys(None, environment) == Keys("home", "s")
    assert chosen_keys(None, keys) == Keys("env", "s")
    assert chosen_keys(str(named), keys) == Keys("file", "s")


def test_what_cannot_be_used_is_named(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.touch()
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "tools.yml").write_bytes(b"\xff")

    for file, environment, text in (
        (str(tmp_path / "none"), {}, "cannot read"),
        (str(empty), {}, "has no credentials"),
        (None, {"ROCKETMQ_ACCESS_KEY": "x"}, "only one of"),
        (None, {"ROCKETMQ_HOME": str(tmp_path)}, "cannot read"),
    ):
        with pytest.raises(ConfigError, match=text):
            chosen_keys(file, environment)


def test_secrets_are_not_shown() -> None:
    assert "secret" not in repr(Keys("name", "secret", "token"))


def test_every_request_is_signed(tmp_path: Path) -> None:
    file = tmp_path / "tools.yml"
    file.write_text("accessKey: name\nsecretKey: secret\n", encoding="utf-8")
    with double_cluster({17: Reply()}) as cluster:
        run = cluster("updateTopic", "-c", "C", "-t", "T", "--credentials", str(file))
        requests = [*cluster.name_server.requests, *cluster.asked(17)]

    assert run.code == 0
    assert len(requests) == 2
    for request in requests:
        fields = dict(request.ext or {})
        assert fields["AccessKey"] == "name"
        assert fields.pop("Signature") == signature("secret", signed_content(fields, request.body))


def test_a_file_that_is_not_there_has_its_exit_code() -> None:
    with double_cluster({}) as cluster:
        run = cluster("topicList", "--credentials", "/nowhere/tools.yml")

    assert run.code == 78
    assert "error[NS-CONFIG]" in run.err
