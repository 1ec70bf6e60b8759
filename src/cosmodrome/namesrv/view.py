"""What can be seen of a running NameServer.

Owns: which of its parts may be read from outside (metrics, HTTP), and nothing else of it.
Must not know: who reads, or in which form.
"""

from collections.abc import Callable
from dataclasses import dataclass

from cosmodrome.metrics.loop_lag import LoopLag
from cosmodrome.namesrv.brake import Brakes
from cosmodrome.namesrv.kv_config import KVConfigStore
from cosmodrome.namesrv.live_config import LiveConfig
from cosmodrome.namesrv.metrics.tally import EventTally
from cosmodrome.namesrv.routing.tables import RouteTables
from cosmodrome.transport.server import RemotingServer


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What does not change while a server runs. `started_s` is Unix time."""

    version: str
    compat_version: str
    python: str
    event_loop: str
    pid: int
    started_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """The parts of a server that runs; read them in its event loop, and change nothing.

    `unready` gives why routes are not answered, empty when they are. `now_ms` is of the clock of the tables.
    """

    about: About
    config: LiveConfig
    tables: RouteTables
    kv_config: KVConfigStore
    server: RemotingServer
    brakes: Brakes
    tally: EventTally
    lag: LoopLag
    unready: Callable[[], str]
    now_ms: Callable[[], int]
