"""The side of a master (Java: DefaultHAService).

Owns: the replication port; who may connect, and who gives way; signs of life; what slaves are left behind at a stop.
Must not know: how one connection is served (connection.py); what is in the log.
"""

import asyncio
import contextlib
import ipaddress
import logging
import socket
from collections.abc import Callable
from typing import Final

from cosmodrome.broker.replication.comparison import Comparison
from cosmodrome.broker.replication.complaints import Complaints
from cosmodrome.broker.replication.connection import SlaveConnection
from cosmodrome.broker.replication.copies import Copies
from cosmodrome.broker.replication.settings import ReplicationSettings
from cosmodrome.broker.replication.slave import SlaveState
from cosmodrome.store.message_store import MessageStore
from cosmodrome.transport.acceptor import Acceptor
from cosmodrome.transport.sockets import format_address, reset_when_closed, set_socket_options

logger = logging.getLogger(__name__)

MOST_CONNECTIONS: Final = 64
_BACKLOG: Final = 64
_SEND_BUFFER_BYTES: Final = 512 * 1024
_RECEIVE_BUFFER_BYTES: Final = 64 * 1024
_MAX_SWEEP_S: Final = 1.0
_SWEEPS: Final = 5
"""So often in the shortest interval."""


class StoreLog:
    """The log of a store as slaves follow it."""

    def __init__(self, store: MessageStore) -> None:
        """Give out what is in this store."""
        self._store = store
        self.bytes_from = store.reader.bytes_from
        self.reading_from = store.reader.reading_from

    @property
    def start(self) -> int:
        """Where it starts."""
        return self._store.start

    @property
    def end(self) -> int:
        """Where it ends."""
        return self._store.end

    @property
    def origin(self) -> object:
        """What is another object after the log was read anew, and may hold other bytes at the same places."""
        return self._store.report


