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
from cosmodrome.client.producer.publishing import Broker, Plan, Publishing
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
from cosmodrome.protocol.send_answer import SendAnswer, StoredFields, stored_fields
from cosmodrome.protocol.send_template import SendTemplate
from cosmodrome.transport.channel import Channel, Waiter

_STATUS: Final = {int(status.value): status for status in SendStatus}
_NAP_S: Final = 0.05
"""Between two tries at the only broker that there is."""
_NOWHERE: Final = MessageQueue("", "", -1)


class Job(msgspec.Struct):
    """One send under way. `brokers` are those that were tried, in order.

    `failure` is what the last try met. Its trace leads back here, so it is forgotten at the end.
    """

    outgoing: Outgoing
    deadline_s: float
    timeout_s: float
    queue: MessageQueue | None = None
    choose: Callable[[tuple[MessageQueue, ...]], MessageQueue] | None = None
    brokers: tuple[str, ...] = ()
    failure: RocketMQError | None = None
    was_written: bool = False
    """Whether a try may have been stored although no answer says so."""
    is_pinned: bool = False
    """Whether the queue is not ours to choose: then there is one try."""
    plan: Plan | None = None
    """Of the try under way, like what follows; None: its queue is not chosen yet."""
    target: MessageQueue = _NOWHERE
    limit_s: float = 0.0
    channel: Channel | None = None
    """Where it was written, or None."""
    opaque: int = 0
    sent_s: float = 0.0


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

    def close(self) -> None:
        """End everything that is open, with ClientClosedError."""
        self.is_closed = True
        self._flights.close()
        self._remoting.abandon(self)
        self.publishing.close()

    def begin(self, job: Job) -> Waiter | None:
        """Make a try, and give what its answer will be; None if that has to wait for the route or the connection."""
        plan = self.publishing.known(job.outgoing.topic)
        if plan is None:
            return None
        broker = plan.brokers.get(self._aimed(job, plan).broker_name)
        if broker is None:
            return None
        channel = broker.channel
        if channel is None or not channel.is_writable:
            channel = broker.channel = self._remoting.connected(broker.address)
            if channel is None:
                return None
        return self._written(job, broker, channel)

    async def send(self, job: Job, waiter: Waiter | None = None) -> SendResult:
        """Send until it is accepted; the first try is the one that `begin` made, if it made one.

        Raises:
            SendError: No try brought an answer; SendTimeoutError when the time was over first.
            RefusedError: A broker refused it for good.
            NoRouteError: There is no queue to send to.
            ClientClosedError: The producer was closed.
        """
        try:
            while True:
                try:
                    if waiter is None:
                        waiter = await self._begun(job)
                    answer = await waiter
                except RemotingError as error:
                    if job.plan is None:  # no NameServer gives the route: each was asked
                        raise
                    self._failed(job, error)
                else:
                    if isinstance(answer, SendAnswer):
                        return self.result(job, answer.ext_fields)
                    if self._is_enough(job, answer):
                        return self._accepted(job, answer)
                    self._refused(job, answer)
                await self._again(job)
                waiter = self.begin(job)
        except asyncio.CancelledError as error:
            self.cancelled(job, error)
            raise

    def result(self, job: Job, fields: StoredFields, status: SendStatus = SendStatus.OK) -> SendResult:
        """Give the result of a send that the broker accepted.

        Raises:
            UnreadableAnswerError: It does not say where the message is. The message is stored.
        """
        queue = job.target
        job.failure = None
        if self._latencies is not None:
            now_s = self._loop.time()
            self._latencies.record(queue.broker_name, (now_s - job.sent_s) * 1000, now_s * 1000)
        if job.plan is not None and job.plan.is_borrowed:
            self._hurry(job.outgoing.topic)
        try:
            queue_id, offset = int(fields.queue_id), int(fields.queue_offset)
        except ValueError as error:
            raise self._unreadable(job, error) from error
        if queue_id != queue.queue_id:
            queue = MessageQueue(queue.topic, queue.broker_name, queue_id)
        return SendResult(
            status,
            job.outgoing.msg_id,
            fields.msg_id,
            queue,
            offset,
            fields.transaction_id or None,
            fields.recall_handle or None,
            len(job.brokers),
            fields.region or None,
            fields.trace_on != "false",
        )

    def cancelled(self, job: Job, error: asyncio.CancelledError) -> None:
        """Wait for no answer any more, and have the cancellation say that the message may be stored."""
        if job.channel is not None:
            job.channel.forget(job.opaque)
            job.was_written = True
        if job.was_written:
            text = f"message {job.outgoing.msg_id} was written to {job.brokers[-1]}: whether it is stored is unknown"
            error.add_note(text)

    async def send_oneway(self, job: Job) -> None:
        """Send once, without an answer; returns when the bytes are handed to the connection.

        Raises:
            ConnectError: There is no connection.
            RequestTimeoutError: None was made in time, or the peer does not take more.
            NoRouteError: There is no queue to send to.
        """
        plan = self.publishing.known(job.outgoing.topic) or await self._plan(job)
        queue = self._aimed(job, plan)
        broker, channel = await self._channel(plan, queue, job.deadline_s)
        template = broker.templates[job.outgoing.is_batch] or self._template(broker, job.outgoing)
        born_ms = time.time_ns() // 1_000_000
        channel.tell_frame(template.frame(channel.next_opaque(), queue.queue_id, born_ms, job.outgoing, is_oneway=True))

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

    def _aimed(self, job: Job, plan: Plan) -> MessageQueue:
        """Choose where the next try goes, and how long it may take."""
        if job.brokers or job.is_pinned or self._latencies is not None:
            queue = self._chosen(job, plan)
        else:
            queue = plan.next_queue()
        job.plan = plan
        job.target = queue
        job.brokers += (queue.broker_name,)
        job.limit_s = self._limit(job) if plan.has_choice else job.deadline_s
        return queue

    def _chosen(self, job: Job, plan: Plan) -> MessageQueue:
        if job.queue is not None:
            return job.queue
        if job.choose is not None:
            return job.choose(plan.queues)
        if self._latencies is not None:
            return self._available(plan, self._latencies, job.brokers[-1] if job.brokers else "")
        return plan.cursor.other_queue(plan.queues, job.brokers[-1]) or plan.queues[0]

    def _available(self, plan: Plan, latencies: LatencyTable, last: str) -> MessageQueue:
        """Give a queue of another broker than the last one: one that is not left alone, else of the least bad one."""
        now_ms = self._loop.time() * 1000
        cursor, queues = plan.cursor, plan.queues
        queue = cursor.other_queue(queues, last, lambda name: latencies.is_available(name, now_ms))
        if queue is not None and queue.broker_name != last:
            return queue
        best = latencies.least_bad({each.broker_name for each in queues if each.broker_name != last} or {last})
        return cursor.other_queue(queues, "", lambda name: name == best) or cursor.next_queue(queues)

    def _tries(self, job: Job) -> int:
        return 1 if job.is_pinned else 1 + self._settings.retries

    def _is_last(self, job: Job) -> bool:
        return len(job.brokers) >= self._tries(job)

    def _limit(self, job: Job) -> float:
        """Give until when a try may take: its share of the time that is left, if others may follow at another broker."""
        left = self._tries(job) - len(job.brokers) + 1
        if left <= 1:
            return job.deadline_s
        now_s = self._loop.time()
        return now_s + (job.deadline_s - now_s) / left

    async def _begun(self, job: Job) -> Waiter:
        """Make a try, waiting for what it needs."""
        plan = job.plan
        if plan is None:
            plan = await self._plan(job)
            self._aimed(job, plan)
        broker, channel = await self._channel(plan, job.target, job.limit_s)
        return self._written(job, broker, channel)

    def _written(self, job: Job, broker: Broker, channel: Channel) -> Waiter:
        """Send a try, and give what its answer will be."""
        outgoing = job.outgoing
        opaque = job.opaque = channel.next_opaque()
        template = broker.templates[outgoing.is_batch] or self._template(broker, outgoing)
        queue_id, born_ms = job.target.queue_id, time.time_ns() // 1_000_000
        if outgoing.is_reply:
            frame = self._reply_frame(template.command(queue_id, born_ms, outgoing).replaced(opaque=opaque))
        else:
            frame = template.frame(opaque, queue_id, born_ms, outgoing)
        if self._latencies is not None:
            job.sent_s = self._loop.time()
        job.channel = channel
        return channel.ask(opaque, frame, job.limit_s, self)

    def _is_enough(self, job: Job, answer: RemotingCommand) -> bool:
        return answer.code in ACCEPTED and (self._is_last(job) or not self._settings.retry_when_not_ok)

    def _accepted(self, job: Job, answer: RemotingCommand) -> SendResult:
        try:
            fields = stored_fields(answer.ext_fields or {})
        except KeyError as error:
            raise self._unreadable(job, error) from error
        return self.result(job, fields, _STATUS[answer.code])

    def _unreadable(self, job: Job, error: Exception) -> UnreadableAnswerError:
        job.failure = None
        return UnreadableAnswerError(_address(job), f"it stored the message and does not say where: {error}")

    async def _channel(self, plan: Plan, queue: MessageQueue, deadline_s: float) -> tuple[Broker, Channel]:
        broker = plan.brokers.get(queue.broker_name)
        if broker is None:
            raise ConnectError(f"broker {queue.broker_name} has no master in the route of {queue.topic}")
        address = broker.address
        channel = self._remoting.connected(address)
        # Of one attempt, which all who wait have in common; they go on waiting until their own time is over.
        limit_s = self._settings.request_timeout_s
        while channel is None:
            try:
                channel = await self._flights.join(
                    ("channel", address), lambda: self._remoting.channel(address, limit_s), deadline_s
                )
            except RequestTimeoutError:
                if self.is_closed or self._loop.time() >= deadline_s:
                    raise
            except TimeoutError:
                raise RequestTimeoutError(f"no connection to {address} that takes bytes in time") from None
        return broker, channel

    async def _again(self, job: Job) -> None:
        """Make ready for the next try.

        Raises:
            SendError: There is to be none.
        """
        plan, job.plan, job.channel = job.plan, None, None
        await asyncio.sleep(0)  # a program that sends again whatever happens must not keep the loop to itself
        if self._is_last(job) or self._loop.time() >= job.deadline_s:
            raise self._failure(job)
        if plan is not None and not plan.has_choice:
            await self._nap(job)

    async def _nap(self, job: Job) -> None:
        """Wait a moment before the same broker is tried again."""
        await asyncio.sleep(min(_NAP_S, max(0.0, job.deadline_s - self._loop.time())))
        if self.is_closed:
            raise _closed(job)

    def _template(self, broker: Broker, outgoing: Outgoing) -> SendTemplate:
        return self.publishing.template(broker, outgoing.topic, is_batch=outgoing.is_batch)

    def _reply_frame(self, command: RemotingCommand) -> bytes:
        reply = command.replaced(code=BrokerRequestCode.SEND_REPLY_MESSAGE_V2)
        credentials = self._settings.credentials
        return encode_command(reply if credentials is None else credentials.signed(reply))

    def _failed(self, job: Job, error: RemotingError) -> None:
        job.failure = error
        job.was_written = job.was_written or job.channel is not None
        if self.is_closed:
            raise _closed(job) from error
        if self._latencies is not None:
            self._latencies.record(job.brokers[-1], 0, self._loop.time() * 1000, is_failure=True)
        self._hurry(job.outgoing.topic)

    def _refused(self, job: Job, answer: RemotingCommand) -> None:
        """Take down a refusal.

        Raises:
            RefusedError: It is final, or there was to be one try.
        """
        job.failure = refusal(_address(job), answer)
        job.was_written = job.was_written or answer.code in ACCEPTED
        if self._tries(job) == 1 or not (answer.code in ACCEPTED or is_passing(answer.code, answer.remark)):
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


def _address(job: Job) -> str:
    return "" if job.channel is None else job.channel.address


def _closed(job: Job) -> ClientClosedError:
    text = f"the producer was closed before message {job.outgoing.msg_id} was answered"
    return ClientClosedError(text, is_outcome_unknown=job.was_written)
