"""What an open producer is made of.

Owns: the parts and their common end; the way of a request that is ready; what is open at the same time.
Must not know: the public calls (producer.py); how a send is tried (sending.py).
"""

import asyncio
import contextlib
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

import msgspec

from cosmodrome.client.message import Message, MessageQueue, SendResult
from cosmodrome.client.observing import ObservedSend, Observers
from cosmodrome.client.producer.batches import Batch, prepared_batch
from cosmodrome.client.producer.deadlines import Deadlines
from cosmodrome.client.producer.outgoing import MessageIds, Outgoing, Preparer
from cosmodrome.client.producer.pending import Pending
from cosmodrome.client.producer.queue_choice import queue_of_key
from cosmodrome.client.producer.request_reply import REPLY_TOPIC_END, Requests
from cosmodrome.client.producer.sending import Job, Sender
from cosmodrome.client.producer.settings import ProducerSettings
from cosmodrome.client.producer.trace import DELAYED, NORMAL, Sent, ended_trace, sent_traces
from cosmodrome.client.producer.trace_sending import TraceSending
from cosmodrome.client.producer.transactions import Check, Ended, Transactions
from cosmodrome.client.session import ClientSession, local_ip
from cosmodrome.errors import ClientClosedError, MessageError
from cosmodrome.protocol.headers.replies import ReplyMessageRequestHeader
from cosmodrome.protocol.headers.transactions import CheckTransactionStateRequestHeader
from cosmodrome.protocol.messages.properties import MAX_PROPERTIES_BYTES
from cosmodrome.protocol.messages.record import StoredMessage
from cosmodrome.transport.daemon_thread import in_daemon_thread

THREAD_BYTES: Final = 128 * 1024
"""Bodies from this size on are compressed in a thread: it would hold up the loop."""
LAST_TURN_S: Final = 1.0
"""How long an end that should come at once is waited for."""

BROKERS_BYTES: Final = 1024
"""Of a message's properties, left free of what observers add: brokers add some too."""

QueueChoice = MessageQueue | Callable[[tuple[MessageQueue, ...]], MessageQueue] | None
"""A queue, or what chooses one of the queues of the topic; neither is ever changed, and then there is one try."""


