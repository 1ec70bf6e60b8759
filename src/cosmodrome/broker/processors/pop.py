"""Pops: 200050; whether there is something to pop, 200054; how many wait, 200055 (Java: PopMessageProcessor, NotificationProcessor).

Owns: what is refused and with which words; which pops wait, and what ends it.
Must not know: how check points are stored; the event loop.
"""

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from cosmodrome.broker.filters.subscriptions import EVERYTHING, Wanted, wanted_by
from cosmodrome.broker.groups import Groups
from cosmodrome.broker.holding import HoldingProcessor
from cosmodrome.broker.pop.handing_out import HandingOut
from cosmodrome.broker.pop.receipts import LONGEST_INVISIBLE_MS
from cosmodrome.broker.pop.taking import PopAsk, Taken, Taking
from cosmodrome.broker.pop.waiting import QueueKey, Waiting, WaitingPops
from cosmodrome.broker.refusals import bad_queue_for_pull, no_group_for_pull, no_topic_for_pull, refused
from cosmodrome.broker.topics import READ, Topics
from cosmodrome.errors import RequestRefusedError
from cosmodrome.protocol.codes import ResponseCode
from cosmodrome.protocol.command import RemotingCommand, response_to
from cosmodrome.protocol.ext_fields import decode_ext_fields, require
from cosmodrome.protocol.headers.pop import (
    NotificationRequestHeader,
    PollingInfoRequestHeader,
    PopMessageRequestHeader,
)
from cosmodrome.protocol.subscription import SUBSCRIBE_ALL, TAG, SubscriptionData, subscription_to_tags
from cosmodrome.transport.dispatch import LATER, Peer

MOST_MESSAGES: Final = 32
LATE_MS: Final = 500
AGAIN_MS: Final = 500
"""When a request is looked at again whose peer takes nothing."""
_UNSAID: Final = "not set any response code"
_NOTHING: Final = "NO_MESSAGE_IN_QUEUE"
_POP_ZEROS: Final = {"popTime": "0", "invisibleTime": "0", "reviveQid": "0", "restNum": "0"}
_NO_MESSAGE: Final = {"hasMsg": "false", "pollingFull": "false"}
_BAD_EXPRESSION: Final = "parse the consumer's subscription failed"
_NO_POLLS: Final = {"pollingNum": "0"}


@dataclass(frozen=True, slots=True, kw_only=True)
class PopParts:
    """What pops are decided with."""

    topics: Topics
    groups: Groups
    waiting: WaitingPops
    taking: Taking
    handing_out: HandingOut


