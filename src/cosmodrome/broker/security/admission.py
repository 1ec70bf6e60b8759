"""Who is let in, by which kind of accounts.

Owns: that a request is asked for credentials once, and what it needs of its account.
Must not know: which requests there are; files, but for reading them again.
"""

import asyncio
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

from cosmodrome.broker.clock import Clock
from cosmodrome.broker.config import BrokerConfig
from cosmodrome.broker.security.auth_file import NAME, AuthFile, initial_users
from cosmodrome.broker.security.needs import Needs
from cosmodrome.broker.security.plain_acl_files import PlainAclFiles
from cosmodrome.broker.security.users import Users
from cosmodrome.errors import ConfigError
from cosmodrome.protocol.command import RemotingCommand
from cosmodrome.transport.dispatch import Peer


@dataclass(frozen=True, slots=True, kw_only=True)
class UserTables:
    """The users of 5.x, and their file."""

    users: Users
    file: AuthFile
    unchecked: Collection[int] = ()
    """Requests for which nobody is asked who he is."""
    unjudged: Collection[int] = ()
    """Requests that every user may send."""

    async def keep(self) -> None:
        """Return when a change is on disk.

        Raises:
            StorageError: It is not, and not in force.
        """
        if self.users.is_changed:
            self.users.is_changed = False
            await asyncio.to_thread(self.file.save, self.users)


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """Accounts of one kind, or none: then nobody is asked who he is."""

    plain: PlainAclFiles | None = None
    tables: UserTables | None = None

    @property
    def is_asking(self) -> bool:
        """Whether requests must be signed."""
        return self.plain is not None or self.tables is not None

    def check(self, request: RemotingCommand, peer: Peer, needs: Callable[[], Needs]) -> str:
        """Let a request pass, and give whose it is; empty when nobody was asked.

        Raises:
            RequestRefusedError: It may not pass.
        """
        if self.plain is not None:
            return self.plain.acl.check(request, peer, needs)
        if self.tables is None or request.code in self.tables.unchecked:
            return ""
        user = self.tables.users.authenticate(request)
        if request.code not in self.tables.unjudged:
            self.tables.users.authorize(user, peer, needs())
        return user.username

    def refresh(self) -> None:
        """Look whether files of accounts were changed by hand."""
        if self.plain is not None:
            self.plain.refresh()


def open_admission(config: BrokerConfig, store: Path, clock: Clock) -> Admission:
    """Read the accounts that the settings want.

    Raises:
        ConfigError: There are none, or they cannot be used.
        StorageError: A file cannot be read or written.
    """
    if config.acl_enable:
        if not config.rocketmq_home:
            raise ConfigError(
                "aclEnable=true needs rocketmqHome.",
                keys=("aclEnable", "rocketmqHome"),
                why="accounts are in conf/plain_acl.yml and conf/acl below it.",
                remedy="set rocketmqHome, or ROCKETMQ_HOME in the environment.",
            )
        return Admission(plain=PlainAclFiles(Path(config.rocketmq_home).expanduser() / "conf", clock.wall_ms))
    if not config.authentication_enabled:
        return Admission()
    users, file = Users(is_authorizing=config.authorization_enabled), AuthFile(store / "config" / NAME)
    file.load(users)
    named = initial_users(config.init_authentication_user, config.inner_client_authentication_credentials)
    for user in named:
        if users.user(user.username) is None:
            users.create(user)
    if not users.users():
        raise ConfigError(
            "authenticationEnabled=true without any user.",
            keys=("authenticationEnabled", "initAuthenticationUser"),
            remedy='name the first one: initAuthenticationUser={"username":"...","password":"..."}',
        )
    if users.is_changed:
        users.is_changed = False
        file.save(users)
    unchecked, unjudged = config.unchecked_codes
    return Admission(tables=UserTables(users=users, file=file, unchecked=unchecked, unjudged=unjudged))
