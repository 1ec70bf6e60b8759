"""What producers and consumers have in common to be set.

Owns: the settings, their defaults and checks; names with a namespace.
Must not know: what a producer or a consumer sets beside them.
"""

import ipaddress
import os
import ssl
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final, Self, TypedDict

from cosmodrome.client.address_server import is_url, url_of_unit
from cosmodrome.client.addresses import ADDRESS_VARIABLES, Address, parse_addresses
from cosmodrome.client.credentials import Credentials
from cosmodrome.client.observing import Observer
from cosmodrome.errors import ConfigError, UsageError
from cosmodrome.protocol.messages.checks import DLQ_PREFIX, RETRY_PREFIX
from cosmodrome.transport.tls import TlsFiles, client_context

DEFAULT_INSTANCE: Final = "DEFAULT"
_NAMESPACE_END: Final = "%"
_SYSTEM_NAMES: Final = frozenset(
    {
        "TBW102", "SCHEDULE_TOPIC_XXXX", "BenchmarkTest", "RMQ_SYS_TRANS_HALF_TOPIC", "RMQ_SYS_TRACE_TOPIC",
        "RMQ_SYS_TRANS_OP_HALF_TOPIC", "TRANS_CHECK_MAX_TIME_TOPIC", "SELF_TEST_TOPIC", "OFFSET_MOVED_EVENT",
    }
)  # fmt: skip
_SYSTEM_PREFIXES: Final = ("rmq_sys_", "CID_RMQ_SYS_")


