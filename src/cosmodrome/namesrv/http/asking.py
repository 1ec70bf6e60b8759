"""What is asked over HTTP, asked as the remoting protocol asks it.

Owns: whom the policy sees behind an HTTP request; what an answer of a processor is over HTTP.
Must not know: what any request means.

A change goes to the dispatcher like one that came by remoting: the same gate, the same audit log, the same counts.
"""

import asyncio
from collections.abc import Mapping
from http import HTTPStatus
from typing import Final

from starlette.requests import Request

from cosmodrome.errors import RequestRefusedError, StorageDoubtError, StorageError
from cosmodrome.http.guard import is_loopback
from cosmodrome.http.problems import Problem
from cosmodrome.namesrv.view import View
from cosmodrome.protocol.codes import ResponseCode
from cosmodrome.protocol.command import RemotingCommand, request
from cosmodrome.transport.dispatch import INTERNAL_REMARK, Peer
from cosmodrome.transport.sockets import format_address

HTTP_CONNECTION: Final = -1
"""Of peers over HTTP, over which no broker registers."""
_STORAGE_REMARKS: Final = (StorageError.REMARK, StorageDoubtError.REMARK)
_REFUSALS: Final[Mapping[int, tuple[HTTPStatus, str]]] = {
    ResponseCode.NO_PERMISSION: (HTTPStatus.FORBIDDEN, "denied"),
    ResponseCode.QUERY_NOT_FOUND: (HTTPStatus.NOT_FOUND, "not_found"),
    ResponseCode.TOPIC_NOT_EXIST: (HTTPStatus.NOT_FOUND, "unknown_topic"),
    ResponseCode.SYSTEM_BUSY: (HTTPStatus.SERVICE_UNAVAILABLE, "busy"),
    ResponseCode.GO_AWAY: (HTTPStatus.SERVICE_UNAVAILABLE, "draining"),
}


def peer_of(asked: Request) -> Peer:
    """Give the peer for the policy. Behind a proxy nobody can tell who it is, so it is from nowhere."""
    client = asked.client
    address = format_address((client.host, client.port)) if client is not None else "unknown"
    is_passed_on = client is not None and not is_loopback(asked) and _looks_local(client.host)
    return Peer(HTTP_CONNECTION, address, address, is_passed_on)


async def answer_of(
    view: View, asked: Request, code: int, fields: Mapping[str, str | None] | None = None, body: bytes = b""
) -> RemotingCommand:
    """Have a request answered, and give the answer, a success.

    Raises:
        Problem: It was refused, or failed.
    """
    command = request(code, fields, body).replaced(version=0)  # a client's version would be sent away while draining
    answer = view.server.dispatcher.dispatch(command, peer_of(asked))
    # Once begun it is done to its end, even if whoever asked does not wait for that.
    response = answer if isinstance(answer, RemotingCommand) else await asyncio.shield(asyncio.ensure_future(answer))
    if response.code != ResponseCode.SUCCESS:
        raise _problem(response.code, response.remark or "")
    return response


def admit(view: View, asked: Request, code: int) -> None:
    """Let pass who may send a request of this code.

    Raises:
        Problem: The policy forbids it.
    """
    try:
        view.gate.admit(request(code), peer_of(asked))
    except RequestRefusedError as error:
        raise refused(error) from error


def refused(error: RequestRefusedError) -> Problem:
    """Give the problem for a refusal."""
    return _problem(error.code, error.remark)


def unstored(error: StorageError) -> Problem:
    """Give the problem for what could not be stored."""
    return Problem(HTTPStatus.INSUFFICIENT_STORAGE, "storage", error.what, error.remedy or "")


def _problem(code: int, remark: str) -> Problem:
    if remark in _STORAGE_REMARKS:
        return Problem(HTTPStatus.INSUFFICIENT_STORAGE, "storage", remark, "see the server's log")
    if remark == INTERNAL_REMARK:
        return Problem(HTTPStatus.INTERNAL_SERVER_ERROR, "internal", remark)
    status, word = _REFUSALS.get(code, (HTTPStatus.BAD_REQUEST, "refused"))
    detail, _, hint = remark.partition("; the operator can ")
    return Problem(status, word, detail, hint)


def _looks_local(host: str) -> bool:
    return host in ("::1", "localhost") or host.startswith(("127.", "::ffff:127."))
