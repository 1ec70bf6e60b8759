"""The HTTP application of a NameServer.

Owns: which paths there are, what must hold before a request of the API is looked at, and the first page.
Must not know: sockets; how long it lives (cosmodrome/http/plane.py).
"""

import functools
import html
import socket
from typing import Final

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from cosmodrome.http.api import NO_STORE, Admit, Api, ApiRoute
from cosmodrome.http.checks import Check
from cosmodrome.http.guard import Guard, settings
from cosmodrome.http.operations import Operation
from cosmodrome.http.probes import Probed, probe_routes
from cosmodrome.http.problems import HANDLERS
from cosmodrome.namesrv.http import asking
from cosmodrome.namesrv.http.description import description
from cosmodrome.namesrv.http.table import bound
from cosmodrome.namesrv.metrics.families import measured
from cosmodrome.namesrv.view import View

_METHODS: Final = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"]
_LINKS: Final = (
    "/readyz?verbose",
    "/metrics",
    "/api/v1/server",
    "/api/v1/brokers",
    "/api/v1/topics",
    "/api/v1/openapi.json",
)


def application(view: View) -> Starlette:
    """Give the application that answers for a NameServer."""
    config = view.config.started_with
    guard = Guard(settings([*config.http_hosts.split(";"), socket.gethostname()], config.http_token))
    api = Api(bound(view), _admit(view, guard))

    async def openapi(request: Request) -> Response:
        guard.check_host(request)
        return Response(_described(), headers=NO_STORE, media_type="application/json")

    async def first_page(request: Request) -> Response:
        guard.check_host(request)
        return HTMLResponse(_page(view), headers=NO_STORE)

    probed = Probed(
        checks=lambda: [Check("routes", "routes are answered", view.unready())], families=lambda: measured(view)
    )
    routes = [
        *probe_routes(probed),
        Route("/", first_page),
        Route("/api/v1/openapi.json", openapi),
        ApiRoute("/api/v1/", api.answer, _METHODS),
    ]
    made = Starlette(routes=routes, exception_handlers=HANDLERS)
    made.router.redirect_slashes = False
    return made


@functools.cache
def _described() -> bytes:
    return msgspec.json.encode(description())


def _admit(view: View, guard: Guard) -> Admit:
    def admit(operation: Operation, request: Request) -> None:
        guard.check_host(request)
        if operation.is_write:
            guard.check_write(request)
        if operation.like is not None:
            asking.admit(view, request, operation.like)

    return admit


def _page(view: View) -> str:
    links = "".join(f'<li><a href="{link}">{link}</a></li>' for link in _LINKS)
    about = html.escape(f"NameServer at {view.server.address}, Cosmodrome {view.about.version}")
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{about}</title>'
        f"<h1>{about}</h1><ul>{links}</ul></html>"
    )
