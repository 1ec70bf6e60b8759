"""What can be said about a configuration key, and how its text becomes a value.

Owns: kinds of values and their Java spelling, limits, families, when a change takes effect, names of keys that
    are accepted for the sake of Java files.
Must not know: which keys there are (config.py), where a text came from (config_file.py).
"""

import dataclasses
import enum
import ipaddress
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

from cosmodrome.protocol.codes import SerializeType

T = TypeVar("T")
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

INT_MAX: Final = 2**31 - 1
# Digits and a sign; a request may send any number of them, and reading very many is slow.
LONGEST_NUMBER: Final = 20
ENVIRONMENT_PREFIX: Final = "COSMODROME_"
# What Java's String.trim takes off.
BLANKS: Final = "".join(map(chr, range(0x21)))

_NUMBER: Final = re.compile(r"[+-]?[0-9]+")
_LABEL: Final = re.compile(r"(?!__)[A-Za-z_][A-Za-z0-9_]*")
"""As Prometheus allows it; names with two underscores in front are its own."""
_SURROGATE: Final = re.compile(r"[\ud800-\udfff]")
_ADDRESS: Final = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+):([0-9]{1,5})")
_MAPPED: Final = ipaddress.IPv6Network("::ffff:0:0/96")
"""Where IPv6 has the IPv4 addresses."""
_LINE_SEPARATORS: Final = "\u0085\u2028\u2029"


class AdminPolicy(enum.StrEnum):
    """Who may change the server over the wire, and read what only administrators need. docs/policy.md has the table."""

    COMPATIBLE = "compatible"
    """Configuration (318) only from `adminAllow`; KV, permissions and topics as in Java."""
    HARDENED = "hardened"
    """Every change and every listing only from `adminAllow`, or signed; brokers may speak for themselves."""
    OPEN = "open"
    """Exactly as in Java: anyone who can connect."""


class Family(enum.Enum):
    """Whose key it is; the value is the heading in the documentation."""

    NAMESRV = "NamesrvConfig"
    NETTY_SERVER = "NettyServerConfig"
    SYSTEM = "Java system properties"
    COSMODROME = "Cosmodrome"


class Effect(enum.Enum):
    """When a new value takes effect; the value is the word in the documentation."""

    LIVE = "at once"
    RESTART = "at the next start"
    NONE = "accepted, no effect"


class Kind(enum.Enum):
    """What a value looks like; the value is the word in the documentation."""

    BOOLEAN = "boolean"
    INT = "int"
    LONG = "long"
    TEXT = "string"
    PATH = "path"
    SERIALIZE_TYPE = "JSON or ROCKETMQ"
    ADMIN_POLICY = "compatible, hardened or open"
    NETWORKS = "networks, separated by semicolons"
    ADDRESS = "host:port"
    LISTENER = "host:port, or off"
    CHOICE = "one of several words"
    LABELS = "name:value, separated by ,"


LISTS: Final = frozenset({Kind.NETWORKS, Kind.TEXT})
"""Kinds whose text may be a list, separated by semicolons."""


@dataclass(frozen=True, slots=True)
class Key:
    """One configuration key, complete but for what `named` adds.

    Attributes:
        kind: What its text looks like.
        family: Whose key it is.
        effect: When a change takes effect.
        meaning: One line for the documentation.
        unit: Of a number, else empty.
        minimum: Smallest number that is accepted.
        maximum: Largest number that is accepted.
        request_range: What a request may set it to, beside 0 if that is in range; a file or flag may go further.
        may_be_empty: Whether an empty text is accepted.
        choices: The words that a CHOICE may be.
        is_secret: Whether its value must not be shown.
        java_name: The key as files, requests and `--set` spell it; empty: the field's name in camel case.
        default_text: The default as the documentation shows it; empty: as the field has it.
        field_name: The field of NamesrvConfig that holds its value.
    """

    kind: Kind
    family: Family
    effect: Effect
    meaning: str
    _: dataclasses.KW_ONLY
    unit: str = ""
    minimum: int = 0
    maximum: int = INT_MAX
    request_range: range | None = None
    may_be_empty: bool = False
    choices: tuple[str, ...] = ()
    is_secret: bool = False
    java_name: str = ""
    default_text: str = ""
    field_name: str = ""

    def named(self, field_name: str, default: object) -> "Key":
        """Give this key with what follows from the field that holds it."""
        return dataclasses.replace(
            self,
            field_name=field_name,
            java_name=self.java_name or _camel_case(field_name),
            default_text=self.default_text or text_of(default) or "",
        )

    @property
    def environment_name(self) -> str:
        """The environment variable that sets it."""
        return ENVIRONMENT_PREFIX + self.field_name.upper()

    def parse(self, text: str) -> object:
        """Read a value; blanks at its end do not count, and for numbers and the like none at the start.

        Raises:
            ValueError: The text is no value of this key. The message completes the sentence "it ...".
        """
        return _READERS[self.kind](self, text.rstrip(BLANKS))

    def check_request(self, value: object) -> None:
        """Refuse a value that is good in a file, and with which anybody who may send requests could stop the service.

        Raises:
            ValueError: The message completes the sentence "it ...".
        """
        allowed = self.request_range
        if allowed is not None and isinstance(value, int) and value and value not in allowed:
            raise ValueError(
                f"must be between {allowed[0]} and {allowed[-1]}{_unit_after(self)} when a request changes it, "
                f"not {value}; the file and the command line may go further"
            )