class PopProcessor(HoldingProcessor[PopParts]):
    """Hands messages out one by one."""

    def pop_message(self, request: RemotingCommand, peer: Peer) -> RemotingCommand:
        """200050: messages of a queue or of any, now or when some come."""
        header = decode_ext_fields(PopMessageRequestHeader, request.ext_fields)
        require(
            header, "consumer_group", "topic", "queue_id", "max_msg_nums", "invisible_time", "poll_time", "born_time",
            "init_mode",
        )  # fmt: skip
        ask = self._pop_ask(header, peer)
        taken = self._parts.taking.take(ask)
        if taken.queues:
            self._parts.handing_out.hand_out(request, peer, ask, taken)
            return LATER
        waiting = Waiting(request, peer, ask, False, self._deadline(header.poll_time, header.born_time))
        return self._held(waiting, taken) or self._nothing(waiting, taken)

    def notification(self, request: RemotingCommand, peer: Peer) -> RemotingCommand:
        """200054."""
        header = decode_ext_fields(NotificationRequestHeader, request.ext_fields)
        require(header, "consumer_group", "topic", "queue_id", "poll_time", "born_time")
        ask = PopAsk(
            group=header.consumer_group or "", topic=header.topic or "", queue_id=header.queue_id or 0, most=0,
            invisible_ms=0, begins_at_newest=False, wanted=EVERYTHING, wanted_text="",
            is_in_order=bool(header.order), attempt_id=header.attempt_id,
        )  # fmt: skip
        self._check(ask, peer, "peeking", _NO_MESSAGE)
        if self._parts.taking.has_message(ask):
            return response_to(request, ResponseCode.SUCCESS, _UNSAID, {**_NO_MESSAGE, "hasMsg": "true"})
        waiting = Waiting(request, peer, ask, True, self._deadline(header.poll_time, header.born_time))
        return self._held(waiting, None) or self._nothing(waiting, None)

    def polling_info(self, request: RemotingCommand, peer: Peer) -> RemotingCommand:
        """200055."""
        header = decode_ext_fields(PollingInfoRequestHeader, request.ext_fields)
        require(header, "consumer_group", "topic", "queue_id")
        topic, group, queue_id = header.topic or "", header.consumer_group or "", header.queue_id or 0
        ask = PopAsk(
            group=group, topic=topic, queue_id=queue_id, most=0, invisible_ms=0, begins_at_newest=False,
            wanted=EVERYTHING, wanted_text="", is_in_order=False, attempt_id=None,
        )  # fmt: skip
        self._check(ask, peer, "peeking", _NO_POLLS)
        count = self._parts.waiting.count(topic, group, queue_id)
        return response_to(request, ResponseCode.SUCCESS, _UNSAID, {"pollingNum": str(count)})

    def arrived(self, queues: Iterable[QueueKey]) -> None:
        """Serve those who wait for these queues, which have new messages."""
        for waiting in self._parts.waiting.at(queues).values():
            self._serve(waiting)

    def freed(self, topic: str, group: str) -> None:
        """Serve those who wait for a queue that was blocked by messages in order."""
        self._serve(self._parts.waiting.of(topic, group))

    def due(self) -> None:
        """Answer those whose time is over, and look again at others whose time it is."""
        for waiting in self._parts.waiting.take_timed(self._clock.steady_ms()):
            if not waiting.is_over:
                self._serve([waiting])
            else:
                self._end(waiting)

    def topic_removed(self, topic: str) -> None:
        """Refuse those who wait for a topic that is gone."""
        for waiting in self._parts.waiting.of_topic(topic):
            self._parts.waiting.release(waiting)
            self._refuse(waiting, no_topic_for_pull(topic))

    def end_all(self) -> None:
        """Answer all that wait, with what there is."""
        for waiting in self._parts.waiting.release_all():
            self._outbox.answer(waiting.peer.connection_id, waiting.request, self._nothing(waiting, None))

    def _pop_ask(self, header: PopMessageRequestHeader, peer: Peer) -> PopAsk:
        """Check a pop, in Java's order."""
        config, now_ms = self._config, self._clock.wall_ms()
        born_ms, poll_ms = header.born_time or now_ms, header.poll_time or 0
        if now_ms - born_ms - poll_ms > LATE_MS:
            remark = f"the broker[{config.broker_ip1}] pop message is timeout too much"
            raise refused(ResponseCode.POLLING_TIMEOUT, remark, _POP_ZEROS)
        most, invisible_ms = header.max_msg_nums or 0, header.invisible_time or 0
        kind, text = header.exp_type or TAG, header.exp or SUBSCRIBE_ALL
        ask = PopAsk(
            group=header.consumer_group or "", topic=header.topic or "", queue_id=header.queue_id or 0,
            most=max(0, most), invisible_ms=invisible_ms, begins_at_newest=(header.init_mode or 0) != 0,
            wanted=EVERYTHING, wanted_text=f"{kind} {text}", is_in_order=bool(header.order), attempt_id=header.attempt_id,
        )  # fmt: skip
        self._check_broker("pop message", _POP_ZEROS)
        if most > MOST_MESSAGES:
            remark = f"the broker[{config.broker_ip1}] pop message's num is greater than {MOST_MESSAGES}"
            raise refused(ResponseCode.INVALID_PARAMETER, remark, _POP_ZEROS)
        if invisible_ms > LONGEST_INVISIBLE_MS:
            remark = f"invisibleTime[{invisible_ms}] is greater than {LONGEST_INVISIBLE_MS}"
            raise refused(ResponseCode.INVALID_PARAMETER, remark, _POP_ZEROS)
        self._check(ask, peer, "peeking", _POP_ZEROS)
        return dataclasses.replace(ask, wanted=_wanted(ask.topic, kind, text))

    def _check_broker(self, what: str, zeros: dict[str, str]) -> None:
        if not self._config.broker_permission & READ:
            remark = f"the broker[{self._config.broker_ip1}] {what} is forbidden"
            raise refused(ResponseCode.NO_PERMISSION, remark, zeros)

    def _check(self, ask: PopAsk, peer: Peer, what: str, zeros: dict[str, str]) -> None:
        self._check_broker(f"{what} message", zeros)
        topic = self._parts.topics.get(ask.topic)
        if topic is None:
            raise _with_fields(no_topic_for_pull(ask.topic), zeros)
        if not topic.perm & READ:
            raise refused(ResponseCode.NO_PERMISSION, f"the topic[{ask.topic}] {what} message is forbidden", zeros)
        if ask.queue_id >= topic.read_queue_nums:
            raise _with_fields(bad_queue_for_pull(topic, ask.queue_id, peer.address), zeros)
        group = self._parts.groups.find(ask.group, self._clock.wall_ms())
        if group is None:
            raise _with_fields(no_group_for_pull(ask.group), zeros)
        if not group.consume_enable:
            raise refused(ResponseCode.NO_PERMISSION, f"subscription group no permission, {ask.group}", zeros)

    def _deadline(self, poll_ms: int | None, born_ms: int | None) -> int:
        """Give until when a request waits, on the clock that never steps; what is over already is not held."""
        now_ms = self._clock.wall_ms()
        left_ms = min(poll_ms or 0, (born_ms or now_ms) + (poll_ms or 0) - now_ms)
        return self._clock.steady_ms() + left_ms

    def _held(self, waiting: Waiting, taken: Taken | None) -> RemotingCommand | None:
        """Have a request wait; None when it is to be answered now."""
        now_ms = self._clock.steady_ms()
        if waiting.deadline_ms <= now_ms:
            return None
        look_ms = None if taken is None else self._next_look(taken)
        if look_ms is not None:
            waiting.look_ms = look_ms
        if self._parts.waiting.hold(waiting):
            return LATER
        code = ResponseCode.SUCCESS if waiting.is_notification else ResponseCode.POLLING_FULL
        fields = {**_NO_MESSAGE, "pollingFull": "true"} if waiting.is_notification else self._empty(waiting, taken)
        return response_to(waiting.request, code, _UNSAID if waiting.is_notification else _NOTHING, fields)

    def _next_look(self, taken: Taken) -> int | None:
        now_ms = self._clock.steady_ms()
        if taken.is_unfinished:
            return now_ms
        return None if taken.look_ms is None else now_ms + max(1, taken.look_ms - self._clock.wall_ms())

    def _serve(self, all_waiting: list[Waiting]) -> None:
        """Give those who wait what there is; who asks for what another one did not find is not tried."""
        missed: set[tuple[int, str, bool, bool]] = set()
        for waiting in all_waiting:
            if waiting.is_over or waiting.kind in missed:
                continue
            if not self._is_writable(waiting.peer.connection_id):
                self._parts.waiting.look_at(waiting, self._clock.steady_ms() + AGAIN_MS)
            elif not self._look(waiting):
                missed.add(waiting.kind)

    def _look(self, waiting: Waiting) -> bool:
        """Answer a request if there is something for it; tell whether it was answered."""
        ask, parts = waiting.ask, self._parts
        if waiting.is_notification:
            if not parts.taking.has_message(ask):
                return False
            parts.waiting.release(waiting)
            fields: dict[str, str | None] = {**_NO_MESSAGE, "hasMsg": "true"}
            answer = response_to(waiting.request, ResponseCode.SUCCESS, _UNSAID, fields)
            self._outbox.answer(waiting.peer.connection_id, waiting.request, answer)
            return True
        refusal = self._refusal(ask)
        if refusal is not None:
            parts.waiting.release(waiting)
            self._refuse(waiting, refusal)
            return True
        taken = parts.taking.take(ask)
        if taken.queues:
            parts.waiting.release(waiting)
            self._hand_out(waiting, taken)
            return True
        look_ms = self._next_look(taken)
        if look_ms is not None:
            parts.waiting.look_at(waiting, look_ms)
        return False

    def _refusal(self, ask: PopAsk) -> RequestRefusedError | None:
        """Give why somebody who waits gets nothing any more. Nothing is made by waiting."""
        group = self._parts.groups.get(ask.group)
        if group is None:
            return no_group_for_pull(ask.group)
        if not group.consume_enable:
            return refused(ResponseCode.NO_PERMISSION, f"subscription group no permission, {ask.group}")
        return None

    def _end(self, waiting: Waiting) -> None:
        taken, is_refused = None, self._refusal(waiting.ask) is not None
        if not waiting.is_notification and not is_refused and self._is_writable(waiting.peer.connection_id):
            taken = self._parts.taking.take(waiting.ask)
            if taken.queues:
                self._hand_out(waiting, taken)
                return
        self._outbox.answer(waiting.peer.connection_id, waiting.request, self._nothing(waiting, taken))

    def _hand_out(self, waiting: Waiting, taken: Taken) -> None:
        try:
            self._parts.handing_out.hand_out(waiting.request, waiting.peer, waiting.ask, taken)
        except RequestRefusedError as error:
            self._refuse(waiting, error)

    def _nothing(self, waiting: Waiting, taken: Taken | None) -> RemotingCommand:
        if waiting.is_notification:
            return response_to(waiting.request, ResponseCode.SUCCESS, _UNSAID, dict(_NO_MESSAGE))
        fields = self._empty(waiting, taken)
        return response_to(waiting.request, ResponseCode.POLLING_TIMEOUT, _NOTHING, fields)

    def _empty(self, waiting: Waiting, taken: Taken | None) -> dict[str, str | None]:
        return self._parts.handing_out.fields(waiting.ask, taken or Taken(self._clock.wall_ms()))

    def _refuse(self, waiting: Waiting, error: RequestRefusedError) -> None:
        zeros = _NO_MESSAGE if waiting.is_notification else _POP_ZEROS
        answer = response_to(waiting.request, error.code, error.remark, dict(zeros))
        self._outbox.answer(waiting.peer.connection_id, waiting.request, answer)


def _with_fields(error: RequestRefusedError, fields: dict[str, str]) -> RequestRefusedError:
    return refused(error.code, error.remark, fields)


def _wanted(topic: str, kind: str, text: str) -> Wanted:
    """Give what an expression wants. COMPAT: SQL92 needs no setting here, as in Java."""
    try:
        if kind == TAG:
            subscription = subscription_to_tags(topic, text, 0)
        else:
            subscription = SubscriptionData(topic=topic, sub_string=text, expression_type=kind)
        return wanted_by(subscription, is_sql_enabled=True, is_own=True)
    except ValueError as error:
        raise refused(ResponseCode.SUBSCRIPTION_PARSE_FAILED, _BAD_EXPRESSION, _POP_ZEROS) from error
    except RequestRefusedError as error:
        raise _with_fields(error, _POP_ZEROS) from error
