"""Where configuration comes from.

Owns: the order of defaults, file, environment and flags; what is wrong in them and where; which file is in use.
Must not know: what the keys do; the command line's grammar (cli/).
"""

import difflib
import logging
import os
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, cast

from cosmodrome.durable_file import aside_path, backup_path
from cosmodrome.errors import ConfigError, ConfigFault
from cosmodrome.namesrv.config import KEYS, NamesrvConfig, parse_values
from cosmodrome.namesrv.config_keys import ENVIRONMENT_PREFIX, KEYS_WITHOUT_FIELD, LISTS, Effect
from cosmodrome.namesrv.config_store import ConfigStore, decode, format_of, previous_version
from cosmodrome.namesrv.properties import Property

JAVA_ENVIRONMENT: Final[Mapping[str, str]] = {
    "ROCKETMQ_HOME": "rocketmqHome",
    "ROCKETMQ_SERIALIZE_TYPE": "rocketmq.serialize.type",
}
"""Variables of the Java NameServer that are read too; the file overrides them."""

OTHER_ENVIRONMENT: Final = frozenset(
    {
        "COSMODROME_LOG_FORMAT",
        "COSMODROME_LOG_LEVEL",
        "COSMODROME_RIG",
        "COSMODROME_ROOT",
    }
)
"""Variables with our prefix that are not keys: those of the command line, and of the project's own scripts."""

# What Kubernetes and Docker links put into the environment of everyone when a service is called cosmodrome-something.
_SERVICE_LINK: Final = re.compile(
    r"\w+_SERVICE_HOST|\w+_SERVICE_PORT(_\w+)?|\w+_PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?"
)
_SERVICE_URL: Final = re.compile(r"(tcp|udp|sctp)://.*")


@dataclass(frozen=True, slots=True)
class Setting:
    """A text for a key, and where it stands: `namesrv.properties:12`, `--set`, a variable's name."""

    key: str
    text: str
    origin: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """Something about the configuration that its user should read; `level` is one of `logging`."""

    text: str
    level: int = logging.INFO


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigSources:
    """What a configuration is made from.

    Attributes:
        file: The file named with `-c`, as given. None: the file at `configStorePath` if there is one.
        environment: Environment variables; only those with our prefix, and Java's two, are looked at.
        flags: Settings of the command line; a later one wins.
        lenient: Whether unknown keys are noted instead of refused.
    """

    file: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    flags: Sequence[Setting] = ()
    lenient: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedConfig:
    """A valid configuration and its history.

    Attributes:
        config: The values in force.
        sources: For each key that is not a default: where its value stands.
        path: The file that was read, None when there is none.
        notes: What to tell the user at the start.
        store: The file that keeps changes made at run time.
    """

    config: NamesrvConfig
    sources: Mapping[str, str]
    path: Path | None
    notes: tuple[Note, ...]
    store: ConfigStore


def load_config(sources: ConfigSources) -> LoadedConfig:
    """Read everything, check everything, and give the configuration in force.

    Raises:
        ConfigError: Something is wrong; the text names every place, and no socket was opened.
    """
    problems = _Problems(lenient=sources.lenient)
    loaded = _loaded(sources, problems)
    problems.raise_if_any()
    return loaded


def load_usable(sources: ConfigSources) -> LoadedConfig:
    """Give what a configuration comes to without the settings that cannot be used: for who only looks.

    Raises:
        ConfigError: The file cannot be read at all.
    """
    return _loaded(sources, _Problems(lenient=sources.lenient))


def _loaded(sources: ConfigSources, problems: "_Problems") -> LoadedConfig:
    outer = problems.usable([*_environment_settings(sources.environment, problems), *sources.flags])
    path = _file_in_use(sources.file, outer)
    file = _read_file(path, sources.file, problems) if path else _File()
    read = problems.usable(_file_settings(path, file, as_given=sources.file, problems=problems) if path else [])
    java = problems.usable(_java_environment_settings(sources.environment))
    settings = {each.key: each for each in (*java, *read, *outer)}
    values, _ = parse_values({key: each.text for key, each in settings.items() if key in KEYS})
    if path:
        values["configStorePath"] = sources.file or str(path)
    config = NamesrvConfig(**{KEYS[key].field_name: value for key, value in values.items()})  # type: ignore[arg-type]
    _check_paths(config, problems)
    store = ConfigStore(
        path or Path(config.config_store_path),
        {each.key: each.origin for each in outer},
        is_given=sources.file is not None,
        content=file.data,
        damaged_ms=file.damaged_ms,
    )
    store.sources = {key: each.origin for key, each in settings.items()}
    store.outdone = _outdone(read, outer)
    return LoadedConfig(
        config=config,
        sources=store.sources,
        path=path,
        notes=(*problems.notes, *_effect_notes(read), *_left_behind_notes(config, settings)),
        store=store,
    )


