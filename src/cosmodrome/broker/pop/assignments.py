"""Which queues of a topic a member gets, when it leaves that to the broker (Java: QueryAssignmentProcessor).

Owns: the rules for pulling and popping; the queues that other brokers of the cluster have.
Must not know: requests; who is connected.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Final

from cosmodrome.client.consumer.allocation import AllocationStrategy, Averagely, ByCircle, ConsistentHash
from cosmodrome.client.name_server import NameServerClient
from cosmodrome.errors import AnswerError, RemotingError
from cosmodrome.protocol.bodies.message_queue import MessageQueue
from cosmodrome.protocol.bodies.pop import MessageRequestMode, SetMessageRequestModeRequestBody
from cosmodrome.protocol.bodies.route import MASTER_ID, PERM_READ, TopicRouteData
from cosmodrome.transport.client import RemotingClient

logger = logging.getLogger(__name__)

FRESH_S: Final = 10.0
"""How long a route is used before it is asked for again."""
ANY_QUEUE: Final = -1
_TIMEOUT_S: Final = 1.0
_MOST_QUEUES: Final = 16_384
_MOST_ROUTES: Final = 4096
_STRATEGIES: Final[dict[str, AllocationStrategy]] = {
    each.name: each for each in (Averagely(), ByCircle(), ConsistentHash())
}


def assigned(
    mode: SetMessageRequestModeRequestBody, strategy_name: str, client_id: str, members: Sequence[str],
    queues: Sequence[MessageQueue],
) -> tuple[MessageQueue, ...] | None:  # fmt: skip
    """Give the queues of a member; None when the strategy is not known.

    `members` and `queues` are sorted, and not empty.
    """
    strategy = _STRATEGIES.get(strategy_name)
    if strategy is None:
        return None
    if mode.mode is not MessageRequestMode.POP:
        return tuple(strategy.allocate(client_id, members, queues))
    if mode.pop_share_queue_num <= 0 or mode.pop_share_queue_num >= len(members) - 1:
        brokers = dict.fromkeys((each.topic, each.broker_name) for each in queues)
        return tuple(MessageQueue(topic=topic, broker_name=name, queue_id=ANY_QUEUE) for topic, name in brokers)
    if client_id not in members:
        return ()
    if len(members) > len(queues):
        return (queues[members.index(client_id) % len(queues)],)
    return _shared(strategy, client_id, members, (queues, mode.pop_share_queue_num))


def _shared(
    strategy: AllocationStrategy, client_id: str, members: Sequence[str], share: tuple[Sequence[MessageQueue], int]
) -> tuple[MessageQueue, ...]:
    """Give a member its own queues, and those of so many members after it."""
    queues, count = share
    first = members.index(client_id)
    found: dict[MessageQueue, None] = {}
    for step in range(min(count, len(members) - 1) + 1):
        member = members[(first + step) % len(members)]
        found.update(dict.fromkeys(strategy.allocate(member, members, queues)))
    return tuple(found)


class TopicQueues:
    """The queues of topics at all brokers, as NameServers know them; those of this broker are known here."""

    def __init__(
        self, client: RemotingClient, name_servers: Sequence[str], own: Callable[[str], tuple[MessageQueue, ...]]
    ) -> None:
        """Ask these NameServers; `own` gives the queues of a topic that this broker has."""
        self._servers = [NameServerClient(client, address, _TIMEOUT_S) for address in name_servers]
        self._own = own
        self._others: dict[str, tuple[float, frozenset[MessageQueue]]] = {}

    async def of(self, topic: str) -> tuple[MessageQueue, ...]:
        """Give the queues of a topic, sorted; none when nobody knows it."""
        loop = asyncio.get_running_loop()
        known = self._others.get(topic)
        if self._servers and (known is None or known[0] <= loop.time()):
            found = await self._asked(topic)
            if len(self._others) >= _MOST_ROUTES:
                self._others.clear()
            before = known[1] if known is not None else frozenset[MessageQueue]()
            known = self._others[topic] = (loop.time() + FRESH_S, before if found is None else found)
        own = self._own(topic)
        here = {each.broker_name for each in own}
        elsewhere = known[1] if known is not None else frozenset()
        return tuple(sorted({*own, *(each for each in elsewhere if each.broker_name not in here)}))

    async def _asked(self, topic: str) -> frozenset[MessageQueue] | None:
        """Give what a NameServer says; None when none of them answers."""
        for server in self._servers:
            try:
                return _readable(topic, await server.topic_route(topic))
            except AnswerError:
                return frozenset()
            except RemotingError as error:
                logger.debug("the NameServer %s was not heard about topic %s: %s", server.address, topic, error)
        return None


def _readable(topic: str, route: TopicRouteData) -> frozenset[MessageQueue]:
    masters = {each.broker_name for each in route.broker_datas if MASTER_ID in each.broker_addrs}
    return frozenset(
        MessageQueue(topic=topic, broker_name=each.broker_name, queue_id=queue_id)
        for each in route.queue_datas
        if each.perm & PERM_READ and each.broker_name in masters
        for queue_id in range(min(each.read_queue_nums, _MOST_QUEUES))
    )
