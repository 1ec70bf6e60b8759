"""The accounts that may sign requests.

Owns: the file of accounts, its checks, and when it is read again.
Must not know: how a request is signed (protocol/acl.py); what a role may do (rules.py).
"""

import ipaddress
import logging
import os
import stat
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Final

import msgspec

from cosmodrome.errors import ConfigError
from cosmodrome.namesrv.config_keys import Network, read_network
from cosmodrome.namesrv.events import AccountsReloaded, AccountsReloadFailed, Publish
from cosmodrome.namesrv.policy.networks import Networks

logger = logging.getLogger(__name__)

SHORTEST_SECRET: Final = 7
"""As Java's plain ACL: longer than six characters."""
LARGEST_FILE_BYTES: Final = 1024 * 1024

_READABLE_BY_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO
_ANYWHERE: Final = (ipaddress.ip_network("0.0.0.0/0"), ipaddress.ip_network("::/0"))


class Role(StrEnum):
    """What an account may do."""

    ADMIN = "admin"
    """Everything that a policy guards."""
    READER = "reader"
    """The reads that `hardened` guards."""
    BROKER = "broker"
    """What brokers send, and the reads that `hardened` guards."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """One account. Its secret is in no representation of it. `networks` are where it may be used from."""

    access_key: str
    secret_key: str = field(repr=False)
    role: Role
    networks: Networks = _ANYWHERE


class _AccountEntry(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    access_key: str
    secret_key: str
    role: Role
    networks: tuple[str, ...] | None = None


class _Document(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    account: tuple[_AccountEntry, ...] = ()


class AccountFile:
    """The accounts in force: those of the file as it was when it was last good."""

    def __init__(self, path: str, publish: Publish) -> None:
        """Take the path of the file, empty for no accounts; nothing is read yet."""
        self._path = Path(path) if path else None
        self._publish = publish
        self._accounts: Mapping[str, Account] = {}
        self._stamp: tuple[int, ...] = ()

    def __len__(self) -> int:
        return len(self._accounts)

    def get(self, access_key: str) -> Account | None:
        """Give an account, or None."""
        return self._accounts.get(access_key)

    def load(self) -> None:
        """Read the file for the first time.

        Raises:
            ConfigError: It cannot be used.
        """
        if self._path is not None:
            self._stamp = _stamp_of(self._path)
            self._accounts = read_accounts(self._path)

    def refresh(self) -> None:
        """Read the file again if it is another one than last time; one that cannot be used replaces nothing."""
        if self._path is None:
            return
        stamp = _stamp_of(self._path)
        if stamp == self._stamp:
            return
        self._stamp = stamp
        try:
            self._accounts = read_accounts(self._path)
        except ConfigError as error:
            reason = f"{error.what} {error.why or ''}".rstrip()
            self._publish(AccountsReloadFailed(reason=reason, accounts_kept=len(self._accounts)))
        else:
            self._publish(AccountsReloaded(accounts=len(self._accounts)))


def read_accounts(path: Path) -> Mapping[str, Account]:
    """Read a file of accounts, by access key; one that others may read is used, and that is said in the log.

    Raises:
        ConfigError: It cannot be read, or holds something that is no account. No text names a secret.
    """
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            data = file.read(LARGEST_FILE_BYTES + 1)
    except OSError as error:
        raise _unusable(path, f"{error.strerror or error}.") from error
    if len(data) > LARGEST_FILE_BYTES:
        raise _unusable(path, f"it has more than {LARGEST_FILE_BYTES} bytes.")
    try:
        document = msgspec.convert(tomllib.loads(data.decode("utf-8")), _Document)
        accounts = _checked(document)
    except RecursionError as error:
        raise _unusable(path, "it is nested too deeply.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError, ValueError) as error:
        raise _unusable(path, f"{error}.") from error
    if not any(account.networks for account in accounts.values()):
        raise _unusable(path, "no account of it can be used; for no accounts at all leave aclFile out.")
    if os.name != "nt" and mode & _READABLE_BY_OTHERS:
        logger.warning("aclFile %s can be read by others (mode %03o): chmod 600", path, stat.S_IMODE(mode))
    return accounts


def _checked(document: _Document) -> dict[str, Account]:
    accounts: dict[str, Account] = {}
    for number, entry in enumerate(document.account, start=1):
        name = entry.access_key
        if not name or not name.isprintable():
            raise ValueError(f"account {number} needs an accessKey of printable characters")
        if name in accounts:
            raise ValueError(f"accessKey {name} is there twice")
        if len(entry.secret_key) < SHORTEST_SECRET:
            raise ValueError(f"the secretKey of {name} must have at least {SHORTEST_SECRET} characters")
        networks = _ANYWHERE if entry.networks is None else tuple(_network(name, each) for each in entry.networks)
        accounts[name] = Account(access_key=name, secret_key=entry.secret_key, role=entry.role, networks=networks)
    return accounts


def _network(name: str, text: str) -> Network:
    try:
        return read_network(text)
    except ValueError as error:
        raise ValueError(f"networks of {name}: it {error}") from None


def _stamp_of(path: Path) -> tuple[int, ...]:
    """Give what changes when the file is written or replaced; empty when there is none."""
    try:
        status = path.stat()
    except OSError:
        return ()
    return (status.st_mtime_ns, status.st_size, status.st_ino, status.st_dev)


def _unusable(path: Path, why: str) -> ConfigError:
    return ConfigError(
        f"cannot use the aclFile {path}.",
        keys=("aclFile",),
        why=why,
        remedy="each account is a [[account]] with accessKey, secretKey and role (admin, reader or broker); "
        "see docs/policy.md",
    )
