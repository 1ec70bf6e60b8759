"""Who may change a broker over the wire.

Owns: which requests are changes of settings, topics, groups and offsets of others; where they may come from.
Must not know: what a change does. Sending, consuming and committing are open to everybody.
"""

import ipaddress
from collections.abc import Mapping
from typing import Final

from cosmodrome.broker.refusals import refused
from cosmodrome.protocol.codes import BrokerRequestCode, ResponseCode
from cosmodrome.protocol.command import RemotingCommand
from cosmodrome.transport.dispatch import Answer, Peer, Processor

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
CHANGES: Final = frozenset(
    {
        BrokerRequestCode.UPDATE_AND_CREATE_TOPIC,
        BrokerRequestCode.UPDATE_AND_CREATE_TOPIC_LIST,
        BrokerRequestCode.DELETE_TOPIC_IN_BROKER,
        BrokerRequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP,
        BrokerRequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST,
        BrokerRequestCode.DELETE_SUBSCRIPTIONGROUP,
        BrokerRequestCode.INVOKE_BROKER_TO_RESET_OFFSET,
        BrokerRequestCode.CLONE_GROUP_OFFSET,
        BrokerRequestCode.CONSUME_MESSAGE_DIRECTLY,
        BrokerRequestCode.DELETE_EXPIRED_COMMITLOG,
        BrokerRequestCode.CLEAN_EXPIRED_CONSUMEQUEUE,
    }
)


class Gate:
    """Lets changes in from some networks only; None lets them in from everywhere, as Apache's brokers do."""

    def __init__(self, allowed: tuple[Network, ...] | None) -> None:
        """Let changes in from these."""
        self._allowed = allowed

    def guarding(self, processors: Mapping[BrokerRequestCode, Processor]) -> dict[int, Processor]:
        """Give processors of which those that change something are guarded."""
        if self._allowed is None:
            return {int(code): each for code, each in processors.items()}
        return {int(code): self._guarded(each) if code in CHANGES else each for code, each in processors.items()}

    def _guarded(self, processor: Processor) -> Processor:
        def guarded(request: RemotingCommand, peer: Peer) -> Answer:
            if not self._is_allowed(peer):
                remark = (
                    f"request {request.code} from {peer.address} is not allowed here: see adminAllow and adminPolicy"
                )
                raise refused(ResponseCode.NO_PERMISSION, remark)
            return processor(request, peer)

        return guarded

    def _is_allowed(self, peer: Peer) -> bool:
        if peer.is_source_withheld:
            return False
        try:
            host = ipaddress.ip_address(peer.address.rpartition(":")[0].strip("[]"))
        except ValueError:
            return False
        return any(host in network for network in self._allowed or () if network.version == host.version)
