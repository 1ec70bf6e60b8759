"""Which requests take their turn, and which are refused."""

import asyncio
import functools
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.support import wire
from tests.support.builders import PEER, at_each_turn, config_in, eventually

from cosmodrome.errors import RequestRefusedError
from cosmodrome.namesrv.brake import NO_LIMIT, Brake, Brakes, Room
from cosmodrome.namesrv.events import Event
from cosmodrome.namesrv.kv_config import KVConfigStore
from cosmodrome.namesrv.live_config import LiveConfig
from cosmodrome.namesrv.processors.broker import BrokerProcessor
from cosmodrome.namesrv.routing.tables import RouteTables
from cosmodrome.namesrv.turns import LISTINGS, Turns, is_long_registration
from cosmodrome.protocol.codes import RequestCode, ResponseCode
from cosmodrome.protocol.command import RemotingCommand, response_to
from cosmodrome.transport.dispatch import Answer, Peer, Processor
from cosmodrome.transport.presence import Presence
from cosmodrome.transport.work_queue import WorkQueue

ALL_TOPICS = RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER
MANY = 100
"""Topics that make a registration long."""
LONG = 8_000
"""Topics that take longer than a turn."""


def answered(request: RemotingCommand, _: Peer) -> Answer:
    return response_to(request, 0)


@dataclass
class Connections:
    """Where peers are, and which connections were closed."""

    presences: dict[int, Presence] = field(default_factory=dict)
    closed: list[int] = field(default_factory=list)

    def presence(self, connection_id: int) -> Presence:
        return self.presences.get(connection_id, Presence.HERE)

    def close_connection(self, connection_id: int) -> None:
        self.closed.append(connection_id)


class Scene:
    """Turns before tables."""

    def __init__(
        self, folder: Path, *, topics_to_list: int = 10**6, registrations: Room = NO_LIMIT, listings: Room = NO_LIMIT
    ) -> None:
        self.tables = RouteTables()
        self.queue = WorkQueue()
        self.peers = Connections()
        self.events: list[Event] = []
        config = LiveConfig(config_in(folder), None)
        self.broker = BrokerProcessor(
            self.tables, KVConfigStore(folder / "kv.json"), config, lambda: 1000, lambda _: None
        )
        self.turns = Turns(
            self.queue,
            lambda: topics_to_list,
            self.broker,
            lambda: self.peers,
            Brakes(
                Brake("registrations", registrations, self.events.append),
                Brake("listings", listings, self.events.append),
            ),
        )
        processors: dict[RequestCode, Processor] = dict.fromkeys(RequestCode, answered)
        processors[RequestCode.REGISTER_BROKER] = self.broker.register_broker
        self.table = self.turns.taking(processors)

    def ask(self, request: RemotingCommand, connection: int = 1) -> Answer:
        return self.table[RequestCode(request.code)](request, PEER._replace(connection_id=connection))

    def register(
        self, name: str = "a", topics: int = MANY, version: int = 1, *, connection: int = 1
    ) -> asyncio.Future[RemotingCommand]:
        """Send a registration that must wait; the number of topics is also that of their queues."""
        answer = self.ask(registration(name, topics, version), connection)
        assert isinstance(answer, asyncio.Future)
        return answer

    def queues(self, topic: str = "T1") -> int | None:
        route = self.tables.read.topic_route(topic)
        return None if route is None else route.queue_datas[0].read_queue_nums

    def names(self) -> list[str]:
        return [event.NAME for event in self.events]


@functools.cache
def registration(name: str = "a", topics: int = MANY, version: int = 1) -> RemotingCommand:
    configs = [wire.topic_config(f"T{number}", read=topics) for number in range(topics)]
    body = wire.register_body(configs, wire.data_version(version))
    fields = wire.registration_ext(wire.Broker(name=name, addr=f"{name}:1"), crc=wire.crc32_masked(body))
    return RemotingCommand(103, ext_fields=fields, body=body, version=wire.VERSION_5_5_0)


