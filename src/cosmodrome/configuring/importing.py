"""What a file made for Apache's servers comes to here.

Owns: for each of its keys whether it counts here, counts otherwise, or does not count, and why; the file that has the
    same effect here.
Must not know: how that is shown (cli/).
"""

import dataclasses
import enum
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from cosmodrome.broker.config import fault_in
from cosmodrome.configuring.described import KeyDescription, Program, keys_of
from cosmodrome.configuring.files import SettingsFile
from cosmodrome.configuring.java_broker_keys import ENVIRONMENT_KEYS, JAVA_BROKER_KEYS, SYSTEM_PREFIXES, JavaType
from cosmodrome.namesrv import properties
from cosmodrome.namesrv.config import KEYS, parse_values
from cosmodrome.namesrv.config_file import similar
from cosmodrome.namesrv.config_keys import CONTROLLER_KEYS, NETTY_CLIENT_KEYS, Effect, Family, Kind, text_of
from cosmodrome.namesrv.properties import Property

_INT: Final = re.compile(r"[+-]?[0-9]{1,19}")
_WITHOUT_FIELD: Final = dict.fromkeys(NETTY_CLIENT_KEYS, "of Netty's client, which is not here") | dict.fromkeys(
    CONTROLLER_KEYS, "of the embedded controller, which is not here: run Java's beside this server"
)
_FROM_THE_COMMAND_LINE: Final = "Java reads it from -D only, and not from this file; here it counts"
_BITS: Final = {Kind.INT: 31, Kind.LONG: 63}
_JAVA_KINDS: Final = {
    JavaType.BOOLEAN: Kind.BOOLEAN,
    JavaType.INT: Kind.INT,
    JavaType.LONG: Kind.LONG,
    JavaType.TEXT: Kind.TEXT,
}
_IDENTITY: Final = frozenset({"brokerRole", "brokerId"})
"""Keys of a broker that must not get another value: it would be another broker."""


class Fate(enum.StrEnum):
    """What becomes of a key."""

    HONOURED = "honoured"
    """It counts as it did."""
    CHANGED = "changed"
    """It counts, with another name or value than the file has; or it counts here and did not there."""
    IGNORED = "ignored"
    """It has no effect here."""
    REFUSED = "refused"
    """It cannot be had here, and nothing may be put in its place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedKey:
    """A key of the file.

    Attributes:
        key: Its name there.
        line: Where it stands.
        text: Its text there.
        fate: What becomes of it.
        reason: Why; empty for one that counts as it did.
        new_key: Its name here; None when it is left out of the new file.
        new_text: Its text here.
    """

    key: str
    line: int
    text: str
    fate: Fate
    reason: str = ""
    new_key: str | None = None
    new_text: str = ""

    @property
    def is_kept(self) -> bool:
        """Whether its line can stay as it is."""
        return self.new_key == self.key and self.new_text == self.text


def imported(file: SettingsFile) -> list[ImportedKey]:
    """Say what becomes of each key of a file; of a repeated one the last counts, as in Java."""
    keys = keys_of(file.program)
    say = _of_namesrv if file.program is Program.NAMESRV else _of_broker
    counting = file.last()
    found = []
    for entry in file.entries:
        if counting[entry.key] is entry:
            found.append(say(entry, keys))
        else:
            found.append(_left_out(entry, f"line {counting[entry.key].line} has it again, and counts"))
    return found


def differing_defaults(file: SettingsFile) -> list[str]:
    """Say which settings that the file leaves out have another default here."""
    if file.program is Program.BROKER:
        return ["flushDiskType, fileReservedTime and all others have Java's defaults; storePathRootDir is ~/store"]
    missing = {"kvConfigPath", "configStorePath"} - file.last().keys()
    texts = {
        "kvConfigPath": "kvConfigPath: Java keeps KV entries in ~/namesrv/kvConfig.json, this server in its dataDir; "
        "copy that file, or set the key",
        "configStorePath": "configStorePath: Java keeps changes in ~/namesrv/namesrv.properties unless -c is given, this "
        "server in its dataDir",
    }
    return [text for key, text in texts.items() if key in missing]


def new_text(file: SettingsFile, keys: list[ImportedKey]) -> str:
    """Give the new file: the old one, with changed lines, and those that do not count here as comments."""
    sources = {each.line: _line(each) for each in keys if not each.is_kept}
    return properties.with_lines(file.text, sources)


def new_values(keys: list[ImportedKey]) -> dict[str, str]:
    """Give what the new file sets."""
    return {each.new_key: each.new_text for each in keys if each.new_key is not None}


def _line(each: ImportedKey) -> str:
    note = f"# {each.reason}\n"
    if each.new_key is None:
        return f"{note}#{properties.entry(each.key, each.text)}"
    return note + properties.entry(each.new_key, each.new_text)


def _kept(entry: Property, fate: Fate, reason: str = "") -> ImportedKey:
    return ImportedKey(
        key=entry.key,
        line=entry.line,
        text=entry.value,
        fate=fate,
        reason=reason,
        new_key=entry.key,
        new_text=entry.value,
    )


def _left_out(entry: Property, reason: str, fate: Fate = Fate.IGNORED) -> ImportedKey:
    return ImportedKey(key=entry.key, line=entry.line, text=entry.value, fate=fate, reason=reason)


def _of_namesrv(entry: Property, keys: Mapping[str, KeyDescription]) -> ImportedKey:
    name = entry.key
    if name not in KEYS:
        reason = _WITHOUT_FIELD.get(name)
        return _unknown(entry, keys) if reason is None else _kept(entry, Fate.IGNORED, reason)
    key = KEYS[name]
    if key.family is Family.COSMODROME:
        return _kept(entry, Fate.HONOURED)
    if key.family is Family.SYSTEM:
        return _checked_namesrv(entry, entry.value, _FROM_THE_COMMAND_LINE)
    imported_key = _checked_namesrv(entry, java_value(entry.value, key.kind, keys[name].default), "")
    if name == "configStorePath":
        return dataclasses.replace(imported_key, fate=Fate.IGNORED, reason="changes are kept in the file of -c itself")
    if key.effect is Effect.NONE and name != "enableControllerInNamesrv":
        reason = f"{key.meaning}: there is no such thing to set here"
        return dataclasses.replace(imported_key, fate=Fate.IGNORED, reason=reason)
    return imported_key


def _checked_namesrv(entry: Property, wanted: str, reason: str) -> ImportedKey:
    """Take a value if it is one here, else the default; say so when the file's text is another one."""
    key = KEYS[entry.key]
    values, faults = parse_values({entry.key: wanted})
    if faults:
        default = text_of(getattr(_defaults(), key.field_name)) or ""
        reason = f"{faults[entry.key]}; here it is {default}"
        return dataclasses.replace(_kept(entry, Fate.CHANGED, reason), new_text=default)
    return _with_value(entry, wanted, _as_read(entry.key, entry.value) == values[entry.key], reason)


