"""Who sends a request, as far as it can be proven."""

from pathlib import Path

import pytest
from tests.support.callers import signed, write_accounts

from cosmodrome.namesrv.policy.accounts import AccountFile, Role
from cosmodrome.namesrv.policy.callers import Caller, identify
from cosmodrome.protocol.command import RemotingCommand
from cosmodrome.transport.dispatch import Peer

PEER = Peer(1, "10.0.0.1:5")
OPS = {"accessKey": "ops", "secretKey": "secret of ops", "role": "admin"}
NEAR = {"accessKey": "near", "secretKey": "secret of near", "role": "reader", "networks": ["10.0.0.0/8"]}


@pytest.fixture
def accounts(tmp_path: Path) -> AccountFile:
    file = AccountFile(str(write_accounts(tmp_path / "accounts.toml", [OPS, NEAR])), lambda _: None)
    file.load()
    return file


def request(access_key: str, secret_key: str, body: bytes = b"b") -> RemotingCommand:
    return RemotingCommand(100, ext_fields=signed({"key": "K"}, body, access_key, secret_key), body=body)


def test_an_account_counts_with_its_signature(accounts: AccountFile) -> None:
    caller = identify(request("ops", "secret of ops"), PEER, accounts)

    assert caller.account is not None
    assert (caller.account.access_key, caller.claimed) == ("ops", None)
    assert caller.has_role(Role.ADMIN)
    assert not caller.has_role(Role.READER, Role.BROKER)


@pytest.mark.parametrize("key", ["ops", "nobody", "any text will do"])
@pytest.mark.parametrize("secret", ["wrong secret", "any text will do", ""])
def test_without_it_the_key_is_only_claimed(accounts: AccountFile, key: str, secret: str) -> None:
    assert identify(request(key, secret), PEER, accounts) == Caller(PEER, None, key)


@pytest.mark.parametrize("fields", [None, {}, {"AccessKey": ""}, {"AccessKey": None}, {"Signature": "x"}])
def test_a_request_without_a_key_is_from_nobody(accounts: AccountFile, fields: dict[str, str | None] | None) -> None:
    assert identify(RemotingCommand(100, ext_fields=fields), PEER, accounts) == Caller(PEER)


def test_an_account_counts_in_its_networks_only(accounts: AccountFile) -> None:
    near = request("near", "secret of near")

    assert identify(near, PEER, accounts).account is not None
    assert identify(near, Peer(1, "192.0.2.1:5"), accounts).account is None
    assert identify(near, Peer(1, "10.0.0.1:5", "192.0.2.1:5"), accounts).account is None


def test_without_accounts_everything_is_only_claimed() -> None:
    assert identify(request("ops", "secret of ops"), PEER, AccountFile("", lambda _: None)).claimed == "ops"


def test_no_secret_is_in_what_is_printed(accounts: AccountFile) -> None:
    assert "secret of" not in repr(identify(request("ops", "secret of ops"), PEER, accounts))
