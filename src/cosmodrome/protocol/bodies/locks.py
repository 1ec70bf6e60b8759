"""Bodies of the requests about locks: 41, 42.

Owns: the values.
Must not know: who may hold a lock, or for how long.
"""

import msgspec

from cosmodrome.protocol.bodies.message_queue import MessageQueue
from cosmodrome.protocol.json_structs import BodyFields


class LockBatchRequestBody(BodyFields, frozen=True, kw_only=True):
    """41 and 42: queues that a client of a group locks, or gives back (Java: also UnlockBatchRequestBody)."""

    consumer_group: str
    client_id: str
    mq_set: tuple[MessageQueue, ...] = ()
    only_this_broker: bool = False


class LockBatchResponseBody(BodyFields, frozen=True, kw_only=True):
    """41, answer: the queues that the client holds now, of those that it asked for."""

    lock_ok_mq_set: tuple[MessageQueue, ...] = msgspec.field(default=(), name="lockOKMQSet")