def _with_value(entry: Property, wanted: str, is_same: bool, reason: str) -> ImportedKey:  # noqa: FBT001 -- a fact
    if is_same:
        return _kept(entry, Fate.CHANGED if reason else Fate.HONOURED, reason)
    said = f'Java takes "{_shown(entry.value)}" for {wanted or "nothing"}'
    return dataclasses.replace(_kept(entry, Fate.CHANGED, "; ".join(filter(None, (reason, said)))), new_text=wanted)


def _as_read(name: str, text: str) -> object:
    values, _ = parse_values({name: text})
    return values.get(name)


def _defaults() -> object:
    from cosmodrome.namesrv.config import NamesrvConfig  # noqa: PLC0415  # its paths depend on the environment

    return NamesrvConfig()


def _of_broker(entry: Property, keys: Mapping[str, KeyDescription]) -> ImportedKey:
    name = entry.key
    if name not in keys:
        if name in JAVA_BROKER_KEYS or name in ENVIRONMENT_KEYS:
            return _left_out(entry, "a key of Apache's brokers that this one does not have")
        return _unknown(entry, keys)
    java = JAVA_BROKER_KEYS.get(name)
    kind = Kind.TEXT if java is None else _JAVA_KINDS.get(java.type, Kind.TEXT)
    wanted = java_value(entry.value, kind, keys[name].default)
    fault = fault_in(name, wanted)
    if fault is not None and name in _IDENTITY:
        return _left_out(entry, f"{fault}: this broker is no slave", Fate.REFUSED)
    if fault is not None:
        default = keys[name].default
        return dataclasses.replace(_kept(entry, Fate.CHANGED, f"{fault}; here it is {default}"), new_text=default)
    reason = _FROM_THE_COMMAND_LINE if name.startswith(SYSTEM_PREFIXES) else ""
    is_same = entry.value.strip().lower() == wanted.lower() if kind is Kind.BOOLEAN else entry.value.strip() == wanted
    return _with_value(entry, wanted, is_same, reason)


def _unknown(entry: Property, keys: Mapping[str, KeyDescription]) -> ImportedKey:
    guess = similar(entry.key, keys)
    hint = f"; did you mean {guess}?" if guess else ""
    return _left_out(entry, f"no key of this program, of Apache's neither{hint}")


def java_value(text: str, kind: Kind, default: str) -> str:
    """Give what Java has in force for a text: a word that is not true is false, a number that it cannot read is the default."""
    if kind is Kind.BOOLEAN:
        return "true" if text.lower() == "true" else "false"
    if kind in _BITS:
        limit = 1 << _BITS[kind]
        is_number = _INT.fullmatch(text) is not None and -limit <= int(text) < limit
        return str(int(text)) if is_number else default
    return text.strip()


def _shown(text: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in text[:60])