class _Problems:
    """Collects what is wrong, so that a user sees all of it at once."""

    def __init__(self, *, lenient: bool) -> None:
        self.notes: list[Note] = []
        self._lenient = lenient
        self._has_unknown = False
        self._found: list[ConfigFault] = []

    def add(self, fault: ConfigFault) -> None:
        """Take one problem."""
        self._found.append(fault)

    def warn(self, text: str) -> None:
        """Take something that does not prevent a start."""
        self.notes.append(Note(text=text, level=logging.WARNING))

    def unknown(self, fault: ConfigFault) -> None:
        """Take an unknown name."""
        if self._lenient:
            guess = f"; did you mean {fault.guess}?" if fault.guess else ""
            self.warn(f"{fault.render()} is ignored{guess}")
        else:
            self._has_unknown = True
            self._found.append(fault)

    def usable(self, settings: Iterable[Setting]) -> list[Setting]:
        """Give the settings whose key exists and whose text is a value of it, and take the others as problems."""
        kept = []
        for each in settings:
            if each.key in KEYS:
                _, reasons = parse_values({each.key: each.text})
                for key, reason in reasons.items():
                    self.add(ConfigFault(each.origin, key, f"{key} {reason}"))
                kept += [] if reasons else [each]
            elif each.key in KEYS_WITHOUT_FIELD:
                kept.append(each)
            else:
                text = f'unknown key "{_shown(each.key)}"'
                self.unknown(ConfigFault(each.origin, each.key, text, similar(each.key, KEYS)))
        return kept

    def raise_if_any(self) -> None:
        """Raise what was collected."""
        keys = [each.key for each in self._found]
        lenient = "To ignore unknown keys: --lenient" if self._has_unknown else None
        match self._found:
            case []:
                return
            case [only]:
                remedy = " ".join(filter(None, (only.guess and f"did you mean {only.guess}?", lenient)))
                raise ConfigError(f"{only.render()}.", keys=keys, remedy=remedy or None, faults=self._found)
            case several:
                lines = "".join(
                    f"\n  {each.render()}" + (f" (did you mean {each.guess}?)" if each.guess else "")
                    for each in several
                )
                what = f"{len(several)} settings cannot be used:{lines}"
                raise ConfigError(what, keys=keys, remedy=lenient, faults=self._found)


def _environment_settings(environment: Mapping[str, str], problems: _Problems) -> list[Setting]:
    names = {key.environment_name: name for name, key in KEYS.items()}
    settings = []
    for variable, text in environment.items():
        if not variable.startswith(ENVIRONMENT_PREFIX) or variable in OTHER_ENVIRONMENT:
            continue
        if variable in names:
            settings.append(Setting(names[variable], text, variable))
        elif not (_SERVICE_LINK.fullmatch(variable) or _SERVICE_URL.fullmatch(text)):
            guess = similar(
                variable.removeprefix(ENVIRONMENT_PREFIX), [key.field_name.upper() for key in KEYS.values()]
            )
            what = f"unknown environment variable {_shown(variable)}"
            problems.unknown(ConfigFault("", variable, what, guess and ENVIRONMENT_PREFIX + guess))
    return settings


def _java_environment_settings(environment: Mapping[str, str]) -> list[Setting]:
    """Give Java's variables that are set to something; a blank one counts as not set, as in Java."""
    return [
        Setting(key, environment[variable], variable)
        for variable, key in JAVA_ENVIRONMENT.items()
        if environment.get(variable, "").strip()
    ]


def _outdone(read: Sequence[Setting], outer: Sequence[Setting]) -> dict[str, str]:
    """Give the keys that the file gives another value than environment or flags, and which of those wins."""
    winners = {each.key: each for each in outer if each.key in KEYS}
    texts = {each.key: each.text for each in read if each.key in winners}
    written, _ = parse_values(texts)
    in_force, _ = parse_values({key: winners[key].text for key in texts})
    return {key: winners[key].origin for key in texts if written[key] != in_force[key]}


def _file_in_use(given: str | None, outer: Sequence[Setting]) -> Path | None:
    """Give the file to read: the one named with -c, else the one where changes are kept, if it exists."""
    if given is not None:
        return Path(given)
    path = _saved_settings(outer)
    return path if path.is_file() else None


def saved_settings(environment: Mapping[str, str]) -> Path:
    """Give the file that a server without -c reads if it is there, and keeps changes in."""
    return _saved_settings(_environment_settings(environment, _Problems(lenient=True)))


def _saved_settings(outer: Sequence[Setting]) -> Path:
    texts = {each.key: each.text for each in outer if each.key in {"dataDir", "configStorePath"}}
    values, _ = parse_values(texts)
    fields = {KEYS[key].field_name: cast("str", value) for key, value in values.items()}
    return Path(NamesrvConfig(**fields).config_store_path)  # type: ignore[arg-type]  # both are texts


