"""What a change replaced, exactly, so that it can be undone.

Owns: the states before and after of changes that can be undone; how many are kept; what a line of the audit log tells of
    one after a restart.
Must not know: how a state is looked at or restored (undoing.py); who may.

States hold KV values, those of secrets too, so they stay in memory. After a restart the lines of the audit log tell those
of order configurations and of the configuration; what is not shown there cannot be undone any more.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from cosmodrome.audit.log import LONGEST_TEXT, MOST_ITEMS
from cosmodrome.namesrv.config import KEYS, MASK
from cosmodrome.namesrv.kv_config import ORDER_TOPIC_CONFIG
from cosmodrome.protocol.codes import RequestCode

MOST_STATES: Final = 1000
MOST_BYTES: Final = 16 * 1024 * 1024
"""Of all states, estimated."""
_STATE_BYTES: Final = 1000
_TOPIC_BYTES: Final = 120
_WIDE: Final = 4


class KVState(NamedTuple):
    """An entry of the KV configuration; None where there is none."""

    namespace: str
    key: str
    before: str | None
    after: str | None

    @property
    def cost(self) -> int:
        """Give what it is taken to cost in bytes."""
        texts = (self.namespace, self.key, self.before or "", self.after or "")
        return _STATE_BYTES + _WIDE * sum(map(len, texts))


class ConfigState(NamedTuple):
    """Texts of configuration keys."""

    before: Mapping[str, str]
    after: Mapping[str, str]

    @property
    def cost(self) -> int:
        """Give what it is taken to cost in bytes."""
        texts = (*self.before, *self.before.values(), *self.after.values())
        return _STATE_BYTES + _WIDE * sum(map(len, texts))


class PermState(NamedTuple):
    """Permissions of the topics of a broker that were changed: before and after, by topic."""

    broker: str
    perms: Mapping[str, tuple[int, int]]

    @property
    def cost(self) -> int:
        """Give what it is taken to cost in bytes."""
        return _STATE_BYTES + _TOPIC_BYTES * len(self.perms)


State = KVState | ConfigState | PermState


class UndoStates:
    """The states of the last changes, by the ids of their lines in the audit log."""

    def __init__(self, most_states: int = MOST_STATES, most_bytes: int = MOST_BYTES) -> None:
        self._most_states = most_states
        self._most_bytes = most_bytes
        self._states: dict[str, State] = {}
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._states)

    def put(self, line_id: str, state: State) -> None:
        """Keep a state; the oldest ones make room."""
        self._states[line_id] = state
        self._bytes += state.cost
        while len(self._states) > self._most_states or self._bytes > self._most_bytes:
            self.discard(next(iter(self._states)))

    def get(self, line_id: str) -> State | None:
        """Give a state, or None when it is not kept."""
        return self._states.get(line_id)

    def discard(self, line_id: str) -> None:
        """Forget a state, of a change that was not made."""
        state = self._states.pop(line_id, None)
        if state is not None:
            self._bytes -= state.cost


def state_of_line(line: Mapping[str, Any]) -> State | None:
    """Give what the line of a change tells; None where values are left out or cut, or where the change cannot be undone."""
    target: Any = line.get("target")
    before: Any = line.get("before")
    after: Any = line.get("after")
    if not isinstance(target, Mapping):
        return None
    if line.get("code") in (RequestCode.PUT_KV_CONFIG, RequestCode.DELETE_KV_CONFIG):
        namespace, key = target.get("namespace"), target.get("key")
        if namespace == ORDER_TOPIC_CONFIG and _is_whole(key) and _is_value(before) and _is_value(after):
            return KVState(ORDER_TOPIC_CONFIG, str(key), before, after)
    if line.get("code") == RequestCode.UPDATE_NAMESRV_CONFIG and _are_texts(before) and _are_texts(after):
        return ConfigState(before, after)
    return None


def _is_whole(text: object) -> bool:
    return isinstance(text, str) and len(text) <= LONGEST_TEXT and text != MASK


def _is_value(text: object) -> bool:
    return text is None or _is_whole(text)


def _are_texts(texts: object) -> bool:
    if not isinstance(texts, Mapping) or len(texts) > MOST_ITEMS:
        return False
    return all(name in KEYS and _is_whole(text) for name, text in texts.items())
