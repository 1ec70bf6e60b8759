"""Where messages of a topic can go now.

Owns: queues of a topic with the addresses of their brokers, made of its route or of the template's; the templates of
    requests.
Must not know: how a request is sent, or tried again.
"""

import itertools
import secrets
from collections.abc import Mapping
from typing import Final

from cosmodrome.client.producer.queue_choice import QueueCursor
from cosmodrome.client.producer.settings import ProducerSettings
from cosmodrome.client.routes import TopicRoute, TopicRoutes, publish_queues
from cosmodrome.errors import NoRouteError
from cosmodrome.protocol.bodies.message_queue import MessageQueue
from cosmodrome.protocol.bodies.route import MASTER_ID, TopicRouteData
from cosmodrome.protocol.headers.send import SendMessageRequestHeader
from cosmodrome.protocol.send_template import SendTemplate
from cosmodrome.transport.channel import Channel

_CURSOR_BITS: Final = 31


class Broker:
    """A broker of a plan: the address of its master, and the templates of requests to it.

    `templates` are those of single messages and of batches; None until the first send.
    """

    __slots__ = ("address", "channel", "name", "templates")

    def __init__(self, name: str, address: str) -> None:
        self.channel: Channel | None = None
        self.name = name
        self.address = address
        self.templates: list[SendTemplate | None] = [None, None]


class Plan:
    """The queues of one topic, until its route changes.

    Attributes:
        queues: Those that may be written to; at least one.
        addresses: Broker name → address of its master.
        brokers: The same brokers by their names.
        has_choice: Whether there is more than one broker.
        is_borrowed: Whether the topic does not exist yet, and the queues are those that it would get.
    """

    __slots__ = ("addresses", "brokers", "cursor", "has_choice", "is_borrowed", "next_queue", "queues")

    def __init__(self, queues: tuple[MessageQueue, ...], addresses: Mapping[str, str], *, is_borrowed: bool) -> None:
        self.queues = queues
        self.addresses = addresses
        self.has_choice = len({queue.broker_name for queue in queues}) > 1
        self.is_borrowed = is_borrowed
        self.cursor = QueueCursor(secrets.randbits(_CURSOR_BITS))
        start = secrets.randbelow(len(queues) or 1)
        self.next_queue = itertools.cycle(queues[start:] + queues[:start]).__next__
        self.brokers = {name: Broker(name, address) for name, address in addresses.items()}


class Publishing:
    """The plans of the topics that a producer sends to."""

    def __init__(self, settings: ProducerSettings, routes: TopicRoutes) -> None:
        self._settings = settings
        self._routes = routes
        self._plans: dict[str, Plan] = {}
        self.known = self._plans.get
        """Give the plan of a topic if there is one."""
        routes.on_change.append(self._changed)

    def close(self) -> None:
        """Listen no more to changes of routes, and stop keeping those that nobody else asked for."""
        if self._changed in self._routes.on_change:
            self._routes.on_change.remove(self._changed)
        self._plans.clear()

    async def plan(self, topic: str) -> Plan:
        """Give the plan of a topic, asking for its route if need be; that of the template if the topic has none.

        Raises:
            NoRouteError: Neither has a queue that can be written to.
            RemotingError: No NameServer answers.
            AnswerError: It refuses, or cannot be understood.
        """
        plan = self._plans.get(topic)
        if plan is not None:
            return plan
        try:
            route = await self._routes.route(topic)
        except NoRouteError:
            made = self._borrowed(topic, await self._template_route(topic))
        else:
            made = Plan(route.publish_queues, _masters(route.data), is_borrowed=False)
        if not made.queues:
            raise NoRouteError(topic, "no broker that can be reached lets it be written", is_for_writing=True)
        return self._plans.setdefault(topic, made)

    def template(self, broker: Broker, topic: str, *, is_batch: bool) -> SendTemplate:
        """Give the template of requests to a broker."""
        template = broker.templates[is_batch]
        if template is None:
            header = SendMessageRequestHeader(
                producer_group=self._settings.wire_group,
                topic=topic,
                default_topic=self._settings.create_topic,
                default_topic_queue_nums=self._settings.create_topic_queues,
                batch=is_batch,
                broker_name=broker.name,
            )
            template = broker.templates[is_batch] = SendTemplate(header, signer=self._settings.credentials)
        return template

    async def _template_route(self, topic: str) -> TopicRoute:
        try:
            return await self._routes.route(self._settings.create_topic)
        except NoRouteError as error:
            raise NoRouteError(topic, str(error), is_for_writing=True) from error

    def _borrowed(self, topic: str, route: TopicRoute) -> Plan:
        limit = self._settings.create_topic_queues
        counts = {each.broker_name: min(limit, each.read_queue_nums) for each in route.data.queue_datas}
        queues = publish_queues(topic, route.data)
        mine = tuple(queue for queue in queues if queue.queue_id < counts.get(queue.broker_name, 0))
        return Plan(mine, _masters(route.data), is_borrowed=True)

    def _changed(self, topic: str, _: TopicRoute) -> None:
        self._plans.pop(topic, None)
        if topic == self._settings.create_topic:
            for name in [name for name, plan in self._plans.items() if plan.is_borrowed]:
                del self._plans[name]


def _masters(data: TopicRouteData) -> dict[str, str]:
    return {
        each.broker_name: each.broker_addrs[MASTER_ID] for each in data.broker_datas if MASTER_ID in each.broker_addrs
    }
