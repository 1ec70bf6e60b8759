"""Which requests take their turn, so that nobody's route waits for them, and which are refused when too many wait.

Owns: what counts as long work, how urgent it is, and that the registrations of one broker keep their order.
Must not know: how the work is done.
"""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Final, Protocol

from cosmodrome.namesrv.brake import Brakes
from cosmodrome.namesrv.processors.broker import Announced
from cosmodrome.protocol.bodies.register_broker import ZLIB_FIRST_BYTE
from cosmodrome.protocol.codes import RequestCode
from cosmodrome.protocol.command import RemotingCommand
from cosmodrome.protocol.slices import Slices
from cosmodrome.transport.dispatch import Answer, Peer, Processor
from cosmodrome.transport.presence import Presence
from cosmodrome.transport.work_queue import Urgency, Work, WorkQueue

_LONG_JSON_BYTES: Final = 4096
# Twenty thousand topics compress to 64 KiB.
_LONG_ZLIB_BYTES: Final = 256
_LONG_LISTING_TOPICS: Final = 1000

LISTINGS: Final = frozenset(
    {
        RequestCode.GET_BROKER_CLUSTER_INFO,
        RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER,
        RequestCode.GET_TOPICS_BY_CLUSTER,
        RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_NS,
        RequestCode.GET_UNIT_TOPIC_LIST,
        RequestCode.GET_HAS_UNIT_SUB_TOPIC_LIST,
        RequestCode.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST,
    }
)

_BrokerWords = tuple[str | None, str | None]
"""Cluster and address as a registration's header spells them."""


class Peers(Protocol):
    """What Turns needs of the connections (RemotingServer)."""

    def presence(self, connection_id: int) -> Presence:
        """Whether the peer of a connection still waits for its answers."""

    def close_connection(self, connection_id: int) -> None:
        """Close a connection."""


class Registrar(Protocol):
    """What Turns needs of the processor of registrations (BrokerProcessor)."""

    def announced(self, request: RemotingCommand, peer: Peer) -> Slices[Announced]:
        """Read who registers."""

    def renewed(self, said: Announced) -> RemotingCommand | None:
        """Answer a registration that says nothing new."""

    def registered(self, said: Announced) -> Slices[RemotingCommand]:
        """Read a registration whole, and take it."""

    def is_known(self, said: Announced) -> bool:
        """Whether this broker is registered."""


