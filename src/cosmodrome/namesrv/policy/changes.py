"""What a request is about to change: on what, and what was and will be there.

Owns: the words of the audit log for each change; which values are not shown in it.
Must not know: who may make the change (rules.py); how it is made (processors/).

A KV value is shown whole only in ORDER_TOPIC_CONFIG, which every client gets with its routes. Of any other value the
audit log has the length and a digest, enough to see which of two values was in force; of one whose key speaks of a
secret it has neither, since a digest of a short secret can be guessed.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from cosmodrome.errors import ConfigError, MalformedBodyError
from cosmodrome.namesrv import properties
from cosmodrome.namesrv.config import KEYS, MASK, NamesrvConfig, apply_changes, blacklisted, value_text
from cosmodrome.namesrv.kv_config import ORDER_TOPIC_CONFIG, KVConfigStore
from cosmodrome.namesrv.live_config import LiveConfig
from cosmodrome.namesrv.policy.undo_states import ConfigState, KVState, PermState, State
from cosmodrome.namesrv.routing.reader import RouteReader
from cosmodrome.protocol.bodies.route import PERM_READ, PERM_WRITE, QueueData, decode_queue_datas
from cosmodrome.protocol.codes import RequestCode
from cosmodrome.protocol.command import RemotingCommand
from cosmodrome.protocol.ext_fields import decode_ext_fields
from cosmodrome.protocol.headers.broker import UnregisterBrokerRequestHeader, WritePermOfBrokerRequestHeader
from cosmodrome.protocol.headers.kv_config import KVConfigKeyRequestHeader, PutKVConfigRequestHeader
from cosmodrome.protocol.headers.topic import DeleteTopicFromNamesrvRequestHeader, RegisterTopicRequestHeader

_SECRET: Final = re.compile(r"passw|pwd|secret|token|credential|private.?key|access.?key|api.?key", re.IGNORECASE)
_DIGEST_CHARACTERS: Final = 16
_Datas = Mapping[str, QueueData]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What is changed, and its state before and after, as values of JSON; None where there is nothing.

    `state` is what undoing it needs, None for what cannot be undone.
    """

    target: Mapping[str, Any]
    before: Any
    after: Any
    state: State | None = None


