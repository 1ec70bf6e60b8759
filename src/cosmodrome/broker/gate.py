"""What passes on the way to a processor.

Owns: from where changes may come when nobody is asked who he is; what is written down of changes and refusals.
Must not know: what a change does; which accounts there are.
"""

import ipaddress
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from cosmodrome.broker.auditing import Auditing
from cosmodrome.broker.refusals import refused
from cosmodrome.broker.security.admission import Admission
from cosmodrome.broker.security.hosts import is_from
from cosmodrome.broker.security.needs import Needs
from cosmodrome.errors import RequestRefusedError
from cosmodrome.protocol.codes import BrokerRequestCode, ResponseCode
from cosmodrome.protocol.command import RemotingCommand
from cosmodrome.transport.dispatch import Answer, Peer, Processor

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
audit = logging.getLogger("cosmodrome.broker.audit")
_Code = BrokerRequestCode
CHANGES: Final = frozenset(
    {
        _Code.UPDATE_AND_CREATE_TOPIC,
        _Code.UPDATE_AND_CREATE_TOPIC_LIST,
        _Code.DELETE_TOPIC_IN_BROKER,
        _Code.UPDATE_BROKER_CONFIG,
        _Code.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP,
        _Code.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST,
        _Code.DELETE_SUBSCRIPTIONGROUP,
        _Code.INVOKE_BROKER_TO_RESET_OFFSET,
        _Code.CLONE_GROUP_OFFSET,
        _Code.CONSUME_MESSAGE_DIRECTLY,
        _Code.DELETE_EXPIRED_COMMITLOG,
        _Code.CLEAN_EXPIRED_CONSUMEQUEUE,
        _Code.CLEAN_UNUSED_TOPIC,
        _Code.RESUME_CHECK_HALF_MESSAGE,
        _Code.SET_MESSAGE_REQUEST_MODE,
        _Code.UPDATE_AND_CREATE_ACL_CONFIG,
        _Code.DELETE_ACL_CONFIG,
        _Code.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG,
        _Code.AUTH_CREATE_USER,
        _Code.AUTH_UPDATE_USER,
        _Code.AUTH_DELETE_USER,
        _Code.AUTH_CREATE_ACL,
        _Code.AUTH_UPDATE_ACL,
        _Code.AUTH_DELETE_ACL,
    }
)
"""Requests that change settings, or topics, groups and offsets of others."""
REFUSALS_TOLD_EVERY_S: Final = 1.0


class Gate:
    """Asks for credentials where there are accounts; else lets changes in from some networks only.

    Attributes:
        networks: From where changes may come; None is everywhere, as with Apache's brokers.
    """

    def __init__(
        self,
        networks: tuple[Network, ...] | None,
        admission: Admission,
        needs: Callable[[RemotingCommand], Needs],
        clock_s: Callable[[], float],
    ) -> None:
        """Ask these; `needs` gives what a request needs, `clock_s` never steps."""
        self.networks = networks
        self._admission = admission
        self._needs = needs
        self._clock_s = clock_s
        self.auditing: Auditing | None = None
        """Writes changes down before they are made; None when they are only in the log."""
        self._told_s = float("-inf")
        self._untold = 0

    def guarding(self, processors: Mapping[BrokerRequestCode, Processor]) -> dict[int, Processor]:
        """Give processors of which those are guarded that not everybody may use."""
        if self._admission.is_asking:
            return {int(code): self._guarded(each) for code, each in processors.items()}
        return {int(code): self._guarded(each) if code in CHANGES else each for code, each in processors.items()}

    def _guarded(self, processor: Processor) -> Processor:
        def guarded(request: RemotingCommand, peer: Peer) -> Answer:
            try:
                name = self._judge(request, peer)
            except RequestRefusedError as error:
                self._tell(request, peer, error.remark)
                raise
            if request.code not in CHANGES:
                return processor(request, peer)
            if self.auditing is not None:
                return _audited(self.auditing.carry_out(processor, request, peer, name), request, peer, name)
            return _audited(processor(request, peer), request, peer, name)

        return guarded

    def _judge(self, request: RemotingCommand, peer: Peer) -> str:
        if self._admission.is_asking:
            return self._admission.check(request, peer, lambda: self._needs(request))
        if self.networks is None or is_from(peer, self.networks):
            return ""
        remark = f"request {request.code} from {peer.address} is not allowed here: see adminAllow and adminPolicy"
        raise refused(ResponseCode.NO_PERMISSION, remark)

    def _tell(self, request: RemotingCommand, peer: Peer, reason: str) -> None:
        if self.auditing is not None:
            self.auditing.refused(request, peer, reason)
        now_s = self._clock_s()
        if now_s - self._told_s < REFUSALS_TOLD_EVERY_S:
            self._untold += 1
            return
        more = f" ({self._untold} more were refused meanwhile)" if self._untold else ""
        self._told_s, self._untold = now_s, 0
        audit.warning("request %d of %s is refused: %s%s", request.code, peer.address, ascii(reason)[1:-1], more)


def _audited(answer: Answer, request: RemotingCommand, peer: Peer, name: str) -> Answer:
    if isinstance(answer, RemotingCommand):
        _note(request, peer, name, answer)
        return answer
    return _awaited(answer, request, peer, name)


async def _awaited(
    answer: Awaitable[RemotingCommand], request: RemotingCommand, peer: Peer, name: str
) -> RemotingCommand:
    done = await answer
    _note(request, peer, name, done)
    return done


def _note(request: RemotingCommand, peer: Peer, name: str, answer: RemotingCommand) -> None:
    code = _Code(request.code)
    who = f"{peer.address} as {ascii(name)[1:-1]}" if name else peer.address
    audit.info("%s (%d) of %s was answered %d", code.name, request.code, who, answer.code)
