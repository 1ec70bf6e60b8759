"""Brokers, registrations and connections, as tests of one process need them.

Owns: values of the routing tables with everything defaulted; a remoting client that lives in the event loop of
the server it talks to; the loop that waits there.
Must not know: what a test claims.
"""

import asyncio
import hashlib
import struct
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from socket import SO_LINGER, SOL_SOCKET
from typing import Any, Final, Self, TypeVar

from tests.support import wire
from tests.support.waiting import NotInTimeError

from cosmodrome.errors import ProtocolError
from cosmodrome.namesrv.config import NamesrvConfig
from cosmodrome.namesrv.events import Event
from cosmodrome.namesrv.kv_config import KVConfigStore
from cosmodrome.namesrv.live_config import LiveConfig
from cosmodrome.namesrv.processors import Processors
from cosmodrome.namesrv.processors.broker import BrokerProcessor
from cosmodrome.namesrv.processors.kv_config import KVConfigProcessor
from cosmodrome.namesrv.processors.listing import ListingProcessor
from cosmodrome.namesrv.processors.namesrv_config import NamesrvConfigProcessor
from cosmodrome.namesrv.processors.route import RouteProcessor
from cosmodrome.namesrv.processors.topic import TopicProcessor
from cosmodrome.namesrv.routing.effects import ConnectionId, Effects
from cosmodrome.namesrv.routing.registration import BrokerIdentity, BrokerRegistration
from cosmodrome.namesrv.routing.tables import RouteTables
from cosmodrome.namesrv.server import NameServer
from cosmodrome.protocol.bodies.data_version import DataVersion
from cosmodrome.protocol.bodies.route import QueueData, TopicQueueMappingInfo
from cosmodrome.protocol.bodies.topic_config import TopicConfig, TopicTable
from cosmodrome.protocol.command import RemotingCommand
from cosmodrome.transport.connection import Connection
from cosmodrome.transport.dispatch import Answer, Dispatcher, Express, Peer
from cosmodrome.transport.read_budget import ReadBudget
from cosmodrome.transport.standing_answers import StandingAnswers

T = TypeVar("T")

DEADLINE_S: Final = 20.0
_PAUSE_S: Final = 0.005

CONNECTION: Final = ConnectionId(1)
PEER: Final = Peer(1, "127.0.0.1:4711")


async def eventually(probe: Callable[[], T], what: str, within_s: float = DEADLINE_S) -> T:
    """Call `probe` until it gives something true, and give that; the event loop runs on meanwhile.

    Raises:
        NotInTimeError: The deadline passed.
    """
    loop = asyncio.get_running_loop()
    deadline_s = loop.time() + within_s
    while not (seen := probe()):
        if loop.time() > deadline_s:
            raise NotInTimeError(f"waited {within_s:g} s for {what}; last seen: {seen!r:.500}")
        await asyncio.sleep(_PAUSE_S)
    return seen


async def at_each_turn(probe: Callable[[], object], most: int = 100_000) -> None:
    """Call `probe` once in each turn of the event loop, until it gives something true."""
    for _ in range(most):
        if probe():
            return
        await asyncio.sleep(0)
    raise NotInTimeError(f"not in {most} turns of the loop")


def split_into(data: bytes, size: int) -> list[bytes]:
    """Cut bytes into pieces of `size`; the last may be shorter."""
    return [data[start : start + size] for start in range(0, len(data), size)]


def version(counter: int = 1, state_version: int = 0, timestamp: int = 1_700_000_000_000) -> DataVersion:
    """Give a data version."""
    return DataVersion(counter=counter, state_version=state_version, timestamp=timestamp)


def topics(*names: str, perm: int = 6, read: int = 4, write: int = 4, sys_flag: int = 0) -> dict[str, TopicConfig]:
    """Give topic configs that are alike."""
    return {
        name: TopicConfig(
            topic_name=name, perm=perm, read_queue_nums=read, write_queue_nums=write, topic_sys_flag=sys_flag
        )
        for name in names
    }


def queue_data(broker_name: str = "broker-a", perm: int = 6, queues: int = 4, sys_flag: int = 0) -> QueueData:
    """Give what a route shows of one broker of a topic."""
    return QueueData(
        broker_name=broker_name, perm=perm, read_queue_nums=queues, topic_sys_flag=sys_flag, write_queue_nums=queues
    )


def mapping(topic: str, broker_name: str = "broker-a", ids: Mapping[int, int] | None = None) -> TopicQueueMappingInfo:
    """Give where a broker has the queues of a static topic."""
    return TopicQueueMappingInfo(
        topic=topic, bname=broker_name, curr_id_map=ids or {0: 0}, epoch=3, scope="__global__", total_queues=8
    )


