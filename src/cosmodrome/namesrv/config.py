"""The configuration of a NameServer.

Owns: every key, Java's (config_java.py), limits (config_limits.py) and the rest of our own; what the
    configuration requests list and change.
Must not know: files, environment and flags (config_file.py); requests and who may send them (processors/).
"""

import dataclasses
import ipaddress
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cosmodrome.errors import ConfigError
from cosmodrome.namesrv.config_keys import AdminPolicy, Effect, Family, Key, Kind, Network, option, text_of
from cosmodrome.namesrv.config_limits import LimitsConfig
from cosmodrome.namesrv.properties import escape_value

_LOOPBACK: Final[tuple[Network, ...]] = (ipaddress.ip_network("127.0.0.0/8"), ipaddress.ip_network("::1/128"))
_OURS: Final = Family.COSMODROME
_RESTART: Final = Effect.RESTART


@dataclass(frozen=True, slots=True, kw_only=True)
class NamesrvConfig(LimitsConfig):
    """All settings of one NameServer: Java's, then our limits, then the rest of our own.

    A part that must not notice a change of a restart-only key reads the configuration it was started with.
    `data_dir` and the paths of files that are always kept are never empty after construction: the latter default to
    files in the former.
    """

    data_dir: str = option(
        "",
        Key(
            Kind.PATH,
            _OURS,
            _RESTART,
            "folder for files whose paths are not set",
            default_text="~/.local/share/cosmodrome/namesrv",
        ),
    )
    shadow: str | None = option(
        None,
        Key(
            Kind.ADDRESS,
            _OURS,
            _RESTART,
            "another NameServer: reads go to it too, and differing answers are reported",
            may_be_empty=True,
        ),
    )
    http: str = option(
        "",
        Key(
            Kind.LISTENER,
            _OURS,
            _RESTART,
            "where probes, metrics and the JSON API are; port 0 takes any free one",
            may_be_empty=True,
            default_text="127.0.0.1, listenPort + 10000; off in a program",
        ),
    )
    metrics_label: str = option(
        "",
        Key(
            Kind.LABELS,
            _OURS,
            _RESTART,
            "labels that every metric gets, as Java's broker takes them",
            may_be_empty=True,
        ),
    )
    metrics_java_names: bool = option(
        False,
        Key(
            Kind.BOOLEAN,
            _OURS,
            _RESTART,
            "show rocketmq_rpc_latency_milliseconds too, which dashboards of RocketMQ 5 know of brokers",
        ),
    )
    http_hosts: str = option(
        "",
        Key(
            Kind.TEXT,
            _OURS,
            _RESTART,
            "names by which the JSON API may be asked for, separated by ;, beside addresses, localhost and this host's name",
            may_be_empty=True,
        ),
    )
    http_token: str = option(
        "",
        Key(
            Kind.TEXT,
            _OURS,
            _RESTART,
            "bearer token of changes over HTTP that come from another host; empty: they are refused",
            may_be_empty=True,
            is_secret=True,
        ),
    )
    peer_servers: str = option(
        "",
        Key(
            Kind.TEXT,
            _OURS,
            _RESTART,
            "the other NameServers of this estate, host:port;host:port; asked what they know when somebody looks (/api/v1/peers)",
            may_be_empty=True,
        ),
    )
    log_file: str = option(
        "",
        Key(Kind.PATH, _OURS, _RESTART, "file for all log lines; empty: standard error", may_be_empty=True),
    )
    log_file_max_bytes: int = option(
        10_485_760,
        Key(
            Kind.INT,
            _OURS,
            _RESTART,
            "size at which logFile becomes logFile.1 and a new one is begun",
            unit="bytes",
            minimum=65_536,
        ),
    )
    log_file_backups: int = option(
        5, Key(Kind.INT, _OURS, _RESTART, "how many former log files are kept", maximum=1000)
    )
    pid_file: str = option(
        "",
        Key(
            Kind.PATH,
            _OURS,
            _RESTART,
            "holds the process id while the server runs; one left behind tells the next start of an unclean end",
            default_text="namesrv.pid in dataDir",
        ),
    )
    config_watch_seconds: int = option(
        5,
        Key(
            Kind.INT,
            _OURS,
            _RESTART,
            "look so often whether the configuration file was changed, and read it again once it rests; 0: only when told",
            unit="seconds",
            maximum=3600,
        ),
    )
    admin_policy: AdminPolicy = option(  # noqa: RUF009
        AdminPolicy.COMPATIBLE, Key(Kind.ADMIN_POLICY, _OURS, _RESTART, "who may change the server over the wire")
    )
    admin_allow: tuple[Network, ...] = option(
        _LOOPBACK, Key(Kind.NETWORKS, _OURS, _RESTART, "where adminPolicy lets changes come from", may_be_empty=True)
    )
    broker_allow: tuple[Network, ...] = option(
        (), Key(Kind.NETWORKS, _OURS, _RESTART, "where brokers may register from; empty: anywhere", may_be_empty=True)
    )
    broker_auth: bool = option(
        False, Key(Kind.BOOLEAN, _OURS, _RESTART, "brokers must sign what they send, with a broker account of aclFile")
    )
    acl_file: str = option(
        "",
        Key(
            Kind.PATH,
            _OURS,
            _RESTART,
            "TOML file of accounts that may sign requests; read again when it changes",
            may_be_empty=True,
        ),
    )
    audit_log: str = option(
        "",
        Key(
            Kind.PATH,
            _OURS,
            _RESTART,
            "file that every change by request is written to before it is made; off: none",
            default_text="audit.jsonl in dataDir",
        ),
    )

    @property
    def is_audited(self) -> bool:
        """Whether there is an audit log; `auditLog` is the word off, in any case, when there is none."""
        return self.audit_log.lower() != "off"

    def __post_init__(self) -> None:
        """Fill in the paths that depend on others."""
        data_dir = self.data_dir or default_data_dir()
        defaults = {
            "data_dir": data_dir,
            "kv_config_path": os.path.join(data_dir, "kvConfig.json"),  # noqa: PTH118  # a text as the user wrote it
            "config_store_path": os.path.join(data_dir, "namesrv.properties"),  # noqa: PTH118
            "audit_log": os.path.join(data_dir, "audit.jsonl"),  # noqa: PTH118
            "pid_file": os.path.join(data_dir, "namesrv.pid"),  # noqa: PTH118
        }
        for name, default in defaults.items():
            if not getattr(self, name):
                object.__setattr__(self, name, default)


