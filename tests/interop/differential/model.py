"""A small model of the tables, to know which steps leave both servers in the same state.

Owns: where the Apache NameServer and ours differ on purpose *in state* (spec 11.2): a step that
would make them differ is translated (Apache's server is told to do what ours does of itself), is the
last of a history, or is left out when it shows nothing.
Must not know: answers. What differs in one answer only is for differences.py.

The model follows Apache's server and is deliberately narrow: in doubt it ends the history.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import Final, NamedTuple

from tests.interop.differential.history import Body, Close, Request, Setting, Step, Translation, Version
from tests.interop.differential.settings import SWITCHES
from tests.support import wire

REGISTER_FIELDS: Final = ("brokerName", "brokerAddr", "clusterName", "haServerAddr")
IDENTITY_FIELDS: Final = ("brokerName", "brokerAddr", "clusterName", "brokerId")
LINGER_FACT: Final = "mapping-may-linger"
NOTICE_FACT: Final = "notice-may-differ"
LAST_FACT: Final = "last"
NOBODYS_ID: Final = -(2**50)


class Verdict(Enum):
    """What to do with a step."""

    PLAY = auto()
    LAST = auto()
    """Play it, compare its answer, and end the history: the tables may differ now."""
    SKIP = auto()


class Judgement(NamedTuple):
    """A verdict, and what goes with the step when it is played."""

    verdict: Verdict
    facts: frozenset[str] = frozenset()
    translation: Translation | None = None


PLAY: Final = Judgement(Verdict.PLAY)
LAST: Final = Judgement(Verdict.LAST, frozenset({LAST_FACT}))
SKIP: Final = Judgement(Verdict.SKIP)


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
NOW: Final = -1
"""The timestamp of a version that a server makes itself."""


class Model:
    """The tables after the steps judged so far."""

    def __init__(self, setting: Setting, *, is_old: bool = False) -> None:
        """Start with empty tables."""
        self.config = dict(SWITCHES) | dict(setting)
        self._is_old = is_old
        self.queues: dict[str, set[str]] = {}
        """Topics and who serves them, as 4.9.7 and ours see it; kept beside 4.9.7 only."""
        self.groups: dict[str, Group] = {}
        self.live: dict[Key, Live] = {}
        self.stale: dict[Key, Live] = {}
        """Entries that Apache's server keeps for replaced addresses (F4)."""
        self.mapped: set[str] = set()
        self.unmapped: set[str] = set()
        """Static topics of which a part went away: Apache's routes still show it (F10)."""

    def judge(self, step: Step) -> tuple[Verdict, Step]:
        """Apply a step, and return whether to play it, and the step with its facts and translation."""
        judgement = self._close(step) if isinstance(step, Close) else self._request(step)
        return judgement.verdict, replace(step, facts=judgement.facts, translation=judgement.translation)

    def _request(self, step: Request) -> Judgement:
        if step.flag & wire.FLAG_RESPONSE:
            return PLAY
        judges: dict[int, Callable[[Request], Judgement]] = {
            100: _put_kv,
            103: self._register,
            104: self._unregister,
            105: self._read_route,
            216: self._delete_topic,
            217: self._add_topic,
            318: self._configure,
            322: self._heartbeat,
            904: self._heartbeat,
        }
        return judges[step.code](step) if step.code in judges else PLAY

    # REGISTER_BROKER

    def _register(self, step: Request) -> Judgement:
        if _is_refused(step):
            return PLAY
        if step.body.effect == "last" or any(step.get(name) is None for name in REGISTER_FIELDS):
            # A null name cuts the lists of 5.5.0 short for ever, a null address all later closes of 4.9.7.
            stays = self._is_old or step.get("brokerName") is None
            return SKIP if stays and not step.is_translatable else _only_ours(step, 1)
        return self._register_relabelled(step) if _is_mislabelled(step) else self._register_complete(step)

    def _register_complete(self, step: Request) -> Judgement:
        key, group = _key(step), self.groups.get(step.get("brokerName") or "")
        if self._is_obscure(step, key, group) or (self._is_old and self._differs_in_old(step, key, group)):
            return SKIP
        is_clean = group is not None and self._leaves_no_trace(step, group)
        if group is not None and self._conflicts(step, group):
            return PLAY if is_clean else _only_ours(step, 0)
        if len(step.body.topics) == 1 and (group is None or _id(step) not in group.addrs):
            if self._is_old:
                return _only_ours(step, 1) if step.is_translatable else SKIP
            return PLAY if is_clean else _only_ours(step, 1)
        return self._move(step, key) if self._is_elsewhere(step, key) else self._accept(step, key)

    def _register_relabelled(self, step: Request) -> Judgement:
        """Judge a body that is not what `compressed` says: ours inflates it where it is due (F11)."""
        if not step.is_translatable or step.body.form != "zip":
            return LAST
        relabelled = replace(step, ext=dict(step.ext or {}) | {"compressed": "true"})
        judgement = self._register(relabelled)
        if judgement.translation is None:
            return judgement._replace(translation=Translation((relabelled,)))
        return judgement

    def _is_obscure(self, step: Request, key: Key, group: Group | None) -> bool:
        """Return whether what Apache's server keeps of the past would show in no simple way."""
        if group is not None and group.cluster != key[0] and group.is_shared:
            return True
        return key in self.stale and (self.stale[key].version == step.body.version or _keeps_filters(step.body))

    def _differs_in_old(self, step: Request, key: Key, group: Group | None) -> bool:
        """Return whether 4.9.7 does something else with a registration, apart from refusing single topics.

        It knows brokers by address alone, and takes no topic from a broker whose version is unchanged.
        """
        if self._is_elsewhere(step, key) or (group is not None and group.cluster != key[0]):
            return True
        entry = self.live.get(key)
        is_first = group is None or group.addrs.get(_id(step)) is None
        if is_first or entry is None or entry.version != step.body.version:
            return False
        return any(entry.name not in self.queues.get(topic.name, ()) for topic in step.body.topics)

    def _is_elsewhere(self, step: Request, key: Key) -> bool:
        """Return whether the address is known under another name or in another cluster."""
        name = step.get("brokerName")
        others = [n for n, g in self.groups.items() if key[1] in g.addrs.values() and n != name]
        entries = [*self.live.items(), *self.stale.items()]
        return bool(others) or any(k[1] == key[1] and (k[0] != key[0] or e.name != name) for k, e in entries)

    def _move(self, step: Request, key: Key) -> Judgement:
        """Judge an address that comes under a new name: with ours it leaves the former one (F23)."""
        entry = self.live.get(key)
        held = [n for n, g in self.groups.items() if key[1] in g.addrs.values()]
        known = [k for k in (*self.live, *self.stale) if k[1] == key[1]]
        if not step.is_translatable or entry is None or held != [entry.name] or known != [key]:
            return LAST
        former = self.groups[entry.name]
        if former.cluster != key[0] or former.is_shared:
            return LAST
        self._remove(entry.name, key)
        leave = _unregistration(entry.name, key, entry.broker_id)
        self._accept(replace(step, is_translatable=False), key)
        return Judgement(Verdict.PLAY, frozenset({NOTICE_FACT}), Translation((leave, step)))

    def _conflicts(self, step: Request, group: Group) -> bool:
        other = group.addrs.get(_id(step))
        if other is None or other == step.get("brokerAddr"):
            return False
        entry = self.live.get((step.get("clusterName") or "", other))
        return entry is not None and entry.version.state > step.body.version.state

    def _leaves_no_trace(self, step: Request, group: Group) -> bool:
        """Return whether Apache's half-done refusal (F8) changes nothing."""
        key = _key(step)
        same = (group.cluster, group.flag, group.zone) == (key[0], _flag(step), step.get("__ZONE_NAME"))
        return same and not self._is_elsewhere(step, key) and key[1] not in group.addrs.values()

    def _accept(self, step: Request, key: Key) -> Judgement:
        cluster, addr = key
        name, broker_id = step.get("brokerName") or "", _id(step)
        group = self.groups.setdefault(name, Group(cluster, None, None))
        group.flag, group.zone = _flag(step), step.get("__ZONE_NAME")
        group.is_shared |= group.cluster != cluster
        group.addrs = {i: a for i, a in group.addrs.items() if a != addr or i == broker_id}
        replaced = self._holder(name, group.addrs.get(broker_id, addr), cluster)
        group.addrs[broker_id] = addr
        self.stale.pop(key, None)
        self.live[key] = Live(name, broker_id, step.body.version, step.connection)
        self.mapped |= {mapping.topic for mapping in step.body.mappings}
        if self._is_old and broker_id == 0:
            for topic in step.body.topics:
                self.queues.setdefault(topic.name, set()).add(name)
        if self.config["deleteTopicWithBrokerRegistration"] == "true":
            self.unmapped |= self.mapped - {mapping.topic for mapping in step.body.mappings}
        return PLAY if replaced == key else self._replace(step, group, replaced)

    def _holder(self, name: str, addr: str, cluster: str) -> Key:
        """Return under which cluster an address of this broker name lives; mostly the one that is given."""
        keys = [key for key, entry in self.live.items() if key[1] == addr and entry.name == name]
        return (cluster, addr) if not keys or (cluster, addr) in keys else keys[0]

    def _replace(self, step: Request, group: Group, replaced: Key) -> Judgement:
        """Judge an address that lost its id to another one: ours forgets it (F4)."""
        if replaced not in self.live:
            return PLAY
        entry = self.live.pop(replaced)
        # Apache's server takes the write permission from a group without master whenever 104 comes.
        loses_write = group.flag == "true" and min(group.addrs) > 0
        if not step.is_translatable or loses_write:
            self.stale[replaced] = entry
            return PLAY
        forget = _unregistration(entry.name, replaced, NOBODYS_ID)
        return Judgement(Verdict.PLAY, translation=Translation((step, forget)))

    # UNREGISTER_BROKER and closed connections

    def _unregister(self, step: Request) -> Judgement:
        if any(step.get(name) is None for name in IDENTITY_FIELDS) or not _is_int(step.get("brokerId")):
            return _only_ours(step, 1)
        if self._is_old:
            return self._unregister_in_old(step)
        name, key = step.get("brokerName") or "", _key(step)
        group, entry = self.groups.get(name), self.live.get(key) or self.stale.get(key)
        is_held = group is not None and key[1] in group.addrs.values()
        if entry is not None and entry.name != name:
            loses_write = group is not None and group.flag == "true" and min(group.addrs) > 0
            return LAST if is_held or loses_write else _only_ours(step, 0)
        if group is not None and is_held and (key not in self.live or group.is_shared):
            return LAST
        is_exact = group is None or group.addrs.get(_id(step)) == key[1]
        self.stale.pop(key, None)
        self._remove(name, key)
        return PLAY if is_exact else Judgement(Verdict.PLAY, frozenset({NOTICE_FACT}))

    def _unregister_in_old(self, step: Request) -> Judgement:
        """Judge an unregistration beside 4.9.7, which removes the id and does not look at the address."""
        name, key = step.get("brokerName") or "", _key(step)
        group, entry = self.groups.get(name), self.live.get(key)
        if group is None and not any(k[1] == key[1] for k in (*self.live, *self.stale)):
            return PLAY
        if group is None or entry is None or entry.name != name or group.addrs.get(entry.broker_id) != key[1]:
            return SKIP
        is_exact = _id(step) == entry.broker_id
        if not is_exact and not step.is_translatable:
            return SKIP
        self._remove(name, key)
        exact = _unregistration(name, key, entry.broker_id)
        return PLAY if is_exact else Judgement(Verdict.PLAY, translation=Translation((exact,)))

    def _remove(self, name: str, key: Key) -> None:
        self.live.pop(key, None)
        group = self.groups.get(name)
        if group is None:
            return
        group.addrs = {i: a for i, a in group.addrs.items() if a != key[1]}
        if not group.addrs:
            del self.groups[name]
            for names in self.queues.values():
                names.discard(name)
            # Topics that lose their last queues take the mappings of other brokers with them.
            self.unmapped |= self.mapped

    def _close(self, step: Close) -> Judgement:
        bound = {key: entry for key, entry in self.live.items() if entry.connection == step.connection}
        is_stale = any(entry.connection == step.connection for entry in self.stale.values())
        if not bound:
            return PLAY
        groups = [(key, self.groups.get(entry.name)) for key, entry in bound.items()]
        if is_stale or any(group is None or group.cluster != key[0] or group.is_shared for key, group in groups):
            return SKIP
        if len(bound) > 1 and not step.is_translatable:
            return SKIP
        for key, entry in bound.items():
            self._remove(entry.name, key)
        if len(bound) == 1:
            return PLAY
        # Apache's server unregisters one of them, whichever it finds first (F6).
        leave = tuple(_unregistration(entry.name, key, entry.broker_id) for key, entry in bound.items())
        return Judgement(Verdict.PLAY, frozenset({NOTICE_FACT}), Translation((step, *leave)))

    # The others

    def _read_route(self, step: Request) -> Judgement:
        return PLAY._replace(facts=frozenset({LINGER_FACT})) if step.get("topic") in self.unmapped else PLAY

    def _heartbeat(self, step: Request) -> Judgement:
        if self._is_old and any(key[1] == step.get("brokerAddr") and key != _key(step) for key in self.live):
            return SKIP
        key, entry = _key(step), self.live.get(_key(step))
        # Two times of now are equal or not as the milliseconds fall.
        is_a_matter_of_luck = step.code == 322 and entry is not None and entry.version.timestamp == NOW
        is_a_matter_of_luck = is_a_matter_of_luck and '"timestamp"' not in step.body.text
        return SKIP if key in self.stale or is_a_matter_of_luck else PLAY

    def _configure(self, step: Request) -> Judgement:
        """Judge UPDATE_NAMESRV_CONFIG: ours refuses a request with a bad value whole."""
        if step.body.effect == "last":
            return _only_ours(step, 1)
        self.config |= dict(step.body.changes)
        return PLAY

    def _add_topic(self, step: Request) -> Judgement:
        """An empty name is a topic for Apache's server; 4.9.7 does not know the request."""
        if self._is_old:
            names = (json.dumps(name, ensure_ascii=False) for name in self.groups)
            return SKIP if any(name in step.body.text for name in names) else PLAY
        is_taken = step.get("topic") == "" and "brokerName" in step.body.text
        return _only_ours(step, 0) if is_taken else PLAY

    def _delete_topic(self, step: Request) -> Judgement:
        cluster, topic = step.get("clusterName"), step.get("topic") or ""
        gone = {name for name, group in self.groups.items() if not cluster or group.cluster == cluster}
        self.queues[topic] = self.queues.get(topic, set()) - gone
        self.unmapped |= self.mapped & {step.get("topic") or ""}
        return PLAY


