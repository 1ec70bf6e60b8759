"""Everything that a NameServer knows, as one document.

Owns: /api/v1/snapshot: its members, and that it is written a piece at a time.
Must not know: how the tables are kept.

It is read from tables that go on changing. `revision` and `revision_at_end` are equal when they did not, and then the document
is of one moment.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any, Final

import msgspec
from starlette.responses import Response, StreamingResponse

from cosmodrome.http.api import NO_STORE
from cosmodrome.http.operations import JSON, Asked, get
from cosmodrome.namesrv.config import java_listing
from cosmodrome.namesrv.event_form import rfc3339
from cosmodrome.namesrv.view import View
from cosmodrome.protocol.codes import RequestCode

FORMAT: Final = "cosmodrome-registry"
FORMAT_VERSION: Final = 1
_PIECE: Final = 200
"""Topics, or other entries, that are written in about a millisecond."""


class Snapshot:
    """Writes everything down."""

    def __init__(self, view: View) -> None:
        self._view = view

    @get("/api/v1/snapshot", answers=dict[str, Any], like=RequestCode.GET_NAMESRV_CONFIG)
    async def snapshot(self, _: Asked) -> Response:
        """Brokers, topics with their queues, KV entries and settings, as one document.

        `revision` and `revision_at_end` are equal when nothing changed while it was written.
        """
        return StreamingResponse(self._document(), headers=NO_STORE, media_type=JSON)

    async def _document(self) -> AsyncIterator[bytes]:
        view, read = self._view, self._view.tables.read
        head = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "server": view.server.address,
            "version": view.about.version,
            "taken_at": rfc3339(time.time()),
            "revision": read.revision,
            "settings": dict(java_listing(view.config.current)),
        }
        yield msgspec.json.encode(head)[:-1]
        yield b',"brokers":'
        async for piece in _array(list(read.live_members()), lambda member: member._asdict()):
            yield piece
        yield b',"topics":'
        async for piece in _array(read.all_topics(), self._topic):
            yield piece
        yield b',"kv":'
        async for piece in _array(view.kv_config.namespaces(), self._namespace):
            yield piece
        yield b',"revision_at_end":%d}' % read.revision

    def _topic(self, topic: str) -> dict[str, Any] | None:
        datas = self._view.tables.read.queue_datas(topic)
        if not datas:  # it went since the names were taken
            return None
        queues = [msgspec.structs.asdict(data) | {"broker_name": name} for name, data in sorted(datas.items())]
        return {"topic": topic, "queues": queues}

    def _namespace(self, namespace: str) -> dict[str, Any]:
        return {"namespace": namespace, "entries": dict(self._view.kv_config.table(namespace) or {})}


async def _array(items: Iterable[Any], shown: Callable[[Any], dict[str, Any] | None]) -> AsyncIterator[bytes]:
    yield b"["
    written: list[bytes] = []
    separator = b""
    for number, item in enumerate(items):
        value = shown(item)
        if value is not None:
            written.append(separator + msgspec.json.encode(value))
            separator = b","
        if number % _PIECE == _PIECE - 1:
            yield b"".join(written)
            written = []
            await asyncio.sleep(0)
    yield b"".join([*written, b"]"])
