"""Changing one setting in a file.

Owns: that only a good value gets into a file, that nothing else of it changes, and that the old one stays beside it.
Must not know: how that is shown (cli/).
"""

from dataclasses import dataclass
from pathlib import Path

from cosmodrome.broker.config import fault_in
from cosmodrome.configuring.described import PROGRAMS, KeyDescription, Program, keys_of
from cosmodrome.configuring.files import SettingsFile, read_settings_file
from cosmodrome.durable_file import backup_path
from cosmodrome.errors import ConfigError, ConfigFault, MissingError
from cosmodrome.namesrv.config import parse_values
from cosmodrome.namesrv.config_file import similar
from cosmodrome.namesrv.config_store import ConfigStore


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """What was done. `before` is None for a key that was not there; `backup` is where the old file is."""

    key: KeyDescription
    before: str | None
    value: str
    backup: Path | None


def known_key(program: Program, name: str) -> KeyDescription:
    """Give the description of a key.

    Raises:
        MissingError: There is none of this name; the text names the one that was probably meant.
    """
    keys = keys_of(program)
    if name in keys:
        return keys[name]
    guess = similar(name, keys)
    hint = f"did you mean {guess}? " if guess else ""
    raise MissingError(
        f"there is no key {name[:80]!r} of a {PROGRAMS[program]}.",
        remedy=f"{hint}cosmodrome config show has all of them",
    )


def check_value(key: KeyDescription, value: str) -> None:
    """Refuse what is no value of a key.

    Raises:
        ConfigError: It says why.
    """
    if key.program is Program.BROKER:
        fault = fault_in(key.name, value)
    else:
        _, reasons = parse_values({key.name: value})
        fault = f"{key.name} {reasons[key.name]}" if reasons else None
    if fault is not None:
        raise ConfigError(f"{fault}.", keys=(key.name,), faults=[ConfigFault("", key.name, fault)])


def change_file(given: str, program: Program | None, name: str, value: str) -> FileChange:
    """Write one setting into a file that exists, whole or not at all.

    Raises:
        MissingError: There is no such key.
        ConfigError: The file cannot be read, or the value is none.
        StorageError: The file could not be written; it is as it was.
    """
    file = read_settings_file(given, program)
    key = known_key(file.program, name)
    check_value(key, value)
    before = _present(file, name)
    if before == value:
        return FileChange(key=key, before=before, value=value, backup=None)
    ConfigStore(file.path, is_given=True).save({name: value})
    return FileChange(key=key, before=before, value=value, backup=backup_path(file.path))


def _present(file: SettingsFile, name: str) -> str | None:
    entry = file.last().get(name)
    return None if entry is None else entry.value