def _is_refused(step: Request) -> bool:
    """Return whether both servers refuse a registration without a trace."""
    return step.bad_crc or step.body.effect == "refused" or not _is_int(step.get("brokerId"))


def _only_ours(step: Request, code: int) -> Judgement:
    """Judge a step that leaves something behind on Apache's server, and nothing on ours."""
    return Judgement(Verdict.PLAY, translation=Translation((), code)) if step.is_translatable else LAST


def _unregistration(name: str, key: Key, broker_id: int) -> Request:
    ext = {"brokerName": name, "brokerAddr": key[1], "clusterName": key[0], "brokerId": str(broker_id)}
    return Request(connection="translation", code=104, ext=ext)


def _keeps_filters(body: Body) -> bool:
    """Return whether a registration leaves the filter servers of its address as they are."""
    return body.form == "old" or body.filters is None


def _is_mislabelled(step: Request) -> bool:
    """Return whether `compressed` does not say what the body is (F11)."""
    says_zip = (step.get("compressed") or "").lower() == "true"
    is_zip = step.body.form == "zip"
    return step.version >= wire.SECOND_BODY_VERSION and step.body.form in ("json", "zip") and says_zip != is_zip


def _put_kv(step: Request) -> Judgement:
    """A missing value is a value for Apache's server."""
    is_named = step.get("namespace") is not None and step.get("key") is not None
    return _only_ours(step, 1) if is_named and step.get("value") is None else PLAY


def _key(step: Request) -> Key:
    return (step.get("clusterName") or "", step.get("brokerAddr") or "")


def _id(step: Request) -> int:
    return int(step.get("brokerId") or 0)


def _flag(step: Request) -> str | None:
    return step.get("enableActingMaster")


def _is_int(text: str | None) -> bool:
    """Return whether a text is a number that fits a Java long for certain."""
    return text is not None and re.fullmatch(r"[+-]?[0-9]{1,18}", text) is not None