class ReplicationMaster:
    """Lets slaves follow a log, from `start` to `stop`. Without `start` there is no port, and nothing happens.

    Attributes:
        copies: Sends that wait for slaves; None when they do not.
        port: Where it listens; 0 when it does not.
        comparison: Asked about each slave that has something already; None asks nobody.
    """

    def __init__(self, log: StoreLog, settings: ReplicationSettings, clock_ms: Callable[[], int]) -> None:
        """Use these; `clock_ms` never steps."""
        self.settings = settings
        self.port = 0
        self.comparison: Comparison | None = None
        self.copies = None if settings.copies is None else Copies(settings.copies, self.slaves, clock_ms)
        self._log = log
        self._origin = log.origin
        self._clock_ms = clock_ms
        self._complaints = Complaints(clock_ms)
        self._connections: dict[SlaveConnection, None] = {}
        self._opening: set[asyncio.Task[None]] = set()
        self._comparing: set[asyncio.Task[None]] = set()
        self._acceptor: Acceptor | None = None
        self._sweep: asyncio.TimerHandle | None = None
        self._change = asyncio.Event()

    async def start(self, sock: socket.socket) -> None:
        """Listen on a socket that is bound.

        Raises:
            OSError: It cannot.
        """
        sock.listen(_BACKLOG)
        self.port = sock.getsockname()[1]
        self._acceptor = Acceptor(sock, self._accepted, self._exhausted)
        self._schedule_sweep()
        logger.info("slaves are served on port %d", self.port, extra={"event": "replication.listening"})

    def slaves(self) -> tuple[SlaveState, ...]:
        """Give what is known of each connection."""
        self._drop_if_log_is_other()
        return tuple(each.state for each in self._connections)

    def log_grew(self) -> None:
        """Send what is new."""
        if self._connections:
            self._drop_if_log_is_other()
            for each in tuple(self._connections):
                each.send()

    def _drop_if_log_is_other(self) -> None:
        """End all connections after the log was read anew: what slaves have may no longer be what is here."""
        if self._origin is not self._log.origin:
            self._origin = self._log.origin
            for each in tuple(self._connections):
                each.refuse("log_read_anew", "this log was read anew after a failure, and its slave is looked at again")

    async def settle(self, timeout_s: float) -> None:
        """Return when no send waits for slaves, which is after this time at the latest."""
        if self.copies is not None:
            await self._until(lambda: not self.copies, timeout_s)
            self.copies.give_up()

    async def stop(self, timeout_s: float) -> None:
        """End all connections; slaves that follow get what there is, as far as this time allows. May be called again."""
        acceptor, self._acceptor = self._acceptor, None
        if acceptor is not None:
            await acceptor.stop()
            await self._until(self._have_followers_all, timeout_s)
        for task in self._comparing:
            task.cancel()
        if self._opening or self._comparing:
            await asyncio.wait({*self._opening, *self._comparing})
        if self._sweep is not None:
            self._sweep.cancel()
            self._sweep = None
        for each in tuple(self._connections):
            each.close()
        while self._connections:
            self._change.clear()
            await self._change.wait()

    def _have_followers_all(self) -> bool:
        return all(each.acknowledged >= self._log.end for each in self.slaves() if each.is_current)

    async def _until(self, claim: Callable[[], bool], timeout_s: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                while not claim():
                    self._change.clear()
                    await self._change.wait()

    def _accepted(self, sock: socket.socket, name: object) -> None:
        address = format_address(name)
        refusal = self._refusal(address)
        if refusal is not None:
            self._complaints.tell(address, *refusal)
            reset_when_closed(sock)
            sock.close()
            return
        set_socket_options(sock, _SEND_BUFFER_BYTES, _RECEIVE_BUFFER_BYTES)
        task = asyncio.ensure_future(self._open(sock, address))
        self._opening.add(task)
        task.add_done_callback(self._opening.discard)

    def _refusal(self, address: str) -> tuple[str, str] | None:
        """Say why nobody is let in from there; one that is less sure to be a slave may give way."""
        host = address.rpartition(":")[0].strip("[]")
        allowed = self.settings.allowed
        if allowed is not None and not any(ipaddress.ip_address(host) in each for each in allowed):
            return "not_allowed", "it comes from where no slave may come from: see haAllow"
        if len(self._connections) + len(self._opening) < MOST_CONNECTIONS or self._give_way():
            return None
        return "too_many", f"{MOST_CONNECTIONS} slaves are connected"

    def _give_way(self) -> bool:
        """End the connection that is least likely to be a slave's; tell whether there was one."""
        able = [each for each in self._connections if not each.state.is_current]
        if not able:
            return False
        chosen = min(able, key=lambda each: (each.state.reported is not None, each.state.reported_ms))
        chosen.refuse("gave_way", f"it acknowledged nothing, and {MOST_CONNECTIONS} connections are too many")
        self._connections.pop(chosen, None)
        return True

    async def _open(self, sock: socket.socket, address: str) -> None:
        state = SlaveState(address, self._clock_ms())
        connection = SlaveConnection(self, self._log, state, self.settings.batch_bytes, self._clock_ms)
        try:
            await asyncio.get_running_loop().connect_accepted_socket(lambda: connection, sock)
        except OSError as error:
            logger.debug("a connection was over before it began: %s", error)
            sock.close()

    def _exhausted(self, error: OSError) -> None:
        self._complaints.tell("none:0", "descriptors", f"no other can be accepted: {error.strerror or error}")
        self._give_way()

    def connected(self, connection: SlaveConnection) -> None:
        """Take note of a connection (Owner)."""
        self._connections[connection] = None
        logger.debug("connection of %s to the replication port", connection.state.address)

    def following(self, connection: SlaveConnection) -> None:
        """Take note of a first report (Owner). Nothing is sent to a slave that has other messages."""
        logger.info(
            "the slave %s goes on at %s", connection.state.address, connection.state.reported,
            extra={"event": "slave.connected"},
        )  # fmt: skip
        if self.comparison is None or not connection.state.reported:
            connection.begin()
            return
        task = asyncio.ensure_future(self._compare(self.comparison, connection, connection.state.reported))
        self._comparing.add(task)
        task.add_done_callback(self._comparing.discard)

    async def _compare(self, comparison: Comparison, connection: SlaveConnection, end: int) -> None:
        host = connection.state.address.rpartition(":")[0].strip("[]")
        found = await comparison.difference(host, end)
        if found is None:
            connection.begin()
            return
        reason = (
            f"the broker {found.address} has another message at {found.position} of its log than this one: "
            "it is no copy. Delete its store and let it copy this one"
        )
        connection.refuse("different", reason)

    def reported(self, _: SlaveConnection) -> None:
        """Take note of a report (Owner)."""
        if self.copies is not None:
            self.copies.acknowledged()
        self._change.set()

    def refused(self, connection: SlaveConnection, cause: str, reason: str) -> None:
        """Take note of why a connection is ended (Owner)."""
        self._complaints.tell(connection.state.address, cause, reason)

    def lost(self, connection: SlaveConnection) -> None:
        """Take note of the end of a connection (Owner)."""
        self._connections.pop(connection, None)
        if connection.state.is_current:
            logger.info(
                "the slave %s is gone; it has what is before %d",
                connection.state.address,
                connection.state.acknowledged,
                extra={"event": "slave.lost"},
            )
        if self._acceptor is not None:
            self._acceptor.retry()
        self._change.set()

    def _schedule_sweep(self) -> None:
        shortest_s = min(self.settings.sign_ms, self.settings.silence_ms) / 1000
        self._sweep = asyncio.get_running_loop().call_later(min(_MAX_SWEEP_S, shortest_s / _SWEEPS), self._sweep_now)

    def _sweep_now(self) -> None:
        # After a pause of this process what slaves said meanwhile is read first: it was not their silence.
        is_late = self._sweep is not None and asyncio.get_running_loop().time() - self._sweep.when() > _MAX_SWEEP_S
        if not is_late:
            self._look()
        self._schedule_sweep()

    def _look(self) -> None:
        """End connections from which nothing comes, or that take nothing; give the others a sign of life."""
        self._drop_if_log_is_other()
        oldest_ms = self._clock_ms() - self.settings.silence_ms
        for each in tuple(self._connections):
            if each.state.reported_ms < oldest_ms:
                each.refuse(
                    "silent", f"nothing came from it for {self.settings.silence_ms} ms (haHousekeepingInterval)"
                )
            elif each.paused_ms is not None and each.paused_ms < oldest_ms:
                each.refuse(
                    "takes_nothing", f"it took nothing for {self.settings.silence_ms} ms (haHousekeepingInterval)"
                )
            else:
                each.give_sign(self.settings.sign_ms)
