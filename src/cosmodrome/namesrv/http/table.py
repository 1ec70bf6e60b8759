"""Every operation of the API: routes, description and reference are made from this table.

Owns: which families there are, and in which order.
Must not know: what any of them does.
"""

from typing import Final

from cosmodrome.http.operations import Operation, operations_of
from cosmodrome.namesrv.http.audit import Audit
from cosmodrome.namesrv.http.configuration import Configuration
from cosmodrome.namesrv.http.connections import Connections
from cosmodrome.namesrv.http.control import ControlRoutes
from cosmodrome.namesrv.http.events import Events
from cosmodrome.namesrv.http.kv import KV
from cosmodrome.namesrv.http.misses import MissedTopics
from cosmodrome.namesrv.http.peers import Peers
from cosmodrome.namesrv.http.registry import Registry
from cosmodrome.namesrv.http.snapshot import Snapshot
from cosmodrome.namesrv.http.why import Why
from cosmodrome.namesrv.view import View

FAMILIES: Final = (
    Registry,
    Connections,
    MissedTopics,
    Peers,
    KV,
    Configuration,
    ControlRoutes,
    Events,
    Audit,
    Snapshot,
    Why,
)
"""Each is made with the view of a server. A new family of operations is a class like these, and one line here."""

OPERATIONS: Final[tuple[Operation, ...]] = tuple(each for family in FAMILIES for each in operations_of(family))


def bound(view: View) -> list[tuple[Operation, object]]:
    """Give each operation with what its handler belongs to, for one server."""
    made = [family(view) for family in FAMILIES]
    return [(each, family) for family in made for each in operations_of(type(family))]
