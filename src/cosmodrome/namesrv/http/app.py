"""The HTTP application of a NameServer.

Owns: which paths there are, and what is said at those that are not.
Must not know: sockets; how long it lives (cosmodrome/http/plane.py).
"""

from collections.abc import Iterable

from starlette.applications import Starlette

from cosmodrome.http.checks import Check
from cosmodrome.http.probes import Probed, probe_routes
from cosmodrome.http.problems import HANDLERS
from cosmodrome.metrics.family import Family
from cosmodrome.namesrv.http.registry import Registry
from cosmodrome.namesrv.metrics.families import families
from cosmodrome.namesrv.view import View


def application(view: View) -> Starlette:
    """Give the application that answers for a NameServer."""

    async def measured() -> Iterable[Family]:
        return families(view)

    probed = Probed(checks=lambda: [Check("routes", "routes are answered", view.unready())], families=measured)
    return Starlette(routes=[*probe_routes(probed), *Registry(view).routes()], exception_handlers=HANDLERS)
