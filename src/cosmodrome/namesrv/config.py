"""The configuration of a NameServer.

Owns: every key, once, with its Java name, type, default, limits and when it takes effect; what the
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
from cosmodrome.namesrv.properties import escape_value
from cosmodrome.protocol.codes import SerializeType

_LOOPBACK: Final[tuple[Network, ...]] = (ipaddress.ip_network("127.0.0.0/8"), ipaddress.ip_network("::1/128"))
_DAY_S: Final = 86_400
_DAY_MS: Final = _DAY_S * 1000

_BOOL: Final = Kind.BOOLEAN
_INT: Final = Kind.INT
_NS: Final = Family.NAMESRV
_NETTY: Final = Family.NETTY_SERVER
_SYSTEM: Final = Family.SYSTEM
_OURS: Final = Family.COSMODROME
_LIVE: Final = Effect.LIVE
_RESTART: Final = Effect.RESTART
_NONE: Final = Effect.NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class NamesrvConfig:
    """All settings of one NameServer (Java: NamesrvConfig and NettyServerConfig), in Java's order.

    A part that must not notice a change of a restart-only key reads the configuration it was started with.
    The three path fields are never empty after construction: the two files default to files in `data_dir`.
    """

    rocketmq_home: str | None = option(
        None,
        Key(Kind.TEXT, _NS, _NONE, "Java's installation folder", may_be_empty=True, default_text="$ROCKETMQ_HOME"),
    )
    kv_config_path: str = option(
        "", Key(Kind.PATH, _NS, _RESTART, "file of the KV entries", default_text="kvConfig.json in dataDir")
    )
    config_store_path: str = option(
        "",
        Key(
            Kind.PATH,
            _NS,
            _RESTART,
            "file that keeps changes made at run time; with -c always that file",
            default_text="namesrv.properties in dataDir",
        ),
    )
    product_env_name: str = option(
        "center",
        Key(Kind.TEXT, _NS, _LIVE, "environment asked for unknown topics, with clusterTest", may_be_empty=True),
    )
    cluster_test: bool = option(
        False, Key(_BOOL, _NS, _RESTART, "look unknown topics up in the environment productEnvName")
    )
    order_message_enable: bool = option(False, Key(_BOOL, _NS, _LIVE, "put orderTopicConf into route answers"))
    return_order_topic_config_to_broker: bool = option(
        True, Key(_BOOL, _NS, _LIVE, "answer registrations with the order KV table")
    )
    client_request_thread_pool_nums: int = option(
        8, Key(_INT, _NS, _NONE, "threads for route requests", unit="threads", minimum=1)
    )
    default_thread_pool_nums: int = option(
        16, Key(_INT, _NS, _NONE, "threads for all other requests", unit="threads", minimum=1)
    )
    client_request_thread_pool_queue_capacity: int = option(
        50_000, Key(_INT, _NS, _NONE, "waiting route requests", unit="requests", minimum=1)
    )
    default_thread_pool_queue_capacity: int = option(
        10_000, Key(_INT, _NS, _NONE, "waiting other requests", unit="requests", minimum=1)
    )
    scan_not_active_broker_interval: int = option(
        5000,
        Key(
            Kind.LONG,
            _NS,
            _LIVE,
            "time between two searches for silent brokers",
            unit="milliseconds",
            minimum=1,
            maximum=_DAY_MS,
        ),
    )
    un_register_broker_queue_capacity: int = option(
        3000, Key(_INT, _NS, _NONE, "waiting unregistrations", unit="requests", minimum=1)
    )
    support_acting_master: bool = option(False, Key(_BOOL, _NS, _LIVE, "give clients an acting master in routes"))
    enable_all_topic_list: bool = option(True, Key(_BOOL, _NS, _LIVE, "answer 206, the list of all topics"))
    enable_topic_list: bool = option(True, Key(_BOOL, _NS, _LIVE, "answer 224, 311, 312 and 313, other topic lists"))
    notify_min_broker_id_changed: bool = option(
        False, Key(_BOOL, _NS, _LIVE, "tell brokers when the smallest broker id of their group changes")
    )
    enable_controller_in_namesrv: bool = option(
        False, Key(_BOOL, _NS, _NONE, "embedded controller, which does not exist here: only false is accepted")
    )
    need_wait_for_service: bool = option(
        False, Key(_BOOL, _NS, _LIVE, "refuse route requests for a while after the start")
    )
    wait_seconds_for_service: int = option(
        45, Key(_INT, _NS, _LIVE, "how long needWaitForService refuses", unit="seconds", maximum=_DAY_S)
    )
    delete_topic_with_broker_registration: bool = option(
        False, Key(_BOOL, _NS, _LIVE, "a registration removes topics that it does not hold")
    )
    config_black_list: str = option(
        "configBlackList;configStorePath;kvConfigPath",
        Key(Kind.TEXT, _NS, _RESTART, "keys that no request may change, separated by ;", may_be_empty=True),
    )

    bind_address: str = option("0.0.0.0", Key(Kind.TEXT, _NETTY, _RESTART, "address or host name to listen on"))  # noqa: S104  # Java's default
    listen_port: int = option(
        9876, Key(_INT, _NETTY, _RESTART, "port to listen on; 0 takes any free one", maximum=65_535)
    )
    server_worker_threads: int = option(8, Key(_INT, _NETTY, _NONE, "codec threads", unit="threads", minimum=1))
    server_callback_executor_threads: int = option(0, Key(_INT, _NETTY, _NONE, "callback threads", unit="threads"))
    server_selector_threads: int = option(3, Key(_INT, _NETTY, _NONE, "I/O threads", unit="threads", minimum=1))
    server_oneway_semaphore_value: int = option(
        256, Key(_INT, _NETTY, _NONE, "oneway requests under way to peers", unit="requests")
    )
    server_async_semaphore_value: int = option(
        64, Key(_INT, _NETTY, _NONE, "asynchronous requests under way to peers", unit="requests")
    )
    server_channel_max_idle_time_seconds: int = option(
        120, Key(_INT, _NETTY, _LIVE, "close a connection after so long without a byte", unit="seconds")
    )
    server_socket_snd_buf_size: int = option(
        0, Key(_INT, _NETTY, _RESTART, "send buffer of sockets; 0: the system's choice", unit="bytes")
    )
    server_socket_rcv_buf_size: int = option(
        0, Key(_INT, _NETTY, _RESTART, "receive buffer of sockets; 0: the system's choice", unit="bytes")
    )
    write_buffer_high_water_mark: int = option(
        0, Key(_INT, _NETTY, _RESTART, "unsent bytes from which on reading stops", unit="bytes")
    )
    write_buffer_low_water_mark: int = option(
        0, Key(_INT, _NETTY, _RESTART, "unsent bytes from which on reading resumes", unit="bytes")
    )
    server_socket_backlog: int = option(1024, Key(_INT, _NETTY, _RESTART, "connections waiting to be accepted"))
    server_netty_worker_group_enable: bool = option(True, Key(_BOOL, _NETTY, _NONE, "threads of Netty for codecs"))
    server_pooled_byte_buf_allocator_enable: bool = option(True, Key(_BOOL, _NETTY, _NONE, "buffer pool of Netty"))
    enable_shutdown_gracefully: bool = option(
        False, Key(_BOOL, _NETTY, _LIVE, "when stopping, first send newer clients away")
    )
    shutdown_wait_time_seconds: int = option(
        30,
        Key(_INT, _NETTY, _LIVE, "how long enableShutdownGracefully waits", unit="seconds", maximum=_DAY_S),
    )
    use_epoll_native_selector: bool = option(False, Key(_BOOL, _NETTY, _NONE, "epoll of Netty"))

    serialize_type: SerializeType = option(  # noqa: RUF009  # a field
        SerializeType.JSON,
        Key(
            Kind.SERIALIZE_TYPE,
            _SYSTEM,
            _RESTART,
            "header codec of what this server sends by itself; answers use that of the request",
            java_name="rocketmq.serialize.type",
        ),
    )
    frame_max_length: int = option(
        16_777_216,
        Key(
            _INT,
            _SYSTEM,
            _RESTART,
            "largest frame that is read",
            unit="bytes",
            minimum=1,
            java_name="com.rocketmq.remoting.frameMaxLength",
        ),
    )
    namesrv_domain: str = option(
        "jmenv.tbsite.net",
        Key(
            Kind.TEXT,
            _SYSTEM,
            _RESTART,
            "host that knows the NameServers of productEnvName",
            java_name="rocketmq.namesrv.domain",
        ),
    )
    namesrv_domain_subgroup: str = option(
        "nsaddr",
        Key(
            Kind.TEXT,
            _SYSTEM,
            _RESTART,
            "path at that host",
            java_name="rocketmq.namesrv.domain.subgroup",
        ),
    )
    tls_server_mode: str = option(
        "permissive",
        Key(
            Kind.CHOICE,
            _SYSTEM,
            _RESTART,
            "whether connections are encrypted: never, as the peer likes, or always",
            choices=("disabled", "permissive", "enforcing"),
            java_name="tls.server.mode",
        ),
    )
    tls_config_file: str = option(
        "/etc/rocketmq/tls.properties",
        Key(
            Kind.PATH,
            _SYSTEM,
            _RESTART,
            "properties file whose tls keys win over these, if it exists",
            java_name="tls.config.file",
        ),
    )
    tls_test_mode_enable: bool = option(
        True,
        Key(
            _BOOL,
            _SYSTEM,
            _RESTART,
            "a throw-away certificate instead of the files; needs the extra `tls`",
            java_name="tls.test.mode.enable",
        ),
    )
    tls_server_need_client_auth: str = option(
        "none",
        Key(
            Kind.CHOICE,
            _SYSTEM,
            _RESTART,
            "whether clients must show a certificate",
            choices=("none", "optional", "require"),
            java_name="tls.server.need.client.auth",
        ),
    )
    tls_server_cert_path: str | None = option(
        None,
        Key(
            Kind.PATH,
            _SYSTEM,
            _RESTART,
            "PEM file of the certificate chain",
            may_be_empty=True,
            java_name="tls.server.certPath",
        ),
    )
    tls_server_key_path: str | None = option(
        None,
        Key(
            Kind.PATH,
            _SYSTEM,
            _RESTART,
            "PEM file of the private key",
            may_be_empty=True,
            java_name="tls.server.keyPath",
        ),
    )
    tls_server_key_password: str | None = option(
        None,
        Key(
            Kind.TEXT,
            _SYSTEM,
            _RESTART,
            "password of the private key",
            may_be_empty=True,
            is_secret=True,
            java_name="tls.server.keyPassword",
        ),
    )
    tls_server_auth_client: bool = option(
        False, Key(_BOOL, _SYSTEM, _RESTART, "check the certificates of clients", java_name="tls.server.authClient")
    )
    tls_server_trust_cert_path: str | None = option(
        None,
        Key(
            Kind.PATH,
            _SYSTEM,
            _RESTART,
            "PEM file of what clients are checked against",
            may_be_empty=True,
            java_name="tls.server.trustCertPath",
        ),
    )
    tls_enable: bool = option(
        False,
        Key(_BOOL, _SYSTEM, _RESTART, "encrypt the connections that this server opens (905)", java_name="tls.enable"),
    )
    tls_client_cert_path: str | None = option(
        None,
        Key(
            Kind.PATH,
            _SYSTEM,
            _RESTART,
            "PEM file of our certificate as a client",
            may_be_empty=True,
            java_name="tls.client.certPath",
        ),
    )
    tls_client_key_path: str | None = option(
        None,
        Key(
            Kind.PATH,
            _SYSTEM,
            _RESTART,
            "PEM file of our key as a client",
            may_be_empty=True,
            java_name="tls.client.keyPath",
        ),
    )
    tls_client_key_password: str | None = option(
        None,
        Key(
            Kind.TEXT,
            _SYSTEM,
            _RESTART,
            "password of our key as a client",
            may_be_empty=True,
            is_secret=True,
            java_name="tls.client.keyPassword",
        ),
    )
    tls_client_auth_server: bool = option(
        False,
        Key(
            _BOOL, _SYSTEM, _RESTART, "check the certificates of those we connect to", java_name="tls.client.authServer"
        ),
    )
    tls_client_trust_cert_path: str | None = option(
        None,
        Key(
            Kind.PATH,
            _SYSTEM,
            _RESTART,
            "PEM file of what they are checked against",
            may_be_empty=True,
            java_name="tls.client.trustCertPath",
        ),
    )

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
    admin_policy: AdminPolicy = option(  # noqa: RUF009
        AdminPolicy.COMPATIBLE, Key(Kind.ADMIN_POLICY, _OURS, _RESTART, "who may change the server over the wire")
    )
    admin_allow: tuple[Network, ...] = option(
        _LOOPBACK, Key(Kind.NETWORKS, _OURS, _RESTART, "where adminPolicy lets changes come from", may_be_empty=True)
    )

    def __post_init__(self) -> None:
        """Fill in the paths that depend on others."""
        data_dir = self.data_dir or default_data_dir()
        defaults = {
            "data_dir": data_dir,
            "kv_config_path": os.path.join(data_dir, "kvConfig.json"),  # noqa: PTH118  # a text as the user wrote it
            "config_store_path": os.path.join(data_dir, "namesrv.properties"),  # noqa: PTH118
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
FIXED_BLACK_LIST: Final = ("configBlackList", "configStorePath", "kvConfigPath", "rocketmqHome")
SECURITY_KEYS: Final = ("adminPolicy", "adminAllow", "dataDir", "shadow")

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


def _shown_text(config: NamesrvConfig, key: Key) -> str:
    text = value_text(config, key) or ""
    return "********" if text and key.is_secret else text


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
    return "".join(f"{name}={_shown_text(config, key)}\n" for name, key in KEYS.items())


def apply_changes(config: NamesrvConfig, changes: Mapping[str, str]) -> ConfigChange:
    """Read changes that came in a request, all of them or none.

    Raises:
        ConfigError: At least one value is bad; the text names each such key and why.
    """
    known = {name: KEYS[name] for name in changes if name in KEYS and KEYS[name].family in _JAVA_FAMILIES}
    values, reasons = parse_values({name: changes[name] for name in known})
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
