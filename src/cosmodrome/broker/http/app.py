"""The HTTP application of a broker.

Owns: which paths there are, and what is said at those that are not.
Must not know: sockets; how long it lives (cosmodrome/http/plane.py).
"""

from starlette.applications import Starlette

from cosmodrome.broker.metrics.families import Measures
from cosmodrome.broker.view import BrokerView
from cosmodrome.http.probes import Probed, probe_routes
from cosmodrome.http.problems import HANDLERS


def application(view: BrokerView) -> Starlette:
    """Give the application that answers for a broker."""
    probed = Probed(checks=view.checks, families=Measures(view).families)
    return Starlette(routes=probe_routes(probed), exception_handlers=HANDLERS)
