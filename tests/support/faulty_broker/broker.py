"""FaultyBroker: the parts put together.

Owns: listening, connections, the request codes, starting and stopping, what goes wrong with a whole broker.
Must not know: what a request does (sending.py, pulling.py, groups.py, queries.py, transactions.py).
"""

import asyncio
import contextlib
import socket
import struct
import time
from collections.abc import Callable, Coroutine, Iterable, Mapping
from typing import Any, Final, Self

from tests.support import wire
from tests.support.faulty_broker.faults import Faults
from tests.support.faulty_broker.groups import Groups
from tests.support.faulty_broker.journal import Arrival, Command, Journal, Reply, long_names
from tests.support.faulty_broker.line import Line, Under
from tests.support.faulty_broker.popping import Pops
from tests.support.faulty_broker.pulling import Pulls
from tests.support.faulty_broker.queries import Queries
from tests.support.faulty_broker.records import Host, Record
from tests.support.faulty_broker.registration import Registrar
from tests.support.faulty_broker.rules import V5_5_0, RefusedError, Release
from tests.support.faulty_broker.sending import Sends, SendSettings
from tests.support.faulty_broker.store import MemoryStore, Topic
from tests.support.faulty_broker.transactions import Transactions

Work = Callable[[Under], Reply | None]

_ASK_S: Final = 10.0
_SLAVE: Final = (
    "service not available now. It may be caused by one of the following reasons: messages are put to the slave"
)
_FILLERS: Final = 4


