"""Accounts of 4.9, against requests that real clients signed."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from cosmodrome.broker.security.plain_acl import PlainAccount, PlainAcl, read_account
from cosmodrome.broker.security.plain_acl_files import PlainAclFiles
from cosmodrome.client.credentials import Credentials
from cosmodrome.errors import ConfigError, RequestRefusedError
from cosmodrome.protocol.acl import ACCESS_KEY
from cosmodrome.protocol.command import RemotingCommand, decode_command, request
from cosmodrome.protocol.frame import FrameDecoder
from cosmodrome.transport.dispatch import Peer

RECORDED = Path(__file__).resolve().parents[3] / "golden" / "acl" / "signed-requests.jsonl"
HERE = Peer(1, "127.0.0.1:5", "127.0.0.1:5")
ENTRY = {"accessKey": "alice-1", "secretKey": "a secret of seven"}
KEYS = Credentials(ENTRY["accessKey"], ENTRY["secretKey"])


def recorded() -> list[tuple[str, RemotingCommand, str]]:
    found = []
    for line in RECORDED.read_text("utf-8").splitlines():
        entry = json.loads(line)
        decoder = FrameDecoder()
        decoder.feed(base64.b64decode(entry["frame_b64"]))
        whole = decoder.next_frame()
        assert whole is not None
        found.append((f"{entry['client']} {entry['code']}", decode_command(whole), entry["secretKey"]))
    return found


@pytest.mark.parametrize(("command", "secret"), [pytest.param(*each[1:], id=each[0]) for each in recorded()])
def test_requests_of_real_clients_are_accepted(command: RemotingCommand, secret: str) -> None:
    name = (command.ext_fields or {})[ACCESS_KEY] or ""
    acl = PlainAcl([PlainAccount(access_key=name, secret_key=secret)])
    assert acl.check(command, HERE, tuple) == name
    spoilt = command.replaced(body=command.body + b"x")
    with pytest.raises(RequestRefusedError, match="Check signature failed"):
        acl.check(spoilt, HERE, tuple)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"accessKey": "short"}, "longer than 6"),
        ({"secretKey": "short"}, "longer than 6"),
        ({"secretKey": 12345678}, "put it in quotes"),
        ({"admin": "yes"}, "neither true nor false"),
        ({"defaultTopicPerm": "ALL"}, "none of DENY"),
        ({"topicPerms": "T=PUB"}, "no list"),
        ({"topicPerms": ["T"]}, "is not NAME=PERMISSION"),
        ({"topicPerms": ["=PUB"]}, "is not NAME=PERMISSION"),
        ({"whiteRemoteAddress": "192.0.2.300"}, "192.0.2.300"),
        ({"adnim": True}, "nobody knows"),
    ],
)
def test_what_is_no_account_is_refused_without_a_secret(change: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason) as caught:
        read_account(ENTRY | change)
    assert ENTRY["secretKey"] not in str(caught.value)


def test_an_account_shows_no_secret() -> None:
    assert ENTRY["secretKey"] not in repr(read_account(ENTRY))


def test_from_a_white_address_nothing_is_asked() -> None:
    acl = PlainAcl([read_account(ENTRY | {"whiteRemoteAddress": "127.0.0.2"})])
    unsigned = request(26, {ACCESS_KEY: "alice-1"})
    assert acl.check(unsigned, Peer(1, "127.0.0.2:5", "127.0.0.2:5"), tuple) == "alice-1"
    with pytest.raises(RequestRefusedError, match="Check signature failed"):
        acl.check(unsigned, HERE, tuple)


@pytest.mark.parametrize(
    "text", ["accounts: {a: 1}", "accounts: [", "other: 1", "[1]", "accounts: [1]", "\xff", "!!python/object:os.x {}"]
)
def test_files_that_cannot_be_used_are_refused_without_what_they_hold(tmp_path: Path, text: str) -> None:
    (tmp_path / "plain_acl.yml").write_bytes(f"{text} # hidden".encode("latin-1"))
    with pytest.raises(ConfigError) as caught:
        PlainAclFiles(tmp_path, lambda: 0)
    assert "hidden" not in caught.value.render()


def test_accounts_of_all_files_count(tmp_path: Path) -> None:
    (tmp_path / "acl" / "more").mkdir(parents=True)
    (tmp_path / "acl" / "a.yml").write_text(f"accounts:\n- {json.dumps(ENTRY)}\n", "utf-8")
    (tmp_path / "acl" / "more" / "b.yaml").write_text(
        f"accounts:\n- {json.dumps(ENTRY | {'accessKey': 'bob-bob-1'})}\n", "utf-8"
    )
    files = PlainAclFiles(tmp_path, lambda: 0)
    assert files.acl.check(KEYS.signed(request(26, {})), HERE, tuple) == "alice-1"
    assert len(files.acl) == 2
    (tmp_path / "plain_acl.yml").write_text(f"accounts:\n- {json.dumps(ENTRY)}\n", "utf-8")
    with pytest.raises(ConfigError, match="accounts"):
        PlainAclFiles(tmp_path, lambda: 0)
