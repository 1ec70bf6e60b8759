"""MessageQueue: one queue of a topic at one broker.

Owns: the value, its order, its place as a key of fastjson's maps.
Must not know: who reads or writes the queue.
"""

from cosmodrome.protocol.ext_fields import Int32
from cosmodrome.protocol.json_structs import BodyFields


class MessageQueue(BodyFields, frozen=True, order=True, gc=False):
    """A queue; in order of topic, broker name and number, as in Java."""

    topic: str
    broker_name: str
    queue_id: Int32 = 0
