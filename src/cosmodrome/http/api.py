"""The operations of a table, as an endpoint.

Owns: which operation a request is for, by its path as it was sent; that it is admitted and read before it is done.
Must not know: what an operation does; who is admitted.

A path is cut at its slashes before it is decoded, so a name may hold anything, a slash (%2F) too.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from http import HTTPStatus
from typing import Final
from urllib.parse import quote, unquote

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match, Route
from starlette.types import Scope

from cosmodrome.http.bodies import body_of
from cosmodrome.http.operations import JSON, Asked, Operation
from cosmodrome.http.problems import Problem

Bound = tuple[Operation, object]
"""An operation, and the family that its handler belongs to."""
Admit = Callable[[Operation, Request], None]
"""Lets a request pass, or raises Problem. Asked before a body is read."""

NO_STORE: Final = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}


def json_response(value: object, status: HTTPStatus = HTTPStatus.OK) -> Response:
    """Give a value as JSON."""
    return Response(msgspec.json.encode(value), status.value, NO_STORE, media_type=JSON)


class ApiRoute(Route):
    """Everything below a path, whatever a name holds: the framework's own patterns end at a line end in it."""

    def __init__(self, prefix: str, endpoint: Callable[[Request], Awaitable[Response]], methods: Sequence[str]) -> None:
        super().__init__(f"{prefix}{{rest:path}}", endpoint, methods=list(methods))
        self._prefix = prefix

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Match what begins with the path."""
        is_below = scope["type"] == "http" and scope["path"].startswith(self._prefix)
        return (Match.FULL, {"endpoint": self.endpoint, "path_params": {}}) if is_below else (Match.NONE, {})


class Api:
    """Matches requests with operations, and has them done."""

    def __init__(self, operations: Iterable[Bound], admit: Admit) -> None:
        self._admit = admit
        self._paths: dict[tuple[str, ...], dict[str, Bound]] = {}
        for bound in operations:
            self._paths.setdefault(_segments(bound[0].path), {})[bound[0].method] = bound

    async def answer(self, request: Request) -> Response:
        """Answer a request.

        Raises:
            Problem: It is for nothing that is here, or it was refused, or it failed.
        """
        methods, names = self._matched(request)
        method = "GET" if request.method == "HEAD" else request.method
        bound = methods.get(method)
        if bound is None:
            allowed = sorted({*methods, *(("HEAD",) if "GET" in methods else ())})
            raise Problem(
                HTTPStatus.METHOD_NOT_ALLOWED,
                "no_such_method",
                f"{request.method} is not for {request.url.path}",
                headers={"Allow": ", ".join(allowed)},
            )
        operation, family = bound
        self._admit(operation, request)
        body = await body_of(operation, request)
        answer = await operation.handler(family, Asked(request, names, body))
        return answer if isinstance(answer, Response) else json_response(answer)

    def _matched(self, request: Request) -> tuple[Mapping[str, Bound], Mapping[str, str]]:
        sent = _segments(_raw_path(request))
        for template, methods in self._paths.items():
            names = _names(template, sent)
            if names is not None:
                return methods, names
        raise Problem(HTTPStatus.NOT_FOUND, "no_such_path", f"there is no {request.url.path[:200]} here")


def _raw_path(request: Request) -> str:
    raw = request.scope.get("raw_path")
    return raw.decode("latin-1") if isinstance(raw, bytes) else quote(request.scope["path"])


def _segments(path: str) -> tuple[str, ...]:
    return tuple(path.split("/")[1:])


def _names(template: tuple[str, ...], sent: tuple[str, ...]) -> dict[str, str] | None:
    """Give the names in a path, or None when it is another one.

    Raises:
        Problem: A name is no text.
    """
    if len(template) != len(sent):
        return None
    names: dict[str, str] = {}
    for wanted, got in zip(template, sent, strict=True):
        if not wanted.startswith("{"):
            if wanted != got:
                return None
        elif not got:
            return None
        else:
            names[wanted[1:-1]] = got
    try:
        return {name: unquote(text, errors="strict") for name, text in names.items()}
    except UnicodeDecodeError:
        raise Problem(HTTPStatus.BAD_REQUEST, "bad_path", "a name in the path is not UTF-8") from None