def option(default: T, key: Key) -> T:
    """Declare a field of NamesrvConfig with its default and its key."""
    return dataclasses.field(default=default, metadata={"key": key})


def text_of(value: object) -> str | None:
    """Write a value as Java does; None where there is none."""
    match value:
        case None:
            return None
        case bool():
            return "true" if value else "false"
        case SerializeType():
            return value.name
        case tuple():
            return ";".join(map(str, value))
        case _:
            return str(value)


def _camel_case(field_name: str) -> str:
    first, *others = field_name.split("_")
    return first + "".join(word.capitalize() for word in others)


def _read_boolean(_key: Key, text: str) -> bool:
    match text.strip(BLANKS).lower():
        case "true":
            return True
        case "false":
            return False
        case _:
            raise ValueError(f"must be true or false, not {_quoted(text)}")


def _read_number(key: Key, text: str) -> int:
    digits = text.strip(BLANKS)
    if not _NUMBER.fullmatch(digits):
        raise ValueError(f"must be a whole number{_in_unit(key)}, not {_quoted(text)}")
    if len(digits) > LONGEST_NUMBER or not key.minimum <= int(digits) <= key.maximum:
        raise ValueError(f"must be between {key.minimum} and {key.maximum}{_unit_after(key)}, not {_quoted(digits)}")
    return int(digits)


def _read_text(key: Key, text: str) -> str:
    bad = next((char for char in text if _is_control(char)), None)
    if bad is not None:
        raise ValueError(f"must not hold the control character U+{ord(bad):04X}")
    if _SURROGATE.search(text):
        raise ValueError("must not hold half of a surrogate pair")
    if not text and not key.may_be_empty:
        raise ValueError("must not be empty")
    return text


def _read_serialize_type(_key: Key, text: str) -> SerializeType:
    try:
        return SerializeType[text.strip(BLANKS).upper()]
    except KeyError:
        raise ValueError(f"must be JSON or ROCKETMQ, not {_quoted(text)}") from None


def _read_admin_policy(_key: Key, text: str) -> AdminPolicy:
    try:
        return AdminPolicy(text.strip(BLANKS).lower())
    except ValueError:
        raise ValueError(f"must be {Kind.ADMIN_POLICY.value}, not {_quoted(text)}") from None


def _read_choice(key: Key, text: str) -> str:
    word = text.strip(BLANKS).lower()
    if word not in key.choices:
        raise ValueError(f"must be one of {', '.join(key.choices)}, not {_quoted(text)}")
    return word


def read_network(text: str) -> Network:
    """Read one network, or one address as the network that has only it.

    Raises:
        ValueError: It is none, or another one than it seems. The message completes the sentence "it ...".
    """
    try:
        network = ipaddress.ip_network(text, strict=False)
    except ValueError:
        raise ValueError(f"must hold networks such as 10.0.0.0/8, not {_quoted(text)}") from None
    address = ipaddress.ip_address(text.partition("/")[0])
    if address != network.network_address:
        alone = ipaddress.ip_network(address)
        raise ValueError(f"must hold {network} or {alone}, not {_quoted(text)}: it is not clear which of them is meant")
    if network.version == _MAPPED.version and network.subnet_of(_MAPPED):
        inner = ipaddress.ip_network((int(address) & 0xFFFF_FFFF, network.prefixlen - _MAPPED.prefixlen))
        raise ValueError(f"must hold {inner}, not {_quoted(text)}: IPv4 peers are known by their IPv4 addresses")
    return network


def _read_networks(_key: Key, text: str) -> tuple[Network, ...]:
    parts = [each.strip(BLANKS) for each in re.split("[;,]", text)]
    networks = tuple(read_network(part) for part in parts if part)
    if not networks and any(char not in BLANKS for char in text):
        raise ValueError(f"must hold networks such as 10.0.0.0/8, or be empty, not {_quoted(text)}")
    return networks


