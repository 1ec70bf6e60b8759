"""Which brokers serve which topic, as the NameServers say.

Owns: the NameServer that is asked, and the next one when it fails; routes in use and their refreshing; route → queues.
Must not know: who uses a route; connections to brokers.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from cosmodrome.client.addresses import Address
from cosmodrome.client.route_source import RouteSource
from cosmodrome.client.server_list import ServerList
from cosmodrome.errors import (
    AnswerError,
    ConnectError,
    NoRouteError,
    NotFoundError,
    RemotingError,
    RocketMQError,
)
from cosmodrome.protocol.bodies.message_queue import MessageQueue
from cosmodrome.protocol.bodies.route import MASTER_ID, PERM_READ, PERM_WRITE, TopicRouteData
from cosmodrome.transport.client import RemotingClient

logger = logging.getLogger(__name__)

MAX_QUEUES: Final = 16_384
"""Of one topic at one broker that a route is believed to have."""
HURRY_INTERVAL_S: Final = 1.0
"""Between two questions about one topic because something failed."""
SECOND_OPINION_S: Final = 0.5
"""How long another NameServer is waited for, when one said that there is no such topic."""
_MISSING: Final = "no NameServer knows the topic, and it cannot be made. See https://rocketmq.apache.org/docs/bestPractice/06FAQ for further details."


class TopicRoute(msgspec.Struct, frozen=True):
    """A route, and the queues that follow from it."""

    topic: str
    data: TopicRouteData
    publish_queues: tuple[MessageQueue, ...]
    subscribe_queues: tuple[MessageQueue, ...]


class Limits(NamedTuple):
    """How long one NameServer is waited for, and how often routes are asked for again."""

    timeout_s: float
    interval_s: float


class TopicRoutes:
    """Routes of the topics in use. One NameServer is asked at a time, the next one when it does not answer.

    All are asked about a topic that the first does not know: it may have been started a moment ago.
    """

    def __init__(self, remoting: RemotingClient, servers: ServerList, limits: Limits) -> None:
        self._servers = servers
        self._remoting = remoting
        self._timeout_s = limits.timeout_s
        self._current: Address | None = None
        self._failed_s: dict[Address, float] = {}
        self._interval_s = limits.interval_s
        self._routes: dict[str, TopicRoute] = {}
        self._wanted: dict[str, None] = {}
        self._asking: dict[str, asyncio.Task[TopicRoute]] = {}
        self._hurried_s: dict[str, float] = {}
        self.on_change: list[Callable[[str, TopicRoute], None]] = []
        """Called with a topic and its route when that is new or differs."""

    async def route(self, topic: str, *, is_fresh: bool = False) -> TopicRoute:
        """Give the route of a topic; the one that is known, or asked now. It is kept fresh from now on.

        Raises:
            NoRouteError: The NameServers do not know the topic.
            RemotingError: None of them answers.
            AnswerError: The last one that did refuses, or cannot be understood.
        """
        known = None if is_fresh else self._routes.get(topic)
        if known is not None:
            return known
        self._wanted[topic] = None
        task = self._asking.get(topic)
        if task is None:
            task = self._asking[topic] = asyncio.ensure_future(self._ask(topic))
            task.add_done_callback(lambda done: self._has_asked(topic, done))
        # Several may wait for it; one that gives up must not take it from the others.
        await asyncio.wait({task})
        if task.cancelled():
            raise ConnectError(f"the client was closed while it asked for the route of {topic}")
        return task.result()

    def _has_asked(self, topic: str, done: asyncio.Task[TopicRoute]) -> None:
        self._asking.pop(topic, None)
        if not done.cancelled():
            done.exception()  # those who waited may all have given up: then nobody else asks for it

    def cached(self, topic: str) -> TopicRoute | None:
        """Give the route of a topic if it is known."""
        return self._routes.get(topic)

    def forget(self, topic: str) -> None:
        """Stop keeping the route of a topic."""
        self._wanted.pop(topic, None)
        self._routes.pop(topic, None)

    def topics(self) -> tuple[str, ...]:
        """Give the topics whose routes are kept fresh, whether they have one or not."""
        return tuple(self._wanted)

    def is_hurry_due(self, topic: str, now_s: float) -> bool:
        """Tell whether the route should be asked for again because something failed; at most once a second."""
        if now_s - self._hurried_s.get(topic, -HURRY_INTERVAL_S) < HURRY_INTERVAL_S:
            return False
        self._hurried_s[topic] = now_s
        return True

    async def refresh(self, topic: str) -> bool:
        """Ask for a route again; what goes wrong is logged, and the old route stays. Tell whether a server answered."""
        try:
            await self.route(topic, is_fresh=True)
        except NoRouteError:
            logger.debug("no NameServer knows the topic %s now", topic)
        except RocketMQError as error:
            logger.warning("cannot refresh the route of %s: %s", topic, error)
            return not isinstance(error, RemotingError)
        return True

    async def refresh_all(self) -> None:
        """Ask for all routes again, one after the other, as long as somebody answers."""
        for topic in self.topics():
            if not await self.refresh(topic):
                return

    async def keep_fresh(self) -> None:
        """Refresh all routes at every interval, until cancelled."""
        while True:
            await asyncio.sleep(self._interval_s)
            await self.refresh_all()

    def close(self) -> None:
        """Stop asking. Whoever waits for a route gets a ConnectError of the closed connections."""
        for task in tuple(self._asking.values()):
            task.cancel()

    def brokers(self) -> Mapping[str, Mapping[int, str]]:
        """Give broker name → broker id → address of all routes."""
        found: dict[str, Mapping[int, str]] = {}
        for route in self._routes.values():
            for broker in route.data.broker_datas:
                found[broker.broker_name] = broker.broker_addrs
        return found

    def master_address(self, broker_name: str) -> str | None:
        """Give the address of a broker's master, or None."""
        return self._addresses(broker_name).get(MASTER_ID)

    def address_for_read(self, broker_name: str, broker_id: int = MASTER_ID) -> str | None:
        """Give the address of this member of a broker group, else its master's, else any."""
        addresses = self._addresses(broker_name)
        return addresses.get(broker_id) or addresses.get(MASTER_ID) or next(iter(addresses.values()), None)

    def broker_name_at(self, address: str) -> str | None:
        """Give the name of the broker at an address, or None."""
        return next((name for name, addresses in self.brokers().items() if address in addresses.values()), None)

    def _addresses(self, broker_name: str) -> Mapping[int, str]:
        for route in reversed(self._routes.values()):
            for broker in route.data.broker_datas:
                if broker.broker_name == broker_name:
                    return broker.broker_addrs
        return {}

    async def _ask(self, topic: str) -> TopicRoute:
        data = await self._ask_servers(topic)
        route = TopicRoute(topic, data, publish_queues(topic, data), subscribe_queues(topic, data))
        if topic in self._wanted:
            # The newest answer is the last one: it is believed first about addresses.
            old = self._routes.pop(topic, None)
            self._routes[topic] = route
            if old is None or old.data != data:
                logger.info("the route of %s is new: %s", topic, _summary(data))
                for told in self.on_change:
                    told(topic, route)
        return route

    async def _ask_servers(self, topic: str) -> TopicRouteData:
        failure: RocketMQError | None = None
        missing: NotFoundError | None = None
        for address in self._in_turn(await self._servers.current()):
            if missing is not None and self._has_failed(address):
                continue
            limit_s = self._timeout_s if missing is None else min(self._timeout_s, SECOND_OPINION_S)
            try:
                data = await RouteSource(self._remoting, str(address), limit_s).topic_route(topic)
            except NotFoundError as error:
                # It answers, and is asked first again; others may know more than it does.
                missing = missing or error
                self._answered(address)
            except (RemotingError, AnswerError) as error:
                failure = error
                self._not_answered(address, topic, error)
            else:
                self._answered(address, is_first=missing is None)
                return data
        if missing is not None:
            raise NoRouteError(topic, _MISSING) from missing
        assert failure is not None  # noqa: S101 -- there is at least one server
        raise failure

    def _answered(self, address: Address, *, is_first: bool = True) -> None:
        self._failed_s.pop(address, None)
        if is_first and (self._current is None or self._current in self._failed_s):
            self._current = address

    def _not_answered(self, address: Address, topic: str, error: RocketMQError) -> None:
        self._failed_s[address] = asyncio.get_running_loop().time()
        logger.warning("NameServer %s did not give the route of %s: %s", address, topic, error)

    def _has_failed(self, address: Address) -> bool:
        failed_s = self._failed_s.get(address)
        return failed_s is not None and asyncio.get_running_loop().time() - failed_s < self._interval_s

    def _in_turn(self, addresses: Sequence[Address]) -> Iterator[Address]:
        """Give all servers, first the one that answered last."""
        first = addresses.index(self._current) if self._current in addresses else 0
        yield from addresses[first:]
        yield from addresses[:first]


