"""What is done with an acknowledgement, and with another time for a message.

Owns: which acknowledgements are written down; the check point of a changed time; that old receipts change nothing.
Must not know: requests; when a message comes again.
"""

from collections.abc import Callable

from cosmodrome.broker.clock import Clock
from cosmodrome.broker.pop.in_flight import InFlight
from cosmodrome.broker.pop.revive_log import ReviveLog
from cosmodrome.broker.turn import Stored
from cosmodrome.protocol.bodies.pop_records import PopAck, PopCheckPoint, PopKey

Settle = Callable[[Stored], None]


class Acknowledging:
    """Writes down what is done. `disk_timeout_ms` is how long an answer waits for the disk, None if it does not."""

    def __init__(
        self, in_flight: InFlight, log: ReviveLog, clock: Clock, store_host: bytes, disk_timeout_ms: int | None
    ) -> None:
        """Use these parts."""
        self._in_flight = in_flight
        self._log = log
        self._clock = clock
        self._store_host = store_host
        self._disk_timeout_ms = disk_timeout_ms

    def acknowledge(self, ack: PopAck, settle: Settle) -> int:
        """Take an acknowledgement; give how often `settle` will be told of it: not at all when nothing is to be stored.

        Raises:
            MessageError: It cannot be stored.
            StoreUnavailableError: Nothing is accepted.
        """
        popped = self._in_flight.get(ack.key)
        bits = 0 if popped is None else popped.bits(ack.offsets) & ~popped.done
        if popped is None or not bits:
            return 0
        offsets = tuple(each for bit, each in enumerate(popped.offsets) if bits >> bit & 1)
        self._log.put_ack(
            PopAck(ack.key, offsets), popped.place.queue_id, self._store_host, settle, self._disk_timeout_ms
        )
        return 1

    def change(self, message: tuple[PopKey, int], change: tuple[int, bool], settle: Settle) -> tuple[int, int]:
        """Hide a message for another time from now on; give the time of its new receipt, and as `acknowledge`.

        Of a message that is done, or comes again already, nothing changes. Raises as `acknowledge`.
        """
        key, offset = message
        popped = self._in_flight.get(key)
        pop_time = max(self._clock.wall_ms(), key.pop_time + 1)
        if popped is None or not popped.bits((offset,)) & ~popped.done:
            return pop_time, 0
        invisible_ms, is_suspended = change
        point = PopCheckPoint(
            topic=key.topic, group=key.group, queue_id=key.queue_id, start_offset=offset, pop_time=pop_time,
            invisible_time=invisible_ms, count=1, offset_diffs=(0,), broker_name=key.broker_name,
            is_suspended=is_suspended,
        )  # fmt: skip
        self._log.put_check_point(point, popped.place.queue_id, self._store_host, settle)
        return pop_time, 1 + self.acknowledge(PopAck(key, (offset,)), settle)
