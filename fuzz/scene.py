"""A whole NameServer with its peers, on a virtual loop.

Owns: setting it up, connections to it, and what a peer of good will sees of it.
Must not know: what the other peers do.
"""

import asyncio
import json
from pathlib import Path
from typing import Any, Final

from tests.support import wire

from cosmodrome.namesrv.config import NamesrvConfig
from cosmodrome.namesrv.events import Event
from cosmodrome.namesrv.routing.tables import RouteTables
from cosmodrome.namesrv.server import NameServer
from fuzz.peer import FuzzedPeer
from fuzz.virtual_loop import VirtualLoop

_TURNS: Final = 20_000


class Scene:
    """A NameServer that listens to nobody but the peers made here."""

    def __init__(self, loop: VirtualLoop, folder: Path, **settings: Any) -> None:
        self.loop = loop
        self.events: list[Event] = []
        self._folder = folder
        config = NamesrvConfig(bind_address="127.0.0.1", listen_port=0, data_dir=str(folder), **settings)
        self.server = NameServer(config, publish=self.events.append)
        self._ports = iter(range(40_000, 60_000))
        loop.attach = self._attach
        self._peers: dict[Any, FuzzedPeer] = {}

    @property
    def tables(self) -> RouteTables:
        """The tables of the server."""
        return self.server._tables

    def kv_file(self) -> Any:
        """Give the namespaces of the KV file as any reader of JSON sees them; none when there is no file."""
        path = self._folder / "kvConfig.json"
        return json.loads(path.read_bytes())["configTable"] if path.exists() else {}

    async def connect(self, host: str = "10.0.0.9") -> FuzzedPeer:
        """Let a peer connect."""
        address = (host, next(self._ports))
        peer = FuzzedPeer(self.loop, address)
        self._peers[peer.sock] = peer
        self.loop.knock(peer.sock, address)
        await self.turns(8)
        return peer

    async def turns(self, count: int) -> None:
        """Let the loop turn, without letting time pass."""
        for _ in range(count):
            await asyncio.sleep(0)

    async def ask(self, peer: FuzzedPeer, code: int, fields: wire.Ext, body: bytes = b"") -> wire.Answer:
        """Ask as a peer of good will does, one request at a time, and give the answer, which must come at once."""
        known = len(wire.split(peer.received)[0])
        peer.send(wire.encode_request(code, fields, body, opaque=1_000_000 + known))
        for _ in range(_TURNS):
            answers, _rest = wire.split(peer.received)
            if len(answers) > known:
                answer = answers[-1]
                assert answer.opaque == 1_000_000 + known
                return answer
            assert not peer.is_lost, f"the connection of a good peer is gone: {self.events[-3:]}"
            await asyncio.sleep(0)
        raise AssertionError(f"no answer to {code}")

    def _attach(self, protocol: Any, sock: Any) -> FuzzedPeer:
        """Join a protocol and a peer; the server may also open sockets between itself and itself."""
        peer = self._peers.pop(sock, None) or FuzzedPeer(self.loop, ("127.0.0.1", 1), sock)
        peer.attach(protocol)
        return peer
