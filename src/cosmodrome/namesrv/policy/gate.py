"""The gate before the processors: who may pass, and what is written down of who did.

Owns: that a refusal is answered and told, and that a change is in the audit log before it is made.
Must not know: the rules (rules.py); what a change is (changes.py); what a request does.
"""

import asyncio
from collections.abc import Mapping

from cosmodrome.errors import RequestRefusedError, StorageError
from cosmodrome.namesrv.audit import AuditLog, request_name
from cosmodrome.namesrv.events import Publish, RequestDenied
from cosmodrome.namesrv.policy.accounts import AccountFile
from cosmodrome.namesrv.policy.callers import Caller, identify
from cosmodrome.namesrv.policy.changes import Changes
from cosmodrome.namesrv.policy.rules import Refusal, Rule, Rules
from cosmodrome.protocol.codes import RequestCode, ResponseCode
from cosmodrome.protocol.command import RemotingCommand
from cosmodrome.transport.dispatch import Answer, Peer, Processor


class Auditing:
    """Writes changes down and lets them be made, one after another: each line says what really was before."""

    def __init__(self, log: AuditLog, changes: Changes) -> None:
        self._log = log
        self._changes = changes
        self._changing = asyncio.Lock()

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
            if change is not None:
                said = {"target": change.target, "before": change.before, "after": change.after}
                await self._log.record(_line("change", request, caller) | said)
            try:
                answer = processor(request, caller.peer)
                return answer if isinstance(answer, RemotingCommand) else await answer
            except Exception as error:
                if change is not None:
                    not_made = {"target": change.target, "reason": _reason(error)}
                    self._log.note(_line("not_made", request, caller) | not_made)
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
        self._accounts = accounts
        self._publish = publish
        self._auditing = auditing

    def guarding(self, processors: Mapping[RequestCode, Processor]) -> dict[int, Processor]:
        """Give the same table with the gate in it."""
        rules = self._rules.by_code()
        guarded: dict[int, Processor] = {}
        for code, processor in processors.items():
            auditing = self._auditing if self._auditing is not None and code in self._auditing.codes else None
            rule = rules.get(code)
            is_open = rule is None and auditing is None
            guarded[code] = processor if is_open else self._gated(processor, rule, auditing)
        return guarded

    def _gated(self, processor: Processor, rule: Rule | None, auditing: Auditing | None) -> Processor:
        def gated(request: RemotingCommand, peer: Peer) -> Answer:
            caller = identify(request, peer, self._accounts)
            refusal = None if rule is None else rule(request, caller)
            if refusal is not None:
                raise self._refused(request, caller, refusal)
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
    line: dict[str, object] = {
        "event": event,
        "code": request.code,
        "request": request_name(request.code),
        "peer": caller.peer.address,
    }
    if caller.peer.proxy is not None:
        line["proxy"] = caller.peer.proxy
    if caller.account is not None:
        line["access_key"] = caller.account.access_key
    return line


def _reason(error: Exception) -> str:
    if isinstance(error, RequestRefusedError):
        return error.remark
    return error.what if isinstance(error, StorageError) else "it failed, see the server's log"
