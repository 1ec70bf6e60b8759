"""The files of a plain ACL: `conf/plain_acl.yml`, and what is below `conf/acl`.

Owns: reading and changing them; when they are read again; that they are for their owner only.
Must not know: what an account may do (plain_acl.py).
"""

import logging
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from cosmodrome.broker.security.hosts import Pattern, white_patterns
from cosmodrome.broker.security.plain_acl import PlainAccount, PlainAcl, read_account
from cosmodrome.broker.security.secret_files import is_open_to_others, replace_secret_file
from cosmodrome.errors import ConfigError, MissingLibraryError

logger = logging.getLogger(__name__)

MAIN: Final = "plain_acl.yml"
FOLDER: Final = "acl"
LARGEST_FILE_BYTES: Final = 1024 * 1024
MOST_FILES: Final = 1000
ACCOUNTS: Final = "accounts"
WHITE: Final = "globalWhiteRemoteAddresses"
VERSION: Final = "dataVersion"
_SUFFIXES: Final = (".yml", ".yaml")
_KNOWN: Final = frozenset({ACCOUNTS, WHITE, VERSION})
Document = dict[str, Any]
_Stamp = tuple[tuple[str, int, int, int], ...]


class PlainAclFiles:
    """The files below one folder, and the ACL that they come to. One that cannot be used replaces nothing.

    Attributes:
        acl: What is in force.
    """

    def __init__(self, folder: Path, wall_ms: Callable[[], int]) -> None:
        """Read them.

        Raises:
            ConfigError: There are none, or one cannot be used.
            MissingLibraryError: PyYAML is not installed.
        """
        self._folder = folder
        self._wall_ms = wall_ms
        self._stamp = self._stamped()
        self.acl = self._read()

    def refresh(self) -> None:
        """Read them again if one of them is another than last time."""
        stamp = self._stamped()
        if stamp == self._stamp:
            return
        self._stamp = stamp
        try:
            self.acl = self._read()
        except ConfigError as error:
            logger.error("the accounts stay as they were: %s %s", error.what, error.why or "")  # noqa: TRY400 -- not ours
        else:
            logger.info("%d accounts of %s are in force", len(self.acl), self._folder)

    def documents(self) -> dict[Path, Document]:
        """Give each file's document.

        Raises:
            ConfigError: One cannot be used.
        """
        found = {path: _document(path) for path in self._paths()}
        if not found:
            raise _unusable(self._folder / MAIN, "it is not there.")
        _acl_of(found)
        return found

    def change(self, path: Path, document: Mapping[str, Any]) -> None:
        """Write a file, if everything together can be used then, and put it in force.

        Raises:
            ConfigError: It cannot be used; nothing was changed.
            StorageError: It is not kept; nothing was changed.
        """
        now = dict(document)
        kept = now.get(VERSION)
        last = kept[0] if isinstance(kept, list) and kept and isinstance(kept[0], dict) else {}
        counter = last.get("counter")
        count = counter + 1 if isinstance(counter, int) else 1
        now[VERSION] = [{"counter": count, "stateVersion": 0, "timestamp": self._wall_ms()}]
        acl = _acl_of({**self.documents(), path: now})
        yaml = _yaml()
        replace_secret_file(path, yaml.safe_dump(now, sort_keys=False, allow_unicode=True).encode())
        self._stamp, self.acl = self._stamped(), acl

    @property
    def main(self) -> Path:
        """Where accounts go that are in no file yet."""
        return self._folder / MAIN

    def _read(self) -> PlainAcl:
        documents = self.documents()
        for path in documents:
            if is_open_to_others(path):
                logger.warning("%s holds secrets and can be read by others: chmod 600", path)
        return _acl_of(documents)

    def _paths(self) -> list[Path]:
        below = self._folder / FOLDER
        found = [each for each in below.rglob("*") if each.suffix in _SUFFIXES and each.is_file()]
        main = self._folder / MAIN
        return sorted([*([main] if main.is_file() else []), *found])[:MOST_FILES]

    def _stamped(self) -> _Stamp:
        stamps = []
        for path in self._paths():
            try:
                status = path.stat()
            except OSError:
                continue
            if stat.S_ISREG(status.st_mode):
                stamps.append((str(path), status.st_mtime_ns, status.st_size, status.st_ino))
        return tuple(stamps)


def _document(path: Path) -> Document:
    yaml = _yaml()
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST_FILE_BYTES + 1)
        if len(data) > LARGEST_FILE_BYTES:
            raise _unusable(path, f"it has more than {LARGEST_FILE_BYTES} bytes.")
        document = yaml.safe_load(data.decode("utf-8"))
    except OSError as error:
        raise _unusable(path, f"{error.strerror or error}.") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = "" if mark is None else f" in line {mark.line + 1}"
        raise _unusable(path, f"it is no YAML{where}.") from None  # its text would show what stands there
    except (UnicodeDecodeError, RecursionError):
        raise _unusable(path, "it is no YAML in UTF-8.") from None
    if document is None:
        return {}
    if not isinstance(document, dict) or any(key not in _KNOWN for key in document):
        raise _unusable(path, f"it may hold {', '.join(sorted(_KNOWN))} and nothing else.")
    return document


def _acl_of(documents: Mapping[Path, Document]) -> PlainAcl:
    accounts: dict[str, PlainAccount] = {}
    white: list[Pattern] = []
    for path, document in documents.items():
        try:
            for entry in _list(document, ACCOUNTS):
                account = read_account(entry)
                if account.access_key in accounts:
                    raise ValueError(f"accessKey {account.access_key} is there twice")  # noqa: TRY301 -- like others
                accounts[account.access_key] = account
            for text in _list(document, WHITE):
                white += white_patterns(str(text))
        except ValueError as error:
            raise _unusable(path, f"{error}.") from error
    return PlainAcl(accounts.values(), white)


def _list(document: Document, key: str) -> list[Any]:
    found = document.get(key) or []
    if not isinstance(found, list):
        raise ValueError(f"{key} is no list")  # noqa: TRY004 -- the file is wrong, not a caller
    return found


def _unusable(path: Path, why: str) -> ConfigError:
    return ConfigError(f"cannot use the accounts of {path}.", keys=("aclEnable",), why=why)


def _yaml() -> Any:
    try:
        import yaml  # noqa: PLC0415  # an extra, and slow to load
    except ImportError as error:
        raise MissingLibraryError("aclEnable=true", "yaml", "acl") from error
    return yaml