class Turns:
    """Puts a queue before the processors that may take long.

    Args:
        queue: Does the work.
        topic_count: Tells how much there is to list.
        registrar: Takes registrations in slices.
        peers: Gives the connections, once there are any. Work that waited is not done for a peer that has gone.
        brakes: How much may wait. What finds no room is answered SYSTEM_BUSY at once: listings first, also while
            registrations are refused; then registrations that change something, those of brokers that are not
            known yet last. A registration that says nothing new is never refused.
    """

    def __init__(
        self,
        queue: WorkQueue,
        topic_count: Callable[[], int],
        registrar: Registrar,
        peers: Callable[[], Peers | None],
        brakes: Brakes,
    ) -> None:
        self._queue = queue
        self._topic_count = topic_count
        self._registrar = registrar
        self._peers = peers
        self.registrations: Final = brakes.registrations
        self.listings: Final = brakes.listings
        self.dropped_count = 0
        """How much was given up because nobody waited for it any more."""
        self._last_of_broker: dict[_BrokerWords, asyncio.Future[RemotingCommand]] = {}
        self._waiting: dict[int, asyncio.Future[RemotingCommand]] = {}

    def taking(self, processors: Mapping[RequestCode, Processor]) -> dict[RequestCode, Processor]:
        """Give the same table, in which long work waits for its turn."""
        return {code: self._in_turn(code, processor) for code, processor in processors.items()}

    def peer_gone(self, connection_id: int) -> None:
        """Give up what waits for this connection."""
        waiting = self._waiting.get(connection_id)
        if waiting is not None:
            waiting.cancel()

    def _in_turn(self, code: RequestCode, processor: Processor) -> Processor:
        if code in LISTINGS:
            return self._listing_in_turn(processor)
        if code is RequestCode.REGISTER_BROKER:
            return self._registration_in_turn(processor)
        return processor

    def _listing_in_turn(self, processor: Processor) -> Processor:
        def answer(request: RemotingCommand, peer: Peer) -> Answer:
            if self._topic_count() < _LONG_LISTING_TOPICS:
                return processor(request, peer)
            if self.registrations.is_engaged:
                self.listings.refuse()
            self.listings.take()
            return self._waited_for(self._list(processor, request, peer), peer)

        return answer

    async def _list(self, processor: Processor, request: RemotingCommand, peer: Peer) -> RemotingCommand:
        try:
            answer = await self._queue.run(
                lambda: processor(request, peer), Urgency.LISTING, lambda: self._may_read(peer.connection_id)
            )
            return answer if isinstance(answer, RemotingCommand) else await answer
        finally:
            self.listings.give_back()
            self._release()

    def _release(self) -> None:
        self.registrations.release_if_free()
        if not self.registrations.is_engaged:
            self.listings.release_if_free()

    def _registration_in_turn(self, processor: Processor) -> Processor:
        def answer(request: RemotingCommand, peer: Peer) -> Answer:
            fields = request.ext_fields or {}
            broker = (fields.get("clusterName"), fields.get("brokerAddr"))
            earlier = self._last_of_broker.get(broker)
            if earlier is None and not is_long_registration(request):
                return processor(request, peer)
            task = self._waited_for(self._register(request, peer, earlier), peer)
            self._last_of_broker[broker] = task
            task.add_done_callback(lambda done: self._forget_last(broker, done))
            return task

        return answer

    def _forget_last(self, broker: _BrokerWords, done: asyncio.Future[RemotingCommand]) -> None:
        if self._last_of_broker.get(broker) is done:
            del self._last_of_broker[broker]

    async def _register(
        self, request: RemotingCommand, peer: Peer, earlier: asyncio.Future[RemotingCommand] | None
    ) -> RemotingCommand:
        if earlier is not None:
            await asyncio.wait({earlier})
        return await self._queue.run_slices(
            self._registration(request, peer), Urgency.HEARTBEAT, lambda: self._may_send(peer.connection_id)
        )

    def _registration(self, request: RemotingCommand, peer: Peer) -> Work[RemotingCommand]:
        said = yield from self._registrar.announced(request, peer)
        answer = self._registrar.renewed(said)
        if answer is not None:
            return answer
        size_bytes = len(request.body)
        self.registrations.take(size_bytes, is_favoured=not self._registrar.is_known(said))
        try:
            yield Urgency.CHANGE
            return (yield from self._registrar.registered(said))
        finally:
            self.registrations.give_back(size_bytes)
            self._release()

    def _may_send(self, connection_id: int) -> bool:
        """Tell whether a broker is still there: one that has finished takes its registration along."""
        return self._is_present(connection_id, Presence.HERE)

    def _may_read(self, connection_id: int) -> bool:
        return self._is_present(connection_id, Presence.HERE, Presence.FINISHED)

    def _is_present(self, connection_id: int, *enough: Presence) -> bool:
        peers = self._peers()
        if peers is None or peers.presence(connection_id) in enough:
            return True
        peers.close_connection(connection_id)
        return False

    def _waited_for(self, work: Coroutine[Any, Any, RemotingCommand], peer: Peer) -> asyncio.Future[RemotingCommand]:
        task = asyncio.ensure_future(work)
        self._waiting[peer.connection_id] = task
        task.add_done_callback(lambda _: self._forget_waiting(peer.connection_id, task))
        return task

    def _forget_waiting(self, connection_id: int, task: asyncio.Future[RemotingCommand]) -> None:
        if task.cancelled():
            self.dropped_count += 1
        if self._waiting.get(connection_id) is task:
            del self._waiting[connection_id]


def is_long_registration(request: RemotingCommand) -> bool:
    """Whether reading this body takes longer than answering a few routes."""
    is_zlib = request.body.startswith(ZLIB_FIRST_BYTE)
    return len(request.body) >= (_LONG_ZLIB_BYTES if is_zlib else _LONG_JSON_BYTES)