@dataclass(frozen=True, slots=True)
class _File:
    """What a file holds; if it is damaged, what it held before, and when that was noticed."""

    data: bytes = b""
    damaged_ms: int | None = None


def _read_file(path: Path, as_given: str | None, problems: _Problems) -> _File:
    """Read the file in use. What a person named is taken as it is; what we saved may be damaged and have a past."""
    try:
        data = path.read_bytes()
    except OSError as error:
        remedy = "name an existing file that this user may read."
        raise ConfigError(f"cannot read {as_given or path}: {error.strerror or error}.", remedy=remedy) from error
    previous = previous_version(path, data) if as_given is None else None
    if previous is None:
        return _File(data)
    now_ms = time.time_ns() // 1_000_000
    text = (
        f"saved settings {path} were damaged ({previous[1]}): set aside as {aside_path(path, now_ms)}; "
        f"the previous version {backup_path(path)} is used, the last change may be missing"
    )
    problems.notes.append(Note(text=text, level=logging.ERROR))
    return _File(previous[0], now_ms)


def _file_settings(path: Path, file: _File, *, as_given: str | None, problems: _Problems) -> list[Setting]:
    shown = as_given or str(path)
    entries = _entries(path, file.data, shown)
    lines: dict[str, int] = {}
    for each in entries:
        if each.is_list and each.key in KEYS and KEYS[each.key].kind not in LISTS:
            text = f"{each.key} must be one value, not a list"
            problems.add(ConfigFault(f"{shown}:{each.line}", each.key, text))
        if each.key in lines:
            problems.warn(f"{shown}:{each.line}: {_shown(each.key)} replaces that of line {lines[each.key]}")
        lines[each.key] = each.line
        if each.key == "configStorePath" and each.value.rstrip() != shown:
            problems.warn(f"{shown}:{each.line}: configStorePath has no effect: changes are kept in this file")
    return [Setting(each.key, each.value, f"{shown}:{each.line}" if each.line else shown) for each in entries]


def _entries(path: Path, data: bytes, shown: str) -> tuple[Property, ...]:
    try:
        text, _ = decode(path, data)
        return format_of(path).parse(text)
    except ConfigError as error:
        raise ConfigError(f"{shown}: {error.what}", why=error.why, remedy=error.remedy) from error


def _check_paths(config: NamesrvConfig, problems: _Problems) -> None:
    paths = {
        "kvConfigPath": config.kv_config_path,
        "configStorePath": config.config_store_path,
        "pidFile": config.pid_file,
        "logFile": config.log_file,
        "auditLog": config.audit_log if config.is_audited else "",
        "aclFile": config.acl_file,
    }
    files: dict[str, str] = {}
    for name, path in paths.items():
        other = files.setdefault(os.path.realpath(path), name) if path else name
        if other != name:
            text = f"{other} and {name} are the same file; each would destroy the other"
            problems.add(ConfigFault("", other, text))
    for name, count in {"logFile": config.log_file_backups, "auditLog": config.audit_files_kept}.items():
        for path in sorted(_numbered(paths[name], count) & files.keys()):
            text = f"{files[path]} is where a full file of {name} is put, which would destroy it"
            problems.add(ConfigFault("", files[path], text))


def _numbered(path: str, count: int) -> set[str]:
    """Give the files that full ones become, beside the first; the links of its folder count, not its own."""
    if not path:
        return set()
    folder, name = os.path.split(path)
    return {os.path.join(os.path.realpath(folder), f"{name}.{number}") for number in range(1, count + 1)}  # noqa: PTH118


def _effect_notes(read: Iterable[Setting]) -> list[Note]:
    names = dict.fromkeys(
        each.key for each in read if each.key in KEYS_WITHOUT_FIELD or KEYS[each.key].effect is Effect.NONE
    )
    return [Note(text=f"accepted, no effect: {', '.join(names)}")] if names else []


def _left_behind_notes(config: NamesrvConfig, settings: Mapping[str, Setting]) -> list[Note]:
    """Tell a user who comes from Java that the KV entries of before are in another file."""
    java = Path(os.path.expanduser("~/namesrv/kvConfig.json"))  # noqa: PTH111  # must not raise without a home
    if "kvConfigPath" in settings or Path(config.kv_config_path).exists() or not java.is_file():
        return []
    text = f"KV entries of a Java NameServer in {java} are not read; to use them: --set kvConfigPath={java}"
    return [Note(text=text, level=logging.WARNING)]


def similar(name: str, candidates: Iterable[str]) -> str | None:
    """Give the name that was probably meant, or None."""
    names = list(candidates)
    same = next((each for each in names if each.lower() == name.lower()), None)
    return same or next(iter(difflib.get_close_matches(name, names, n=1)), None)


def _shown(text: str) -> str:
    """Show a name that may be anything on one line."""
    return "".join(char if char.isprintable() else "?" for char in text[:80])
