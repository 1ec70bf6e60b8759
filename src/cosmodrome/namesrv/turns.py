"""Which requests take their turn, so that nobody's route waits for them.

Owns: what counts as long work, and how urgent it is.
Must not know: how the work is done.
"""

from collections.abc import Callable, Mapping
from typing import Final

from cosmodrome.protocol.bodies.register_broker import ZLIB_FIRST_BYTE
from cosmodrome.protocol.codes import RequestCode
from cosmodrome.protocol.command import RemotingCommand
from cosmodrome.transport.dispatch import Answer, Peer, Processor
from cosmodrome.transport.work_queue import Urgency, WorkQueue

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


class Turns:
    """Puts a queue before the processors that may take long. `topic_count` tells how much there is to list."""

    def __init__(self, queue: WorkQueue, topic_count: Callable[[], int]) -> None:
        self._queue = queue
        self._topic_count = topic_count

    def taking(self, processors: Mapping[RequestCode, Processor]) -> dict[RequestCode, Processor]:
        """Give the same table, in which long work waits for its turn."""
        return {code: self._in_turn(code, processor) for code, processor in processors.items()}

    def _in_turn(self, code: RequestCode, processor: Processor) -> Processor:
        if code in LISTINGS:
            return self._queued(processor, Urgency.LISTING, lambda _: self._topic_count() >= _LONG_LISTING_TOPICS)
        if code is RequestCode.REGISTER_BROKER:
            return self._queued(processor, Urgency.CHANGE, is_long_registration)
        return processor

    def _queued(self, processor: Processor, urgency: Urgency, is_long: Callable[[RemotingCommand], bool]) -> Processor:
        async def later(request: RemotingCommand, peer: Peer) -> RemotingCommand:
            answer = await self._queue.run(lambda: processor(request, peer), urgency)
            return answer if isinstance(answer, RemotingCommand) else await answer

        def queued(request: RemotingCommand, peer: Peer) -> Answer:
            return later(request, peer) if is_long(request) else processor(request, peer)

        return queued


def is_long_registration(request: RemotingCommand) -> bool:
    """Whether reading this body takes longer than answering a few routes."""
    is_zlib = request.body.startswith(ZLIB_FIRST_BYTE)
    return len(request.body) >= (_LONG_ZLIB_BYTES if is_zlib else _LONG_JSON_BYTES)
