"""Sending one request until a broker has accepted it, or the time or the tries are over.

Owns: the tries: which queue, which broker, how long; what became of them.
Must not know: how a message was made; who waits for the result.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Final

import msgspec

from cosmodrome.client.message import SendResult, SendStatus
from cosmodrome.client.producer.deadlines import Deadlines
from cosmodrome.client.producer.fault_tolerance import LatencyTable
from cosmodrome.client.producer.flights import Flights
from cosmodrome.client.producer.outgoing import Outgoing
from cosmodrome.client.producer.publishing import Plan, Publishing
from cosmodrome.client.producer.retry import ACCEPTED, is_passing
from cosmodrome.client.producer.settings import ProducerSettings
from cosmodrome.client.requests import refusal
from cosmodrome.client.session import ClientSession
from cosmodrome.errors import (
    ClientClosedError,
    ConnectError,
    NoRouteError,
    RemotingError,
    RequestTimeoutError,
    RocketMQError,
    SendError,
    SendTimeoutError,
    UnreadableAnswerError,
)
from cosmodrome.protocol.bodies.message_queue import MessageQueue
from cosmodrome.protocol.codes import BrokerRequestCode, ResponseCode
from cosmodrome.protocol.command import RemotingCommand, encode_command
from cosmodrome.protocol.send_template import MessageFields, SendTemplate
from cosmodrome.transport.channel import Channel, Waiter

_STATUS: Final = {int(status.value): status for status in SendStatus}
_NAP_S: Final = 0.05
"""Between two tries at the only broker that there is."""


class Job(msgspec.Struct):
    """One send under way. `brokers` are those that were tried, in order; `opaque` and `sent_s` are the last try's.

    `failure` is what the last try met. Its trace leads back here, so it is forgotten at the end.
    """

    outgoing: Outgoing
    deadline_s: float
    timeout_s: float
    queue: MessageQueue | None = None
    choose: Callable[[tuple[MessageQueue, ...]], MessageQueue] | None = None
    brokers: list[str] = []
    failure: RocketMQError | None = None
    opaque: int = 0
    sent_s: float = 0.0
    was_written: bool = False
    """Whether a try may have been stored although no answer says so."""

    @property
    def is_pinned(self) -> bool:
        """Whether the queue is not ours to choose: then there is one try."""
        return self.queue is not None or self.choose is not None


class Sender:
    """Sends for one producer, over the connections of its session."""

    def __init__(self, settings: ProducerSettings, session: ClientSession, deadlines: Deadlines) -> None:
        self._settings = settings
        self._session = session
        self._remoting = session.remoting
        self._loop = asyncio.get_running_loop()
        self.publishing = Publishing(settings, session.routes)
        self._latencies = LatencyTable() if settings.latency_fault_tolerance else None
        self.is_closed = False
        self._deadlines = deadlines
        self._flights = Flights(deadlines)
        self._waiters: set[Waiter | None] = set()

    def close(self) -> None:
        """End everything that is open, with ClientClosedError."""
        self.is_closed = True
        self._flights.close()
        for waiter in self._waiters:
            if waiter is not None and not waiter.done():
                waiter.set_exception(ConnectError("the producer was closed"))
        self.publishing.close()

    async def send(self, job: Job) -> SendResult:
        """Send until it is accepted.

        Raises:
            SendError: No try brought an answer; SendTimeoutError when the time was over first.
            RefusedError: A broker refused it for good.
            NoRouteError: There is no queue to send to.
            ClientClosedError: The producer was closed.
        """
        topic = job.outgoing.topic
        tries = 1 if job.is_pinned else 1 + self._settings.retries
        while True:
            plan = self.publishing.known(topic) or await self._plan(job)
            queue = self._chosen(plan, job)
            job.brokers.append(queue.broker_name)
            is_last = len(job.brokers) >= tries
            deadline_s = self._deadline(job, tries) if plan.has_choice and not is_last else job.deadline_s
            waiter: Waiter | None = None
            try:
                channel = self._remoting.connected(plan.addresses.get(queue.broker_name, ""))
                if channel is None:
                    channel = await self._channel(plan, queue, deadline_s)
                waiter = self._written(plan, queue, job, channel, deadline_s)
                answer = await waiter
            except RemotingError as error:
                self._failed(job, queue.broker_name, error, was_written=waiter is not None)
            except asyncio.CancelledError as error:
                if channel is not None and waiter is not None:
                    channel.forget(job.opaque)
                self._cancelled(job, error, was_written=waiter is not None)
                raise
            else:
                if answer.code == 0 or self._is_enough(answer, is_last=is_last):
                    return self._accepted(job, plan, queue, answer)
                self._refused(job, plan.addresses[queue.broker_name], answer, is_only=tries == 1)
            finally:
                self._waiters.discard(waiter)
            if is_last or self._loop.time() >= job.deadline_s:
                raise self._failure(job)
            if not plan.has_choice:
                await self._nap(job)

    async def send_oneway(self, job: Job) -> None:
        """Send once, without an answer; returns when the bytes are handed to the connection.

        Raises:
            ConnectError: There is no connection.
            RequestTimeoutError: None was made in time, or the peer does not take more.
            NoRouteError: There is no queue to send to.
        """
        plan = self.publishing.known(job.outgoing.topic) or await self._plan(job)
        queue = self._chosen(plan, job)
        channel = await self._channel(plan, queue, job.deadline_s)
        template = self._template(plan, queue, job.outgoing)
        outgoing, born_ms = job.outgoing, time.time_ns() // 1_000_000
        fields = MessageFields(queue.queue_id, outgoing.sys_flag, born_ms, outgoing.flag, outgoing.properties)
        channel.tell_frame(template.frame(channel.next_opaque(), fields, outgoing.body, is_oneway=True))

    async def queues(self, topic: str, timeout_s: float) -> tuple[MessageQueue, ...]:
        """Give the queues of a topic.

        Raises:
            NoRouteError: There are none.
            RemotingError: No NameServer answered in time.
        """
        deadline_s = self._loop.time() + timeout_s
        try:
            plan: Plan = await self._flights.join(topic, lambda: self.publishing.plan(topic), deadline_s)
        except TimeoutError:
            raise RequestTimeoutError(f"no NameServer gave the route of {topic} in {timeout_s:g} s") from None
        return plan.queues

    async def _plan(self, job: Job) -> Plan:
        topic = job.outgoing.topic
        try:
            plan: Plan = await self._flights.join(topic, lambda: self.publishing.plan(topic), job.deadline_s)
        except TimeoutError:
            text = f"no NameServer gave the route of {topic} in {job.timeout_s:g} s"
            raise self._error(SendTimeoutError, text, job) from None
        except (RemotingError, NoRouteError) as error:
            if self.is_closed:
                raise _closed(job) from error
            raise
        return plan

    def _chosen(self, plan: Plan, job: Job) -> MessageQueue:
        if not (job.brokers or job.is_pinned or self._latencies is not None):
            return plan.cursor.next_queue(plan.queues)
        if job.queue is not None:
            return job.queue
        if job.choose is not None:
            return job.choose(plan.queues)
        last = job.brokers[-1] if job.brokers else ""
        if self._latencies is not None:
            return self._available(plan, self._latencies, last)
        return plan.cursor.other_queue(plan.queues, last) or plan.queues[0]

    def _available(self, plan: Plan, latencies: LatencyTable, last: str) -> MessageQueue:
        """Give a queue of another broker than the last one: one that is not left alone, else of the least bad one."""
        now_ms = self._loop.time() * 1000
        cursor, queues = plan.cursor, plan.queues
        queue = cursor.other_queue(queues, last, lambda name: latencies.is_available(name, now_ms))
        if queue is not None and queue.broker_name != last:
            return queue
        best = latencies.least_bad({each.broker_name for each in queues if each.broker_name != last} or {last})
        return cursor.other_queue(queues, "", lambda name: name == best) or cursor.next_queue(queues)

    def _deadline(self, job: Job, tries: int) -> float:
        """Give until when a try may take that others may follow, at another broker: its share of the time that is left."""
        now_s = self._loop.time()
        return now_s + (job.deadline_s - now_s) / (tries - len(job.brokers) + 1)

    def _written(self, plan: Plan, queue: MessageQueue, job: Job, channel: Channel, deadline_s: float) -> Waiter:
        """Send a try, and give what its answer will be."""
        outgoing = job.outgoing
        opaque = job.opaque = channel.next_opaque()
        born_ms = time.time_ns() // 1_000_000
        fields = MessageFields(queue.queue_id, outgoing.sys_flag, born_ms, outgoing.flag, outgoing.properties)
        template = plan.templates.get((queue.broker_name, outgoing.is_batch)) or self._template(plan, queue, outgoing)
        if outgoing.is_reply:
            frame = self._reply_frame(template, opaque, fields, outgoing.body)
        else:
            frame = template.frame(opaque, fields, outgoing.body)
        if self._latencies is not None:
            job.sent_s = self._loop.time()
        waiter = channel.ask(opaque, frame, deadline_s)
        self._waiters.add(waiter)
        return waiter

    def _is_enough(self, answer: RemotingCommand, *, is_last: bool) -> bool:
        return answer.code in ACCEPTED and (is_last or not self._settings.retry_when_not_ok)

    def _accepted(self, job: Job, plan: Plan, queue: MessageQueue, answer: RemotingCommand) -> SendResult:
        job.failure = None
        if self._latencies is not None:
            now_s = self._loop.time()
            self._latencies.record(queue.broker_name, (now_s - job.sent_s) * 1000, now_s * 1000)
        if plan.is_borrowed:
            self._hurry(job.outgoing.topic)
        return result_of(job, queue, answer, plan.addresses[queue.broker_name])

    def _cancelled(self, job: Job, error: asyncio.CancelledError, *, was_written: bool) -> None:
        """Have a cancellation say that the message may be stored."""
        job.was_written = job.was_written or was_written
        if job.was_written:
            text = f"message {job.outgoing.msg_id} was written to {job.brokers[-1]}: whether it is stored is unknown"
            error.add_note(text)

    async def _channel(self, plan: Plan, queue: MessageQueue, deadline_s: float) -> Channel:
        address = plan.addresses.get(queue.broker_name)
        if address is None:
            raise ConnectError(f"broker {queue.broker_name} has no master in the route of {queue.topic}")
        channel = self._remoting.connected(address)
        if channel is None:
            limit_s = self._settings.request_timeout_s
            try:
                channel = await self._flights.join(
                    ("channel", address), lambda: self._remoting.channel(address, limit_s), deadline_s
                )
            except TimeoutError:
                raise RequestTimeoutError(f"no connection to {address} that takes bytes in time") from None
        return channel

    async def _nap(self, job: Job) -> None:
        """Wait a moment before the same broker is tried again."""
        await asyncio.sleep(min(_NAP_S, max(0.0, job.deadline_s - self._loop.time())))
        if self.is_closed:
            raise _closed(job)

    def _template(self, plan: Plan, queue: MessageQueue, outgoing: Outgoing) -> SendTemplate:
        return self.publishing.template(plan, outgoing.topic, queue.broker_name, is_batch=outgoing.is_batch)

    def _reply_frame(self, template: SendTemplate, opaque: int, fields: MessageFields, body: bytes) -> bytes:
        command = template.command(fields, body).replaced(opaque=opaque, code=BrokerRequestCode.SEND_REPLY_MESSAGE_V2)
        credentials = self._settings.credentials
        return encode_command(command if credentials is None else credentials.signed(command))

    def _failed(self, job: Job, broker_name: str, error: RemotingError, *, was_written: bool) -> None:
        job.failure = error
        job.was_written = job.was_written or was_written
        if self.is_closed:
            raise _closed(job) from error
        if self._latencies is not None:
            self._latencies.record(broker_name, 0, self._loop.time() * 1000, is_failure=True)
        self._hurry(job.outgoing.topic)

    def _refused(self, job: Job, address: str, answer: RemotingCommand, *, is_only: bool) -> None:
        """Take down a refusal.

        Raises:
            RefusedError: It is final, or there was to be one try.
        """
        job.failure = refusal(address, answer)
        job.was_written = job.was_written or answer.code in ACCEPTED
        if is_only or not (answer.code in ACCEPTED or is_passing(answer.code, answer.remark)):
            failure, job.failure = job.failure, None
            raise failure
        if answer.code == ResponseCode.TOPIC_NOT_EXIST:
            self._hurry(job.outgoing.topic)

    def _failure(self, job: Job) -> SendError:
        took_ms = int((self._loop.time() - job.deadline_s + job.timeout_s) * 1000)
        is_late = isinstance(job.failure, RequestTimeoutError)
        text = (
            f"Send [{len(job.brokers)}] times, still failed, cost [{took_ms}]ms, Topic: {job.outgoing.topic}, "
            f"BrokersSent: [{', '.join(job.brokers)}]: {job.failure}"
        )
        return self._error(SendTimeoutError if is_late else SendError, text, job)

    def _error(self, kind: type[SendError], text: str, job: Job) -> SendError:
        error = kind(text, job.outgoing.msg_id, job.brokers, is_outcome_unknown=job.was_written)
        error.__cause__, job.failure = job.failure, None
        return error

    def _hurry(self, topic: str) -> None:
        """Ask for the route again, beside: something about it seems to have changed."""
        if not self.is_closed and self._session.routes.is_hurry_due(topic, self._loop.time()):
            self._session.spawn(self._session.routes.refresh(topic), f"route-of-{topic}")


def result_of(job: Job, queue: MessageQueue, answer: RemotingCommand, address: str) -> SendResult:
    """Read the answer of a broker that accepted.

    Raises:
        UnreadableAnswerError: It does not say where the message is. The message is stored.
    """
    fields = answer.ext_fields or {}
    try:
        offset = int(fields["queueOffset"] or "")
        queue_id = int(fields["queueId"] or "")
        offset_msg_id = fields["msgId"] or ""
    except (KeyError, ValueError) as error:
        raise UnreadableAnswerError(address, f"it stored the message and does not say where: {error}") from error
    if queue_id != queue.queue_id:
        queue = MessageQueue(queue.topic, queue.broker_name, queue_id)
    return SendResult(
        _STATUS[answer.code],
        job.outgoing.msg_id,
        offset_msg_id,
        queue,
        offset,
        fields.get("transactionId"),
        fields.get("recallHandle"),
        len(job.brokers),
        fields.get("MSG_REGION"),
        fields.get("TRACE_ON") != "false",
    )


def _closed(job: Job) -> ClientClosedError:
    text = f"the producer was closed before message {job.outgoing.msg_id} was answered"
    return ClientClosedError(text, is_outcome_unknown=job.was_written)
