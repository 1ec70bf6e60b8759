"""What can be seen of a running NameServer.

Owns: which of its parts may be read from outside (metrics, HTTP), and nothing else of it.
Must not know: who reads, or in which form.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from cosmodrome.metrics.loop_lag import LoopLag
from cosmodrome.namesrv.brake import Brakes
from cosmodrome.namesrv.event_history import EventHistory
from cosmodrome.namesrv.kv_config import KVConfigStore
from cosmodrome.namesrv.live_config import LiveConfig, ReloadOutcome
from cosmodrome.namesrv.metrics.tally import EventTally
from cosmodrome.namesrv.metrics.timings import Timings
from cosmodrome.namesrv.misses import Misses
from cosmodrome.namesrv.policy.gate import Gate
from cosmodrome.namesrv.policy.undoing import Undoing
from cosmodrome.namesrv.processors import Processors
from cosmodrome.namesrv.routing.tables import RouteTables
from cosmodrome.transport.client import RemotingClient
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
class Control:
    """What can be done to a server as a whole; who may is asked of the gate before.

    `reload` reads the configuration again, None where it came from nowhere. `set_drained` takes a server out of use, or
    back; `drained_since_s` is Unix time, None when it is in use. `end` stops the server and ends its program soon after it
    returns; None where the program has more to do.
    """

    reload: Callable[[], Awaitable[ReloadOutcome]] | None
    set_drained: Callable[[bool], None]
    drained_since_s: Callable[[], float | None]
    end: Callable[[], None] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """The parts of a server that runs; read them in its event loop, and change nothing but by requests and `control`.

    `gate` says who may ask what, `client` asks other servers. `unready` gives why routes are not answered, empty when they are. `now_ms` is of the clock of the tables.
    """

    about: About
    config: LiveConfig
    tables: RouteTables
    kv_config: KVConfigStore
    server: RemotingServer
    brakes: Brakes
    processors: Processors
    tally: EventTally
    timings: Timings
    lag: LoopLag
    history: EventHistory
    misses: Misses
    gate: Gate
    undoing: Undoing
    control: Control
    client: RemotingClient
    unready: Callable[[], str]
    now_ms: Callable[[], int]
