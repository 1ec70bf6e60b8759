"""The file that keeps configuration changed at run time.

Owns: reading it as text; changing some keys and leaving the rest as it is; what is done about a damaged one.
Must not know: what the keys do; where else settings come from (config_file.py).
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from cosmodrome.durable_file import Stamp, backup_path, is_special, real_path, replace_file, set_aside, stamp_of
from cosmodrome.errors import ConfigError, StorageError
from cosmodrome.namesrv import properties
from cosmodrome.namesrv.properties import Property

_BLANK = b" \t\r\n\f\0"


class ConfigFormat(Protocol):
    """A module that reads and changes one kind of configuration text."""

    def parse(self, text: str, /) -> tuple[Property, ...]:
        """Read all entries in their order."""

    def updated(self, text: str, changes: Mapping[str, str], /) -> str:
        """Give the text with other values for some keys."""


class ConfigStore:
    """The file in use: that of `-c`, else that at `configStorePath`.

    Args:
        path: The file; it is made by the first change if it is not there.
        overriding: For keys set by environment or flags: where they are set.
        is_given: Whether it was named with `-c`. Several servers may be started with one such file.
        content: What was read from it, or from its previous version.
        damaged_ms: When it was found damaged, since the epoch; it is set aside before the next change.

    Attributes:
        sources: For each key that is not a default: where its value stands. Who reads it all fills it in.
        outdone: For each key whose value in the file is not the one in force: the flag or variable that it loses to.
            Who reads it all fills it in, too.
    """

    def __init__(
        self,
        path: Path,
        overriding: Mapping[str, str] | None = None,
        *,
        is_given: bool = False,
        content: bytes = b"",
        damaged_ms: int | None = None,
    ) -> None:
        self.path = path
        self.sources: Mapping[str, str] = {}
        self.outdone: Mapping[str, str] = {}
        self._written: Stamp | None = None
        self.overriding = dict(overriding or {})
        self.is_given = is_given
        self._content = content
        self._damaged_ms = damaged_ms

    @property
    def is_damaged(self) -> bool:
        """Whether the file is not what was written, and its previous version was read instead."""
        return self._damaged_ms is not None

    def is_ours(self, path: Path, stamp: Stamp | None) -> bool:
        """Tell whether a file with this stamp is what was written here last: no news for who watches it."""
        return stamp is not None and stamp == self._written and path == self.path

    def save(self, changes: Mapping[str, str]) -> tuple[str, ...]:
        """Write these keys into the file, whole or not at all, and touch nothing else in it.

        What a person changed in it meanwhile stays; a file that is gone is written again as it was last known.

        Returns:
            Those keys that the environment or a flag will override at the next start.

        Raises:
            StorageError: The file is as it was.
        """
        try:
            text, encoding = decode(self.path, self._present())
            data = format_of(self.path).updated(text, changes).encode(encoding)
        except OSError as error:
            raise StorageError(f"cannot read {self.path}: {error.strerror or error}.") from error
        except ConfigError as error:
            raise StorageError(
                f"cannot change {self.path}: {error.what}", why="it was edited since the start.", remedy=error.remedy
            ) from error
        self._write(data)
        self.sources = {**self.sources, **dict.fromkeys(changes, str(self.path))}
        return tuple(key for key in changes if key in self.overriding)

    def repair(self) -> None:
        """Set a damaged file aside and put its previous version in its place; do nothing when it is whole.

        Raises:
            StorageError: The disk does not allow it; the next change tries again.
        """
        if self._damaged_ms is not None:
            self._write(self._content)

    def _present(self) -> bytes:
        """Give what the file holds now, or held last."""
        if self._damaged_ms is not None:
            return self._content
        if is_special(self.path):
            raise OSError(None, "it is a folder, a device or a pipe, not a file")
        try:
            return self.path.read_bytes()
        except FileNotFoundError:
            return self._content

    def _write(self, data: bytes) -> None:
        if self._damaged_ms is not None and real_path(self.path).exists():
            set_aside(self.path, self._damaged_ms)
        self._damaged_ms = None
        replace_file(self.path, data)
        self._written = stamp_of(self.path)
        self._content = data


def previous_version(path: Path, data: bytes) -> tuple[bytes, str] | None:
    """Give the previous version of a damaged file of saved settings, and what is wrong with `data`.

    None when nothing is wrong, or when nothing better is there. Only writes of ours leave a previous version.
    """
    damage = _damage(path, data)
    if damage is None:
        return None
    try:
        previous = backup_path(path).read_bytes()
    except OSError:
        return None
    return (previous, damage) if _damage(path, previous) is None else None


def _damage(path: Path, data: bytes) -> str | None:
    """Tell what shows that a file is not what was written: no person saves such a thing."""
    if not data.strip(_BLANK):
        return "it is empty"
    if b"\0" in data:
        return "it holds bytes that are zero"
    try:
        format_of(path).parse(decode(path, data)[0])
    except ConfigError as error:
        return error.what.rstrip(".")
    return None


def format_of(path: Path) -> ConfigFormat:
    """Give the reader for a file, by its name's end: TOML for .toml, else properties."""
    if path.suffix.lower() == ".toml":
        # Its library takes longer to load than everything else at the start.
        from cosmodrome.namesrv import config_toml  # noqa: PLC0415

        return config_toml
    return properties


def decode(path: Path, data: bytes) -> tuple[str, str]:
    """Give the text of a configuration file, and the encoding that turns it back into the same bytes.

    Raises:
        ConfigError: A TOML file is not UTF-8. (Every file is a text for `properties.decode`.)
    """
    text, encoding = properties.decode(data)
    if path.suffix.lower() == ".toml" and encoding != "utf-8":
        raise ConfigError("not UTF-8, as TOML must be.", remedy="save it again as UTF-8.")
    return text, encoding
