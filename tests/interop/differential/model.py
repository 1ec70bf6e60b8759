"""A small model of the tables, to know which steps leave both servers in the same state.

Owns: where the Apache NameServer and ours differ on purpose *in state* (spec 11.2): a step that
would make them differ may only be the last of a history, or is left out when it shows nothing.
Must not know: answers. What differs in one answer only is for differences.py.

The model follows Apache's server and is deliberately narrow: in doubt it ends the history.
"""

from dataclasses import dataclass, field, replace
from enum import Enum, auto

from tests.interop.differential.history import SETTINGS, Body, Close, Request, Step, Version
from tests.support import wire

REGISTER_FIELDS = ("brokerName", "brokerAddr", "clusterName", "haServerAddr")
IDENTITY_FIELDS = ("brokerName", "brokerAddr", "clusterName", "brokerId")


class Verdict(Enum):
    """What to do with a step."""

    PLAY = auto()
    LAST = auto()
    """Play it, compare its answer, and end the history: the tables may differ now."""
    SKIP = auto()


@dataclass(slots=True)
class Group:
    """The brokers of one name."""

    cluster: str
    flag: str | None
    zone: str | None
    addrs: dict[int, str] = field(default_factory=dict)
    is_shared: bool = False
    """Registered from a second cluster too."""


@dataclass(slots=True)
class Live:
    """What the live table of Apache's server holds for one cluster and address."""

    name: str
    broker_id: int
    version: Version
    connection: str


Key = tuple[str, str]


class Model:
    """The tables after the steps judged so far."""

    def __init__(self, setting: str) -> None:
        """Start with empty tables."""
        self._deletes_topics = "deleteTopicWithBrokerRegistration" in SETTINGS[setting]
        self.groups: dict[str, Group] = {}
        self.live: dict[Key, Live] = {}
        self.stale: dict[Key, Live] = {}
        """Entries that Apache's server keeps for replaced addresses (F4)."""
        self.mapped: set[str] = set()
        self.unmapped: set[str] = set()
        """Static topics of which a part went away: Apache's routes still show it (F10)."""

    def judge(self, step: Step) -> tuple[Verdict, Step]:
        """Apply a step, and return whether to play it and the step with its facts."""
        if isinstance(step, Close):
            return self._close(step), step
        verdict = self._request(step)
        facts = {"mapping-may-linger"} if self._route_topic(step) in self.unmapped else set()
        facts |= {"last"} if verdict is Verdict.LAST else set()
        return verdict, replace(step, facts=frozenset(facts))

    def _route_topic(self, step: Request) -> str | None:
        return step.get("topic") if step.code == 105 else None

    def _request(self, step: Request) -> Verdict:
        judges = {
            103: self._register,
            104: self._unregister,
            904: self._heartbeat,
            322: self._heartbeat,
            216: self._delete_topic,
            217: _add_topic,
            100: _put_kv,
        }
        return judges[step.code](step) if step.code in judges else Verdict.PLAY

    # REGISTER_BROKER

    def _register(self, step: Request) -> Verdict:
        verdict = _refused_by_both(step)
        if verdict is not None:
            return verdict
        name, addr, cluster = (step.get(field) or "" for field in REGISTER_FIELDS[:3])
        key, group = (cluster, addr), self.groups.get(name)
        verdict = self._moved(step, key, group)
        if verdict is not None:
            return verdict
        if group is not None and self._conflicts(step, group):
            return Verdict.PLAY if self._leaves_no_trace(step, group) else Verdict.LAST
        broker_id = int(step.get("brokerId") or 0)
        if len(step.body.topics) == 1 and (group is None or group.addrs.get(broker_id, "") == ""):
            clean = group is not None and self._leaves_no_trace(step, group)
            return Verdict.PLAY if clean else Verdict.LAST
        self._accept(step, key, broker_id)
        return Verdict.PLAY

    def _moved(self, step: Request, key: Key, group: Group | None) -> Verdict | None:
        """Judge an address that was known otherwise: renamed, in another cluster, or replaced."""
        cluster, addr = key
        name = step.get("brokerName")
        others = [n for n, g in self.groups.items() if addr in g.addrs.values() and n != name]
        elsewhere = any(a == addr and (c != cluster or e.name != name) for (c, a), e in self.live.items())
        if others or elsewhere:
            return Verdict.LAST
        if group is not None and group.cluster != cluster and group.is_shared:
            return Verdict.SKIP
        if key in self.stale and (self.stale[key].version == step.body.version or _keeps_filters(step.body)):
            return Verdict.SKIP
        return None

    def _conflicts(self, step: Request, group: Group) -> bool:
        other = group.addrs.get(int(step.get("brokerId") or 0))
        if other is None or other == step.get("brokerAddr"):
            return False
        entry = self.live.get((step.get("clusterName") or "", other))
        return entry is not None and entry.version.state > step.body.version.state

    def _leaves_no_trace(self, step: Request, group: Group) -> bool:
        """Return whether Apache's half-done refusal (F8) changes nothing."""
        addr, cluster = step.get("brokerAddr") or "", step.get("clusterName") or ""
        same = (group.cluster, group.flag, group.zone) == (cluster, _flag(step), step.get("__ZONE_NAME"))
        known = addr in group.addrs.values() or (cluster, addr) in self.live or (cluster, addr) in self.stale
        return same and not known

    def _accept(self, step: Request, key: Key, broker_id: int) -> None:
        cluster, addr = key
        name = step.get("brokerName") or ""
        group = self.groups.setdefault(name, Group(cluster, None, None))
        group.flag, group.zone = _flag(step), step.get("__ZONE_NAME")
        group.is_shared |= group.cluster != cluster
        group.addrs = {i: a for i, a in group.addrs.items() if a != addr or i == broker_id}
        replaced = (cluster, group.addrs.get(broker_id, addr))
        if replaced != key and replaced in self.live:
            self.stale[replaced] = self.live.pop(replaced)
        group.addrs[broker_id] = addr
        self.stale.pop(key, None)
        self.live[key] = Live(name, broker_id, step.body.version, step.connection)
        self.mapped |= {mapping.topic for mapping in step.body.mappings}
        if self._deletes_topics:
            self.unmapped |= self.mapped - {mapping.topic for mapping in step.body.mappings}

    # UNREGISTER_BROKER and closed connections

    def _unregister(self, step: Request) -> Verdict:
        if any(step.get(name) is None for name in IDENTITY_FIELDS) or not _is_int(step.get("brokerId")):
            return Verdict.LAST
        name, addr, cluster, _ = (step.get(each) or "" for each in IDENTITY_FIELDS)
        group, entry = self.groups.get(name), self.live.get((cluster, addr))
        if entry is not None and entry.name != name:
            return Verdict.LAST
        held = group is not None and addr in group.addrs.values()
        if group is not None and held and (entry is None or group.is_shared):
            return Verdict.LAST
        if (cluster, addr) in self.stale and self.stale[cluster, addr].name != name:
            return Verdict.LAST
        self.stale.pop((cluster, addr), None)
        self._remove(name, (cluster, addr))
        return Verdict.PLAY

    def _remove(self, name: str, key: Key) -> None:
        self.live.pop(key, None)
        group = self.groups.get(name)
        if group is None:
            return
        group.addrs = {i: a for i, a in group.addrs.items() if a != key[1]}
        if not group.addrs:
            del self.groups[name]
            # Topics that lose their last queues take the mappings of other brokers with them.
            self.unmapped |= self.mapped

    def _close(self, step: Close) -> Verdict:
        bound = [(key, e) for key, e in self.live.items() if e.connection == step.connection]
        stale = [key for key, e in self.stale.items() if e.connection == step.connection]
        if len(bound) + len(stale) > 1:
            return Verdict.SKIP
        if not bound:
            return Verdict.PLAY
        key, entry = bound[0]
        group = self.groups.get(entry.name)
        if group is None or group.cluster != key[0] or group.is_shared:
            return Verdict.SKIP
        self._remove(entry.name, key)
        return Verdict.PLAY

    # The others

    def _heartbeat(self, step: Request) -> Verdict:
        key = (step.get("clusterName") or "", step.get("brokerAddr") or "")
        return Verdict.SKIP if key in self.stale else Verdict.PLAY

    def _delete_topic(self, step: Request) -> Verdict:
        topic = step.get("topic")
        if topic in self.mapped:
            self.unmapped.add(topic)
        return Verdict.PLAY