async def test_only_long_work_waits(tmp_path: Path) -> None:
    def waiting(topics: int) -> set[RequestCode]:
        scene = Scene(tmp_path, topics_to_list=topics)
        answers = {code: scene.ask(RemotingCommand(code)) for code in RequestCode if code != 103}
        return {code for code, answer in answers.items() if isinstance(answer, Awaitable)}

    assert waiting(0) == set()
    assert waiting(1_000_000) == set(LISTINGS)
    scene = Scene(tmp_path)
    assert isinstance(scene.ask(registration(topics=2)), RemotingCommand)
    assert isinstance(scene.ask(registration()), Awaitable)


def test_a_small_stream_may_hold_a_large_table() -> None:
    large = wire.compressed_register_body([wire.topic_config(f"Topic{number}") for number in range(2000)])
    plain = wire.register_body([wire.topic_config("T1"), wire.topic_config("T2")])

    assert len(large) < 20_000
    assert is_long_registration(RemotingCommand(103, body=large))
    assert not is_long_registration(RemotingCommand(103, body=plain))
    assert not is_long_registration(RemotingCommand(103))


async def test_what_waited_is_answered_or_refused_as_ever(tmp_path: Path) -> None:
    def refused(_: RemotingCommand, __: Peer) -> Answer:
        raise RequestRefusedError(1, "no")

    async def later(request: RemotingCommand) -> RemotingCommand:
        return response_to(request, 0, "later")

    turns = Scene(tmp_path).turns
    request = RemotingCommand(206)
    for processor, remark in ((answered, None), (lambda request, _: later(request), "later")):
        answer = turns.taking({ALL_TOPICS: processor})[ALL_TOPICS](request, PEER)
        assert isinstance(answer, Awaitable)
        assert (await answer).remark == remark
    answer = turns.taking({ALL_TOPICS: refused})[ALL_TOPICS](request, PEER)
    assert isinstance(answer, Awaitable)
    with pytest.raises(RequestRefusedError):
        await answer


async def test_a_registration_in_slices_is_answered_as_one_at_once(tmp_path: Path) -> None:
    waited, at_once = Scene(tmp_path), Scene(tmp_path)
    wrong = registration().replaced(ext_fields={**(registration().ext_fields or {}), "bodyCrc32": "1"})

    assert await waited.register() == at_once.broker.register_broker(registration(), PEER)
    assert waited.queues("T99") == at_once.queues("T99") == MANY
    answer = waited.ask(wrong)
    assert isinstance(answer, Awaitable)
    with pytest.raises(RequestRefusedError, match="crc32"):
        await answer
    assert waited.turns.registrations.pending_count == 0


async def test_a_repetition_does_not_wait_behind_changes(tmp_path: Path) -> None:
    """It is a heartbeat."""
    scene, done = Scene(tmp_path), list[str]()
    await scene.register()
    for number in range(20):
        scene.register(f"b{number}", connection=10 + number).add_done_callback(lambda _: done.append("change"))
    scene.register(connection=2).add_done_callback(lambda _: done.append("repetition"))

    await eventually(lambda: len(done) == 21, "all of it")

    assert done == ["repetition", *["change"] * 20]


@pytest.mark.parametrize("topics", [MANY, 2])
async def test_the_registrations_of_one_broker_keep_their_order(tmp_path: Path, topics: int) -> None:
    """Whatever they cost: a repetition of what was, or a short one, does not overtake the change before it."""
    scene = Scene(tmp_path)
    await scene.register(topics=MANY)
    first = scene.register(topics=MANY + 1, version=2, connection=1)
    second = scene.register(topics=topics, version=1, connection=2)

    await second

    assert first.done()
    assert scene.queues() == topics
    assert [int(info.connection) for info in scene.tables.live_brokers()] == [2]
    assert isinstance(scene.ask(registration(topics=2, version=3)), RemotingCommand), "nothing waits any more"


