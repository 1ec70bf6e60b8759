"""Probes and metrics.

Owns: /livez, /readyz, /healthz, /metrics.
Must not know: what makes a server ready; what is measured.
"""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from cosmodrome.http.checks import Check
from cosmodrome.metrics.exposition import format_for, text_of
from cosmodrome.metrics.family import Family

_NO_STORE: Final = {"Cache-Control": "no-store"}
_LIVE: Final = "[+] event loop turns\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Probed:
    """What can be asked of a server: its checks, the most important first, and its metrics."""

    checks: Callable[[], Iterable[Check]]
    families: Callable[[], Awaitable[Iterable[Family]]]


def probe_routes(probed: Probed) -> list[Route]:
    """Give the paths that need no API: for supervisors, load balancers and Prometheus."""

    async def live(request: Request) -> Response:
        text = f"{_LIVE}ok\n" if "verbose" in request.query_params else "ok\n"
        return PlainTextResponse(text, headers=_NO_STORE)

    async def ready(request: Request) -> Response:
        checks = list(probed.checks())
        reason = next((each.reason for each in checks if each.reason), "")
        status = HTTPStatus.SERVICE_UNAVAILABLE if reason else HTTPStatus.OK
        text = f"{reason or 'ok'}\n"
        if "verbose" in request.query_params:
            text = f"{_LIVE}{''.join(each.line() for each in checks)}{text}"
        return PlainTextResponse(text, status.value, headers=_NO_STORE)

    async def metrics(request: Request) -> Response:
        form = format_for(request.headers.get("accept", ""))
        text = text_of(await probed.families(), form)  # what cannot be measured is an error, not half an answer
        return StreamingResponse(text, media_type=form.value, headers=_NO_STORE)

    return [
        Route("/livez", live),
        Route("/readyz", ready),
        Route("/healthz", ready),
        Route("/metrics", metrics),
    ]
