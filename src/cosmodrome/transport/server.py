"""RemotingServer: a listening socket and its connections (Java: NettyRemotingServer).

Owns: listen, accept, idle close, drain, close.
Must not know: what requests mean.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from cosmodrome.errors import ProtocolError
from cosmodrome.protocol.command import RemotingCommand
from cosmodrome.transport.connection import Connection, ConnectionOptions, format_address
from cosmodrome.transport.descriptors import RESERVED, raise_descriptor_limit
from cosmodrome.transport.dispatch import Answer, Dispatcher, Peer
from cosmodrome.transport.listening import bind_error, listening_socket

logger = logging.getLogger(__name__)

_SWEEPS_PER_IDLE_LIMIT = 10
_MAX_SWEEP_INTERVAL_S = 1.0
_MAX_LOG_DETAIL = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenOptions:
    """Where to listen, and the limits of each connection."""

    host: str = "0.0.0.0"  # noqa: S104 -- Java's default: brokers and clients are on other hosts
    port: int = 9876
    backlog: int = 1024
    max_idle_s: float = 120
    greeting_timeout_s: float = 10
    connection: ConnectionOptions = field(default_factory=ConnectionOptions)


class RemotingServer:
    """Accepts connections and answers their requests through a dispatcher."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        options: ListenOptions,
        on_connection_lost: Callable[[Peer], None] = lambda _: None,
        on_protocol_error: Callable[[Peer, str], None] = lambda _peer, _reason: None,
        on_exhausted: Callable[[int], None] = lambda _limit: None,
    ) -> None:
        self.dispatcher = dispatcher
        self._options = options
        self._max_idle_s = options.max_idle_s
        self._on_connection_lost = on_connection_lost
        self._on_protocol_error = on_protocol_error
        self._on_exhausted = on_exhausted
        self._descriptor_limit: int | None = None
        self._server: asyncio.Server | None = None
        self._connections: dict[int, Connection] = {}
        self._last_connection_id = 0
        self._sweep: asyncio.TimerHandle | None = None
        self._all_gone = asyncio.Event()
        self._address = ""

    @property
    def address(self) -> str:
        """The address as bound, `host:port`."""
        return self._address

    @property
    def connection_count(self) -> int:
        """How many connections are open."""
        return len(self._connections)

    def set_max_idle(self, seconds: float) -> None:
        """Close connections that are silent for this long, from now on; 0 closes none."""
        self._max_idle_s = seconds

    async def start(self) -> None:
        """Listen.

        Raises:
            BindError: The socket could not be opened; the cause is the system's error.
        """
        options = self._options
        loop = asyncio.get_running_loop()
        self._descriptor_limit = raise_descriptor_limit()
        try:
            sock = listening_socket(options.host, options.port)
            self._server = await loop.create_server(self._new_connection, sock=sock, backlog=options.backlog)
        except OSError as error:
            raise bind_error(options.host, options.port, error) from error
        self._address = _bound_address(options, self._server.sockets[0].getsockname())
        self._schedule_sweep()

    async def stop_listening(self) -> None:
        """Accept nobody any more; open connections go on."""
        if self._server is not None:
            self._server.close()
            self._server = None
            await asyncio.sleep(0)

    async def drain(self, timeout_s: float) -> int:
        """Wait for the requests that are being worked on, at most this long; give how many were finished."""
        work = [connection.work for connection in self._connections.values() if connection.work is not None]
        if not work:
            return 0
        done, _ = await asyncio.wait(work, timeout=timeout_s)
        return len(done)

    async def close(self, timeout_s: float = 1.0) -> None:
        """Stop listening and close every connection; those that do not close in time are reset."""
        await self.stop_listening()
        if self._sweep is not None:
            self._sweep.cancel()
            self._sweep = None
        self._all_gone.clear()
        for connection in list(self._connections.values()):
            connection.close()
        if not self._connections:
            return
        try:
            await asyncio.wait_for(self._all_gone.wait(), timeout_s)
        except TimeoutError:
            for connection in list(self._connections.values()):
                connection.reset()
            await asyncio.sleep(0)

    def close_connection(self, connection_id: int) -> None:
        """Close one connection, if it is still open."""
        connection = self._connections.get(connection_id)
        if connection is not None:
            connection.close()

    def dispatch(self, request: RemotingCommand, peer: Peer) -> Answer:
        """Answer a request (ConnectionOwner)."""
        return self.dispatcher.dispatch(request, peer)

    def connection_made(self, connection: Connection) -> None:
        """Take note of a connection (ConnectionOwner)."""
        self._connections[connection.peer.connection_id] = connection
        logger.debug("connection of %s opened", connection.peer.address)
        # The system refuses connections beyond its limit without telling us.
        limit = self._descriptor_limit
        if limit is not None and len(self._connections) >= limit - RESERVED:
            self._on_exhausted(limit)

    def connection_lost(self, connection: Connection) -> None:
        """Take note that a connection is gone (ConnectionOwner)."""
        if self._connections.pop(connection.peer.connection_id, None) is None:
            return
        if not self._connections:
            self._all_gone.set()
        self._on_connection_lost(connection.peer)

    def protocol_error(self, connection: Connection, error: ProtocolError) -> None:
        """Take note that a peer does not speak the protocol (ConnectionOwner)."""
        self._on_protocol_error(connection.peer, str(error)[:_MAX_LOG_DETAIL])

    def _new_connection(self) -> Connection:
        self._last_connection_id += 1
        return Connection(self, self._last_connection_id, self._options.connection)

    def _schedule_sweep(self) -> None:
        interval_s = min(_MAX_SWEEP_INTERVAL_S, self._max_idle_s / _SWEEPS_PER_IDLE_LIMIT or _MAX_SWEEP_INTERVAL_S)
        loop = asyncio.get_running_loop()
        self._sweep = loop.call_at(loop.time() + interval_s, self._close_idle)

    def _close_idle(self) -> None:
        """Close connections on which nothing was received or sent for too long; half a frame does not count.

        A time in which this process did not run is nobody's silence.
        """
        now_s = asyncio.get_running_loop().time()
        late_s = now_s - self._sweep.when() if self._sweep is not None else 0.0
        if late_s > _MAX_SWEEP_INTERVAL_S:
            for connection in self._connections.values():
                connection.last_active_s += late_s
        oldest_s = now_s - self._max_idle_s if self._max_idle_s else float("-inf")
        for connection in [one for one in self._connections.values() if one.last_active_s < oldest_s]:
            logger.debug("closing connection of %s: idle for %g s", connection.peer.address, self._max_idle_s)
            connection.close()
        self._close_undecided(now_s - self._options.greeting_timeout_s)
        self._schedule_sweep()

    def _close_undecided(self, oldest_s: float) -> None:
        """Close connections whose greeting or handshake began long ago and is not over."""
        for connection in list(self._connections.values()):
            if connection.entering_since_s is not None and connection.entering_since_s < oldest_s:
                self.protocol_error(connection, ProtocolError("the greeting or TLS handshake takes too long"))
                connection.close()


def _bound_address(options: ListenOptions, name: tuple[object, ...]) -> str:
    """Give the address as the operator wrote it, with the port that was really taken."""
    if options.host == "0.0.0.0":  # noqa: S104 -- compared, not bound
        return f"{options.host}:{name[1]}"
    return format_address(name)