async def test_a_failed_registration_lets_the_next_one_of_its_broker_pass(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    answer = scene.ask(registration().replaced(body=b"x" * 5000))
    second = scene.register(connection=2)

    assert isinstance(answer, Awaitable)
    with pytest.raises(RequestRefusedError):
        await answer
    await second
    assert scene.queues() == MANY


async def test_what_has_no_room_is_refused_at_once(tmp_path: Path) -> None:
    """Listings first, then changes; what is not known yet last; repetitions never."""
    scene = Scene(tmp_path, registrations=Room(pieces=2), listings=Room(pieces=3))
    for name in ("a", "b", "c", "d", "e"):
        await scene.register(name, LONG)
    outcomes: dict[str, str] = {}

    def note(name: str) -> Callable[[asyncio.Future[RemotingCommand]], None]:
        def ended(answer: "asyncio.Future[RemotingCommand]") -> None:
            error = answer.exception()
            outcomes[name] = "done" if error is None else "busy"
            assert error is None or (isinstance(error, RequestRefusedError) and error.code == ResponseCode.SYSTEM_BUSY)

        return ended

    for connection, name in enumerate(("a", "b", "c", "d")):
        scene.register(name, LONG, version=2, connection=connection).add_done_callback(note(f"{name} changed"))
    scene.register("e", LONG, connection=5).add_done_callback(note("e repeated"))
    for connection, name in enumerate(("new 1", "new 2", "new 3")):
        scene.register(name, LONG, connection=10 + connection).add_done_callback(note(name))
    await at_each_turn(lambda: scene.turns.registrations.is_engaged)
    with pytest.raises(RequestRefusedError):
        scene.ask(RemotingCommand(206), 20)
    await eventually(lambda: len(outcomes) == 8, "all of them")

    assert {name for name, outcome in outcomes.items() if outcome == "busy"} == {"c changed", "d changed", "new 3"}
    assert scene.turns.registrations.refused_count == 3
    assert scene.turns.listings.refused_count == 1
    assert scene.names().count("brake.engaged") == scene.names().count("brake.released") == 2
    assert scene.turns.registrations.pending_count == scene.turns.registrations.pending_bytes == 0
    answers = [scene.ask(RemotingCommand(206), connection) for connection in range(3)]
    with pytest.raises(RequestRefusedError):
        scene.ask(RemotingCommand(206), 4)
    assert all([(await answer).code == 0 for answer in answers if isinstance(answer, Awaitable)])


async def test_what_nobody_waits_for_is_not_done(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    gone = scene.register(connection=1)
    reset = scene.register("b", connection=2)
    finished = scene.register("c", connection=3)
    listing = scene.ask(RemotingCommand(206), 4)
    half_closed = scene.ask(RemotingCommand(206), 5)
    stays = scene.register("d", connection=6)
    scene.peers.presences = {2: Presence.GONE, 3: Presence.FINISHED, 4: Presence.GONE, 5: Presence.FINISHED}
    scene.turns.peer_gone(1)
    scene.turns.peer_gone(99)

    assert isinstance(half_closed, Awaitable)
    assert (await half_closed).code == (await stays).code == 0
    assert isinstance(listing, asyncio.Future)
    for answer in (gone, reset, finished, listing):
        await asyncio.wait({answer})
        assert answer.cancelled()
    assert sorted(scene.peers.closed) == [2, 3, 4], "else they would be kept until they are idle for too long"
    assert [info.broker_name for info in scene.tables.live_brokers()] == ["d"]
    assert scene.turns.dropped_count == 4
    assert scene.turns.listings.pending_count == scene.turns.registrations.pending_count == 0


async def test_an_unregistration_in_the_middle_of_a_registration(tmp_path: Path) -> None:
    """What was prepared is not believed any more."""
    scene = Scene(tmp_path)
    await scene.register(topics=LONG)
    change = scene.register(topics=LONG + 1, version=2)
    await at_each_turn(lambda: scene.turns.registrations.pending_count)
    scene.tables.unregister_broker("a", next(iter(scene.tables.live_brokers())).key, 1000)
    assert scene.queues() is None

    await change

    assert scene.queues() == LONG + 1
    assert scene.tables.read.topic_count() == LONG + 1
