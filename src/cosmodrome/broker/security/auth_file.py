"""The file of users and of what they may do: `config/auth.json` below the store.

Owns: reading and writing it; the users that settings name.
Must not know: what anybody may do.

Apache's 5.x keeps the same in RocksDB. Passwords are secrets of signatures, so they cannot be kept as hashes: the file
is for its owner only.
"""

import logging
from pathlib import Path
from typing import Final

from cosmodrome.broker.security.secret_files import is_open_to_others, replace_secret_file
from cosmodrome.broker.security.users import ENABLE, SUPER, Users
from cosmodrome.durable_file import backup_path
from cosmodrome.errors import ConfigError, MalformedBodyError, RequestRefusedError, StorageError
from cosmodrome.protocol.bodies.auth import AuthTables, InitialUser, InnerCredentials, UserInfo
from cosmodrome.protocol.json_structs import decode_body, to_json
from cosmodrome.store.config_files import encode_document

logger = logging.getLogger(__name__)

NAME: Final = "auth.json"


class AuthFile:
    """One file."""

    def __init__(self, path: Path) -> None:
        """Use this; nothing is read yet."""
        self.path = path

    def load(self, users: Users) -> None:
        """Fill the tables with what was kept, nothing when there is no file.

        Raises:
            StorageError: It cannot be read in any version: a start without it would let nobody, or anybody, in.
        """
        faults = []
        for path in (self.path, backup_path(self.path)):
            try:
                tables = decode_body(AuthTables, path.read_bytes())
                users.load(tables.users, tables.acls)
            except FileNotFoundError:
                continue
            except OSError as error:
                faults.append(error.strerror or str(error))
            except (MalformedBodyError, RequestRefusedError):
                faults.append(f"{path.name} is damaged")
            else:
                if is_open_to_others(path):
                    logger.warning("%s holds secrets and can be read by others: chmod 600", path)
                return
        if faults:
            raise StorageError(f"cannot use the users of {self.path}: {'; '.join(faults)}.")

    def save(self, users: Users) -> None:
        """Write the tables, on disk before this returns.

        Raises:
            StorageError: The file is as it was.
        """
        tables = AuthTables(users=users.users(), acls=users.acls())
        replace_secret_file(self.path, encode_document(to_json(tables)))


def initial_users(initial: str, inner: str) -> tuple[UserInfo, ...]:
    """Give the super users that `initAuthenticationUser` and `innerClientAuthenticationCredentials` name.

    Raises:
        ConfigError: One of them is not what it must be; the text shows nothing of it.
    """
    found = []
    if initial:
        try:
            first = decode_body(InitialUser, initial.encode())
        except MalformedBodyError:
            raise _unreadable("initAuthenticationUser", '{"username":"...","password":"..."}') from None
        found.append(_super_user(first.username, first.password))
    if inner:
        own = inner_credentials(inner)
        found.append(_super_user(own.access_key, own.secret_key))
    return tuple(found)


def inner_credentials(text: str) -> InnerCredentials:
    """Read the account by which a broker signs what it sends.

    Raises:
        ConfigError: It is none; the text shows nothing of it.
    """
    try:
        return decode_body(InnerCredentials, text.encode())
    except MalformedBodyError:
        example = '{"accessKey":"...","secretKey":"..."}'
        raise _unreadable("innerClientAuthenticationCredentials", example) from None


def _super_user(name: str, password: str) -> UserInfo:
    return UserInfo(username=name, password=password, user_type=SUPER, user_status=ENABLE)


def _unreadable(key: str, example: str) -> ConfigError:
    return ConfigError(f"{key} cannot be used.", keys=(key,), remedy=f"write it like {example}")