def identity(
    name: str = "broker-a",
    id_: int = 0,
    *,
    addr: str | None = None,
    cluster: str = "C",
    acting: bool | None = False,
    timeout_ms: int = 120_000,
    zone: str | None = None,
    ha: str | None = None,
) -> BrokerIdentity:
    """Give a broker; its address follows from name and id unless it is given."""
    address = addr or f"{name}-{id_}:10911"
    return BrokerIdentity(
        cluster=cluster,
        broker_name=name,
        broker_id=id_,
        addr=address,
        ha_server_addr=ha or f"{address}.ha",
        heartbeat_timeout_ms=timeout_ms,
        enable_acting_master=acting,
        zone_name=zone,
    )


def registration(
    broker: BrokerIdentity | None = None,
    configs: Mapping[str, TopicConfig] | None = None,
    *,
    data_version: DataVersion | None = None,
    mappings: Mapping[str, TopicQueueMappingInfo] | None = None,
    filter_servers: tuple[str, ...] | None = (),
    connection: int = 1,
) -> BrokerRegistration:
    """Give a registration; without `configs` of two topics. The digest stands for everything but the connection."""
    who = broker or identity()
    table = TopicTable(
        data_version=data_version or version(),
        topic_configs=topics("T1", "T2") if configs is None else configs,
        topic_queue_mapping_infos=mappings or {},
    )
    said = repr((who, table, filter_servers)).encode()
    return BrokerRegistration(
        identity=who,
        table=table,
        filter_servers=filter_servers,
        connection=ConnectionId(connection),
        peer="127.0.0.1:4711",
        digest=hashlib.blake2b(said).digest(),
    )