class OpenProducer:
    """An open producer: its parts, joined."""

    def __init__(self, settings: ProducerSettings, session: ClientSession, check: Check | None) -> None:
        self.settings = settings
        self.loop = asyncio.get_running_loop()
        self.session = session
        ip = settings.client_ip or local_ip(settings.towards)
        self.preparer = Preparer(settings, MessageIds(ip))
        self.deadlines = Deadlines()
        self.pending = Pending(
            settings.max_pending_sends, settings.max_pending_bytes, self.deadlines, waits=settings.when_full == "wait"
        )
        self.sender = Sender(settings, session, self.deadlines)
        self.requests = Requests()
        self.transactions = (
            None if check is None else Transactions(session, settings.wire_group, check, self._transaction_ended)
        )
        topic = settings.trace_topic
        self.traces = None if topic is None else TraceSending(settings, session, self.deadlines, topic)
        self.tracer = None if self.traces is None else self.traces.tracer
        self.observers = Observers(settings.observers, settings.group, session.client_id)
        self.is_observed = bool(self.observers)
        self.is_plain = self.tracer is None and not settings.namespace
        """Whether the result of a send is what the broker said, and nobody else is told."""
        session.add_producer(settings.wire_group, self)

    def check_loop(self) -> None:
        """Refuse another event loop, which is what a fork makes. Raises RuntimeError."""
        if asyncio.get_running_loop() is not self.loop:
            raise RuntimeError("this producer was opened in another event loop; open one in each loop and process")

    async def enter(self, size: int, deadline_s: float) -> None:
        """Wait for room to send."""
        if self.pending.enter(size):
            return
        room = self.pending.room(size, deadline_s)
        try:
            await room
        except BaseException:
            self.pending.gave_up(room, size)
            raise

    async def send_observed(self, message: Message, queue: QueueChoice, timeout_s: float | None) -> SendResult:
        """Send a message, and tell the observers."""
        with self.observers.sending("send", (message,)) as send:
            outgoing = self.prepared(message, send)
            await self.compress(outgoing)
            kind = DELAYED if message.is_delayed else NORMAL
            job = self.job(outgoing, message.sharding_key, queue, timeout_s)
            send.result = await self.send_prepared(job, send.messages, kind)
            return send.result

    def prepared(self, message: Message, send: ObservedSend, extra: Mapping[str, str] | None = None) -> Outgoing:
        """Prepare the one message of a send, with what observers added to it as far as there is room for it."""
        if send.messages != (message,):
            with contextlib.suppress(MessageError):
                outgoing = self.preparer.prepared(send.messages[0], extra or {})
                if len(outgoing.properties.encode()) <= MAX_PROPERTIES_BYTES - BROKERS_BYTES:
                    return outgoing
            send.messages = (message,)
        return self.preparer.prepared(message, extra or {})

    def prepared_batch(self, batch: Batch, send: ObservedSend) -> Outgoing:
        """Prepare a batch, with what observers added as far as there is room for it."""
        limit = self.settings.max_message_bytes
        try:
            return prepared_batch(self.preparer, Batch(batch.first, send.messages), limit)
        except MessageError:
            send.messages = batch.messages
            return prepared_batch(self.preparer, batch, limit)

    async def send_prepared(self, job: Job, messages: tuple[Message, ...], kind: int = NORMAL) -> SendResult:
        """Send a request that is ready, made of these messages; `kind` is what traces say of it."""
        size = job.outgoing.size
        await self.enter(size, job.deadline_s)
        try:
            return await self.send_traced(job, messages, kind)
        finally:
            self.pending.leave(size)

    def job(self, outgoing: Outgoing, key: str | None, queue: QueueChoice, timeout_s: float | None) -> Job:
        """Give a request the time that it has."""
        whole_s = self.settings.send_timeout_s if timeout_s is None else timeout_s
        job = Job(outgoing, self.loop.time() + whole_s, whole_s)
        pin(job, queue, key)
        return job

    async def compress(self, outgoing: Outgoing) -> None:
        """Compress a body that is large enough."""
        if not self.preparer.wants_compression(outgoing):
            return
        if len(outgoing.body) < THREAD_BYTES:
            self.preparer.compress(outgoing)
        else:
            await in_daemon_thread(self.preparer.compress, outgoing)

    async def announce(self, topic: str, timeout_s: float) -> None:
        """Make sure that brokers know this client: it is by them that replies come, and by any of a cluster."""
        await self.sender.queues(topic, timeout_s)
        routes = self.session.routes
        route = routes.cached(topic) or routes.cached(self.settings.create_topic)
        for cluster in {each.cluster for each in route.data.broker_datas} if route is not None else ():
            if cluster + REPLY_TOPIC_END not in routes.topics():
                await routes.refresh(cluster + REPLY_TOPIC_END)
        known = set(self.session.remoting.addresses())
        missing = [each for each in self.session.master_addresses() if each not in known]
        await asyncio.gather(*(self.session.heartbeat_to(each) for each in missing))

    def on_check(self, address: str, header: CheckTransactionStateRequestHeader, message: StoredMessage) -> bool:
        """A broker asks how a transaction ended; whether this producer can tell."""
        if self.transactions is None:
            return False
        self.transactions.on_check(address, header, message)
        return True

    def on_reply(self, header: ReplyMessageRequestHeader, body: bytes) -> bool:
        """A reply came."""
        return self.requests.on_reply(header, body)

    async def close(self) -> None:
        """End in order: what is open, what waits for replies, the traces, the membership."""
        limit_s = self.settings.close_timeout_s
        deadline_s = self.loop.time() + limit_s
        if not await self.pending.wait_idle(limit_s):
            self.sender.close()
            await self.pending.wait_idle(LAST_TURN_S)
        self.sender.close()
        self.requests.fail(ClientClosedError("the producer was closed before the reply came", is_outcome_unknown=True))
        if self.traces is not None:
            await self.traces.close(max(LAST_TURN_S, deadline_s - self.loop.time()))
        self.deadlines.close()
        await self.session.remove_producer(self.settings.wire_group, self)

    async def send_traced(self, job: Job, messages: tuple[Message, ...], kind: int) -> SendResult:
        """Send, and have it traced if that is set; the result has the topic's name as users know it."""
        sent_ms = time.time_ns() // 1_000_000
        started_s = self.loop.time()
        result: SendResult | None = None
        try:
            result = self._named(await self.sender.send(job))
            return result
        finally:
            if self.tracer is not None and (result is None or result.trace_on):
                cost_ms = int((self.loop.time() - started_s) * 1000)
                sent = Sent(messages, job.outgoing.msg_id, result, kind, sent_ms, cost_ms)
                for trace in sent_traces(self.settings.group, sent):
                    self.tracer.add(trace)

    def _transaction_ended(self, ended: Ended) -> None:
        if self.tracer is not None:
            self.tracer.add(ended_trace(self.settings.group, ended, time.time_ns() // 1_000_000))

    def _named(self, result: SendResult) -> SendResult:
        """Give a result whose queue has the topic's name as users know it."""
        if not self.settings.namespace:
            return result
        queue = result.queue
        return msgspec.structs.replace(
            result, queue=MessageQueue(self.settings.unwrap(queue.topic), queue.broker_name, queue.queue_id)
        )


def pin(job: Job, queue: QueueChoice, key: str | None) -> None:
    """Fix the queue of a send, if it is given or follows from a key."""
    job.is_pinned = queue is not None or key is not None
    if isinstance(queue, MessageQueue):
        job.queue = queue
    elif queue is not None:
        job.choose = queue
    elif key is not None:
        job.choose = partial(_by_key, key)


def _by_key(key: str, queues: tuple[MessageQueue, ...]) -> MessageQueue:
    return queue_of_key(queues, key)
