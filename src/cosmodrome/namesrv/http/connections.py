"""Who is connected by remoting.

Owns: /api/v1/connections and /clients.
Must not know: how connections are kept.

A list of ten thousand is gone through a piece at a time, and is of about one moment.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import Final

from cosmodrome.http.operations import Asked, get
from cosmodrome.http.paging import NUMBERED, page_of
from cosmodrome.http.parameters import number_of
from cosmodrome.namesrv.http import shapes
from cosmodrome.namesrv.routing.effects import ConnectionId
from cosmodrome.namesrv.view import View
from cosmodrome.protocol.codes import RequestCode
from cosmodrome.protocol.versions import version_name
from cosmodrome.transport.connection import Connection

_PIECE: Final = 500
"""Connections that are looked at in about a millisecond."""
BROKER: Final = "broker"
CLIENT: Final = "client"
UNKNOWN: Final = "unknown"


class Connections:
    """Answers who is connected."""

    def __init__(self, view: View) -> None:
        self._view = view

    @get("/api/v1/connections", answers=shapes.Connections, query=NUMBERED, like=RequestCode.GET_NAMESRV_CONFIG)
    async def connections(self, asked: Asked) -> object:
        """Open connections, the oldest first, a page at a time."""
        page = page_of(asked.request)
        after = number_of(page.cursor, "cursor") if page.cursor else 0
        now_s = asyncio.get_running_loop().time()
        found: list[shapes.Connection] = []
        async for each in self._open():
            if each.peer.connection_id > after:
                found.append(self._shown(each, now_s))
                if len(found) > page.limit:
                    break
        shown = found[: page.limit]
        return shapes.Connections(items=shown, next_cursor=str(shown[-1].id) if len(found) > page.limit else None)

    @get("/api/v1/clients", answers=shapes.Clients, like=RequestCode.GET_NAMESRV_CONFIG)
    async def clients(self, _: Asked) -> object:
        """Languages and versions of brokers and clients, those with the most connections first."""
        kinds: dict[tuple[str, str, str], list[str]] = {}
        silent = 0
        async for each in self._open():
            if each.version is None:
                silent += 1
                continue
            kind = (self._role(each), _language(each), version_name(each.version))
            kinds.setdefault(kind, []).append(each.peer.address.rpartition(":")[0])
        items = [
            shapes.ClientKind(
                role=role, language=language, version=version, connections=len(hosts), hosts=len(set(hosts))
            )
            for (role, language, version), hosts in sorted(kinds.items(), key=lambda kind: (-len(kind[1]), kind[0]))
        ]
        return shapes.Clients(items=items, silent_connections=silent)

    async def _open(self) -> AsyncIterator[Connection]:
        for number, each in enumerate(self._view.server.connections()):
            if number % _PIECE == _PIECE - 1:
                await asyncio.sleep(0)
            yield each

    def _role(self, connection: Connection) -> str:
        if self._view.tables.read.names_over(ConnectionId(connection.peer.connection_id)):
            return BROKER
        return UNKNOWN if connection.version is None else CLIENT

    def _shown(self, connection: Connection, now_s: float) -> shapes.Connection:
        peer = connection.peer
        is_known = connection.version is not None
        return shapes.Connection(
            id=peer.connection_id,
            address=peer.address,
            proxy=peer.proxy,
            role=self._role(connection),
            brokers=sorted(self._view.tables.read.names_over(ConnectionId(peer.connection_id))),
            language=_language(connection) if is_known else None,
            version=None if connection.version is None else version_name(connection.version),
            silent_s=round(max(0.0, now_s - connection.last_active_s), 3),
            unsent_bytes=connection.unsent_bytes,
        )


def _language(connection: Connection) -> str:
    return "OTHER" if connection.language is None else connection.language.name