def _named_keys() -> dict[str, Key]:
    named = (each.metadata["key"].named(each.name, each.default) for each in dataclasses.fields(NamesrvConfig))
    return {key.java_name: key for key in named}


KEYS: Final[Mapping[str, Key]] = _named_keys()
"""Every key by its Java name, in order of declaration."""

_UNSET_WHEN_EMPTY: Final = frozenset(
    each.metadata["key"].named(each.name, each.default).java_name
    for each in dataclasses.fields(NamesrvConfig)
    if each.default is None
)
MASK: Final = "********"
"""What is shown instead of a secret."""
FIXED_BLACK_LIST: Final = ("configBlackList", "configStorePath", "kvConfigPath", "rocketmqHome")
SECURITY_KEYS: Final = (
    "adminPolicy",
    "adminAllow",
    "brokerAllow",
    "brokerAuth",
    "aclFile",
    "auditLog",
    "dataDir",
    "shadow",
    "http",
    "httpHosts",
    "httpToken",
    "peerServers",
    "logFile",
    "pidFile",
)

_JAVA_FAMILIES: Final = (Family.NAMESRV, Family.NETTY_SERVER)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigChange:
    """What a set of changes comes to; every key of the request is in exactly one of the four tuples.

    Attributes:
        config: The configuration with the changes in it.
        texts: The accepted keys and their new values as Java writes them; what is to be saved.
        applied: Keys in effect as soon as `config` is used.
        needs_restart: Keys in effect at the next start.
        without_effect: Keys that never have an effect here; they are listed and kept.
        unknown: Keys that Java does not know either and drops; they are not in `config`.
    """

    config: NamesrvConfig
    texts: Mapping[str, str]
    applied: tuple[str, ...]
    needs_restart: tuple[str, ...]
    without_effect: tuple[str, ...]
    unknown: tuple[str, ...]


def default_data_dir() -> str:
    """Give the folder used when none is named: the user's, or the system's for a user without a home."""
    base = os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")  # noqa: PTH111  # must not raise
    if not Path(base).is_absolute():
        base = "/var/lib"
    return str(Path(base, "cosmodrome", "namesrv"))


def value_text(config: NamesrvConfig, key: Key) -> str | None:
    """Write the value of one key as Java does; None where there is none."""
    return text_of(getattr(config, key.field_name))


def shown_text(config: NamesrvConfig, key: Key) -> str:
    """Write the value of one key for people: empty where there is none, and never a secret."""
    text = value_text(config, key) or ""
    return MASK if text and key.is_secret else text


def java_listing(config: NamesrvConfig) -> list[tuple[str, str]]:
    """Give the keys and values that GET_NAMESRV_CONFIG shows: Java's own, with a value, in Java's order."""
    texts = ((name, value_text(config, key)) for name, key in KEYS.items() if key.family in _JAVA_FAMILIES)
    return sorted((name, text) for name, text in texts if text is not None)


