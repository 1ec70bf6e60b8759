"""What is wrong in a file of settings, line by line, as the server of this release would see it.

Owns: finding every fault of a file at once, for both programs.
Must not know: how faults are shown (cli/); what is allowed and yet unwise (linting/).
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass

from cosmodrome.broker.config import BrokerConfig, fault_in, values_of
from cosmodrome.configuring.described import Program, broker_keys
from cosmodrome.configuring.files import SettingsFile, read_settings_file
from cosmodrome.configuring.java_broker_keys import ENVIRONMENT_KEYS, JAVA_BROKER_KEYS
from cosmodrome.errors import ConfigError, ConfigFault
from cosmodrome.namesrv.config_file import ConfigSources, load_config, similar
from cosmodrome.namesrv.properties import Property


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedFile:
    """What was found: `faults` prevent a start, `warnings` do not.

    `program` is None when it could not be read; with `fits_both` nothing tells that it is not the other one's.
    """

    shown: str
    program: Program | None
    faults: tuple[ConfigFault, ...]
    warnings: tuple[str, ...] = ()
    fits_both: bool = False


def check_file(given: str, program: Program | None = None) -> CheckedFile:
    """Check a file by itself, without environment and flags. Whatever is wrong is in the result."""
    try:
        file = read_settings_file(given, program)
    except ConfigError as error:
        return CheckedFile(shown=given, program=None, faults=(ConfigFault("", "", error.what.rstrip(".")),))
    if file.program is Program.NAMESRV:
        return _checked_namesrv(file)
    warnings = [
        f"{file.place(later)}: {later.key} replaces that of line {earlier.line}" for earlier, later in file.repeated()
    ]
    return CheckedFile(shown=given, program=file.program, faults=tuple(broker_faults(file)), warnings=tuple(warnings))


def _checked_namesrv(file: SettingsFile) -> CheckedFile:
    try:
        loaded = load_config(ConfigSources(file=file.shown))
    except ConfigError as error:
        faults = error.faults or (ConfigFault("", "", error.what.rstrip(".")),)
        return CheckedFile(shown=file.shown, program=file.program, faults=faults)
    warnings = tuple(note.text for note in loaded.notes if note.level >= logging.WARNING)
    return CheckedFile(
        shown=file.shown, program=file.program, faults=(), warnings=warnings, fits_both=not file.is_certain
    )


def broker_faults(file: SettingsFile) -> list[ConfigFault]:
    """Give every setting of a file with which a broker of this release would not start, were there nothing else."""
    faults = key_faults(file)
    guilty = {fault.key for fault in faults}
    good = {key: entry for key, entry in file.last().items() if key not in guilty}
    return faults + _faults_together(file, good)


def key_faults(file: SettingsFile) -> list[ConfigFault]:
    """Give every setting of a broker's file that cannot be used, whatever the others are."""
    known = broker_keys()
    found = (_fault_of(file, entry, known) for entry in file.last().values())
    return [fault for fault in found if fault is not None]


def _fault_of(file: SettingsFile, entry: Property, known: Mapping[str, object]) -> ConfigFault | None:
    if entry.key in known:
        text = fault_in(entry.key, entry.value)
        return None if text is None else ConfigFault(file.place(entry), entry.key, text)
    if entry.key in JAVA_BROKER_KEYS or entry.key in ENVIRONMENT_KEYS:
        text = f"{entry.key} is a key of Apache's brokers that this one does not have"
        return ConfigFault(file.place(entry), entry.key, text)
    shown = "".join(char if char.isprintable() else "?" for char in entry.key[:80])
    return ConfigFault(file.place(entry), entry.key, f'unknown key "{shown}"', similar(entry.key, known))


def _faults_together(file: SettingsFile, entries: dict[str, Property]) -> list[ConfigFault]:
    """Give what contradicts each other, one after the other: what is at fault is left out before the next look."""
    faults = []
    left = dict(entries)
    while left:
        try:
            BrokerConfig(**values_of({key: entry.value for key, entry in left.items()}))
        except ConfigError as error:
            guilty = [key for key in error.keys if key in left]
            place = file.place(left[guilty[0]]) if guilty else ""
            faults.append(ConfigFault(place, guilty[0] if guilty else "", error.what.rstrip(".")))
            if not guilty:
                break
            for key in guilty:
                del left[key]
        else:
            break
    return faults