def _read_labels(key: Key, text: str) -> str:
    for part in text.split(","):
        name, colon, value = part.strip(BLANKS).partition(":")
        if part.strip(BLANKS) and not (colon and _LABEL.fullmatch(name) and ":" not in value):
            raise ValueError(f"must hold labels such as region:eu,rack:7, not {_quoted(part)}")
    return _read_text(key, text)


def labels_of(text: str) -> dict[str, str]:
    """Give the names and values of a text that was read as LABELS."""
    pairs = (part.strip(BLANKS).partition(":") for part in text.split(",") if part.strip(BLANKS))
    return {name: value for name, _, value in pairs}


def _read_address(key: Key, text: str) -> str:
    address = text.strip(BLANKS)
    match = _ADDRESS.fullmatch(address)
    if (match is None or not 0 < int(match[2]) < 65_536) and not (key.may_be_empty and not address):
        raise ValueError(f"must be one address such as 10.0.0.1:9876, not {_quoted(text)}")
    return address


def _read_listener(_key: Key, text: str) -> str:
    address = text.strip(BLANKS)
    if address.lower() in ("", "off"):
        return ""
    match = _ADDRESS.fullmatch(address)
    if match is None or int(match[2]) >= 65_536:
        raise ValueError(f"must be off, or an address such as 127.0.0.1:19876, not {_quoted(text)}")
    return address


def _is_control(char: str) -> bool:
    """Tell whether a value must not hold this character. A tab is harmless in files, listings and logs."""
    return (char < " " and char != "\t") or "\x7f" <= char <= "\x9f" or char in _LINE_SEPARATORS


def _unit_after(key: Key) -> str:
    return f" {key.unit}" if key.unit else ""


def _in_unit(key: Key) -> str:
    return f" of {key.unit}" if key.unit else ""


def _quoted(text: str) -> str:
    """Show a text that may be anything, shortened, on one line."""
    shown = text if len(text) <= 60 else f"{text[:57]}..."
    return f'"{"".join(char if char.isprintable() else ascii(char)[1:-1] for char in shown)}"'


_READERS: Final[Mapping[Kind, Callable[[Key, str], object]]] = {
    Kind.BOOLEAN: _read_boolean,
    Kind.INT: _read_number,
    Kind.LONG: _read_number,
    Kind.TEXT: _read_text,
    Kind.PATH: _read_text,
    Kind.SERIALIZE_TYPE: _read_serialize_type,
    Kind.ADMIN_POLICY: _read_admin_policy,
    Kind.NETWORKS: _read_networks,
    Kind.ADDRESS: _read_address,
    Kind.LISTENER: _read_listener,
    Kind.CHOICE: _read_choice,
    Kind.LABELS: _read_labels,
}

NETTY_CLIENT_KEYS: Final = frozenset(
    {
        "channelNotActiveInterval",
        "clientAsyncSemaphoreValue",
        "clientCallbackExecutorThreads",
        "clientChannelMaxIdleTimeSeconds",
        "clientCloseSocketIfTimeout",
        "clientOnewaySemaphoreValue",
        "clientPooledByteBufAllocatorEnable",
        "clientSocketRcvBufSize",
        "clientSocketSndBufSize",
        "clientWorkerThreads",
        "connectTimeoutMillis",
        "disableCallbackExecutor",
        "disableNettyWorkerGroup",
        "enableReconnectForGoAway",
        "maxReconnectIntervalTimeSeconds",
        "scanAvailableNameSrv",
        "socksProxyConfig",
        "useTLS",
    }
)
"""Keys of NettyClientConfig, which Java reads from the same file."""

CONTROLLER_KEYS: Final = frozenset(
    {
        "controllerDLegerGroup",
        "controllerDLegerPeers",
        "controllerDLegerSelfId",
        "controllerStorePath",
        "controllerThreadPoolNums",
        "controllerType",
        "electMasterMaxRetryCount",
        "enableElectUncleanMaster",
        "jRaftControllerRPCAddr",
        "jRaftElectionTimeoutMs",
        "jRaftGroupId",
        "jRaftInitConf",
        "jRaftScanWaitTimeoutMs",
        "jRaftServerId",
        "jRaftSnapshotIntervalSecs",
        "mappedFileSize",
        "metricsExporterType",
        "metricsGrpcExporterHeader",
        "metricsGrpcExporterTarget",
        "metricsInDelta",
        "metricsPromExporterHost",
        "metricsPromExporterPort",
        "notifyBrokerRoleChanged",
        "processReadEvent",
        "scanInactiveMasterInterval",
    }
)
"""Keys of the embedded controller; without enableControllerInNamesrv=true Java does not read them either."""

KEYS_WITHOUT_FIELD: Final = NETTY_CLIENT_KEYS | CONTROLLER_KEYS
"""Keys that a Java file may hold, accepted with any value and without effect."""
