"""Settings in force, and where each comes from.

Owns: for both programs, the texts of files, environment and flags put together as a start would do it.
Must not know: how a running server is asked (servers.py); what is shown of it (cli/).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from cosmodrome.broker.config import BrokerConfig
from cosmodrome.client.addresses import ADDRESS_VARIABLES
from cosmodrome.configuring.checking import key_faults
from cosmodrome.configuring.described import KeyDescription, Program, broker_keys, namesrv_keys
from cosmodrome.configuring.files import SettingsFile, read_settings_file
from cosmodrome.errors import ConfigError, ConfigFault
from cosmodrome.namesrv.config import KEYS, shown_text
from cosmodrome.namesrv.config_file import ConfigSources, Setting, load_config

DEFAULT: Final = "default"
"""As the source of a value."""
DEFAULT_STORE: Final = "~/store"
"""Where `cosmodrome broker` keeps messages when nobody says where."""
_HOME_VARIABLE: Final = "ROCKETMQ_HOME"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyValue:
    """A key and its value in force; of a secret the value is a mask."""

    key: KeyDescription
    value: str
    source: str

    def facts(self) -> dict[str, object]:
        """Give it as JSON."""
        return {
            "key": self.key.name,
            "value": self.value,
            "source": self.source,
            "default": self.key.default,
            "is_default": self.source == DEFAULT,
            "effect": self.key.effect.value,
        }


def values_in_force(
    program: Program, file: str | None, environment: Mapping[str, str], flags: Sequence[tuple[str, str]] = ()
) -> list[KeyValue]:
    """Give what a start with this file, environment and `--set` would use.

    Raises:
        ConfigError: Something in them is wrong; it names every place.
    """
    settings = [Setting(key, text, "--set") for key, text in flags]
    return (_of_namesrv if program is Program.NAMESRV else _of_broker)(file, environment, settings)


def _of_namesrv(file: str | None, environment: Mapping[str, str], flags: Sequence[Setting]) -> list[KeyValue]:
    loaded = load_config(ConfigSources(file=file, environment=environment, flags=flags))
    sources = dict(loaded.sources)
    if loaded.path is not None:
        sources["configStorePath"] = "-c" if file else DEFAULT
    return [
        KeyValue(key=key, value=shown_text(loaded.config, KEYS[name]), source=sources.get(name, DEFAULT))
        for name, key in namesrv_keys().items()
    ]


def _of_broker(file: str | None, environment: Mapping[str, str], flags: Sequence[Setting]) -> list[KeyValue]:
    settings = broker_settings(
        read_settings_file(file, Program.BROKER) if file is not None else None, environment, flags
    )
    config = BrokerConfig.of_java({key: each.text for key, each in settings.items()})
    listing = config.listing()
    return [
        KeyValue(key=key, value=listing[name], source=settings[name].origin if name in settings else DEFAULT)
        for name, key in broker_keys().items()
    ]


def broker_settings(
    file: SettingsFile | None, environment: Mapping[str, str], flags: Sequence[Setting]
) -> dict[str, Setting]:
    """Give what a broker is started with, by key; later wins, of environment, file and flags.

    Raises:
        ConfigError: A setting in the file cannot be used; it names every place.
    """
    settings = {"storePathRootDir": Setting("storePathRootDir", DEFAULT_STORE, DEFAULT)}
    settings |= {each.key: each for each in _environment(environment)}
    if file is not None:
        settings |= _file_settings(file)
    return settings | {each.key: each for each in flags}


def _environment(environment: Mapping[str, str]) -> list[Setting]:
    found = []
    variable = next((name for name in ADDRESS_VARIABLES if environment.get(name)), None)
    if variable is not None:
        found.append(Setting("namesrvAddr", environment[variable], variable))
    if environment.get(_HOME_VARIABLE):
        found.append(Setting("rocketmqHome", environment[_HOME_VARIABLE], _HOME_VARIABLE))
    return found


def _file_settings(file: SettingsFile) -> dict[str, Setting]:
    faults = key_faults(file)
    if faults:
        raise _error_of(faults)
    return {key: Setting(key, entry.value, file.place(entry)) for key, entry in file.last().items()}


def _error_of(faults: Sequence[ConfigFault]) -> ConfigError:
    keys = [each.key for each in faults]
    guesses = [f" (did you mean {each.guess}?)" if each.guess else "" for each in faults]
    remedy = "docs/reference/broker_configuration.md has the settings."
    if len(faults) == 1:
        guess = f"did you mean {faults[0].guess}? " if faults[0].guess else ""
        return ConfigError(f"{faults[0].render()}.", keys=keys, remedy=f"{guess}{remedy}", faults=faults)
    lines = "".join(f"\n  {each.render()}{guess}" for each, guess in zip(faults, guesses, strict=True))
    return ConfigError(f"{len(faults)} settings cannot be used:{lines}", keys=keys, remedy=remedy, faults=faults)
