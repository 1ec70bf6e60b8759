"""Undoing a change.

Owns: what a change has become since, that it is undone only when nothing came after it, how each kind is restored.
Must not know: who may (rules.py, by the request that would do the same); how it is asked for.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from cosmodrome.audit.reading import Wanted, read_page
from cosmodrome.errors import UndoRefusedError
from cosmodrome.namesrv import properties
from cosmodrome.namesrv.config import KEYS, value_text
from cosmodrome.namesrv.kv_config import KVConfigStore
from cosmodrome.namesrv.live_config import LiveConfig
from cosmodrome.namesrv.policy.callers import Caller
from cosmodrome.namesrv.policy.changes import Change, config_change, kv_change, perm_change
from cosmodrome.namesrv.policy.gate import Gate
from cosmodrome.namesrv.policy.undo_states import ConfigState, KVState, PermState, State, state_of_line
from cosmodrome.namesrv.routing.effects import Effects
from cosmodrome.namesrv.routing.tables import RouteTables
from cosmodrome.protocol.bodies.route import PERM_WRITE
from cosmodrome.protocol.codes import RequestCode
from cosmodrome.protocol.command import RemotingCommand
from cosmodrome.transport.dispatch import Peer, Processor

_CAN_BE: Final = "KV entries, write permissions and the configuration can be restored"


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoParts:
    """What is looked at and restored.

    `processors` are those behind the gate, without it; `carry_out` does what a change of the tables asks for.
    """

    processors: Mapping[RequestCode, Processor]
    kv_config: KVConfigStore
    config: LiveConfig
    tables: RouteTables
    carry_out: Callable[[Effects], None]


class Undoing:
    """Restores what changes replaced. The gate knows who may, and has written down what was changed."""

    def __init__(self, gate: Gate, parts: UndoParts) -> None:
        self._gate = gate
        self._auditing = gate.auditing
        self._parts = parts

    @property
    def audit_path(self) -> Path | None:
        """Where the audit log is; None when changes are not written down."""
        return None if self._auditing is None else self._auditing.path

    async def undo(self, line_id: str, peer: Peer, *, is_forced: bool = False) -> str:
        """Restore what was before a change, and give the id of the line that says so.

        Args:
            line_id: That of the change in the audit log.
            peer: Who asks.
            is_forced: Also when the present state is not what the change left.

        Raises:
            UndoRefusedError: There is no such change, it cannot be undone, or something came after it.
            RequestRefusedError: By policy; or what would be restored is refused.
            StorageError: It could not be written down, or not be stored.
        """
        if self._auditing is None:
            raise UndoRefusedError("not_audited", "changes are not written down (auditLog=off)")
        state = self._auditing.states.get(line_id)
        if state is None:
            state = await asyncio.to_thread(_state_on_disk, self._auditing.path, line_id)
        request = _request_of(state)
        caller = self._gate.admit(request, peer)
        return await self._auditing.undo(
            request,
            caller,
            line_id,
            lambda: self._change(state, is_forced=is_forced),
            lambda: self._restore(state, line_id, request, caller),
        )

    def _change(self, state: State, *, is_forced: bool) -> Change:
        """Give what undoing a change will change.

        Raises:
            UndoRefusedError: Nothing, or more than the change itself.
        """
        present, after, before = self._present(state), _after(state), _before(state)
        if present == before:
            raise UndoRefusedError("undone_already", "what was before the change is in force already")
        if present != after and not is_forced:
            raise UndoRefusedError(
                "changed_since", "the present state is not what the change left: something came after it"
            )
        match state:
            case KVState():
                return kv_change(state.namespace, state.key, present, state.before)
            case ConfigState():
                return config_change(present, state.before)
            case PermState():
                perms = {topic: (present[topic], perm) for topic, perm in before.items() if topic in present}
                if not perms:
                    raise UndoRefusedError("gone", f"{state.broker} serves none of these topics any more")
                return perm_change(state.broker, perms)

    def _present(self, state: State) -> Any:
        match state:
            case KVState():
                return self._parts.kv_config.get(state.namespace, state.key)
            case ConfigState():
                return {name: value_text(self._parts.config.current, KEYS[name]) or "" for name in state.before}
            case PermState():
                now = self._parts.tables.read.perms_of(state.broker)
                return {topic: now[topic] for topic in state.perms if topic in now}

    async def _restore(self, state: State, line_id: str, request: RemotingCommand, caller: Caller) -> None:
        if isinstance(state, PermState):
            perms = {topic: before for topic, (before, _) in state.perms.items()}
            reason = f"{line_id} was undone"
            self._parts.carry_out(self._parts.tables.restore_perms(state.broker, perms, reason, caller.peer.address))
            return
        answer = self._parts.processors[RequestCode(request.code)](request, caller.peer)
        if not isinstance(answer, RemotingCommand):
            await answer


def _state_on_disk(path: Path, line_id: str) -> State:
    lines = read_page(path, Wanted(event="change", line_id=line_id), 1).lines
    if not lines:
        raise UndoRefusedError("unknown_change", f"the audit log has no change {line_id[:40]}")
    state = state_of_line(lines[0])
    if state is None:
        raise UndoRefusedError("not_undoable", _why_not(lines[0]))
    return state


def _before(state: State) -> Any:
    if isinstance(state, PermState):
        return {topic: before for topic, (before, _) in state.perms.items()}
    return state.before


def _after(state: State) -> Any:
    if isinstance(state, PermState):
        return {topic: after for topic, (_, after) in state.perms.items()}
    return state.after


def _request_of(state: State) -> RemotingCommand:
    """Give the request that does what undoing would do, or nearly."""
    match state:
        case KVState():
            fields: dict[str, str | None] = {"namespace": state.namespace, "key": state.key}
            if state.before is None:
                return RemotingCommand(RequestCode.DELETE_KV_CONFIG, ext_fields=fields)
            return RemotingCommand(RequestCode.PUT_KV_CONFIG, ext_fields=fields | {"value": state.before})
        case ConfigState():
            body = properties.render(state.before).encode()
            return RemotingCommand(RequestCode.UPDATE_NAMESRV_CONFIG, body=body)
        case PermState():
            gives = any(before & PERM_WRITE & ~after for before, after in state.perms.values())
            code = RequestCode.ADD_WRITE_PERM_OF_BROKER if gives else RequestCode.WIPE_WRITE_PERM_OF_BROKER
            return RemotingCommand(code, ext_fields={"brokerName": state.broker})


def _why_not(line: Mapping[str, Any]) -> str:
    request = line.get("request", "it")
    code = line.get("code")
    if code in (RequestCode.WIPE_WRITE_PERM_OF_BROKER, RequestCode.ADD_WRITE_PERM_OF_BROKER):
        return "permissions are known for the last changes of this run of the server only"
    if code in (RequestCode.PUT_KV_CONFIG, RequestCode.DELETE_KV_CONFIG, RequestCode.UPDATE_NAMESRV_CONFIG):
        return "the value is not in the audit log, and is known for the last changes of this run of the server only"
    return f"{request} cannot be undone: only {_CAN_BE}"
