"""Errors over HTTP: application/problem+json (RFC 9457).

Owns: their form; which error of ours, or of the framework, becomes which.
Must not know: what was asked.
"""

from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Final, cast

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

_CONTENT_TYPE: Final = "application/problem+json"


class Problem(Exception):  # noqa: N818 -- the standard's word
    """What cannot be answered: a status, one word that never changes, what happened, and what to do."""

    def __init__(self, status: HTTPStatus, code: str, detail: str, hint: str = "") -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.detail = detail
        self.hint = hint

    def response(self) -> Response:
        """Give it as an answer."""
        body = {
            "type": "about:blank",
            "title": self.status.phrase,
            "status": self.status.value,
            "code": self.code,
            "detail": self.detail,
        }
        if self.hint:
            body["hint"] = self.hint
        return Response(msgspec.json.encode(body), self.status.value, media_type=_CONTENT_TYPE)


async def _answer_problem(_: Request, error: Exception) -> Response:
    return cast("Problem", error).response()


async def _answer_framework_error(request: Request, error: Exception) -> Response:
    raised = cast("HTTPException", error)
    status = HTTPStatus(raised.status_code)
    if status is HTTPStatus.NOT_FOUND:
        problem = Problem(status, "no_such_path", f"there is no {request.url.path} here")
    elif status is HTTPStatus.METHOD_NOT_ALLOWED:
        problem = Problem(status, "no_such_method", f"{request.method} is not for {request.url.path}")
    else:
        problem = Problem(status, "refused", raised.detail)
    response = problem.response()
    for name, value in (raised.headers or {}).items():
        response.headers[name] = value
    return response


async def _answer_fault(_: Request, __: Exception) -> Response:
    detail = "internal error, see the server's log"
    return Problem(HTTPStatus.INTERNAL_SERVER_ERROR, "internal", detail).response()


HANDLERS: Final[dict[type[Exception] | int, Callable[[Request, Exception], Awaitable[Response]]]] = {
    Problem: _answer_problem,
    HTTPException: _answer_framework_error,
    Exception: _answer_fault,
}
"""For Starlette: which error is answered by what."""
