"""Receipts as clients bring them back.

Owns: reading what an acknowledgement needs of a receipt.
Must not know: what is in flight.
"""

from typing import Final, NamedTuple

from cosmodrome.errors import MalformedBodyError
from cosmodrome.protocol.bodies.pop_records import PopKey
from cosmodrome.protocol.json_dialects import to_int32, to_int64

LONGEST_INVISIBLE_MS: Final = 3 * 86_400_000
"""As far as the timer of Apache's brokers reaches; a message that is hidden for longer is lost there."""
_FEWEST: Final = 6
"""Fields before the number of the queue, which old clients leave out with what follows; the request has both."""


class Receipt(NamedTuple):
    """A receipt: where its check point begins, when, for how long, in which revive queue, and by which broker."""

    start_offset: int
    pop_time: int
    invisible_time: int
    revive_queue_id: int
    broker_name: str

    def key(self, topic: str, group: str, queue_id: int) -> PopKey:
        """Give the key of its check point."""
        return PopKey(topic, group, queue_id, self.start_offset, self.pop_time, self.broker_name)


def read_receipt(text: str) -> Receipt:
    """Read a receipt.

    Raises:
        MalformedBodyError: It is none.
    """
    fields = text.split(" ")
    if len(fields) < _FEWEST or not fields[5]:
        raise MalformedBodyError(f"a receipt has {len(fields)} fields; {_FEWEST} are needed")
    return Receipt(to_int64(fields[0]), to_int64(fields[1]), to_int64(fields[2]), to_int32(fields[3]), fields[5])
