"""One file of settings, as it was written.

Owns: reading it with line numbers; telling a NameServer's file from a broker's.
Must not know: whether its values are good (checking.py), or wise (linting/).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cosmodrome.configuring.described import TITLES, Program, broker_keys, namesrv_keys
from cosmodrome.configuring.java_broker_keys import JAVA_BROKER_KEYS
from cosmodrome.errors import ConfigError
from cosmodrome.namesrv.config_keys import KEYS_WITHOUT_FIELD
from cosmodrome.namesrv.config_store import decode, format_of
from cosmodrome.namesrv.properties import Property

_LARGEST_BYTES: Final = 4 * 1024 * 1024
_NAMESRV_WORDS: Final = ("namesrv", "nameserver", "name-server")


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsFile:
    """What a file holds.

    Attributes:
        shown: Its name as it was given, for places such as `broker.conf:7`.
        path: Where it is.
        program: Whose settings they are.
        data: All of it.
        text: The same as text.
        entries: Its settings in their order, duplicates among them.
        is_certain: Whether something tells that it is not the other program's.
    """

    shown: str
    path: Path
    program: Program
    data: bytes
    text: str
    entries: tuple[Property, ...]
    is_certain: bool = True

    def place(self, entry: Property) -> str:
        """Give where an entry stands."""
        return f"{self.shown}:{entry.line}" if entry.line else self.shown

    def last(self) -> dict[str, Property]:
        """Give the entries that count: of a key that is there twice the last one."""
        return {each.key: each for each in self.entries}

    def repeated(self) -> list[tuple[Property, Property]]:
        """Give each entry that an earlier one of the same key is replaced by, after that one."""
        seen: dict[str, Property] = {}
        pairs = []
        for each in self.entries:
            if each.key in seen:
                pairs.append((seen[each.key], each))
            seen[each.key] = each
        return pairs


def read_settings_file(given: str, program: Program | None = None) -> SettingsFile:
    """Read a file; without `program` its name and keys tell whose it is.

    Raises:
        ConfigError: It cannot be read, or is no such text.
    """
    path = Path(given)
    try:
        with path.open("rb") as file:
            data = file.read(_LARGEST_BYTES + 1)
    except OSError as error:
        raise ConfigError(
            f"cannot read {given}: {error.strerror or error}.", remedy="name an existing file that this user may read."
        ) from error
    if len(data) > _LARGEST_BYTES:
        raise ConfigError(f"{given} is longer than {_LARGEST_BYTES} bytes.", why="no file of settings is.")
    try:
        text, _ = decode(path, data)
        entries = format_of(path).parse(text)
    except ConfigError as error:
        raise ConfigError(f"{given}: {error.what}", why=error.why, remedy=error.remedy) from error
    whose = program or program_of(path, (each.key for each in entries), text)
    return SettingsFile(
        shown=given,
        path=path,
        program=whose or Program.NAMESRV,
        data=data,
        text=text,
        entries=entries,
        is_certain=whose is not None,
    )


def program_of(path: Path, keys: Iterable[str], text: str) -> Program | None:
    """Tell whose file it is; None when nothing does.

    Whose keys it holds more of; when neither, its first line if `config init` wrote it, then its name.
    """
    namesrv = namesrv_keys().keys() | KEYS_WITHOUT_FIELD
    broker = broker_keys().keys() | JAVA_BROKER_KEYS.keys()
    held = list(keys)
    balance = sum(key in broker and key not in namesrv for key in held)
    balance -= sum(key in namesrv and key not in broker for key in held)
    if balance:
        return Program.BROKER if balance > 0 else Program.NAMESRV
    marked = next((program for program, title in TITLES.items() if text.startswith(f"# {title}.")), None)
    return marked or _named(path.name.lower())


def _named(name: str) -> Program | None:
    if "broker" in name:
        return Program.BROKER
    if name.endswith(".toml") or any(word in name for word in _NAMESRV_WORDS):
        return Program.NAMESRV
    return Program.BROKER if name.endswith(".conf") else None