class Changes:
    """Reads requests that change something. Nothing is changed here."""

    def __init__(self, kv_config: KVConfigStore, config: LiveConfig, routes: RouteReader) -> None:
        self._kv_config = kv_config
        self._config = config
        self._routes = routes
        self._readers: Mapping[int, Callable[[RemotingCommand], Change | None]] = {
            RequestCode.PUT_KV_CONFIG: self._put_kv,
            RequestCode.DELETE_KV_CONFIG: self._delete_kv,
            RequestCode.UPDATE_NAMESRV_CONFIG: self._update_config,
            RequestCode.WIPE_WRITE_PERM_OF_BROKER: lambda request: self._perm(request, lambda perm: perm & ~PERM_WRITE),
            RequestCode.ADD_WRITE_PERM_OF_BROKER: lambda request: self._perm(request, lambda _: PERM_READ | PERM_WRITE),
            RequestCode.DELETE_TOPIC_IN_NAMESRV: self._delete_topic,
            RequestCode.REGISTER_TOPIC_IN_NAMESRV: self._register_topic,
            RequestCode.UNREGISTER_BROKER: self._unregister_broker,
        }

    @property
    def codes(self) -> frozenset[int]:
        """The requests that can change something."""
        return frozenset(self._readers)

    def of(self, request: RemotingCommand) -> Change | None:
        """Tell what a request will change; None when that is nothing, because it is wrong or already so.

        Settings are changed by being saved, even to what is in force.
        """
        return self._readers[request.code](request)

    def _put_kv(self, request: RemotingCommand) -> Change | None:
        header = decode_ext_fields(PutKVConfigRequestHeader, request.ext_fields)
        namespace, key, value = header.namespace, header.key, header.value
        if namespace is None or key is None or value is None:
            return None
        old = self._kv_config.get(namespace, key)
        return None if old == value else kv_change(namespace, key, old, value)

    def _delete_kv(self, request: RemotingCommand) -> Change | None:
        header = decode_ext_fields(KVConfigKeyRequestHeader, request.ext_fields)
        old = self._kv_config.get(header.namespace, header.key)
        if old is None:
            return None
        return kv_change(header.namespace or "", header.key or "", old, None)

    def _update_config(self, request: RemotingCommand) -> Change | None:
        try:
            texts = properties.last_values(properties.parse(request.body.decode("utf-8", "replace")))
            change = apply_changes(self._config.current, texts)
        except ConfigError:
            return None
        if not change.texts or blacklisted(self._config.started_with, texts):
            return None
        return config_change(*(_texts(config, change.texts) for config in (self._config.current, change.config)))

    def _perm(self, request: RemotingCommand, change: Callable[[int], int]) -> Change | None:
        name = decode_ext_fields(WritePermOfBrokerRequestHeader, request.ext_fields).broker_name or ""
        perms = {topic: (perm, change(perm)) for topic, perm in self._routes.perms_of(name).items()}
        if all(before == after for before, after in perms.values()):
            return None
        return perm_change(name, perms)

    def _delete_topic(self, request: RemotingCommand) -> Change | None:
        header = decode_ext_fields(DeleteTopicFromNamesrvRequestHeader, request.ext_fields)
        topic, cluster = header.topic or "", header.cluster_name
        before = self._routes.queue_datas(topic)
        brokers = self._routes.brokers_of(cluster) if cluster else tuple(before)
        after = {name: data for name, data in before.items() if name not in brokers}
        if len(after) == len(before):
            return None
        target = {"topic": topic} | ({"cluster": cluster} if cluster else {})
        return Change(target=target, before=_datas(before), after=_datas(after))

    def _register_topic(self, request: RemotingCommand) -> Change | None:
        topic = decode_ext_fields(RegisterTopicRequestHeader, request.ext_fields).topic
        if not topic or not request.body:
            return None
        try:
            said = decode_queue_datas(request.body, self._config.started_with.body_limits)
        except MalformedBodyError:
            return None
        before = self._routes.queue_datas(topic)
        after = {**before, **{data.broker_name: data for data in self._routes.accepted(topic, said)}}
        if after == dict(before):
            return None
        return Change(target={"topic": topic}, before=_datas(before), after=_datas(after))

    def _unregister_broker(self, request: RemotingCommand) -> Change | None:
        header = decode_ext_fields(UnregisterBrokerRequestHeader, request.ext_fields)
        name, addr = header.broker_name or "", header.broker_addr or ""
        lives = self._routes.lives(name, addr)
        if not lives:
            return None
        before = [{"cluster": info.key.cluster, "peer": info.peer} for info in lives]
        return Change(target={"broker": name, "addr": addr}, before=before, after=None)


def kv_change(namespace: str, key: str, before: str | None, after: str | None) -> Change:
    """Give a change of a KV entry."""

    def shown(value: str | None) -> Any:
        if value is None or namespace == ORDER_TOPIC_CONFIG:
            return value
        if _SECRET.search(key) or _SECRET.search(namespace):
            return MASK
        data = value.encode("utf-8", "surrogatepass")
        return {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()[:_DIGEST_CHARACTERS]}

    target = {"namespace": namespace, "key": key}
    return Change(target=target, before=shown(before), after=shown(after), state=KVState(namespace, key, before, after))


def config_change(before: Mapping[str, str], after: Mapping[str, str]) -> Change:
    """Give a change of configuration keys, by their texts."""

    def shown(texts: Mapping[str, str]) -> Mapping[str, str]:
        return {name: MASK if text and KEYS[name].is_secret else text for name, text in texts.items()}

    target = {"keys": list(before)}
    return Change(target=target, before=shown(before), after=shown(after), state=ConfigState(before, after))


def perm_change(broker: str, perms: Mapping[str, tuple[int, int]]) -> Change:
    """Give a change of permissions: before and after, by topic. What stays as it is counts, and is not restored."""
    counts = [
        {"topics_by_perm": {str(perm): topics for perm, topics in sorted(Counter(side).items())}}
        for side in ([before for before, _ in perms.values()], [after for _, after in perms.values()])
    ]
    changed = {topic: both for topic, both in perms.items() if both[0] != both[1]}
    return Change(target={"broker": broker}, before=counts[0], after=counts[1], state=PermState(broker, changed))


def _texts(config: NamesrvConfig, names: Iterable[str]) -> Mapping[str, str]:
    return {name: value_text(config, KEYS[name]) or "" for name in names}


def _datas(datas: _Datas) -> Mapping[str, Any] | None:
    if not datas:
        return None
    return {
        name: {"perm": data.perm, "read": data.read_queue_nums, "write": data.write_queue_nums}
        for name, data in datas.items()
    }
