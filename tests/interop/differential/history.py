"""What is played: requests and closed connections, in order, under one server configuration.

Owns: the steps, the bodies they carry, and how both are written for a person.
Must not know: servers, sockets, and which step makes sense when (model.py).

Texts hold two tokens that each play replaces, so that no two plays share a name: `~` ends every
name of a broker, cluster, topic or namespace; `@3` is the third broker address of the history.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from tests.support import wire

Form = Literal["none", "json", "zip", "old", "text"]
Effect = Literal["accepted", "refused", "last"]

FULL_REGISTRATION: Final = 103
UNREGISTER: Final = 104


@dataclass(frozen=True, slots=True)
class Topic:
    """One TopicConfig of a registration."""

    name: str
    read: int = 8
    write: int = 8
    perm: int = 6
    sys_flag: int = 0


@dataclass(frozen=True, slots=True)
class StaticMapping:
    """One TopicQueueMappingInfo of a registration (static topics)."""

    topic: str
    broker: str
    current: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Version:
    """A DataVersion."""

    counter: int = 1
    timestamp: int = 1_700_000_000_000
    state: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """A request's body as a recipe: it is built when the names of a play are known.

    `text` is sent as it is when the form is `text`; the other members then only say what the
    servers understand, and `effect` what they do about it: `last` means that they differ on purpose
    and leave different tables behind, so nothing can be compared after it.
    """

    form: Form = "none"
    topics: tuple[Topic, ...] = ()
    version: Version = Version()
    filters: tuple[str, ...] | None = ()
    mappings: tuple[StaticMapping, ...] = ()
    with_mapping_part: bool = True
    text: str = ""
    effect: Effect = "accepted"

    def build(self, fill: Callable[[str], str]) -> bytes:
        """Return the bytes; `fill` replaces the tokens of one text."""
        topics = [wire.topic_config(fill(t.name), t.read, t.write, t.perm, t.sys_flag) for t in self.topics]
        version = _data_version(self.version)
        filters = None if self.filters is None else [fill(each) for each in self.filters]
        mappings = [wire.mapping_info(fill(m.topic), fill(m.broker), dict(m.current)) for m in self.mappings]
        match self.form:
            case "none":
                return b""
            case "text":
                return fill(self.text).encode()
            case "old":
                return wire.old_register_body(topics, version)
            case "json":
                return wire.register_body(topics, version, filter_servers=filters, mappings=mappings)
            case "zip":
                part = mappings if self.with_mapping_part else None
                return wire.compressed_register_body(topics, version, filter_servers=filters or (), mappings=part)

    def __str__(self) -> str:
        """Return it short enough for a line of a failure report."""
        match self.form:
            case "none":
                return "no body"
            case "text":
                return f"body {self.text}"
        counted = f"{self.version.counter}/{self.version.timestamp}/{self.version.state}"
        topics = ", ".join(f"{t.name} r{t.read} w{t.write} perm{t.perm} flag{t.sys_flag}" for t in self.topics)
        parts = [f"{self.form} body", f"version {counted}", f"topics [{topics}]", f"filters {self.filters}"]
        parts += [f"mapping {m.topic}@{m.broker} {dict(m.current)}" for m in self.mappings]
        return ", ".join(parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request on the connection named `connection`, which is opened when first used.

    `facts` and `translation` are added by the model before the step is played: the former for the
    rules of differences.py, the latter where a wanted difference would make the tables differ.
    """

    connection: str
    code: int
    ext: Mapping[str, str] | None = None
    body: Body = Body()
    version: int = wire.VERSION_5_5_0
    codec: wire.Codec = "JSON"
    language: str = "JAVA"
    is_oneway: bool = False
    bad_crc: bool = False
    is_translatable: bool = False
    facts: frozenset[str] = field(default=frozenset(), compare=False)
    translation: "Translation | None" = field(default=None, compare=False)

    def get(self, name: str) -> str | None:
        """Return a header field as the server sees it: an empty text is nothing in ROCKETMQ."""
        value = (self.ext or {}).get(name)
        return None if value == "" and self.codec == "ROCKETMQ" else value

    def __str__(self) -> str:
        """Return one line."""
        marks = [self.codec, f"v{self.version}", *(["oneway"] if self.is_oneway else [])]
        marks += ["bad crc"] if self.bad_crc else []
        ext = "no ext fields" if self.ext is None else " ".join(f"{k}={v!r}" for k, v in self.ext.items())
        body = "" if self.body.form == "none" else f" | {self.body}"
        return f"[{self.connection}] {self.code} ({' '.join(marks)}) {ext}{body}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Close:
    """The client's end of a connection goes away, in good order or with a reset."""

    connection: str
    is_reset: bool = False
    is_translatable: bool = False
    facts: frozenset[str] = field(default=frozenset(), compare=False)
    translation: "Translation | None" = field(default=None, compare=False)

    def __str__(self) -> str:
        """Return one line."""
        return f"[{self.connection}] {'reset' if self.is_reset else 'close'}"


Step = Request | Close


@dataclass(frozen=True, slots=True)
class Translation:
    """What Apache's server is given in place of a step, to do what ours does of itself.

    No steps at all: for ours, the step changes nothing, and is answered with code `expects`.
    """

    steps: tuple[Step, ...] = ()
    expects: int | None = None

    def __str__(self) -> str:
        """Return one line."""
        if not self.steps:
            return f"not given to Apache: ours answers {self.expects} and changes nothing"
        return "Apache is given: " + "; ".join(str(step) for step in self.steps)


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """Steps under one configuration; `number` and `seed` say where they came from."""

    seed: int
    number: int
    setting: str
    steps: tuple[Step, ...]

    def __str__(self) -> str:
        """Return it as the lines of a failure report."""
        head = f"history {self.number} of seed {self.seed}, setting {self.setting}:"
        return "\n".join([head, *(f"  {at:2} {step}" for at, step in enumerate(self.steps))])


SETTINGS: Final[Mapping[str, Mapping[str, str]]] = {
    "defaults": {},
    "acting-master": {"supportActingMaster": "true", "notifyMinBrokerIdChanged": "true"},
    "delete-topics": {"deleteTopicWithBrokerRegistration": "true"},
    "order": {"orderMessageEnable": "true", "returnOrderTopicConfigToBroker": "false"},
    "no-lists": {"enableAllTopicList": "false", "enableTopicList": "false", "supportActingMaster": "true"},
}
"""Server configurations by name; a key that a setting does not mention has its default."""

_DEFAULTS: Final = {
    "supportActingMaster": "false",
    "notifyMinBrokerIdChanged": "false",
    "deleteTopicWithBrokerRegistration": "false",
    "orderMessageEnable": "false",
    "returnOrderTopicConfigToBroker": "true",
    "enableAllTopicList": "true",
    "enableTopicList": "true",
}


def setting_text(name: str) -> bytes:
    """Return a setting as the body of UPDATE_NAMESRV_CONFIG, every key that any setting changes."""
    return "".join(f"{key}={value}\n" for key, value in (_DEFAULTS | dict(SETTINGS[name])).items()).encode()


def _data_version(version: Version) -> dict[str, Any]:
    return wire.data_version(version.counter, version.timestamp, version.state)
