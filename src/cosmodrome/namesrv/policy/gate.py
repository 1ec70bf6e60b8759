"""The gate before the processors: who may pass, and what is written down of who did.

Owns: that a refusal is answered and told, and that a change is in the audit log before it is made.
Must not know: the rules (rules.py); what a change is (changes.py); what a request does.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import NamedTuple, TypeVar

from cosmodrome.errors import RequestRefusedError, StorageError, UndoRefusedError
from cosmodrome.namesrv.audit import AuditLog, request_name
from cosmodrome.namesrv.events import Publish, RequestDenied
from cosmodrome.namesrv.policy.accounts import AccountFile
from cosmodrome.namesrv.policy.callers import Caller, identify
from cosmodrome.namesrv.policy.changes import Change, Changes
from cosmodrome.namesrv.policy.rules import Refusal, Rule, Rules
from cosmodrome.namesrv.policy.undo_states import UndoStates
from cosmodrome.protocol.codes import RequestCode, ResponseCode
from cosmodrome.protocol.command import RemotingCommand
from cosmodrome.transport.dispatch import Answer, Peer, Processor

T = TypeVar("T")


class Deed(NamedTuple):
    """A change that no request code stands for: its name in the audit log, and what it is done to."""

    name: str
    target: Mapping[str, object]


class Auditing:
    """Writes changes down and lets them be made, one after another: each line says what really was before.

    `states` has what undoing the last of them needs.
    """

    def __init__(self, log: AuditLog, changes: Changes) -> None:
        self._log = log
        self._changes = changes
        self._changing = asyncio.Lock()
        self.states = UndoStates()

    @property
    def path(self) -> Path:
        """Where it is written down."""
        return self._log.path

    @property
    def codes(self) -> frozenset[int]:
        """The requests that can change something."""
        return self._changes.codes

    async def carry_out(self, processor: Processor, request: RemotingCommand, caller: Caller) -> RemotingCommand:
        """Write down what a request changes, if anything, and let it be done.

        Raises:
            StorageError: It could not be written down, and was not done.
        """
        async with self._changing:
            change = self._changes.of(request)
            line_id = "" if change is None else await self._recorded(change, _line("change", request, caller))
            try:
                answer = processor(request, caller.peer)
                return answer if isinstance(answer, RemotingCommand) else await answer
            except Exception as error:
                if change is not None:
                    self._take_back(line_id, change, _line("not_made", request, caller), error)
                raise

    async def undo(
        self,
        request: RemotingCommand,
        caller: Caller,
        undone_id: str,
        change_of: Callable[[], Change],
        action: Callable[[], Awaitable[None]],
    ) -> str:
        """Write down that a change is undone, do it, and give the id of the line.

        Args:
            request: The request that would do the same.
            caller: Who asks.
            undone_id: The id of the change.
            change_of: Gives what undoing it changes now, or raises UndoRefusedError; it is asked again right before.
            action: Restores what was before.

        Raises:
            UndoRefusedError: From `change_of`.
            StorageError: It could not be written down, and was not done; or not be stored.
        """
        undoes = {"undoes": undone_id}
        async with self._changing:
            change = change_of()
            line_id = await self._recorded(change, _line("change", request, caller) | undoes)
            try:
                change_of()
                await action()
            except Exception as error:
                self._take_back(line_id, change, _line("not_made", request, caller) | undoes, error)
                raise
            return line_id

    async def _recorded(self, change: Change, line: dict[str, object]) -> str:
        said = {"target": change.target, "before": change.before, "after": change.after}
        line_id = await self._log.record(line | said)
        if change.state is not None:
            self.states.put(line_id, change.state)
        return line_id

    def _take_back(self, line_id: str, change: Change, line: dict[str, object], error: Exception) -> None:
        self.states.discard(line_id)
        self._log.note(line | {"change": line_id, "target": change.target, "reason": _reason(error)})

    async def perform(self, deed: Deed, caller: Caller, action: Callable[[], Awaitable[T]]) -> T:
        """Write down what is about to be done, and do it.

        Raises:
            StorageError: It could not be written down, and was not done.
        """
        said = {"request": deed.name, **_who(caller), "target": deed.target}
        async with self._changing:
            line_id = await self._log.record({"event": "change", **said})
            try:
                return await action()
            except Exception as error:
                self._log.note({"event": "not_made", **said, "change": line_id, "reason": _reason(error)})
                raise


class Gate:
    """Stands before the processors whose requests are guarded or audited, and before no other.

    Args:
        rules: Who may pass.
        accounts: Who may sign.
        publish: Told of refusals.
        auditing: None when changes are not written down.
    """

    def __init__(self, rules: Rules, accounts: AccountFile, publish: Publish, auditing: Auditing | None) -> None:
        self._rules = rules
        self._rule_of = rules.by_code()
        self._accounts = accounts
        self._publish = publish
        self.auditing = auditing

    def guarding(self, processors: Mapping[RequestCode, Processor]) -> dict[int, Processor]:
        """Give the same table with the gate in it."""
        guarded: dict[int, Processor] = {}
        for code, processor in processors.items():
            auditing = self.auditing if self.auditing is not None and code in self.auditing.codes else None
            rule = self._rule_of.get(code)
            is_open = rule is None and auditing is None
            guarded[code] = processor if is_open else self._gated(processor, rule, auditing)
        return guarded

    def admit(self, request: RemotingCommand, peer: Peer) -> Caller:
        """Tell who asks, when what is asked in another way may be asked by this request.

        Raises:
            RequestRefusedError: It may not; that is told like every refusal.
        """
        return self._admitted(request, peer, self._rule_of.get(RequestCode(request.code)))

    async def perform(self, deed: Deed, request: RemotingCommand, peer: Peer, action: Callable[[], Awaitable[T]]) -> T:
        """Do what is guarded as `request` is, and is audited under its own name.

        Raises:
            RequestRefusedError: The peer may not.
            StorageError: It could not be written down, and was not done.
        """
        caller = self.admit(request, peer)
        return await (action() if self.auditing is None else self.auditing.perform(deed, caller, action))

    def _admitted(self, request: RemotingCommand, peer: Peer, rule: Rule | None) -> Caller:
        caller = identify(request, peer, self._accounts)
        refusal = None if rule is None else rule(request, caller)
        if refusal is not None:
            raise self._refused(request, caller, refusal)
        return caller

    def _gated(self, processor: Processor, rule: Rule | None, auditing: Auditing | None) -> Processor:
        def gated(request: RemotingCommand, peer: Peer) -> Answer:
            caller = self._admitted(request, peer, rule)
            if auditing is None or self._rules.is_own_word(request, caller):
                return processor(request, peer)
            return auditing.carry_out(processor, request, caller)

        return gated

    def _refused(self, request: RemotingCommand, caller: Caller, refusal: Refusal) -> RequestRefusedError:
        self._publish(
            RequestDenied(
                code=request.code,
                peer=caller.peer.address,
                reason=refusal.reason,
                cause=refusal.cause,
                proxy=caller.peer.proxy,
                claimed_access_key=caller.claimed,
            )
        )
        remark = f"request {request.code} is refused: {refusal.reason}; the operator can {refusal.remedy}"
        return RequestRefusedError(ResponseCode.NO_PERMISSION, remark, is_fault=False, cause=refusal.cause)


def _line(event: str, request: RemotingCommand, caller: Caller) -> dict[str, object]:
    return {"event": event, "code": request.code, "request": request_name(request.code), **_who(caller)}


def _who(caller: Caller) -> dict[str, object]:
    who: dict[str, object] = {"peer": caller.peer.address}
    if caller.peer.proxy is not None:
        who["proxy"] = caller.peer.proxy
    if caller.account is not None:
        who["access_key"] = caller.account.access_key
    return who


def _reason(error: Exception) -> str:
    if isinstance(error, RequestRefusedError):
        return error.remark
    if isinstance(error, UndoRefusedError):
        return error.reason
    return error.what if isinstance(error, StorageError) else "it failed, see the server's log"