class FaultyBroker:
    """A broker that a test leads by the hand. Use it as a context manager; it lives in the test's event loop.

    Its port is taken when it is made, so that `address` is known before it listens, and kept until `stop`.

    Args:
        name_servers: Addresses of the name servers to register with; one, several or none.
        name: The broker name.
        topics: Topics that exist from the start, with their numbers of queues.
        broker_id: 0 for a master.
        cluster: The cluster name.
        release: Whose words it speaks.
        store: Another broker's store, for a slave; None for one of its own.
        advertised: The address that the route shows, if it is not the own one.
        store_host: The host in its records and ids, if it is not the own one.
        host: Where it listens, an address of loopback.
    """

    def __init__(
        self,
        name_servers: str | Iterable[str] = (),
        name: str = "broker-a",
        topics: Mapping[str, int] | None = None,
        *,
        broker_id: int = 0,
        cluster: str = "DefaultCluster",
        release: Release = V5_5_0,
        store: MemoryStore | None = None,
        advertised: str | None = None,
        store_host: Host | None = None,
        host: str = "127.0.0.1",
    ) -> None:
        self.broker_name = name
        self.broker_id = broker_id
        self.cluster = cluster
        self.release = release
        self.advertised = advertised
        self.is_mute = False
        """Connections are accepted, nothing is read or answered (see `mute`)."""
        self.is_slamming = False
        """Connections are accepted and closed at once."""
        self.check_every_s: float | None = None
        """How often producers are asked for their open transactions; None leaves that to the test."""
        self.journal = Journal()
        self.faults = Faults()
        self.lines: list[Line] = []
        self._host = host
        self._socket = self._bound(0)
        self.port: int = self._socket.getsockname()[1]
        self.clock: Callable[[], int] = lambda: time.time_ns() // 1_000_000
        """The time of day in ms, for all that is stored."""
        self.store = store or MemoryStore(store_host or (host, self.port))
        self.store.topics.setdefault(cluster, Topic(name=cluster, read=16, write=16, perm=7))
        for topic, queues in (topics or {}).items():
            self.store.topics[topic] = Topic(name=topic, read=queues, write=queues)
        self.groups = Groups(self.store, release, self)
        self.pulls = Pulls(self.store, release, self.groups, self)
        self.pops = Pops(self.store, release, self.groups, self.pulls, self)
        self.sends = Sends(self.store, release, self, SendSettings())
        self.transactions = Transactions(self.store, release, self.sends)
        self.sends.half = self.transactions.half
        self.store.on_append.append(lambda _: self.journal.stir())
        servers = (name_servers,) if isinstance(name_servers, str) else tuple(name_servers)
        self.transactions.on_half = self._check_later
        self._registrar = Registrar(servers, release.version)
        self._server: asyncio.Server | None = None
        self._fillers: list[socket.socket] = []
        self._timers: set[asyncio.TimerHandle] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._numbers = 0
        self._connections = 0
        self.works: dict[int, Work] = self._works(Queries(self.store, release))
        """Request code → what is done. A test may put in its own."""

    def _works(self, queries: Queries) -> dict[int, Work]:
        sends, pulls, groups, pops = self.sends, self.pulls, self.groups, self.pops
        return {
            10: self._master_only(sends.send), 310: self._master_only(sends.send), 320: self._master_only(sends.send),
            324: sends.reply_message, 325: sends.reply_message, 36: self._master_only(sends.send_back), 370: sends.recall,
            37: self.transactions.end, 11: pulls.pull, 361: pulls.pull,
            34: groups.heartbeat, 35: groups.unregister, 38: groups.members, 46: groups.check_config,
            14: groups.query_offset, 15: groups.update_offset, 41: groups.lock, 42: groups.unlock,
            33: queries.view, 12: queries.query, 29: queries.by_time, 30: queries.largest, 31: queries.smallest,
            32: queries.earliest, 17: self._create_topic,
            400: pops.assignment, 401: pops.set_mode, 200050: pops.pop, 200051: pops.ack, 200151: pops.ack_many, 200053: pops.change,
            200054: pops.notification, 200055: pops.polling,
        }  # fmt: skip

    @property
    def address(self) -> str:
        """Where it listens."""
        return f"{f'[{self._host}]' if ':' in self._host else self._host}:{self.port}"

    @property
    def version(self) -> int:
        """The version in its frames."""
        return self.release.version

    async def __aenter__(self) -> Self:
        await self.accept_connects()
        await self.announce()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def stop(self) -> None:
        """Close everything; the route goes too. A second call does nothing."""
        for timer in self._timers:
            timer.cancel()
        self._timers.clear()
        await self.refuse_connects()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.close_lines(is_reset=True)
        await self._registrar.close()
        self._socket.close()

    async def announce(self) -> None:
        """Tell the name servers of all topics, as they are now."""
        await self._registrar.register(self._identity(), list(self.store.topics.values()))

    async def withdraw(self) -> None:
        """Leave the name servers; nothing else changes."""
        await self._registrar.unregister(self._identity())

    async def set_topic(self, name: str, queues: int, *, write: int | None = None, perm: int = 6) -> None:
        """Make or change a topic and tell the name servers; `write` are the queues to write to, if they are not all.

        Queues that are cut off keep their messages.
        """
        self.store.topics[name] = Topic(name=name, read=queues, write=queues if write is None else write, perm=perm)
        await self.announce()

    async def delete_topic(self, name: str) -> None:
        """Take a topic away here and in the name servers' routes of this broker."""
        self.store.topics.pop(name, None)
        await self.withdraw()
        await self.announce()

    def put(self, topic: str, body: bytes = b"x", queue_id: int = 0, **values: Any) -> Record:
        """Store a message as if somebody had sent it; `values` are members of `Record`, or of its properties in capitals.

        A `properties=` of bytes is stored as it is, legal or not.
        """
        named = {key: value for key, value in values.items() if key.isupper()}
        rest = {key: value for key, value in values.items() if not key.isupper()}
        draft = Record(topic=topic, body=body, queue_id=queue_id, born_ms=self.now_ms(), **rest)
        return self.store.append(draft.with_properties(**named) if named else draft, self.now_ms())

    async def refuse_connects(self) -> None:
        """Listen no more: connects are refused. Open connections stay."""
        self._drop_fillers()
        if self._server is not None:
            self._server.close()
            self._server = None
        self._socket.close()

    async def accept_connects(self) -> None:
        """Listen (again), on the same port."""
        self._drop_fillers()
        self.is_mute = self.is_slamming = False
        if self._server is None:
            if self._socket.fileno() < 0:
                self._socket = self._bound(self.port)
            loop = asyncio.get_running_loop()
            self._server = await loop.create_server(self._new_line, sock=self._socket)
        for line in self.lines:
            line.hush(is_mute=False)

    async def black_hole(self) -> None:
        """Let connects neither succeed nor fail, as behind a firewall that drops. Open connections stay."""
        await self.refuse_connects()
        self._socket = self._bound(self.port)
        self._socket.listen(0)
        for _ in range(_FILLERS):
            filler = socket.socket(self._socket.family)
            filler.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                filler.connect(self._socket.getsockname())
            self._fillers.append(filler)

    def mute(self) -> None:
        """Accept, and read nothing more, on open connections either: a process that hangs."""
        self.is_mute = True
        for line in self.lines:
            line.hush(is_mute=True)

    async def close_lines(self, *, is_reset: bool = False) -> None:
        """Close all open connections, and return when they are closed; others may have been opened by then."""
        closing = list(self.lines)
        for line in closing:
            line.close(is_reset=is_reset)
        for line in closing:
            line.hush(is_mute=False)
        await self.journal.until(lambda: not any(line.is_open for line in closing), "connections to be closed")

    async def die(self) -> None:
        """End as by kill -9: connects are refused, connections reset, members forgotten. The route stays."""
        await self.refuse_connects()
        await self.close_lines(is_reset=True)
        self.groups.forget_members()

    async def restart(self) -> None:
        """Die and come back at once, with messages and offsets, without members and locks."""
        await self.die()
        await self.accept_connects()
        await self.announce()

    async def ask_client(
        self, client_id: str, code: int, ext: Mapping[str, str] | None = None, body: bytes = b""
    ) -> Command:
        """Send a request (220, 221, 307, 309) to a client that has sent a heartbeat, and give its answer.

        Raises:
            TimeoutError: It did not answer in 10 s.
        """
        async with asyncio.timeout(_ASK_S):
            return await self._line_of(client_id).ask(code, ext, body)

    def tell_client(self, client_id: str, code: int, ext: Mapping[str, str] | None = None, body: bytes = b"") -> None:
        """Send a oneway (39, 40, 220) to a client that has sent a heartbeat."""
        self._line_of(client_id).send(code, ext, body)

    def check_transaction(self, unique_key: str, client_id: str | None = None, group: str | None = None) -> Record:
        """Ask the producer of an open half message (or another client) for its state, and give the copy that was shown.

        `group` is shown as the producer group instead of the true one.
        """
        owner = self.transactions.open[unique_key].named["PGROUP"]
        producers = [line for line, _ in self.groups.producers.get(owner, {}).values()]
        line = self._line_of(client_id) if client_id else producers[-1]
        return self.transactions.check(unique_key, line, group)

    def _check_later(self, unique_key: str) -> None:
        if self.check_every_s is not None:
            self.later(self.check_every_s, lambda: self._check(unique_key))

    def _check(self, unique_key: str) -> None:
        half = self.transactions.open.get(unique_key)
        if half is None:
            return
        if self.groups.producers.get(half.named["PGROUP"]):
            self.check_transaction(unique_key)
        self._check_later(unique_key)

    def _line_of(self, client_id: str) -> Line:
        line = self.groups.line_of(client_id)
        assert line is not None, f"{client_id} is not connected to {self.broker_name}"
        return line

    def now_ms(self) -> int:
        """Give the time of day."""
        return self.clock()

    def later(self, seconds: float, act: Callable[[], None]) -> None:
        """Do something later, unless the broker stops first."""
        loop = asyncio.get_running_loop()

        def run() -> None:
            self._timers.discard(handle)
            act()

        handle = loop.call_later(seconds, run)
        self._timers.add(handle)

    def topics_changed(self) -> None:
        """Tell the name servers soon; one that cannot be reached is told at the next `announce`."""

        async def tell() -> None:
            with contextlib.suppress(OSError, EOFError):
                await self.announce()

        self._start(tell())

    def producer_line(self, client_id: str) -> Line | None:
        """Give the connection of a producer."""
        sides = self.groups.producers.values()
        found = [line for side in sides for line, each in side.values() if each == client_id and line.is_open]
        return found[-1] if found else None

    def ask(
        self, line: Line, code: int, ext: Mapping[str, str], body: bytes, then: Callable[[Command | None], None]
    ) -> None:
        """Send a request to a client; `then` gets its answer, or None if none came in time."""

        async def ask() -> None:
            heard = None
            with contextlib.suppress(TimeoutError):
                heard = await asyncio.wait_for(_settled(line.ask(code, ext, body)), _ASK_S)
            then(heard)

        self._start(ask())

    def line_made(self, line: Line) -> None:
        """A peer has connected."""
        self.lines.append(line)
        self.journal.connects += 1
        self.journal.stir()
        if self.is_slamming:
            line.close()

    def line_lost(self, line: Line) -> None:
        """Its connection has ended."""
        self.lines.remove(line)
        self.pulls.forget(line.number)
        self.pops.forget(line.number)
        self.groups.lost(line)
        self.journal.stir()

    def answered(self) -> None:
        """An answer was written or a connection closed."""
        self.journal.stir()

    def taken(self, line: Line, command: Command, frame: bytes) -> None:
        """A request has come."""
        self._numbers += 1
        now_s = asyncio.get_running_loop().time()
        arrival = Arrival(self._numbers, now_s, line.number, line.peer, command, frame, long_names(command.ext))
        fault = self.faults.take(arrival)
        arrival.fault = fault.name
        self.journal.note(arrival)
        Under(self, line, arrival, fault).start(self._work)
        self.journal.stir()

    def _work(self, under: Under) -> Reply | None:
        work = self.works.get(under.arrival.code)
        if work is None:
            return Reply(3, f" request type {under.arrival.code} not supported")
        try:
            return work(under)
        except RefusedError as error:
            return error.reply
        except (KeyError, ValueError, TypeError, AttributeError, struct.error) as error:
            return Reply(1, f"java.lang.{type(error).__name__}: {error}")

    def _create_topic(self, under: Under) -> Reply:
        ext = under.arrival.ext
        read, write, perm = int(ext["readQueueNums"]), int(ext["writeQueueNums"]), int(ext["perm"])
        self.store.topics[ext["topic"]] = Topic(name=ext["topic"], read=read, write=write, perm=perm)
        self.topics_changed()
        return Reply(0, "not set any response code")

    def _master_only(self, work: Work) -> Work:
        def guarded(under: Under) -> Reply | None:
            if self.broker_id != 0:
                raise RefusedError(14, _SLAVE)
            return work(under)

        return guarded

    def _identity(self) -> wire.Broker:
        return wire.Broker(
            name=self.broker_name,
            addr=self.advertised or self.address,
            cluster=self.cluster,
            ha_addr=f"{self._host}:{self.port + 1}",
            id=self.broker_id,
        )

    def _new_line(self) -> Line:
        self._connections += 1
        return Line(self, self._connections)

    def _bound(self, port: int) -> socket.socket:
        bound = socket.socket(socket.AF_INET6 if ":" in self._host else socket.AF_INET)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((self._host, port))
        return bound

    def _drop_fillers(self) -> None:
        if self._fillers:
            self._socket.close()
        for filler in self._fillers:
            filler.close()
        self._fillers.clear()

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def _settled(waiter: asyncio.Future[Command]) -> Command | None:
    await asyncio.wait({waiter})
    return None if waiter.cancelled() else waiter.result()