class ClientOptions(TypedDict, total=False):
    """The settings of ClientConfig as keywords."""

    namesrv: str | Sequence[str] | None
    instance_name: str
    unit_name: str | None
    namespace: str
    request_timeout_s: float
    route_interval_s: float
    heartbeat_interval_s: float
    persist_interval_s: float
    close_timeout_s: float
    tls: bool | TlsFiles
    credentials: Credentials | None
    client_ip: str | None
    observers: Sequence[Observer]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientConfig:
    """Settings of a client; each is checked when it is made.

    Attributes:
        namesrv: NameServers, `host:port` each, in one text with `;` or `,` or as a sequence; or the URL of an address
            server that names them. None: $NAMESRV_ADDR.
        instance_name: Part of the client id. The default is replaced by process number and random digits.
        unit_name: Added to the client id.
        namespace: Put before the names of topics and groups on the wire, and taken off again.
        request_timeout_s: Of one request that is no send and no pull.
        route_interval_s: How often routes are asked for again.
        heartbeat_interval_s: How often brokers are told of the groups; they forget clients after 120 s.
        persist_interval_s: How often consumers save their offsets.
        close_timeout_s: How long a close waits for what is open.
        tls: True encrypts without checking certificates, as Java does by default; TlsFiles says what to check.
        credentials: Sign every request. None: requests are not signed.
        client_ip: Part of the client id and of message ids. None: the address from which NameServers are reached.
        observers: Are told of sends and of messages that were received; see Observer.

    Raises:
        ConfigError: A value cannot be used; it names the setting.
    """

    namesrv: str | Sequence[str] | None = None
    instance_name: str = DEFAULT_INSTANCE
    unit_name: str | None = None
    namespace: str = ""
    request_timeout_s: float = 3.0
    route_interval_s: float = 30.0
    heartbeat_interval_s: float = 30.0
    persist_interval_s: float = 5.0
    close_timeout_s: float = 5.0
    tls: bool | TlsFiles = False
    credentials: Credentials | None = None
    client_ip: str | None = None
    observers: Sequence[Observer] = ()

    def __post_init__(self) -> None:
        for each in fields(self):
            if each.name.endswith("_s"):
                check_positive(each.name, getattr(self, each.name))
        if self.credentials is not None and not isinstance(self.credentials, Credentials):
            raise ConfigError(
                "credentials: not Credentials.",
                keys=("credentials",),
                remedy='credentials=Credentials("access key", "secret key")',
            )
        if self.client_ip is not None and not is_ip(self.client_ip):
            raise ConfigError(f"client_ip: {self.client_ip!r} is no IP address.", keys=("client_ip",))
        strange = [each for each in self.observers if not isinstance(each, Observer)]
        if strange:
            raise ConfigError(f"observers: {strange[0]!r} is no Observer.", keys=("observers",))
        _ = self.name_servers

    @classmethod
    def made_of(cls, options: Mapping[str, Any]) -> Self:
        """Make it of keywords.

        Raises:
            ConfigError: There is no such setting, or a value cannot be used.
        """
        known = {each.name for each in fields(cls)}
        unknown = sorted(set(options) - known)
        if unknown:
            raise ConfigError(
                f"unknown setting {', '.join(unknown)}.", keys=unknown, remedy=f"there are: {', '.join(sorted(known))}"
            )
        return cls(**options)

    @property
    def name_servers(self) -> tuple[Address, ...]:
        """The NameServers in their order; of the environment if none are set; none if an address server names them."""
        text, source = self._servers_text()
        return () if is_url(text) else _parsed(text, source)

    @property
    def address_server(self) -> str | None:
        """The URL at which the NameServers are asked for, or None."""
        text, _ = self._servers_text()
        return url_of_unit(text, self.unit_name) if is_url(text) else None

    @property
    def servers_shown(self) -> str:
        """Where NameServers are looked for, for people."""
        return self.address_server or ", ".join(map(str, self.name_servers))

    @property
    def towards(self) -> str:
        """A host that clients of this configuration talk to; "" if none is known yet."""
        return self.name_servers[0].host if self.name_servers else ""

    def _servers_text(self) -> tuple[str, str]:
        if self.namesrv is not None:
            return self.namesrv if isinstance(self.namesrv, str) else ";".join(self.namesrv), "namesrv"
        for variable in ADDRESS_VARIABLES:
            text = os.environ.get(variable, "")
            if text.strip():
                return text, f"${variable}"
        raise ConfigError(
            "namesrv: no NameServer is given.",
            keys=("namesrv",),
            why=f"neither the setting nor the environment ({', '.join(ADDRESS_VARIABLES)}) names one.",
            remedy='namesrv="10.0.0.1:9876;10.0.0.2:9876"',
        )

    def wrap(self, name: str) -> str:
        """Give the name of a topic or a group as it travels."""
        if not self.namespace or _is_system(name):
            return name
        prefix, bare = _split(name)
        start = self.namespace + _NAMESPACE_END
        return name if bare.startswith(start) else f"{prefix}{start}{bare}"

    def unwrap(self, name: str) -> str:
        """Give the name of a topic or a group as users know it."""
        if not self.namespace:
            return name
        prefix, bare = _split(name)
        return prefix + bare.removeprefix(self.namespace + _NAMESPACE_END)

    def tls_maker(self) -> Callable[[], ssl.SSLContext] | None:
        """Give what makes the context of a connection, or None without TLS.

        Raises:
            TlsError: A file cannot be used.
        """
        if self.tls is False:
            return None
        context = client_context(TlsFiles() if self.tls is True else self.tls)
        return lambda: context


def check_positive(name: str, value: Any) -> None:
    """Refuse a setting that is no number above 0.

    Raises:
        ConfigError: It names the setting.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not value > 0:
        raise ConfigError(f"{name}: {value!r} is no number above 0.", keys=(name,))


def is_ip(host: Any) -> bool:
    """Tell whether a text is an IP address, with or without a scope."""
    try:
        ipaddress.ip_address(host if isinstance(host, str) else "")
    except ValueError:
        return False
    return True


def _parsed(text: str, source: str) -> tuple[Address, ...]:
    try:
        return parse_addresses(text, source)
    except UsageError as error:
        raise ConfigError(
            error.what,
            keys=("namesrv",),
            remedy='write HOST:PORT, several with a semicolon: "10.0.0.1:9876;10.0.0.2:9876" (IPv6: "[::1]:9876")',
        ) from None


def _is_system(name: str) -> bool:
    return name in _SYSTEM_NAMES or name.startswith(_SYSTEM_PREFIXES)


def _split(name: str) -> tuple[str, str]:
    for prefix in (RETRY_PREFIX, DLQ_PREFIX):
        if name.startswith(prefix):
            return prefix, name.removeprefix(prefix)
    return "", name