class AsyncWire:
    """One connection to a server in the same event loop; speaks with the encoders of `wire`."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._opaque = 0
        self._buffer = b""
        self._waiting: list[wire.Answer] = []

    @classmethod
    async def connect(cls, address: str, *, receive_buffer: int = 2**16) -> Self:
        """Connect to `host:port`."""
        host, _, port = address.rpartition(":")
        return cls(*await asyncio.open_connection(host.strip("[]"), int(port), limit=receive_buffer))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @property
    def local_address(self) -> str:
        """Our own end, as `host:port`."""
        host, port = self._writer.get_extra_info("sockname")[:2]
        return f"{host}:{port}"

    @property
    def untaken(self) -> int:
        """How many answers have come that nobody took."""
        return len(self._waiting)

    def send(self, data: bytes) -> None:
        """Send bytes as they are."""
        self._writer.write(data)

    def post(self, code: int, ext: wire.Ext | None = None, body: bytes = b"", **header: Any) -> int:
        """Send a request, and give its opaque."""
        self._opaque += 1
        header = {"opaque": self._opaque} | header
        self.send(wire.encode_request(code, ext, body, **header))
        return int(header["opaque"])

    async def request(self, code: int, ext: wire.Ext | None = None, body: bytes = b"", **header: Any) -> wire.Answer:
        """Send a request, and give the answer that follows; it must be its own."""
        opaque = self.post(code, ext, body, **header)
        answer = await self.answer()
        assert answer.opaque == opaque
        return answer

    async def oneway(self, code: int, ext: wire.Ext | None = None, body: bytes = b"", **header: Any) -> None:
        """Send a oneway, and return when the server has acted on it: it answers in order."""
        self.post(code, ext, body, flag=wire.FLAG_ONEWAY, **header)
        await self.settled()

    async def settled(self) -> None:
        """Return when the server has acted on everything sent so far."""
        answer = await self.request(101, {"namespace": "?", "key": "?"})
        assert answer.code == 22

    async def register(
        self, broker: wire.Broker | None = None, topic_configs: Sequence[wire.Json] = (), **how: Any
    ) -> wire.Answer:
        """Send one REGISTER_BROKER with the right CRC. `body` replaces the one made of the topics."""
        content = how.pop("body", None)
        content = wire.register_body(topic_configs) if content is None else content
        fields = wire.registration_ext(broker or wire.Broker(), crc=wire.crc32_masked(content))
        return await self.request(103, fields | how.pop("ext", {}), content, **how)

    async def answer(self, within_s: float = DEADLINE_S) -> wire.Answer:
        """Give the oldest answer that was not taken.

        Raises:
            ConnectionError: The server closed the connection.
            TimeoutError: It did neither in time.
        """
        async with asyncio.timeout(within_s):
            while not self._waiting:
                await self._receive()
        return self._waiting.pop(0)

    async def answers(self, count: int) -> list[wire.Answer]:
        """Give that many answers, in order."""
        return [await self.answer() for _ in range(count)]

    async def closed(self, within_s: float = DEADLINE_S) -> None:
        """Wait until the server closes; answers that come before are kept."""
        async with asyncio.timeout(within_s):
            try:
                while True:
                    await self._receive()
            except ConnectionError:
                return

    def end_sending(self) -> None:
        """Send FIN; answers may still come."""
        self._writer.write_eof()

    async def close(self) -> None:
        """Close in good order. A second call does nothing."""
        self._writer.close()
        try:
            await self._writer.wait_closed()
        except ConnectionError:
            return

    def abort(self) -> None:
        """Close with a reset."""
        self._writer.get_extra_info("socket").setsockopt(SOL_SOCKET, SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.transport.abort()

    async def _receive(self) -> None:
        data = await self._reader.read(2**16)
        if not data:
            raise ConnectionResetError("the server closed the connection")
        answers, self._buffer = wire.split(self._buffer + data)
        self._waiting += answers


UNSERVED: Final = 999


@dataclass
class Owner:
    """A ConnectionOwner that answers with `on_request` and remembers what it was told; UNSERVED proves nobody."""

    on_request: Callable[[RemotingCommand, Peer], Answer]
    requests: list[RemotingCommand] = field(default_factory=list)
    made: list[Connection] = field(default_factory=list)
    lost: list[Connection] = field(default_factory=list)
    errors: list[ProtocolError] = field(default_factory=list)
    proofs: list[bool] = field(default_factory=list)
    stalled: list[Connection] = field(default_factory=list)
    responses: list[RemotingCommand] = field(default_factory=list)
    reads: ReadBudget = field(default_factory=ReadBudget)
    standing: StandingAnswers | None = None
    express: Express | None = None

    def dispatch(self, request: RemotingCommand, peer: Peer) -> Answer:
        self.requests.append(request)
        return self.on_request(request, peer)

    def connection_made(self, connection: Connection) -> None:
        self.made.append(connection)

    def connection_lost(self, connection: Connection) -> None:
        self.lost.append(connection)

    def protocol_error(self, connection: Connection, error: ProtocolError) -> None:
        self.errors.append(error)

    def still_unproven(self, connection: Connection) -> None:
        self.proofs.append(False)

    def is_served(self, code: int) -> bool:
        return code != UNSERVED

    def proven(self, connection: Connection) -> None:
        self.proofs.append(True)

    def response_received(self, connection: Connection, response: RemotingCommand) -> None:
        self.responses.append(response)

    def writing_paused(self, connection: Connection) -> None:
        self.stalled.append(connection)

    def writing_resumed(self, connection: Connection) -> None:
        self.stalled.remove(connection)


def settled(answer: Answer) -> RemotingCommand:
    """Give an answer that nobody has to wait for."""
    assert isinstance(answer, RemotingCommand)
    return answer


def surface(tables: RouteTables, folder: Path, carry_out: Callable[[Effects], None] = lambda _: None) -> Dispatcher:
    """Give the protocol surface around these tables, without a server; its clock stands still."""
    kv_config, config = KVConfigStore(folder / "kv.json"), LiveConfig(config_in(folder), None)
    processors = Processors(
        route=RouteProcessor(tables.read, kv_config, config, lambda: 0.0, lambda _: None),
        broker=BrokerProcessor(tables, kv_config, config, lambda: 1000, carry_out),
        topic=TopicProcessor(tables, carry_out),
        listing=ListingProcessor(tables.read, config),
        kv_config=KVConfigProcessor(kv_config, lambda _: None),
        namesrv_config=NamesrvConfigProcessor(config, lambda _: None),
    )
    return Dispatcher({int(code): processor for code, processor in processors.by_code().items()})


def config_in(folder: Path, **values: Any) -> NamesrvConfig:
    """Give a configuration that listens on a free port of loopback and keeps its files in `folder`."""
    settings: dict[str, Any] = {"bind_address": "127.0.0.1", "listen_port": 0, "data_dir": str(folder)}
    return NamesrvConfig(**(settings | values))


@dataclass
class Running:
    """A NameServer in this process, and what it told."""

    server: NameServer
    events: list[Event]
    _open: list[AsyncWire] = field(default_factory=list)

    async def wire(self) -> AsyncWire:
        """Give a new connection; it is closed with the server."""
        connection = await AsyncWire.connect(self.server.address)
        self._open.append(connection)
        return connection

    def names(self) -> list[str]:
        """Give the names of the events so far."""
        return [event.NAME for event in self.events]


@asynccontextmanager
async def running(folder: Path, **values: Any) -> AsyncIterator[Running]:
    """Run a NameServer on a free port."""
    events: list[Event] = []
    server = NameServer(config_in(folder, **values), publish=events.append)
    async with server:
        run = Running(server, events)
        try:
            yield run
        finally:
            for connection in run._open:
                await connection.close()
