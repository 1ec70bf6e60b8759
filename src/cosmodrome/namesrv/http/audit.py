"""Who changed what, and undoing it.

Owns: /api/v1/audit and /api/v1/audit/{id}/undo.
Must not know: how the audit log is written and read; what undoing a change is.
"""

import asyncio
from http import HTTPStatus
from typing import Any, Final

import msgspec

from cosmodrome.audit.reading import Wanted, read_page
from cosmodrome.errors import RequestRefusedError, StorageError, UndoRefusedError
from cosmodrome.http.operations import Asked, Parameter, get, write
from cosmodrome.http.paging import PAGED, page_of
from cosmodrome.http.parameters import TIMES, text_of, time_of
from cosmodrome.http.problems import Problem
from cosmodrome.namesrv.http.asking import peer_of, refused, unstored
from cosmodrome.namesrv.view import View
from cosmodrome.protocol.codes import RequestCode

_TEXT: Final = {"type": "string"}
_CHOSEN: Final = (
    Parameter(name="event", meaning="change, not_made, denied, broker_moved or torn", schema=_TEXT),
    Parameter(name="request", meaning="a request by its name or number: PUT_KV_CONFIG, 100", schema=_TEXT),
    Parameter(name="peer", meaning="who asked: an address, with or without the port", schema=_TEXT),
    Parameter(name="text", meaning="a part of what was changed: a key, a broker, a reason", schema=_TEXT),
    Parameter(name="id", meaning="one line, by its id", schema=_TEXT),
)
_STATUSES: Final = {
    "unknown_change": HTTPStatus.NOT_FOUND,
    "not_audited": HTTPStatus.NOT_FOUND,
}
_HINTS: Final = {
    "changed_since": "look at what came after it; with force what was before it is restored all the same",
    "unknown_change": "see /api/v1/audit?event=change",
}


class AuditPage(msgspec.Struct, frozen=True, kw_only=True):
    """Lines of the audit log, the newest first; `unreadable` lines on the way to them were none."""

    items: list[dict[str, Any]]
    next_cursor: str | None
    unreadable: int


class Undo(msgspec.Struct, frozen=True, kw_only=True):
    """How to undo a change: `force` does it also when the present state is not what the change left."""

    force: bool = False


class Undone(msgspec.Struct, frozen=True, kw_only=True):
    """A change was undone: its id, and that of the line which says so, by which this can be undone again."""

    undone: str
    id: str


class Audit:
    """Answers who changed what, and undoes it."""

    def __init__(self, view: View) -> None:
        self._undoing = view.undoing

    @get(
        "/api/v1/audit",
        answers=AuditPage,
        query=(*_CHOSEN, *TIMES, *PAGED),
        like=RequestCode.UPDATE_NAMESRV_CONFIG,  # the file is for its owner only, too
        problems={HTTPStatus.NOT_FOUND: "changes are not written down"},
    )
    async def audit(self, asked: Asked) -> object:
        """Lines of the audit log, the newest first, a page at a time."""
        request = asked.request
        path, page = self._undoing.audit_path, page_of(request)
        if path is None:
            raise Problem(HTTPStatus.NOT_FOUND, "not_audited", "changes are not written down (auditLog=off)")
        wanted = Wanted(
            event=text_of(request, "event"),
            request=text_of(request, "request"),
            peer=text_of(request, "peer"),
            text=text_of(request, "text"),
            line_id=text_of(request, "id"),
            since=time_of(request, "from"),
            until=time_of(request, "to"),
        )
        try:
            read = await asyncio.to_thread(read_page, path, wanted, page.limit, page.cursor)
        except StorageError as error:
            raise Problem(HTTPStatus.INTERNAL_SERVER_ERROR, "storage", error.what, error.remedy or "") from error
        items = [dict(line) for line in read.lines]
        return AuditPage(items=items, next_cursor=read.next_cursor, unreadable=read.unreadable)

    @write(
        "POST",
        "/api/v1/audit/{id}/undo",
        answers=Undone,
        takes=Undo,
        problems={
            HTTPStatus.NOT_FOUND: "there is no such change",
            HTTPStatus.CONFLICT: "it cannot be undone, or something came after it",
        },
    )
    async def undo(self, asked: Asked) -> object:
        """Restore exactly what was before a change of a KV entry, of write permissions or of the configuration.

        Only while the present state is what the change left, unless forced. Who may make the change may undo it.
        """
        line_id = asked.names["id"]
        undoing = self._undoing.undo(line_id, peer_of(asked.request), is_forced=asked.body.force)
        try:
            # Once begun it is done to its end, even if whoever asked does not wait for that.
            made = await asyncio.shield(asyncio.ensure_future(undoing))
        except UndoRefusedError as error:
            status = _STATUSES.get(error.cause, HTTPStatus.CONFLICT)
            raise Problem(status, error.cause, error.reason, _HINTS.get(error.cause, "")) from error
        except RequestRefusedError as error:
            raise refused(error) from error
        except StorageError as error:
            raise unstored(error) from error
        return Undone(undone=line_id, id=made)
