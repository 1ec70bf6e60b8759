"""The other NameServers that the configuration names.

Owns: /api/v1/peers: whom to ask, how often, and what of an answer differs from what is known here.
Must not know: how a server is asked.

NameServers never talk to each other, so a broker that reaches only some of them shows nowhere else. They are asked when
somebody looks, and not again for some seconds.
"""

import asyncio
import time
from collections.abc import Iterator
from typing import Final

from cosmodrome.http.operations import Asked, get
from cosmodrome.namesrv.event_form import rfc3339
from cosmodrome.namesrv.http import shapes
from cosmodrome.namesrv.http.other_servers import MOST, Unanswered, ask_server, peer_servers
from cosmodrome.namesrv.view import View
from cosmodrome.protocol.bodies.cluster import ClusterInfo, decode_cluster_info
from cosmodrome.protocol.codes import RequestCode
from cosmodrome.protocol.command import request

_KEPT_S: Final = 10.0
_SHOWN: Final = 100
"""Brokers of each difference."""


class Peers:
    """Asks the other NameServers, and compares."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._asking = asyncio.Lock()
        self._kept: shapes.PeerServers | None = None
        self._kept_until_s = 0.0

    @get("/api/v1/peers", answers=shapes.PeerServers, like=RequestCode.GET_BROKER_CLUSTER_INFO)
    async def peers(self, _: Asked) -> object:
        """The other NameServers (peerServers, and shadow), asked now or some seconds ago: which brokers only one side knows."""
        loop = asyncio.get_running_loop()
        async with self._asking:
            if self._kept is None or loop.time() >= self._kept_until_s:
                answers = await asyncio.gather(*(self._asked(address, source) for address, source in self._named()))
                self._kept = shapes.PeerServers(items=list(answers))
                self._kept_until_s = loop.time() + _KEPT_S
            return self._kept

    def _named(self) -> list[tuple[str, str]]:
        config = self._view.config.started_with
        named = dict.fromkeys(peer_servers(config), "peerServers")
        if config.shadow is not None:
            named.setdefault(config.shadow, "shadow")
        return list(named.items())[:MOST]

    async def _asked(self, address: str, source: str) -> shapes.PeerServer:
        now = rfc3339(time.time())
        question = request(RequestCode.GET_BROKER_CLUSTER_INFO)
        theirs = await ask_server(
            self._view, address, question, lambda answer: set(_members(decode_cluster_info(answer.body)))
        )
        if isinstance(theirs, Unanswered):
            return _silent(address, source, now, theirs.fault)
        ours = {
            f"{each.cluster}/{each.broker_name}@{each.broker_id}={each.addr}"
            for each in self._view.tables.read.live_members()
        }
        return shapes.PeerServer(
            address=address,
            source=source,
            reachable=True,
            error=None,
            asked_at=now,
            brokers=len(theirs),
            brokers_only_here=sorted(ours - theirs)[:_SHOWN],
            brokers_only_there=sorted(theirs - ours)[:_SHOWN],
            differences=len(ours ^ theirs),
        )


def _members(info: ClusterInfo) -> Iterator[str]:
    clusters = {name: cluster for cluster, names in info.cluster_addr_table.items() for name in names}
    for name, group in info.broker_addr_table.items():
        for broker_id, address in group.broker_addrs.items():
            yield f"{clusters.get(name, group.cluster)}/{name}@{broker_id}={address}"


def _silent(address: str, source: str, now: str, error: str) -> shapes.PeerServer:
    return shapes.PeerServer(
        address=address,
        source=source,
        reachable=False,
        error=error[:300],
        asked_at=now,
        brokers=None,
        brokers_only_here=[],
        brokers_only_there=[],
        differences=None,
    )
