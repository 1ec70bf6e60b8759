"""What an administrator's request is about to change: on what, and what was and will be there.

Owns: the words of the audit log for each change; which fields of a request may be shown. Secrets are in none of them.
Must not know: who may make the change (gate.py); how it is made (processors/).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from cosmodrome.broker.config import MASK, java_name
from cosmodrome.broker.live_config import LiveConfig
from cosmodrome.broker.security_settings import SECRETS
from cosmodrome.broker.state import BrokerState
from cosmodrome.client.properties_text import properties_from
from cosmodrome.errors import ConfigError, MalformedBodyError
from cosmodrome.protocol.bodies.groups import SubscriptionGroupConfig, SubscriptionGroupList
from cosmodrome.protocol.bodies.pop import SetMessageRequestModeRequestBody
from cosmodrome.protocol.bodies.topics import CreateTopicListRequestBody
from cosmodrome.protocol.codes import BrokerRequestCode
from cosmodrome.protocol.command import RemotingCommand
from cosmodrome.protocol.json_structs import decode_body

_SHOWN: Final = (
    "topic", "group", "groupName", "consumerGroup", "srcGroup", "destGroup", "timestamp", "isForce", "offset",
    "queueId", "msgId", "clientId", "cleanOffset", "accessKey", "globalWhiteAddrs", "username", "subject", "policyType",
    "resource", "admin", "defaultTopicPerm", "defaultGroupPerm", "topicPerms", "groupPerms", "whiteRemoteAddress",
)  # fmt: skip
"""Fields that say on what. Others are not shown, whatever a client puts there."""
_OF_TOPICS: Final = ("perm", "readQueueNums", "writeQueueNums", "order", "topicFilterType", "attributes")
_SECRET_KEYS: Final = frozenset(map(java_name, SECRETS))


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What is changed, and its state before and after, as values of JSON; None where there is nothing, or it is not told."""

    target: Mapping[str, Any]
    before: Any = None
    after: Any = None


class Changes:
    """Reads requests that change something. Nothing is changed here."""

    def __init__(self, state: BrokerState, live: LiveConfig) -> None:
        """Look at these for what was there."""
        self._state = state
        self._live = live
        code = BrokerRequestCode
        self._readers: Mapping[int, Callable[[RemotingCommand], Change]] = {
            code.UPDATE_AND_CREATE_TOPIC: self._topic,
            code.UPDATE_AND_CREATE_TOPIC_LIST: self._topics,
            code.DELETE_TOPIC_IN_BROKER: self._topic_deleted,
            code.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP: self._group,
            code.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST: self._groups,
            code.DELETE_SUBSCRIPTIONGROUP: self._group_deleted,
            code.UPDATE_BROKER_CONFIG: self._settings,
            code.INVOKE_BROKER_TO_RESET_OFFSET: self._offsets,
            code.SET_MESSAGE_REQUEST_MODE: self._mode,
        }

    def of(self, request: RemotingCommand) -> Change:
        """Tell what a request is about to change; of one that cannot be read, what it names."""
        reader = self._readers.get(request.code)
        try:
            return Change(target=_target(request)) if reader is None else reader(request)
        except (MalformedBodyError, ConfigError, UnicodeDecodeError):
            return Change(target=_target(request))

    def _topic(self, request: RemotingCommand) -> Change:
        fields = request.ext_fields or {}
        after = {name: fields[name] for name in _OF_TOPICS if fields.get(name) is not None}
        return Change(target=_target(request), before=self._topic_now(fields.get("topic")), after=after)

    def _topics(self, request: RemotingCommand) -> Change:
        configs = decode_body(CreateTopicListRequestBody, request.body).topic_config_list
        names = [each.topic_name for each in configs]
        before = {name: self._topic_now(name) for name in names}
        return Change(
            target={"topics": names}, before=before, after={each.topic_name: _shown(each) for each in configs}
        )

    def _topic_deleted(self, request: RemotingCommand) -> Change:
        return Change(target=_target(request), before=self._topic_now((request.ext_fields or {}).get("topic")))

    def _topic_now(self, name: str | None) -> Any:
        return _shown(self._state.topics.get(name or ""))

    def _group(self, request: RemotingCommand) -> Change:
        config = decode_body(SubscriptionGroupConfig, request.body)
        before = self._group_now(config.group_name)
        return Change(target={"group": config.group_name}, before=before, after=_shown(config))

    def _groups(self, request: RemotingCommand) -> Change:
        configs = decode_body(SubscriptionGroupList, request.body).group_config_list
        names = [each.group_name for each in configs]
        before = {name: self._group_now(name) for name in names}
        return Change(
            target={"groups": names}, before=before, after={each.group_name: _shown(each) for each in configs}
        )

    def _group_deleted(self, request: RemotingCommand) -> Change:
        return Change(target=_target(request), before=self._group_now((request.ext_fields or {}).get("groupName")))

    def _group_now(self, name: str | None) -> Any:
        return _shown(self._state.groups.get(name or ""))

    def _settings(self, request: RemotingCommand) -> Change:
        """Settings, as 26 shows them; no secret among them, even of a request that is refused."""
        texts = properties_from(request.body.decode())
        now = self._live.shown.listing()
        after = {key: MASK if key in _SECRET_KEYS else text for key, text in texts.items() if key in now}
        return Change(target={"keys": list(texts)}, before={key: now[key] for key in after}, after=after)

    def _offsets(self, request: RemotingCommand) -> Change:
        fields = request.ext_fields or {}
        topic, group = fields.get("topic") or "", fields.get("group") or ""
        config = self._state.topics.get(topic)
        queues = range(0 if config is None else config.read_queue_nums)
        before = {str(each): self._state.offsets.committed(topic, group, each) for each in queues}
        return Change(target=_target(request), before=before)

    def _mode(self, request: RemotingCommand) -> Change:
        mode = decode_body(SetMessageRequestModeRequestBody, request.body)
        before = self._state.pop.modes.get(mode.topic, mode.consumer_group)
        target = {"topic": mode.topic, "group": mode.consumer_group}
        return Change(target=target, before=_shown(before), after=_shown(mode))


def _target(request: RemotingCommand) -> dict[str, Any]:
    fields = request.ext_fields or {}
    return {name: fields[name] for name in _SHOWN if fields.get(name) is not None}


def _shown(value: object) -> Any:
    """Give a struct as a value of JSON, as far as it is not empty."""
    if value is None:
        return None
    return {name: each for name, each in msgspec.to_builtins(value).items() if each not in (None, {}, [])}
