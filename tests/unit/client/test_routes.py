"""Which brokers serve which topic."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from tests.support.admin_tool import Double, Reply, closed_port
from tests.support.wire import Answer

from cosmodrome.client.addresses import parse_addresses
from cosmodrome.client.routes import MAX_QUEUES, Limits, TopicRoute, TopicRoutes, publish_queues, subscribe_queues
from cosmodrome.client.server_list import ServerList
from cosmodrome.errors import ConnectError, NoRouteError, NotReadyError, UnreadableAnswerError
from cosmodrome.protocol.bodies.message_queue import MessageQueue
from cosmodrome.protocol.bodies.route import BrokerData, QueueData, TopicRouteData, encode_topic_route
from cosmodrome.protocol.json_dialects import JsonDialect
from cosmodrome.transport.client import RemotingClient

ROUTE = 105
LIMITS = Limits(10.0, 30.0)


def queues_of(name: str, perm: int = 6, read: int = 4, write: int = 2) -> QueueData:
    return QueueData(broker_name=name, perm=perm, read_queue_nums=read, topic_sys_flag=0, write_queue_nums=write)


def broker(name: str, **addresses: str) -> BrokerData:
    return BrokerData(
        broker_addrs={int(key.strip("_")): value for key, value in addresses.items()}, broker_name=name, cluster="C"
    )


def route(brokers: list[BrokerData], queues: list[QueueData], order: str | None = None) -> TopicRouteData:
    return TopicRouteData(
        broker_datas=tuple(brokers), queue_datas=tuple(queues), filter_server_table={}, order_topic_conf=order
    )


BOTH = route([broker("a", _0="h:1", _1="h:2"), broker("b", _1="h:3")], [queues_of("a"), queues_of("b")])


class Teller:
    """A NameServer that gives this route, or this refusal; a test may change its mind."""

    def __init__(self, data: TopicRouteData | Reply) -> None:
        self.data = data
        self.double = Double({ROUTE: self.answer})
        self.topics: list[object] = []

    def answer(self, asked: Answer) -> Reply:
        self.topics.append((asked.ext or {})["topic"])
        if isinstance(self.data, Reply):
            return self.data
        return Reply(body=encode_topic_route(self.data, JsonDialect.STANDARD))


@pytest.fixture
async def remoting() -> AsyncIterator[RemotingClient]:
    client = RemotingClient()
    yield client
    await client.close()


def routes_at(remoting: RemotingClient, *addresses: str) -> TopicRoutes:
    return TopicRoutes(remoting, ServerList(parse_addresses(";".join(addresses))), LIMITS)


def test_messages_go_to_writable_queues_of_brokers_with_a_master() -> None:
    data = route(
        [broker("a", _0="h:1"), broker("b", _1="h:2"), broker("c", _0="h:3")],
        [queues_of("a"), queues_of("b"), queues_of("c", perm=4), queues_of("unknown")],
    )
    assert publish_queues("T", data) == (MessageQueue("T", "a", 0), MessageQueue("T", "a", 1))
    assert len(subscribe_queues("T", data)) == 16


def test_what_cannot_be_read_is_not_subscribed() -> None:
    data = route([broker("a", _0="h:1")], [queues_of("a", perm=2, read=3)])
    assert subscribe_queues("T", data) == ()
    assert len(publish_queues("T", data)) == 2


def test_an_ordered_topic_names_its_queues() -> None:
    data = route([broker("a", _0="h:1")], [queues_of("a")], "b:1;a:3; bad ;:4;c:x")
    assert publish_queues("T", data) == (
        MessageQueue("T", "b", 0),
        *(MessageQueue("T", "a", number) for number in range(3)),
    )


def test_a_number_from_the_wire_is_not_trusted() -> None:
    data = route([broker("a", _0="h:1")], [queues_of("a", read=2**31 - 1, write=2**31 - 1)])
    assert len(publish_queues("T", data)) == len(subscribe_queues("T", data)) == MAX_QUEUES
    assert len(publish_queues("T", route([], [], "a:999999999"))) == MAX_QUEUES
    assert publish_queues("T", route([broker("a", _0="h:1")], [queues_of("a", write=-5)])) == ()


async def test_a_route_is_asked_for_once_and_kept(remoting: RemotingClient) -> None:
    teller = Teller(BOTH)
    told: list[tuple[str, TopicRoute]] = []
    with teller.double as server:
        routes = routes_at(remoting, server.address)
        routes.on_change.append(lambda topic, found: told.append((topic, found)))
        assert routes.cached("T") is None
        found = await asyncio.gather(*(routes.route("T") for _ in range(10)))
        assert teller.topics == ["T"]
        assert await routes.route("T") is found[0] is routes.cached("T")
        assert (found[0].data, routes.topics()) == (BOTH, ("T",))
        await routes.refresh("T")
        assert (teller.topics, len(told)) == (["T", "T"], 1)
        teller.data = route([broker("a", _0="h:9")], [queues_of("a")])
        await routes.refresh_all()
        assert [topic for topic, _ in told] == ["T", "T"]
        assert routes.master_address("a") == "h:9"
        routes.forget("T")
        assert (routes.topics(), routes.cached("T")) == ((), None)


async def test_addresses(remoting: RemotingClient) -> None:
    with Teller(BOTH).double as server:
        routes = routes_at(remoting, server.address)
        await routes.route("T")
    assert (routes.master_address("a"), routes.master_address("b"), routes.master_address("x")) == ("h:1", None, None)
    assert [routes.address_for_read("a", each) for each in (0, 1, 7)] == ["h:1", "h:2", "h:1"]
    assert routes.address_for_read("b") == "h:3"
    assert routes.address_for_read("x") is None
    assert routes.brokers() == {"a": {0: "h:1", 1: "h:2"}, "b": {1: "h:3"}}
    assert (routes.broker_name_at("h:2"), routes.broker_name_at("h:4")) == ("a", None)


async def test_a_topic_without_a_route_stays_wanted(remoting: RemotingClient) -> None:
    teller = Teller(Reply(17, remark="no route"))
    with teller.double as server:
        routes = routes_at(remoting, server.address)
        with pytest.raises(NoRouteError, match="No route info of this topic: T") as caught:
            await routes.route("T")
        assert caught.value.topic == "T"
        assert routes.topics() == ("T",)
        teller.data = BOTH
        await routes.refresh_all()
        assert routes.cached("T") is not None
        teller.data = Reply(17)
        await routes.refresh("T")
        assert routes.cached("T") is not None, "the old one is better than none"


@pytest.mark.parametrize(
    "data", [Reply(1, remark="name server not ready"), Reply(2), Reply(3), Reply(body=b"nonsense"), Reply(1500)]
)
async def test_the_next_server_is_asked_and_kept(remoting: RemotingClient, data: Reply) -> None:
    bad, good = Teller(data), Teller(BOTH)
    with bad.double as first, good.double as second:
        routes = routes_at(remoting, closed_address(), first.address, second.address)
        await routes.route("T")
        await routes.route("T", is_fresh=True)
        assert (len(bad.topics), len(good.topics)) == (1, 2)


def closed_address() -> str:
    with closed_port() as address:
        return address


async def test_nobody_answers(remoting: RemotingClient) -> None:
    routes = routes_at(remoting, closed_address(), closed_address())
    with pytest.raises(ConnectError):
        await routes.route("T")
    with Teller(Reply(1, remark="name server not ready")).double as server, pytest.raises(NotReadyError):
        await routes_at(remoting, closed_address(), server.address).route("T")
    with Teller(Reply(body=b"[]")).double as server, pytest.raises(UnreadableAnswerError):
        await routes_at(remoting, server.address).route("T")


async def test_a_round_ends_when_nobody_answers(remoting: RemotingClient, caplog: pytest.LogCaptureFixture) -> None:
    teller = Teller(BOTH)
    with teller.double as server:
        routes = routes_at(remoting, server.address)
        for topic in ("T", "U", "V"):
            await routes.route(topic)
    caplog.clear()
    await routes.refresh_all()
    assert len([record for record in caplog.records if "cannot refresh" in record.message]) == 1
    assert routes.cached("V") is not None


async def test_who_gives_up_takes_it_from_nobody(remoting: RemotingClient) -> None:
    with Teller(BOTH).double as server:
        routes = routes_at(remoting, server.address)
        first, second = (asyncio.ensure_future(routes.route("T")) for _ in range(2))
        await asyncio.sleep(0)
        first.cancel()
        assert (await second).data == BOTH


async def test_closing_ends_questions(remoting: RemotingClient) -> None:
    with Teller(BOTH).double as server:
        routes = routes_at(remoting, server.address)
        asking = asyncio.ensure_future(routes.route("T"))
        await asyncio.sleep(0)
        routes.close()
        with pytest.raises(ConnectError, match="closed"):
            await asking


def test_hurry_is_once_a_second(remoting: RemotingClient) -> None:
    routes = routes_at(remoting, "h:1")
    assert [routes.is_hurry_due("T", at) for at in (10.0, 10.5, 11.0, 11.1)] == [True, False, True, False]
    assert routes.is_hurry_due("U", 10.5)


def test_a_broker_that_is_named_twice_has_its_queues_once() -> None:
    data = route([broker("a", _0="h:1")], [queues_of("a", read=2, write=2), queues_of("a", read=3, write=3)])

    assert [queue.queue_id for queue in subscribe_queues("T", data)] == [0, 1, 2]
    assert [queue.queue_id for queue in publish_queues("T", data)] == [0, 1, 2]
