"""The file of accounts: what is no file of accounts, and what then stays in force."""

from pathlib import Path

import pytest
from tests.support.callers import write_accounts

from cosmodrome.errors import ConfigError
from cosmodrome.namesrv.events import AccountsReloaded, AccountsReloadFailed, Event
from cosmodrome.namesrv.policy.accounts import AccountFile, read_accounts

OPS = {"accessKey": "ops", "secretKey": "secret of ops", "role": "admin"}


@pytest.mark.parametrize("text", ["", "# none yet\n", "account = []\n"])
def test_a_file_without_an_account_cannot_be_used(tmp_path: Path, text: str) -> None:
    file = tmp_path / "accounts.toml"
    file.write_text(text)

    with pytest.raises(ConfigError, match="cannot use the aclFile") as caught:
        read_accounts(file)
    assert "no account" in (caught.value.why or "")


def test_nor_can_one_whose_accounts_are_allowed_nowhere(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot use the aclFile"):
        read_accounts(write_accounts(tmp_path / "accounts.toml", [OPS | {"networks": []}]))


def test_one_that_was_truncated_replaces_nothing(tmp_path: Path) -> None:
    events: list[Event] = []
    path = write_accounts(tmp_path / "accounts.toml", [OPS])
    accounts = AccountFile(str(path), events.append)
    accounts.load()

    path.write_text("")
    accounts.refresh()
    assert accounts.get("ops") is not None
    assert isinstance(events[0], AccountsReloadFailed)
    assert "no account" in events[0].reason

    write_accounts(path, [OPS | {"accessKey": "others"}])
    accounts.refresh()
    assert accounts.get("ops") is None
    assert type(events[-1]) is AccountsReloaded


@pytest.mark.parametrize("network", ["10.1.2.3/8", "::ffff:10.0.0.0/104", "here"])
def test_networks_are_what_they_seem(tmp_path: Path, network: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_accounts(write_accounts(tmp_path / "accounts.toml", [OPS | {"networks": [network]}]))
    assert "networks of ops: it must hold" in (caught.value.why or "")
    assert "10.0.0.0/8" in (caught.value.why or "")
