"""What is played: requests and closed connections, in order, under one server configuration.

Owns: the steps, the bodies they carry, and how both are written for a person.
Must not know: servers, sockets, and which step makes sense when (model.py).

Texts hold two tokens that each play replaces, so that no two plays share a name: `~` ends every
name of a broker, cluster, topic or namespace; `@3` is the third broker address of the history.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from tests.support import wire

Form = Literal["none", "json", "zip", "old", "text"]
Effect = Literal["accepted", "refused", "last"]
Setting = tuple[tuple[str, str], ...]
"""Configuration keys and the values they have instead of those of settings.RESET."""

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
    and leave different tables behind, so nothing can be compared after it. `changes` are the switches that
    a body of UPDATE_NAMESRV_CONFIG sets.
    """

    form: Form = "none"
    topics: tuple[Topic, ...] = ()
    version: Version = Version()
    filters: tuple[str, ...] | None = ()
    mappings: tuple[StaticMapping, ...] = ()
    with_mapping_part: bool = True
    text: str = ""
    effect: Effect = "accepted"
    changes: Setting = ()

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
                return fill(self.text).encode(errors="surrogatepass")
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
                return f"body {self.text!r}"
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
    Values of `ext` may be of any JSON type; `header` replaces members of a JSON header.
    """

    connection: str
    code: int
    ext: Mapping[str, Any] | None = None
    body: Body = Body()
    version: int = wire.VERSION_5_5_0
    codec: wire.Codec = "JSON"
    language: str = "JAVA"
    is_oneway: bool = False
    more_flags: int = 0
    header: tuple[tuple[str, Any], ...] = ()
    bad_crc: bool = False
    is_translatable: bool = False
    facts: frozenset[str] = field(default=frozenset(), compare=False)
    translation: "Translation | None" = field(default=None, compare=False)

    @property
    def flag(self) -> int:
        """The flags of the header."""
        return self.more_flags | (wire.FLAG_ONEWAY if self.is_oneway else 0)

    @property
    def effective_version(self) -> int:
        """The version that a server reads: fastjson takes a number in quotes for a number."""
        said = str(dict(self.header).get("version", self.version))
        return int(said) if re.fullmatch(r"[+-]?[0-9]{1,10}", said) else self.version

    @property
    def is_answered(self) -> bool:
        """Whether anybody waits for an answer: a oneway request has none, nor has what claims to be one."""
        return not self.flag & (wire.FLAG_ONEWAY | wire.FLAG_RESPONSE)

    def get(self, name: str) -> str | None:
        """Return a header field as the server sees it: an empty text is nothing in ROCKETMQ."""
        value = (self.ext or {}).get(name)
        if value is not None and not isinstance(value, str):
            return as_text(value)
        return None if value == "" and self.codec == "ROCKETMQ" else value

    def __str__(self) -> str:
        """Return one line."""
        marks = [self.codec, f"v{self.version}", *(["oneway"] if self.is_oneway else [])]
        marks += ["bad crc"] if self.bad_crc else []
        marks += [f"flag {self.flag}"] if self.more_flags else []
        marks += [f"header {dict(self.header)}"] if self.header else []
        fields = (self.ext or {}).items()
        ext = "no ext fields" if self.ext is None else " ".join(f"{k}={v!r}" for k, v in fields)
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
    setting: Setting
    steps: tuple[Step, ...]
    is_old: bool = False
    """For Apache's 4.9.7: what the generations do differently to the tables is left out or translated."""

    def __str__(self) -> str:
        """Return it as the lines of a failure report."""
        head = f"history {self.number} of seed {self.seed}, {shown(self.setting)}:"
        return "\n".join([head, *(f"  {at:2} {step}" for at, step in enumerate(self.steps))])


def shown(setting: Setting) -> str:
    """Write a setting for a person."""
    return " ".join(f"{key}={value}" for key, value in setting) or "default setting"


def as_text(value: Any) -> str:
    """Return a header value as a server reads it."""
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))


def _data_version(version: Version) -> dict[str, Any]:
    return wire.data_version(version.counter, version.timestamp, version.state)