def publish_queues(topic: str, data: TopicRouteData) -> tuple[MessageQueue, ...]:
    """Give the queues to which messages may be sent: of an ordered topic those that its configuration names.

    Else of every broker that lets the topic be written and has a master.
    """
    if data.order_topic_conf:
        return _ordered_queues(topic, data.order_topic_conf)
    masters = {broker.broker_name for broker in data.broker_datas if MASTER_ID in broker.broker_addrs}
    return _each_once(
        MessageQueue(topic, queues.broker_name, number)
        for queues in data.queue_datas
        if queues.perm & PERM_WRITE and queues.broker_name in masters
        for number in range(min(queues.write_queue_nums, MAX_QUEUES))
    )


def subscribe_queues(topic: str, data: TopicRouteData) -> tuple[MessageQueue, ...]:
    """Give the queues that may be read."""
    return _each_once(
        MessageQueue(topic, queues.broker_name, number)
        for queues in data.queue_datas
        if queues.perm & PERM_READ
        for number in range(min(queues.read_queue_nums, MAX_QUEUES))
    )


def _ordered_queues(topic: str, text: str) -> tuple[MessageQueue, ...]:
    """Read `broker:queues;broker:queues`; a piece that is none is passed over."""
    found: list[MessageQueue] = []
    for piece in text.split(";"):
        name, colon, count = piece.strip().rpartition(":")
        if colon and name and count.isascii() and count.isdigit():
            found += (MessageQueue(topic, name, number) for number in range(min(int(count), MAX_QUEUES)))
    return _each_once(found)


def _each_once(queues: Iterable[MessageQueue]) -> tuple[MessageQueue, ...]:
    """Keep the order; a route that names a broker twice would have its queues read twice."""
    return tuple(dict.fromkeys(queues))


def _summary(data: TopicRouteData) -> str:
    return ", ".join(f"{each.broker_name} {each.write_queue_nums}/{each.read_queue_nums}" for each in data.queue_datas)
