"""What is done to a server as a whole.

Owns: /api/v1/reload, /drain and /stop. Who may change the configuration may do this; each is a line in the audit log.
Must not know: what reloading and draining are.
"""

import asyncio
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import TypeVar

from starlette.requests import Request

from cosmodrome.errors import RequestRefusedError, StorageError
from cosmodrome.http.operations import Asked, get, write
from cosmodrome.http.problems import Problem
from cosmodrome.namesrv.event_form import rfc3339
from cosmodrome.namesrv.http import shapes
from cosmodrome.namesrv.http.asking import admit, peer_of, refused, unstored
from cosmodrome.namesrv.policy.gate import Deed
from cosmodrome.namesrv.view import View
from cosmodrome.protocol.codes import RequestCode
from cosmodrome.protocol.command import request

T = TypeVar("T")

_NOTHING_TO_READ = {HTTPStatus.CONFLICT: "the configuration came from no file, or what is there cannot be used"}

_NOT_OURS_TO_END = {HTTPStatus.CONFLICT: "the server is part of a program that has more to do"}


class ControlRoutes:
    """Reloads, drains and stops."""

    def __init__(self, view: View) -> None:
        self._view = view

    @write(
        "POST",
        "/api/v1/reload",
        answers=shapes.Reloaded,
        takes=shapes.Nothing,
        problems=_NOTHING_TO_READ,
    )
    async def reload(self, asked: Asked) -> object:
        """Read the configuration again from where it came from, and take over what can change now; or nothing at all."""
        read = self._view.control.reload
        if read is None:
            detail = "this server was given its configuration by the program that it is part of"
            raise Problem(HTTPStatus.CONFLICT, "nothing_to_read", detail)
        outcome = await self._performed(asked.request, Deed("RELOAD", {}), read)
        if outcome.reason:
            raise Problem(HTTPStatus.CONFLICT, "not_reloaded", outcome.reason, ", ".join(outcome.refused))
        return shapes.Reloaded(
            applied=list(outcome.applied), needs_restart=list(outcome.restart), overridden=dict(outcome.overridden)
        )

    @get("/api/v1/drain", answers=shapes.Drain)
    async def drain(self, _: Asked) -> object:
        """Whether the server is out of use."""
        return self._drain()

    @write("PUT", "/api/v1/drain", answers=shapes.Drain, takes=shapes.Draining)
    async def set_drain(self, asked: Asked) -> object:
        """Take the server out of use, or put it back.

        While it is out of use it is not ready, and newer clients are sent to other NameServers; the rest is answered.
        """
        is_drained = asked.body.draining

        async def act() -> None:
            self._view.control.set_drained(is_drained)

        if is_drained != (self._view.control.drained_since_s() is not None):
            await self._performed(asked.request, Deed("DRAIN", {"draining": is_drained}), act)
        else:
            admit(self._view, asked.request, RequestCode.UPDATE_NAMESRV_CONFIG)
        return self._drain()

    @write("POST", "/api/v1/stop", answers=shapes.Stopping, takes=shapes.Nothing, problems=_NOT_OURS_TO_END)
    async def stop(self, asked: Asked) -> object:
        """Stop in good order, as after SIGTERM: requests in work are finished, and the process ends."""
        end = self._view.control.end
        if end is None:
            raise Problem(
                HTTPStatus.CONFLICT, "not_ours_to_end", "this server is part of a program that has more to do"
            )

        async def act() -> None:
            asyncio.get_running_loop().call_soon(end)  # what answers this request is part of what stops

        await self._performed(asked.request, Deed("STOP", {}), act)
        return shapes.Stopping(pid=self._view.about.pid, connections=self._view.server.connection_count)

    def _drain(self) -> shapes.Drain:
        since_s = self._view.control.drained_since_s()
        return shapes.Drain(
            draining=since_s is not None,
            since=None if since_s is None else rfc3339(since_s),
            connections=self._view.server.connection_count,
        )

    async def _performed(self, asked: Request, deed: Deed, action: Callable[[], Awaitable[T]]) -> T:
        like = request(RequestCode.UPDATE_NAMESRV_CONFIG)
        try:
            return await self._view.gate.perform(deed, like, peer_of(asked), action)
        except RequestRefusedError as error:
            raise refused(error) from error
        except StorageError as error:
            raise unstored(error) from error