def _refused_by_both(step: Request) -> Verdict | None:
    """Judge a registration that cannot be taken, or is taken by one server only."""
    body = step.body
    if step.bad_crc or body.effect == "refused":
        return Verdict.PLAY
    if not _is_int(step.get("brokerId")):
        return Verdict.PLAY
    if body.effect == "last" or any(step.get(name) is None for name in REGISTER_FIELDS):
        return Verdict.LAST
    return Verdict.LAST if _is_mislabelled(step, body) else None


def _keeps_filters(body: Body) -> bool:
    """Return whether a registration leaves the filter servers of its address as they are."""
    return body.form == "old" or body.filters is None


def _is_mislabelled(step: Request, body: Body) -> bool:
    """Return whether `compressed` does not say what the body is (F11)."""
    says_zip = (step.get("compressed") or "").lower() == "true"
    return (
        step.version >= wire.SECOND_BODY_VERSION and body.form in ("json", "zip") and says_zip != (body.form == "zip")
    )


def _add_topic(step: Request) -> Verdict:
    """An empty name is a topic for Apache's server."""
    return Verdict.LAST if step.get("topic") == "" else Verdict.PLAY


def _put_kv(step: Request) -> Verdict:
    """A missing value is a value for Apache's server."""
    is_named = step.get("namespace") is not None and step.get("key") is not None
    return Verdict.LAST if is_named and step.get("value") is None else Verdict.PLAY


def _flag(step: Request) -> str | None:
    return step.get("enableActingMaster")


def _is_int(text: str | None) -> bool:
    return text is not None and text.lstrip("+-").isdigit()
