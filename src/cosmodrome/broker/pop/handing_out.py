"""Handing out what a pop took: first it is written down, then the messages go (Java: PopMessageProcessor.appendCheckPoint).

Owns: the revive queue of each pop; the answer; what becomes of messages when their check point cannot be stored.
Must not know: which messages are taken; who waits.
"""

import itertools
from dataclasses import dataclass
from typing import Final

from cosmodrome.broker.offsets import Offsets
from cosmodrome.broker.outbox import Outbox
from cosmodrome.broker.pop.in_flight import InFlight
from cosmodrome.broker.pop.revive_log import ReviveLog
from cosmodrome.broker.pop.taking import PopAsk, Taken, TakenQueue, answer_body, answer_fields, check_points
from cosmodrome.broker.refusals import not_available, refused
from cosmodrome.broker.statistics import BROKER_GET_NUMS, GROUP_GET_NUMS, GROUP_GET_SIZE, Statistics
from cosmodrome.broker.topics import REVIVE_QUEUES
from cosmodrome.broker.turn import Stored
from cosmodrome.errors import MessageError, StoreUnavailableError
from cosmodrome.protocol.codes import ResponseCode
from cosmodrome.protocol.command import RemotingCommand, response_to
from cosmodrome.transport.dispatch import Peer

_FOUND: Final = "FOUND"


@dataclass(frozen=True, slots=True, kw_only=True)
class HandingOutParts:
    """What is written down with."""

    log: ReviveLog
    in_flight: InFlight
    offsets: Offsets
    outbox: Outbox
    statistics: Statistics
    store_host: bytes
    cluster: str


class HandingOut:
    """Hands out. Pops are spread over the revive queues."""

    def __init__(self, parts: HandingOutParts) -> None:
        """Use these parts."""
        self._parts = parts
        self._queue_ids = itertools.cycle(range(REVIVE_QUEUES))

    def fields(self, ask: PopAsk, taken: Taken) -> dict[str, str | None]:
        """Give the header of an answer without messages."""
        return answer_fields(ask, taken, next(self._queue_ids))

    def hand_out(self, request: RemotingCommand, peer: Peer, ask: PopAsk, taken: Taken) -> None:
        """Answer a pop when what it took is written down.

        Raises:
            RequestRefusedError: It cannot be; the messages are there for others.
        """
        queue_id = next(self._queue_ids)
        if not ask.is_in_order:
            self._make_unique(ask, taken)
        body = answer_body(ask, taken, queue_id, self._parts.log.broker_name)
        fields = answer_fields(ask, taken, queue_id)
        answer = response_to(request, ResponseCode.SUCCESS, _FOUND, fields, body)
        if ask.is_in_order:
            self._count(ask, taken)
            self._parts.outbox.answer(peer.connection_id, request, answer)
            return
        self._write_down(ask, taken, queue_id, _Answering(self, (request, peer, ask, taken), answer))

    def _make_unique(self, ask: PopAsk, taken: Taken) -> None:
        """Two pops of one queue from one offset, in one millisecond, must not have one key."""
        log = self._parts.log
        while any(self._parts.in_flight.get(log.key_of(point)) for point in check_points(ask, taken, log.broker_name)):
            taken.pop_time += 1

    def _write_down(self, ask: PopAsk, taken: Taken, queue_id: int, answering: "_Answering") -> None:
        points = check_points(ask, taken, self._parts.log.broker_name)
        answering.left = len(points)
        for at, point in enumerate(points):
            try:
                self._parts.log.put_check_point(point, queue_id, self._parts.store_host, answering.settle)
            except (StoreUnavailableError, MessageError) as error:
                self.give_back(ask, taken.queues[at:])
                answering.is_refused = True
                if isinstance(error, MessageError):
                    raise refused(error.code, error.text) from error
                raise not_available(error.reason) from error

    def give_back(self, ask: PopAsk, queues: list[TakenQueue]) -> None:
        """Let others have messages that were taken and not handed out."""
        offsets = self._parts.offsets
        for each in queues:
            committed = offsets.committed(each.topic, ask.group, each.queue_id)
            if committed is not None and committed > each.start:
                offsets.commit(each.topic, ask.group, each.queue_id, each.start)

    def done(self, request: RemotingCommand, peer: Peer, ask: PopAsk, taken: Taken, answer: RemotingCommand) -> None:
        """Answer."""
        self._count(ask, taken)
        self._parts.outbox.answer(peer.connection_id, request, answer)

    def not_done(self, request: RemotingCommand, peer: Peer, ask: PopAsk, taken: Taken) -> None:
        """Answer that the store takes nothing."""
        self.give_back(ask, taken.queues)
        refusal = not_available("the disk refuses to take messages")
        self._parts.outbox.answer(peer.connection_id, request, response_to(request, refusal.code, refusal.remark))

    def _count(self, ask: PopAsk, taken: Taken) -> None:
        statistics = self._parts.statistics
        for each in taken.queues:
            messages = len(each.offsets)
            key = f"{each.topic}@{ask.group}"
            statistics.count(GROUP_GET_NUMS, key, messages)
            statistics.count(GROUP_GET_SIZE, key, sum(map(len, each.records)), messages)
            statistics.count(BROKER_GET_NUMS, self._parts.cluster, messages)


class _Answering:
    """Answers when the last check point of a pop is stored."""

    def __init__(
        self, owner: HandingOut, asked: tuple[RemotingCommand, Peer, PopAsk, Taken], answer: RemotingCommand
    ) -> None:
        self._owner = owner
        self._asked = asked
        self._answer = answer
        self.left = 0
        self.is_refused = False
        self._has_failed = False

    def settle(self, stored: Stored) -> None:
        self.left -= 1
        self._has_failed = self._has_failed or stored is Stored.FAILED
        if self.left or self.is_refused:
            return
        if self._has_failed:
            self._owner.not_done(*self._asked)
        else:
            self._owner.done(*self._asked, self._answer)
