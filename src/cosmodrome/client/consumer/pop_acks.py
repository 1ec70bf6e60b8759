"""Acknowledging popped messages, many with one request where the broker can (5.1 and later).

Owns: which receipts wait, which of them travel together, and what is done when a broker cannot.
Must not know: why a message is done.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from cosmodrome.client.consumer.pop_handle import Handle, Receipt, handle_of
from cosmodrome.client.consumer.requests import ConsumerRequests
from cosmodrome.errors import AnswerError, ConnectError, NotSupportedError, RemotingError
from cosmodrome.protocol.bodies.pop import MAX_BIT_SET_SPAN, BatchAck, BatchAckMessageRequestBody, encode_bit_set

logger = logging.getLogger(__name__)

MOST: Final = 256
"""Receipts in one request."""
_CANNOT: Final = (RemotingError, AnswerError)


class Acknowledgements:
    """Sends the acknowledgements of one broker, in the order in which they were asked for.

    What cannot be acknowledged is told to the log, and comes again.
    """

    def __init__(
        self, requests: ConsumerRequests, group: str, broker_name: str, address: Callable[[], str | None]
    ) -> None:
        self._requests = requests
        self._group = group
        self._broker_name = broker_name
        self._address = address
        self._waiting: asyncio.Queue[Receipt] = asyncio.Queue()
        self._has_batches = True

    def add(self, receipt: Receipt) -> None:
        """Have a message acknowledged."""
        self._waiting.put_nowait(receipt)

    async def all_sent(self) -> None:
        """Wait until nothing waits; `run` has to run."""
        await self._waiting.join()

    async def run(self) -> None:
        """Send what is added, until cancelled."""
        while True:
            receipts = [await self._waiting.get()]
            while len(receipts) < MOST and not self._waiting.empty():
                receipts.append(self._waiting.get_nowait())
            try:
                await self._send(receipts)
            except Exception:
                logger.exception("%d popped messages were not acknowledged and come again", len(receipts))
            finally:
                for _ in receipts:
                    self._waiting.task_done()

    async def _send(self, receipts: Sequence[Receipt]) -> None:
        alone = receipts
        if len(receipts) > 1 and self._has_batches:
            together = [receipt for receipt in receipts if is_near_its_start(receipt)]
            if await self._send_together(together):
                alone = [receipt for receipt in receipts if not is_near_its_start(receipt)]
        for receipt in alone:
            try:
                await self._requests.acknowledge(self._known_address(), receipt)
            except _CANNOT as error:
                logger.warning(
                    "offset %d of queue %d of %s was not acknowledged and comes again: %s",
                    receipt.offset, receipt.queue_id, receipt.topic, error,
                )  # fmt: skip

    async def _send_together(self, receipts: Sequence[Receipt]) -> bool:
        """Send all in one request; False when the broker knows no such."""
        try:
            body = BatchAckMessageRequestBody(broker_name=self._broker_name, acks=batch_acks(self._group, receipts))
            await self._requests.acknowledge_all(self._known_address(), body)
        except NotSupportedError:
            self._has_batches = False
            return False
        except _CANNOT as error:
            logger.warning("%d popped messages were not acknowledged and come again: %s", len(receipts), error)
        return True

    def _known_address(self) -> str:
        address = self._address()
        if address is None:
            raise ConnectError("no route to a master of the broker")
        return address


def is_near_its_start(receipt: Receipt) -> bool:
    """Tell whether a bit set that begins where the pop began reaches a message; a pop is far shorter than that."""
    return receipt.offset - handle_of(receipt.handle).start_offset in range(MAX_BIT_SET_SPAN)


def batch_acks(group: str, receipts: Iterable[Receipt]) -> tuple[BatchAck, ...]:
    """Put the receipts of one queue and one pop together; all are near their start."""
    together: dict[tuple[str, Handle], list[int]] = {}
    for receipt in receipts:
        handle = handle_of(receipt.handle)._replace(offset=0)
        together.setdefault((receipt.base_topic, handle), []).append(receipt.offset)
    return tuple(
        BatchAck(
            consumer_group=group,
            topic=topic,
            retry=handle.flag,
            start_offset=handle.start_offset,
            queue_id=handle.queue_id,
            revive_queue_id=handle.revive_queue_id,
            pop_time=handle.pop_time,
            invisible_time=handle.invisible_time,
            bit_set=encode_bit_set(offsets, handle.start_offset),
        )
        for (topic, handle), offsets in together.items()
    )
