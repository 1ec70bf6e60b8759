"""What holds after every field case, whatever was done to the server.

Owns: the rule: the same process answers a new connection rightly within a second, and has given back what
    the scenario cost it.
Must not know: what the scenario was.
"""

import ssl
from collections.abc import Callable
from typing import Final

from tests.support.peer import Peer, topics_named
from tests.support.process_figures import descriptors_of, memory_of
from tests.support.server_process import ServerProcess
from tests.support.waiting import wait_until
from tests.support.wire import Broker

ROUTE_S: Final = 1.0
GIVE_BACK_S: Final = 10.0
MAY_GROW: Final = 1.2
_NOISE_BYTES: Final = 16 * 1024 * 1024
"""First uses of code, free lists and fragments of the allocator: after storms 44 to 51 MB stay, with no trend over eight
rounds. Small beside what a leak of a row's counts would be."""

HISTORY_BYTES: Final = 48 * 1024 * 1024
"""For the last 10,000 events (docs/monitoring.md): 16 MiB at most, and what they pin. The allocator gives memory back in
blocks of a MiB, and an event that was made between the parts of a big table keeps the block of these parts. Later tables use
it again, so it has no trend: it is at most what the scenario needed at once."""

_BEACON: Final = Broker(name="beacon", cluster="beacon-cluster", addr="192.0.2.250:10911", ha_addr="192.0.2.250:10912")
_TOPICS: Final = ("beacon-topic", "beacon-other-topic")


class StandingRule:
    """Made before a scenario, checked after it; the scenario's own connections must be closed by then."""

    def __init__(
        self,
        server: ServerProcess,
        *,
        tls: ssl.SSLContext | None = None,
        broker: Callable[[], Peer] | None = None,
    ) -> None:
        """Remember how the server was.

        Args:
            server: The server.
            tls: How to connect to one that wants TLS of everybody.
            broker: Connects as a broker to one that does not let everybody register.
        """
        self._tls = tls
        self._connect_broker = broker or (lambda: Peer(server.address, tls=tls))
        self._server = server
        self._pid = server.pid
        self._descriptors = descriptors_of(server.pid)
        self._memory_bytes = memory_of(server.pid)

    def check(self) -> None:
        """Fail unless the rule holds."""
        assert self._server.is_alive, f"the server has ended\n{self._server.stderr[-4000:]}"
        assert self._server.pid == self._pid
        with self._connect_broker() as broker:
            broker.registered(_BEACON, topics_named(*_TOPICS))
            with Peer(self._server.address, ROUTE_S, tls=self._tls) as client:
                route = client.routed(_TOPICS[0])
            assert route.brokers == {_BEACON.name: {"0": _BEACON.addr}}
            assert route.perms == {_BEACON.name: 6}
            broker.unreg(_BEACON)
        wait_until(
            lambda: descriptors_of(self._pid) <= self._descriptors * MAY_GROW,
            f"at most {self._descriptors} descriptors and a fifth, as before the scenario",
            GIVE_BACK_S,
        )
        allowed = self._memory_bytes * MAY_GROW + _NOISE_BYTES + HISTORY_BYTES
        wait_until(lambda: memory_of(self._pid) <= allowed, f"at most {allowed:.0f} bytes of memory", GIVE_BACK_S)
