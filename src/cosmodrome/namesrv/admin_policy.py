"""Who may change this server over the wire.

Owns: which requests each policy guards, and the refusal.
Must not know: what a request does.
"""

import ipaddress
from collections.abc import Callable, Mapping
from typing import Final

from cosmodrome.errors import RequestRefusedError
from cosmodrome.namesrv.config_keys import AdminPolicy, Network
from cosmodrome.namesrv.events import Publish, RequestDenied
from cosmodrome.protocol.codes import RequestCode, ResponseCode
from cosmodrome.protocol.command import RemotingCommand
from cosmodrome.transport.dispatch import Answer, Peer, Processor

GUARDED: Final[Mapping[AdminPolicy, frozenset[RequestCode]]] = {
    AdminPolicy.OPEN: frozenset(),
    AdminPolicy.COMPATIBLE: frozenset({RequestCode.UPDATE_NAMESRV_CONFIG}),
    AdminPolicy.HARDENED: frozenset(
        {
            RequestCode.UPDATE_NAMESRV_CONFIG,
            RequestCode.PUT_KV_CONFIG,
            RequestCode.DELETE_KV_CONFIG,
            RequestCode.WIPE_WRITE_PERM_OF_BROKER,
            RequestCode.ADD_WRITE_PERM_OF_BROKER,
            RequestCode.DELETE_TOPIC_IN_NAMESRV,
            RequestCode.REGISTER_TOPIC_IN_NAMESRV,
        }
    ),
}


class AdminGate:
    """Lets changes through from the networks that may make them.

    Behind a proxy both addresses must be allowed: anybody can send a PROXY header that names loopback.

    `is_broker` tells whether a broker is registered over a connection: such may send REGISTER_TOPIC_IN_NAMESRV.
    """

    def __init__(
        self,
        policy: AdminPolicy,
        networks: tuple[Network, ...],
        is_broker: Callable[[int], bool],
        publish: Publish,
    ) -> None:
        self._policy = policy
        self._networks = networks
        self._is_broker = is_broker
        self._publish = publish

    def guarded(self, processors: Mapping[RequestCode, Processor]) -> dict[int, Processor]:
        """Give the same table with a gate before each processor that the policy guards."""
        guarded = GUARDED[self._policy]
        return {
            code: self._gated(processor) if code in guarded else processor for code, processor in processors.items()
        }

    def _gated(self, processor: Processor) -> Processor:
        def gated(request: RemotingCommand, peer: Peer) -> Answer:
            if not self._is_allowed(request, peer):
                reason = f"{peer.address} is not in adminAllow (adminPolicy={self._policy})"
                self._publish(RequestDenied(code=request.code, peer=peer.address, reason=reason))
                remark = f"request {request.code} is refused: {reason}; the operator can add the address to adminAllow"
                raise RequestRefusedError(ResponseCode.NO_PERMISSION, remark, is_fault=False)
            return processor(request, peer)

        return gated

    def _is_allowed(self, request: RemotingCommand, peer: Peer) -> bool:
        if request.code == RequestCode.REGISTER_TOPIC_IN_NAMESRV and self._is_broker(peer.connection_id):
            return True
        return all(self._is_inside(address) for address in {peer.address, peer.socket_address or peer.address})

    def _is_inside(self, peer_address: str) -> bool:
        try:
            address = ipaddress.ip_address(peer_address.rpartition(":")[0].strip("[]"))
        except ValueError:
            return False
        return any(address in network for network in self._networks if network.version == address.version)
