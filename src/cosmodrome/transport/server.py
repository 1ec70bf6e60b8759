"""RemotingServer: a listening socket and its connections (Java: NettyRemotingServer).

Owns: listen, who is let in, who is closed for being idle, slow or too many, drain, close.
Must not know: what requests mean.
"""

import asyncio
import logging
import socket
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from cosmodrome.errors import PeerLimitError, ProtocolError
from cosmodrome.protocol.command import RemotingCommand
from cosmodrome.transport.acceptor import Acceptor
from cosmodrome.transport.connection import Connection, ConnectionOptions
from cosmodrome.transport.descriptors import raise_descriptor_limit, room_for_connections
from cosmodrome.transport.dispatch import Answer, Dispatcher, Express, Peer
from cosmodrome.transport.limits import Census, PeerLimits
from cosmodrome.transport.listening import bind_error, listening_socket
from cosmodrome.transport.pauses import PauseWatch
from cosmodrome.transport.presence import Presence
from cosmodrome.transport.read_budget import ReadBudget
from cosmodrome.transport.sockets import format_address, reset_when_closed
from cosmodrome.transport.standing_answers import StandingAnswers

logger = logging.getLogger(__name__)

_SWEEPS_PER_IDLE_LIMIT = 10
_MAX_SWEEP_INTERVAL_S = 1.0
_MAX_LOG_DETAIL = 200
LINGERING_S = 3.0
_LOOK_S = 0.01
"""How often a drain looks whether peers have taken their answers."""
_TAKING_S = 1.0
"""How long it waits for peers that take nothing."""
_CONNECTION_BYTES = 2048
"""What a connection costs by itself."""
_GIVE_WAY_AT_ONCE = 16
"""Connections that are reset for those that wait when the system has no descriptor left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenOptions:
    """Where to listen, and the limits of each connection."""

    host: str = "0.0.0.0"  # noqa: S104 -- Java's default: brokers and clients are on other hosts
    port: int = 9876
    backlog: int = 1024
    max_idle_s: float = 120
    first_connection_id: int = 0
    """Connections have numbers above it: those of two servers of one process need not be mixed up."""
    limits: PeerLimits = field(default_factory=PeerLimits)
    connection: ConnectionOptions = field(default_factory=ConnectionOptions)


class RemotingServer:
    """Accepts connections and answers their requests through a dispatcher."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        options: ListenOptions,
        on_connection_lost: Callable[[Peer], None] = lambda _: None,
        on_refused: Callable[[Peer, str, str], None] = lambda _peer, _cause, _reason: None,
        on_exhausted: Callable[[int], None] = lambda _limit: None,
    ) -> None:
        """Prepare.

        Args:
            dispatcher: Answers requests.
            options: Where to listen, and all limits.
            on_connection_lost: Told of each connection that ends.
            on_refused: Told of each peer that is not let in or is sent away: the cause in one word, and the reason.
            on_exhausted: Told of the limit of open descriptors when it lets no more connections in.
        """
        self.dispatcher = dispatcher
        self.refusals: Counter[str] = Counter()
        """How many peers were not let in, or sent away, by cause."""
        self.on_response: Callable[[Peer, RemotingCommand], None] = _ignore_response
        """Given the answers of peers to what was sent to them."""
        self.reads = ReadBudget()
        self.closed_count = 0
        """How many connections that were let in have ended."""
        self.idle_count = 0
        """How many of these were closed for being silent."""
        self._idle: set[int] = set()
        """Those of them that are not gone yet."""
        self.released_bytes = 0
        """About how much memory of connections that ended has come free since the start."""
        self.pauses = PauseWatch()
        """Notices when this process did not run; watches from `start` to `close`."""
        self.pauses.subscribe(self._forgive_pause)
        self._options = options
        self._max_idle_s = options.max_idle_s
        self._on_connection_lost = on_connection_lost
        self._on_refused = on_refused
        self._on_exhausted = on_exhausted
        self._descriptor_limit: int | None = None
        self._socket: socket.socket | None = None
        self._acceptor: Acceptor | None = None
        self._opening: set[asyncio.Task[None]] = set()
        self._census = Census(options.limits)
        self._stalled: dict[int, Connection] = {}
        self._connections: dict[int, Connection] = {}
        self._last_connection_id = options.first_connection_id
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

    def connections(self) -> list[Connection]:
        """Give the open connections, the oldest first; look at them only."""
        return list(self._connections.values())

    @property
    def accepted_count(self) -> int:
        """How many connections were let in since the start."""
        return self._last_connection_id - self._options.first_connection_id

    @property
    def unproven_count(self) -> int:
        """How many open connections have not sent a request that is served yet."""
        return self._census.unproven_count

    def is_closed_as_idle(self, connection_id: int) -> bool:
        """Whether a connection is closed for being silent; true until those who want to know of its end were told."""
        return connection_id in self._idle

    def set_max_idle(self, seconds: float) -> None:
        """Close connections that are silent for this long, from now on; 0 closes none."""
        self._max_idle_s = seconds

    def bind(self) -> socket.socket:
        """Take the address, before the start if it must be known earlier; who connects is refused until then.

        Raises:
            BindError: It could not be had; the cause is the system's error.
        """
        options = self._options
        try:
            self._socket = listening_socket(options.host, options.port)
        except OSError as error:
            raise bind_error(options.host, options.port, error) from error
        self._address = _bound_address(options, self._socket.getsockname())
        return self._socket

    async def start(self) -> None:
        """Listen.

        Raises:
            BindError: The socket could not be opened; the cause is the system's error.
        """
        sock = self._socket or self.bind()
        self._socket = None
        try:
            sock.listen(self._options.backlog)
        except OSError as error:
            sock.close()
            raise bind_error(self._options.host, self._options.port, error) from error
        self._acceptor = Acceptor(sock, self._accepted, self._descriptors_exhausted)
        await _use_a_stream()
        limit = self._descriptor_limit = raise_descriptor_limit()
        if limit is not None:
            self._census.set_descriptor_ceiling(room_for_connections(limit))
        self.pauses.start()
        self._schedule_sweep()

    async def stop_listening(self) -> None:
        """Accept nobody any more; open connections go on."""
        bound, self._socket = self._socket, None
        if bound is not None:
            bound.close()
        acceptor, self._acceptor = self._acceptor, None
        if acceptor is not None:
            await acceptor.stop()
        if self._opening:
            await asyncio.wait(self._opening)

    async def drain(self, timeout_s: float) -> int:
        """Read nothing more, answer what was read, and wait until peers have taken it; give how many were answered.

        At most this long, and less for peers that take nothing. After half of it no further request is begun; its peer
        learns from the end of the connection that it was not. A second call waits for answers that came since.
        """
        before = self.dispatcher.traffic.total
        for connection in self._connections.values():
            connection.finish()
        if not await self._idle_within(timeout_s / 2):
            for connection in self._connections.values():
                connection.drop_unanswered()
            await self._idle_within(timeout_s / 2)
        return self.dispatcher.traffic.total - before

    async def _idle_within(self, timeout_s: float) -> bool:
        """Wait until nobody is owed anything, or only peers that take nothing; tell whether that was in time."""
        loop = asyncio.get_running_loop()
        unsent, moved_s = 0, loop.time()
        end_s = moved_s + timeout_s
        while busy := [each for each in self._connections.values() if each.is_busy]:
            now_s = loop.time()
            work = [each.work for each in busy if each.work is not None]
            left = sum(each.unsent_bytes for each in busy)
            if work or left < unsent:
                moved_s = now_s
            unsent = left
            if now_s >= end_s:
                return False
            if now_s >= moved_s + _TAKING_S:
                break
            if work:
                await asyncio.wait(work, timeout=end_s - now_s, return_when=asyncio.FIRST_COMPLETED)
            else:
                await asyncio.sleep(_LOOK_S)
        return True

    async def close(self, timeout_s: float = 1.0) -> None:
        """Stop listening and close every connection, in good order; those that do not close in time are reset.

        Peers that were still sending have `LINGERING_S` to close, if that is longer.
        """
        await self.stop_listening()
        if self._sweep is not None:
            self._sweep.cancel()
            self._sweep = None
        self.pauses.stop()
        self._all_gone.clear()
        for connection in list(self._connections.values()):
            connection.end()
        if not self._connections:
            return
        if any(connection.is_lingering for connection in self._connections.values()):
            timeout_s = max(timeout_s, LINGERING_S)
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

    def send(self, connection_id: int, command: RemotingCommand) -> bool:
        """Send a request of ours, or an answer that was to come later; tell whether the connection is still there."""
        connection = self._connections.get(connection_id)
        if connection is None:
            return False
        connection.send(command)
        return True

    def send_frames(self, connection_id: int, frames: list[bytes]) -> None:
        """Send frames, with one write; dropped when the connection is gone."""
        connection = self._connections.get(connection_id)
        if connection is not None:
            connection.send_frames(frames)

    def is_writable(self, connection_id: int) -> bool:
        """Whether the peer of a connection takes what it is sent."""
        connection = self._connections.get(connection_id)
        return connection is not None and connection.is_writable

    def presence(self, connection_id: int) -> Presence:
        """Whether the peer of a connection still waits for its answers."""
        connection = self._connections.get(connection_id)
        return Presence.GONE if connection is None else connection.presence

    @property
    def express(self) -> Express | None:
        """Who takes frames before anything is read of them; nobody while draining (ConnectionOwner)."""
        return None if self.dispatcher.is_draining else self.dispatcher.express

    @property
    def standing(self) -> StandingAnswers | None:
        """Give the answers that need no dispatching (ConnectionOwner)."""
        return self.dispatcher.standing

    def dispatch(self, request: RemotingCommand, peer: Peer) -> Answer:
        """Answer a request (ConnectionOwner)."""
        return self.dispatcher.dispatch(request, peer)

    def connection_made(self, connection: Connection) -> None:
        """Take note of a connection (ConnectionOwner)."""
        self._connections[connection.peer.connection_id] = connection
        self._census.unproven(connection.peer.connection_id)
        logger.debug("connection of %s opened", connection.peer.address)

    def connection_lost(self, connection: Connection) -> None:
        """Take note that a connection is gone (ConnectionOwner)."""
        if self._connections.pop(connection.peer.connection_id, None) is None:
            return
        self.closed_count += 1
        self.released_bytes += _CONNECTION_BYTES + connection.held_bytes
        self._forget(connection)
        if not self._connections:
            self._all_gone.set()
        self._on_connection_lost(connection.peer)
        self._idle.discard(connection.peer.connection_id)

    def protocol_error(self, connection: Connection, error: ProtocolError) -> None:
        """Take note that a peer does not speak the protocol (ConnectionOwner)."""
        self._refused(connection.peer, error)

    def still_unproven(self, connection: Connection) -> None:
        """Take note of bytes of a peer that has not sent a request that is served yet (ConnectionOwner)."""
        self._census.unproven(connection.peer.connection_id)

    def is_served(self, code: int) -> bool:
        """Whether requests of this code are served (ConnectionOwner)."""
        return self.dispatcher.serves(code)

    def proven(self, connection: Connection) -> None:
        """Take note that a peer has sent its first request that is served (ConnectionOwner)."""
        self._census.proven(connection.peer.connection_id)

    def response_received(self, connection: Connection, response: RemotingCommand) -> None:
        """Pass on what a peer answers (ConnectionOwner)."""
        self.on_response(connection.peer, response)

    def writing_paused(self, connection: Connection) -> None:
        """Take note that a peer does not take its answers (ConnectionOwner)."""
        self._stalled[connection.peer.connection_id] = connection
        asyncio.get_running_loop().call_soon(self._bound_unsent)

    def writing_resumed(self, connection: Connection) -> None:
        """Take note that a peer takes its answers again (ConnectionOwner)."""
        self._stalled.pop(connection.peer.connection_id, None)

    def _refused(self, peer: Peer, error: ProtocolError) -> None:
        self.refusals[error.cause] += 1
        self._on_refused(peer, error.cause, str(error)[:_MAX_LOG_DETAIL])

    def _accepted(self, sock: socket.socket, name: object) -> None:
        """Let a connection in, if there is room for it or another one gives way."""
        address = format_address(name)
        host = address.rpartition(":")[0]
        error = self._census.refusal_of_host(host)
        if error is None:
            error = self._census.refusal()
            self._tell_if_exhausted()
            if error is not None and self._give_way(error):
                error = None
        if error is not None:
            reset_when_closed(sock)
            sock.close()
            self._refused(Peer(0, address, address), error)
            return
        self._last_connection_id += 1
        connection = Connection(self, self._last_connection_id, self._options.connection)
        self._census.enter(self._last_connection_id, host)
        task = asyncio.ensure_future(self._open(connection, sock))
        self._opening.add(task)
        task.add_done_callback(self._opening.discard)

    async def _open(self, connection: Connection, sock: socket.socket) -> None:
        try:
            await asyncio.get_running_loop().connect_accepted_socket(lambda: connection, sock)
        except OSError as error:
            logger.debug("a connection was over before it began: %s", error)
            sock.close()
            self._forget(connection)

    def _forget(self, connection: Connection) -> None:
        self._census.leave(connection.peer.connection_id)
        self._stalled.pop(connection.peer.connection_id, None)
        if self._acceptor is not None:
            self._acceptor.retry()

    def _give_way(self, error: PeerLimitError) -> bool:
        """Reset the connection that has been silent for longest without one whole frame, if there is one."""
        chosen = self._census.give_way()
        if chosen is None:
            return False
        connection = self._connections[chosen]
        self._refused(connection.peer, PeerLimitError("gave_way", f"it sent no request, and {error}"))
        connection.reset()
        return True

    def _schedule_sweep(self) -> None:
        interval_s = min(_MAX_SWEEP_INTERVAL_S, self._max_idle_s / _SWEEPS_PER_IDLE_LIMIT or _MAX_SWEEP_INTERVAL_S)
        loop = asyncio.get_running_loop()
        self._sweep = loop.call_at(loop.time() + interval_s, self._sweep_connections)

    def _sweep_connections(self) -> None:
        """Close connections on which nothing was received or sent for too long, and those that are too slow.

        A time in which this process did not run is nobody's silence.
        """
        self.pauses.look()
        now_s = asyncio.get_running_loop().time()
        oldest_s = now_s - self._max_idle_s if self._max_idle_s else float("-inf")
        for connection in list(self._connections.values()):
            if connection.is_awaited:
                self._close_if_slow(connection, now_s)
            if connection.last_active_s < oldest_s and connection.peer.connection_id not in self._idle:
                logger.debug("closing connection of %s: idle for %g s", connection.peer.address, self._max_idle_s)
                self.idle_count += 1
                self._idle.add(connection.peer.connection_id)
                connection.close()
        self._bound_unsent()
        self._schedule_sweep()

    def _close_if_slow(self, connection: Connection, now_s: float) -> None:
        error = connection.check_pace(now_s, self._options.limits)
        if error is not None:
            self._refused(connection.peer, error)
            connection.close()

    def _forgive_pause(self, pause_s: float) -> None:
        """Count a time in which this process did not run for no connection; it is over now."""
        now_s = asyncio.get_running_loop().time()
        for connection in self._connections.values():
            connection.forgive_pause(pause_s, now_s)

    def _bound_unsent(self) -> None:
        """Reset peers that take nothing, that stopped taking first, until the others are owed little enough."""
        limit = self._options.limits.unsent_bytes
        if not limit or not self._stalled:
            return
        unsent = sum(connection.unsent_bytes for connection in self._stalled.values())
        while unsent > limit and self._stalled:
            connection = self._stalled.pop(next(iter(self._stalled)))
            owed = connection.unsent_bytes
            reason = f"it takes no answers, and peers that do not are owed {unsent} bytes of {limit} (maxUnsentBytes)"
            self._refused(connection.peer, PeerLimitError("unsent_bytes", reason))
            connection.reset()
            unsent -= owed

    def _tell_if_exhausted(self) -> None:
        if self._census.is_out_of_descriptors and self._descriptor_limit is not None:
            self._on_exhausted(self._descriptor_limit)

    def _descriptors_exhausted(self, error: OSError) -> None:
        """Make room for those that wait to be accepted: the system has no descriptor for them."""
        self._on_exhausted(self._descriptor_limit or 0)
        reason = PeerLimitError("descriptors", f"no connection can be accepted: {error.strerror or error}")
        for _ in range(_GIVE_WAY_AT_ONCE):
            if not self._give_way(reason):
                break


def _ignore_response(peer: Peer, response: RemotingCommand) -> None:
    logger.debug("response %d of %s answers nothing that we asked", response.opaque, peer.address)


async def _use_a_stream() -> None:
    """Have the event loop open now what it keeps for all streams (libuv: a descriptor), so that it is counted."""
    ours, theirs = socket.socketpair()
    transport, _ = await asyncio.get_running_loop().connect_accepted_socket(asyncio.Protocol, ours)
    transport.abort()
    theirs.close()


def _bound_address(options: ListenOptions, name: tuple[object, ...]) -> str:
    """Give the address as the operator wrote it, with the port that was really taken."""
    if options.host == "0.0.0.0":  # noqa: S104 -- compared, not bound
        return f"{options.host}:{name[1]}"
    return format_address(name)
