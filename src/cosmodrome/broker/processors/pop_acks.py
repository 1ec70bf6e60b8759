"""What becomes of popped messages: 200051, 200151, 200053 (Java: AckMessageProcessor, ChangeInvisibleTimeProcessor).

Owns: what is refused; what counts of an old receipt.
Must not know: when a message comes again; the event loop.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from cosmodrome.broker.clock import Clock
from cosmodrome.broker.offsets import Offsets
from cosmodrome.broker.outbox import Outbox
from cosmodrome.broker.pop.acknowledging import Acknowledging
from cosmodrome.broker.pop.names import ORDER_QUEUE, real_topic
from cosmodrome.broker.pop.orders import Orders
from cosmodrome.broker.pop.receipts import LONGEST_INVISIBLE_MS, Receipt, read_receipt
from cosmodrome.broker.refusals import bad_queue_for_pull, no_topic_for_pull, not_available, refused
from cosmodrome.broker.topics import Topics
from cosmodrome.broker.turn import Stored
from cosmodrome.errors import MessageError, StoreUnavailableError
from cosmodrome.protocol.bodies.pop import BatchAck, BatchAckMessageRequestBody, decode_bit_set
from cosmodrome.protocol.bodies.pop_records import PopAck, PopKey
from cosmodrome.protocol.codes import ResponseCode
from cosmodrome.protocol.command import RemotingCommand, response_to
from cosmodrome.protocol.ext_fields import decode_ext_fields, require
from cosmodrome.protocol.headers.pop import AckMessageRequestHeader, ChangeInvisibleTimeRequestHeader
from cosmodrome.protocol.json_structs import decode_body
from cosmodrome.store.reading import Reader
from cosmodrome.transport.dispatch import LATER, Answer, Peer

_UNSAID: Final = "not set any response code"
_ZEROS: Final = {"popTime": "0", "invisibleTime": "0", "reviveQid": "0"}
Fields = dict[str, str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class PopAckParts:
    """What is decided with. `freed` is told of a topic and a group of which a queue blocks no more."""

    topics: Topics
    offsets: Offsets
    orders: Orders
    reader: Reader
    acknowledging: Acknowledging
    outbox: Outbox
    freed: Callable[[str, str], None]


class PopAckProcessor:
    """Takes acknowledgements, and hides messages for another time. What an old receipt says of a message that is done changes nothing."""

    def __init__(self, clock: Clock, parts: PopAckParts) -> None:
        """Use these parts."""
        self._clock = clock
        self._parts = parts

    def ack_message(self, request: RemotingCommand, peer: Peer) -> Answer:
        """200051."""
        header = decode_ext_fields(AckMessageRequestHeader, request.ext_fields)
        require(header, "consumer_group", "topic", "queue_id", "extra_info", "offset")
        topic, group, queue_id = header.topic or "", header.consumer_group or "", header.queue_id or 0
        offset = header.offset or 0
        self._check_queue(topic, queue_id, peer, None)
        low, high = self._bounds(topic, queue_id)
        if not low <= offset <= high:
            remark = f"offset is illegal, key:{topic}@{queue_id}, commit:{offset}, store:{low}~{high}"
            raise refused(ResponseCode.NO_MESSAGE, remark)
        receipt = read_receipt(header.extra_info or "")
        if receipt.revive_queue_id == ORDER_QUEUE:
            self._ack_in_order((topic, group, queue_id), offset, receipt.pop_time, peer)
            return response_to(request, ResponseCode.SUCCESS)
        ack = PopAck(receipt.key(topic, group, queue_id), (offset,))
        return self._acknowledge(request, peer, [ack])

    def batch_ack_message(self, request: RemotingCommand, peer: Peer) -> Answer:
        """200151."""
        body = decode_body(BatchAckMessageRequestBody, request.body) if request.body else BatchAckMessageRequestBody()
        if not body.acks:
            raise refused(ResponseCode.NO_MESSAGE, "")
        acks = [self._of_batch(each, body.broker_name or "", peer) for each in body.acks]
        return self._acknowledge(request, peer, [each for each in acks if each is not None])

    def _of_batch(self, batch: BatchAck, broker_name: str, peer: Peer) -> PopAck | None:
        topic = real_topic(batch.topic, batch.consumer_group, batch.retry)
        low, high = self._bounds(topic, batch.queue_id)
        offsets = tuple(each for each in decode_bit_set(batch.bit_set, batch.start_offset) if low <= each <= high)
        if not offsets:
            return None
        if batch.revive_queue_id == ORDER_QUEUE:
            for offset in offsets:
                self._ack_in_order((topic, batch.consumer_group, batch.queue_id), offset, batch.pop_time, peer)
            return None
        receipt = Receipt(
            batch.start_offset, batch.pop_time, batch.invisible_time, batch.revive_queue_id, broker_name
        )  # fmt: skip
        return PopAck(receipt.key(topic, batch.consumer_group, batch.queue_id), offsets)

    def change_invisible_time(self, request: RemotingCommand, peer: Peer) -> Answer:
        """200053: a message comes again at another time, under another receipt."""
        header = decode_ext_fields(ChangeInvisibleTimeRequestHeader, request.ext_fields)
        require(header, "consumer_group", "topic", "queue_id", "extra_info", "offset", "invisible_time")
        topic, group, queue_id = header.topic or "", header.consumer_group or "", header.queue_id or 0
        offset, invisible_ms = header.offset or 0, header.invisible_time or 0
        self._check_queue(topic, queue_id, peer, _ZEROS)
        if invisible_ms > LONGEST_INVISIBLE_MS:
            remark = f"invisibleTime[{invisible_ms}] is greater than {LONGEST_INVISIBLE_MS}"
            raise refused(ResponseCode.INVALID_PARAMETER, remark, _ZEROS)
        low, high = self._bounds(topic, queue_id)
        if not low <= offset < high:
            raise refused(ResponseCode.NO_MESSAGE, _UNSAID, _ZEROS)
        receipt = read_receipt(header.extra_info or "")
        if receipt.revive_queue_id == ORDER_QUEUE:
            return self._change_in_order(request, (topic, group, queue_id), (offset, invisible_ms), receipt)
        key = receipt.key(topic, group, queue_id)
        return self._change(request, peer, (key, offset, invisible_ms, bool(header.suspend)), receipt)

    def _acknowledge(self, request: RemotingCommand, peer: Peer, acks: list[PopAck]) -> Answer:
        waiting = _Answering(self._parts.outbox, request, peer)
        for ack in acks:
            try:
                waiting.left += self._parts.acknowledging.acknowledge(ack, waiting.settle)
            except StoreUnavailableError as error:
                waiting.is_refused = True
                raise not_available(error.reason) from error
            except MessageError as error:
                waiting.is_refused = True
                raise refused(error.code, error.text) from error
        return LATER if waiting.left else response_to(request, ResponseCode.SUCCESS)

    def _change(
        self, request: RemotingCommand, peer: Peer, change: tuple[PopKey, int, int, bool], receipt: Receipt
    ) -> Answer:
        key, offset, invisible_ms, is_suspended = change
        waiting = _Answering(self._parts.outbox, request, peer)
        waiting.remark = _UNSAID
        try:
            pop_time, waiting.left = self._parts.acknowledging.change(
                (key, offset), (invisible_ms, is_suspended), waiting.settle
            )
        except StoreUnavailableError as error:
            waiting.is_refused = True
            raise not_available(error.reason) from error
        except MessageError as error:
            waiting.is_refused = True
            raise refused(error.code, error.text) from error
        waiting.fields = {
            "popTime": str(pop_time),
            "invisibleTime": str(invisible_ms),
            "reviveQid": str(receipt.revive_queue_id),
        }
        return LATER if waiting.left else response_to(request, ResponseCode.SUCCESS, _UNSAID, waiting.fields)

    def _ack_in_order(self, queue: tuple[str, str, int], offset: int, pop_time: int, peer: Peer) -> None:
        topic, group, queue_id = queue
        offsets, orders = self._parts.offsets, self._parts.orders
        committed = offsets.committed(topic, group, queue_id) or 0
        if offset < committed:
            return
        try:
            next_offset = orders.acknowledge(queue, offset, pop_time)
        except ValueError as error:
            remark = (
                f"offset is illegal, key:{topic}@{group}@{queue_id}, old:{committed}, commit:{offset}, next:-1, "
                f"/{peer.address}"
            )
            raise refused(ResponseCode.MESSAGE_ILLEGAL, remark) from error
        if next_offset is None:
            return
        offsets.commit(topic, group, queue_id, next_offset)
        if orders.blocked_until(queue, None, self._clock.wall_ms()) is None:
            self._parts.freed(topic, group)

    def _change_in_order(
        self, request: RemotingCommand, queue: tuple[str, str, int], change: tuple[int, int], receipt: Receipt
    ) -> RemotingCommand:
        topic, group, queue_id = queue
        offset, invisible_ms = change
        if offset < (self._parts.offsets.committed(topic, group, queue_id) or 0):
            return response_to(request, ResponseCode.SUCCESS, _UNSAID, dict(_ZEROS))
        visible_ms = self._clock.wall_ms() + invisible_ms
        self._parts.orders.change_visible(queue, offset, receipt.pop_time, visible_ms)
        self._parts.freed(topic, group)
        fields: Fields = {
            "popTime": str(receipt.pop_time),
            "invisibleTime": str(visible_ms - receipt.pop_time),
            "reviveQid": str(ORDER_QUEUE),
        }
        return response_to(request, ResponseCode.SUCCESS, _UNSAID, fields)

    def _check_queue(self, topic: str, queue_id: int, peer: Peer, zeros: dict[str, str] | None) -> None:
        config = self._parts.topics.get(topic)
        if config is None:
            raise refused(ResponseCode.TOPIC_NOT_EXIST, no_topic_for_pull(topic).remark, zeros)
        if not 0 <= queue_id < config.read_queue_nums:
            remark = bad_queue_for_pull(config, queue_id, peer.address).remark
            raise refused(ResponseCode.MESSAGE_ILLEGAL, remark, zeros)

    def _bounds(self, topic: str, queue_id: int) -> tuple[int, int]:
        reader = self._parts.reader
        return reader.min_offset(topic, queue_id), reader.max_offset(topic, queue_id)


class _Answering:
    """Answers when the last record of a request is stored."""

    def __init__(self, outbox: Outbox, request: RemotingCommand, peer: Peer) -> None:
        self._outbox = outbox
        self._request = request
        self._peer = peer
        self._has_failed = False
        self.fields: Fields | None = None
        self.remark: str | None = None
        self.is_refused = False
        self.left = 0

    def settle(self, stored: Stored) -> None:
        self.left -= 1
        self._has_failed = self._has_failed or stored is Stored.FAILED
        if self.left or self.is_refused:
            return
        answer = response_to(self._request, ResponseCode.SUCCESS, self.remark, self.fields)
        if self._has_failed:
            refusal = not_available("the disk refuses to take messages")
            answer = response_to(self._request, refusal.code, refusal.remark)
        self._outbox.answer(self._peer.connection_id, self._request, answer)
