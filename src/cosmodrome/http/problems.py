"""Errors over HTTP: application/problem+json (RFC 9457).

Owns: their form; which error of ours, or of the framework, becomes which.
Must not know: what was asked.
"""

from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import Final, cast

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

CONTENT_TYPE: Final = "application/problem+json"


class ProblemBody(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """Why there is no other answer. `code` is one word that never changes, `hint` is what to do about it."""

    type: str
    title: str
    status: int
    code: str
    detail: str
    hint: str = ""


class Problem(Exception):  # noqa: N818 -- the standard's word
    """What cannot be answered: a status, one word that never changes, what happened, what to do, and header fields."""

    def __init__(
        self,
        status: HTTPStatus,
        code: str,
        detail: str,
        hint: str = "",
        *,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.detail = detail
        self.hint = hint
        self.headers = headers

    def response(self) -> Response:
        """Give it as an answer."""
        return Response(self.encoded(), self.status.value, self.headers, media_type=CONTENT_TYPE)

    def encoded(self) -> bytes:
        """Give the body of the answer."""
        body = ProblemBody(
            type="about:blank",
            title=self.status.phrase,
            status=self.status.value,
            code=self.code,
            # What a peer sent may be in it, and need not be any text.
            detail=self.detail.encode("utf-8", "replace").decode(),
            hint=self.hint,
        )
        return msgspec.json.encode(body)


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