def render_listing(config: NamesrvConfig) -> str:
    """Give the body of GET_NAMESRV_CONFIG.

    It reads back to identical values with a Java properties reader, and equals Java's own text as long as
    no value needs an escape (Java writes none; specification, 4.2).
    """
    return "".join(f"{name}={escape_value(text)}\n" for name, text in java_listing(config))


def print_items(config: NamesrvConfig) -> str:
    """Give the text of `-p`: `key=value` in order of declaration, no value as empty, Java's keys first."""
    return "".join(f"{name}={shown_text(config, key)}\n" for name, key in KEYS.items())


def apply_changes(config: NamesrvConfig, changes: Mapping[str, str]) -> ConfigChange:
    """Read changes that came in a request, all of them or none.

    Raises:
        ConfigError: At least one value is bad; the text names each such key and why.
    """
    known = {name: KEYS[name] for name in changes if name in KEYS and KEYS[name].family in _JAVA_FAMILIES}
    values, reasons = parse_values({name: changes[name] for name in known})
    reasons |= _not_by_request(values)
    if reasons:
        raise ConfigError(
            "; ".join(f"{name} {reason}" for name, reason in reasons.items()),
            keys=tuple(reasons),
            why="a request with a bad value changes nothing.",
        )
    fields = {known[name].field_name: value for name, value in values.items()}
    return ConfigChange(
        config=dataclasses.replace(config, **fields),  # type: ignore[arg-type]  # `parse` gives its field's type
        texts={name: text_of(value) or "" for name, value in values.items()},
        applied=tuple(name for name, key in known.items() if key.effect is Effect.LIVE),
        needs_restart=tuple(name for name, key in known.items() if key.effect is Effect.RESTART),
        without_effect=tuple(name for name, key in known.items() if key.effect is Effect.NONE),
        unknown=tuple(name for name in changes if name not in known),
    )


def taken_over(
    started_with: NamesrvConfig, current: NamesrvConfig, read: NamesrvConfig
) -> tuple[NamesrvConfig, tuple[str, ...], tuple[str, ...]]:
    """Tell what a configuration that was read anew comes to in a server that runs.

    Keys of Java that wait for the next start show their new value already, as after a request that changes them.

    Returns:
        The configuration in force from now on, the keys that change now, those that change at the next start.
    """
    values: dict[str, object] = {}
    applied, needs_restart = [], []
    for name, key in KEYS.items():
        value = getattr(read, key.field_name)
        is_as_started = value == getattr(started_with, key.field_name)
        if key.effect is Effect.RESTART and not is_as_started:
            needs_restart.append(name)
        if key.effect is Effect.LIVE and value != getattr(current, key.field_name):
            applied.append(name)
        is_bound_port = name == "listenPort" and is_as_started
        if key.effect is Effect.LIVE or (key.family in _JAVA_FAMILIES and not is_bound_port):
            values[key.field_name] = value
    config = dataclasses.replace(current, **values)  # type: ignore[arg-type]  # values of the same fields
    return config, tuple(applied), tuple(needs_restart)


def parse_values(texts: Mapping[str, str]) -> tuple[dict[str, object], dict[str, str]]:
    """Read the texts of known keys: values by key, and for bad ones reasons that complete "KEY ..."."""
    values: dict[str, object] = {}
    reasons: dict[str, str] = {}
    for name, text in texts.items():
        try:
            values[name] = _parse_value(name, text)
        except ValueError as error:
            reasons[name] = str(error)
    return values, reasons


def _not_by_request(values: Mapping[str, object]) -> dict[str, str]:
    reasons: dict[str, str] = {}
    for name, value in values.items():
        try:
            KEYS[name].check_request(value)
        except ValueError as error:
            reasons[name] = str(error)
    return reasons


def blacklisted(started_with: NamesrvConfig, names: Iterable[str]) -> tuple[str, ...]:
    """Give those of `names` that no request may change, as `configBlackList` was at the start."""
    forbidden = {*FIXED_BLACK_LIST, *SECURITY_KEYS, *started_with.config_black_list.split(";")}
    return tuple(name for name in names if name in forbidden)


def _parse_value(name: str, text: str) -> object:
    value = KEYS[name].parse(text)
    if name == "enableControllerInNamesrv" and value:
        raise ValueError(
            "must be false: there is no embedded controller here, and without one a cluster that relies on it "
            "has no failover; run Java's mqcontroller beside this server"
        )
    return None if value == "" and name in _UNSET_WHEN_EMPTY else value
