"""What can be said about a key of a NameServer or of a broker, in one form for both.

Owns: the description of a key; finding those of a name, and names that were probably meant.
Must not know: values in force and where they come from (settings.py).
"""

import dataclasses
import enum
import functools
from collections.abc import Mapping
from dataclasses import Field, dataclass
from typing import Any, Final

from cosmodrome.broker.config import BrokerConfig, java_name
from cosmodrome.broker.live_config import AT_ONCE, NOT_BY_REQUEST
from cosmodrome.broker.security_settings import SECRETS, SecuritySettings
from cosmodrome.configuring.java_broker_keys import JAVA_BROKER_KEYS, SYSTEM_PREFIXES
from cosmodrome.namesrv.config import FIXED_BLACK_LIST, KEYS, SECURITY_KEYS
from cosmodrome.namesrv.config_file import similar
from cosmodrome.namesrv.config_keys import INT_MAX, Effect, Family, Key, Kind

_LONG_MAX: Final = 2**63 - 1
_NUMBERS: Final = (Kind.INT, Kind.LONG)


class Program(enum.StrEnum):
    """Whose settings are meant."""

    NAMESRV = "namesrv"
    BROKER = "broker"


TITLES: Final = {Program.NAMESRV: "Settings of a NameServer", Program.BROKER: "Settings of a broker"}
"""How a first file of settings begins, behind its mark of a comment."""
PROGRAMS: Final = {Program.NAMESRV: "NameServer", Program.BROKER: "broker"}
"""Their names for people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyDescription:
    """One key.

    Attributes:
        program: Whose key it is.
        name: As files and requests spell it.
        type: What its text looks like, with limits and words that are allowed.
        default: As text; empty where there is none.
        effect: When a change takes effect.
        meaning: One line.
        is_java: Whether Apache's servers know it.
        by_request: Whether a request may change it.
        environment: The variable that sets it, or None.
        is_secret: Whether its value must not be shown.
    """

    program: Program
    name: str
    type: str
    default: str
    effect: Effect
    meaning: str
    is_java: bool
    by_request: bool
    environment: str | None
    is_secret: bool


@functools.cache
def namesrv_keys() -> Mapping[str, KeyDescription]:
    """Give the keys of the NameServer, in their order."""
    return {name: _of_namesrv(name, key) for name, key in KEYS.items()}


@functools.cache
def broker_keys() -> Mapping[str, KeyDescription]:
    """Give the keys of the broker: those of accounts and TLS after the others."""
    every = sorted(
        dataclasses.fields(BrokerConfig), key=lambda each: each.name in SecuritySettings.__dataclass_fields__
    )
    described = (_of_broker(each) for each in every)
    return {each.name: each for each in described}


def keys_of(program: Program) -> Mapping[str, KeyDescription]:
    """Give the keys of one of the two programs."""
    return namesrv_keys() if program is Program.NAMESRV else broker_keys()


def found(name: str) -> list[KeyDescription]:
    """Give the descriptions of a name, that of the NameServer first; both programs may have it."""
    return [keys[name] for keys in (namesrv_keys(), broker_keys()) if name in keys]


def meant(name: str) -> str | None:
    """Give the key of either program that was probably meant."""
    return similar(name, [*namesrv_keys(), *broker_keys()])


def _of_namesrv(name: str, key: Key) -> KeyDescription:
    is_java_family = key.family in (Family.NAMESRV, Family.NETTY_SERVER)
    return KeyDescription(
        program=Program.NAMESRV,
        name=name,
        type=_namesrv_type(key),
        default=key.default_text,
        effect=key.effect,
        meaning=key.meaning,
        is_java=key.family is not Family.COSMODROME,
        by_request=is_java_family and name not in {*FIXED_BLACK_LIST, *SECURITY_KEYS},
        environment=key.environment_name,
        is_secret=key.is_secret,
    )


def _namesrv_type(key: Key) -> str:
    if key.kind is Kind.CHOICE:
        return f"one of {', '.join(key.choices)}"
    if key.kind not in _NUMBERS:
        return str(key.kind.value)
    limits = f"{key.minimum} to {key.maximum}" if key.maximum < INT_MAX else f"from {key.minimum}"
    return f"{key.kind.value}, {limits}{f' {key.unit}' if key.unit else ''}"


def _of_broker(each: "Field[Any]") -> KeyDescription:
    name = java_name(each.name)
    default = each.default
    return KeyDescription(
        program=Program.BROKER,
        name=name,
        type=_broker_type(each),
        default=str(default).lower() if isinstance(default, bool) else str(default),
        effect=Effect.LIVE if each.name in AT_ONCE else Effect.RESTART,
        meaning=each.metadata["meaning"],
        is_java=name in JAVA_BROKER_KEYS or name.startswith(SYSTEM_PREFIXES),
        by_request=each.name not in NOT_BY_REQUEST,
        environment=None,
        is_secret=each.name in SECRETS,
    )


def _broker_type(each: "Field[Any]") -> str:
    limits = each.metadata
    if limits["choices"]:
        return f"one of {', '.join(choice or '(empty)' for choice in limits['choices'])}"
    if each.type is bool:
        return "boolean"
    if each.type is not int:
        return "string"
    low, high = limits["minimum"], limits["maximum"]
    return f"int, from {low}" if high in (INT_MAX, _LONG_MAX) else f"int, {low} to {high}"
