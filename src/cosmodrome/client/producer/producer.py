"""Producer: what users send messages with.

Owns: the public calls; what may be called when.
Must not know: what an open producer is made of (open_producer.py), how a send is tried (sending.py).
"""

import asyncio
import base64
import binascii
import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Self, Unpack

from cosmodrome.client.config import ClientConfig
from cosmodrome.client.message import Message, MessageQueue, ReceivedMessage, SendResult
from cosmodrome.client.producer.batches import Batch, split
from cosmodrome.client.producer.open_producer import OpenProducer, QueueChoice, pin
from cosmodrome.client.producer.outgoing import OVERHEAD_BYTES
from cosmodrome.client.producer.request_reply import reply_address, request_properties
from cosmodrome.client.producer.sending import Job
from cosmodrome.client.producer.settings import ProducerOptions, ProducerSettings
from cosmodrome.client.producer.trace import DELAYED, HALF, NORMAL
from cosmodrome.client.producer.transactions import Check, Execute, TransactionResult
from cosmodrome.client.session import ClientSession
from cosmodrome.errors import ClientClosedError, ConfigError, ConnectError, RemotingError
from cosmodrome.protocol.headers.replies import RecallMessageRequestHeader
from cosmodrome.protocol.messages.sys_flag import TransactionType
from cosmodrome.protocol.send_answer import SendAnswer


class Producer:
    """Sends messages. `async with` opens and closes it; or call `start` and `close`.

    It belongs to the event loop in which it was opened, and may be used by any number of tasks of it.

    Args:
        group: The producer group.
        check_transaction: Looks up how the local transaction of a message ended, when a broker asks; needed for
            `send_transaction`, and not announced without.
        session: Shares client id, connections and routes with others; None: one of its own. Settings of the client
            are those of the session then.
        options: The settings, see ProducerSettings.

    Raises:
        ConfigError: A setting is unknown or cannot be used.
    """

    def __init__(
        self,
        group: str,
        *,
        check_transaction: Check | None = None,
        session: ClientSession | None = None,
        **options: Unpack[ProducerOptions],
    ) -> None:
        given: dict[str, Any] = {"group": group, **options}
        if session is not None:
            given |= _settings_of(session.config, given)
        self.settings = ProducerSettings.made_of(given)
        self._session = session or ClientSession(self.settings)
        self._check = check_transaction
        self._open: OpenProducer | None = None
        self._closing: asyncio.Future[None] | None = None

    async def start(self) -> None:
        """Open it. Nothing is asked of servers yet: the first send finds them.

        Raises:
            ClientClosedError: It was closed; make a new one.
            RuntimeError: It is open already.
        """
        self._check_not_closed()
        if self._open is not None:
            raise RuntimeError("this producer is open already")
        await self._session.acquire()
        try:
            self._check_not_closed()
            self._open = OpenProducer(self.settings, self._session, self._check)
        except BaseException:
            await self._session.release()
            raise

    async def close(self) -> None:
        """Refuse more sends, wait for the open ones up to `close_timeout_s`, end the rest with ClientClosedError.

        A second call waits for the same end.
        """
        if self._closing is None:
            opened, self._open = self._open, None
            self._closing = asyncio.ensure_future(_ended(opened, self._session))
        await asyncio.shield(self._closing)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @property
    def client_id(self) -> str:
        """By which brokers know this client; empty before the start."""
        return self._session.client_id

    @property
    def pending_count(self) -> int:
        """How many sends are open."""
        return 0 if self._open is None else self._open.pending.count

    @property
    def pending_bytes(self) -> int:
        """About how many bytes they hold."""
        return 0 if self._open is None else self._open.pending.bytes

    @property
    def dropped_traces(self) -> int:
        """How many traces found no room or no broker."""
        tracer = None if self._open is None else self._open.tracer
        return 0 if tracer is None else tracer.dropped

    async def send(self, message: Message, *, queue: QueueChoice = None, timeout: float | None = None) -> SendResult:  # noqa: ASYNC109, C901 -- one budget for all tries, spent below; one function, as said below
        """Send a message, and give where it is stored.

        A message with a sharding key goes to the queue of its key. Without a key and a `queue` the queues take turns,
        and a try that fails is followed by others, at another broker if there is one.

        When it is cancelled after it was written, the message may be stored; the CancelledError has a note that says
        so. `SendError.is_outcome_unknown` says the same of a failure.

        Args:
            message: The message.
            queue: Where it goes.
            timeout: Seconds for all of it; None: `send_timeout_s`.

        Raises:
            MessageError: It cannot be sent; nothing was sent.
            NoRouteError: No broker takes the topic.
            SendError: No try brought an answer; SendTimeoutError when the time was over first.
            RefusedError: A broker refused it.
            PendingLimitError: Too many sends are open.
            ClientClosedError: The producer is closed, or was meanwhile.
        """
        # This path is short on purpose: every call, task or timer more is paid for by each message.
        opened = self._open or self._opened()
        loop = opened.loop
        if asyncio.get_running_loop() is not loop:
            opened.check_loop()
        if opened.is_observed:
            return await opened.send_observed(message, queue, timeout)
        whole_s = self.settings.send_timeout_s if timeout is None else timeout
        deadline_s = loop.time() + whole_s
        pending = opened.pending
        size = len(message.body) + OVERHEAD_BYTES
        if not pending.enter(size):
            await opened.enter(size, deadline_s)
        try:
            outgoing = opened.preparer.prepared(message)
            if len(outgoing.body) >= opened.preparer.compress_over_bytes:
                await opened.compress(outgoing)
            job = Job(outgoing, deadline_s, whole_s)
            if queue is not None or message.sharding_key is not None:
                pin(job, queue, message.sharding_key)
            if opened.is_plain:
                sender = opened.sender
                waiter = sender.begin(job)
                if waiter is not None:
                    try:
                        answer = await waiter
                    except asyncio.CancelledError as error:
                        sender.cancelled(job, error)
                        raise
                    except RemotingError:
                        pass  # `send` meets it again
                    else:
                        if answer.__class__ is SendAnswer:
                            return sender.result(job, answer.ext_fields)
                return await sender.send(job, waiter)
            return await opened.send_traced(job, (message,), DELAYED if message.is_delayed else NORMAL)
        finally:
            pending.leave(size)

    async def send_oneway(
        self,
        message: Message,
        *,
        queue: QueueChoice = None,
        timeout: float | None = None,  # noqa: ASYNC109 -- as send
    ) -> str:
        """Send a message without an answer and give its id; returns when the connection has taken the bytes.

        Raises:
            MessageError: It cannot be sent.
            NoRouteError: No broker takes the topic.
            RemotingError: There is no connection, or the broker takes no more in time.
            ClientClosedError: The producer is closed.
        """
        opened = self._opened()
        with opened.observers.sending("send_oneway", (message,)) as send:
            outgoing = opened.prepared(message, send)
            await opened.compress(outgoing)
            await opened.sender.send_oneway(opened.job(outgoing, message.sharding_key, queue, timeout))
            return outgoing.msg_id

    async def send_batch(
        self,
        messages: Sequence[Message] | Batch,
        *,
        queue: QueueChoice = None,
        timeout: float | None = None,  # noqa: ASYNC109 -- as send
    ) -> SendResult:
        """Send messages of one topic in one request. `split_batch` cuts what is too much for one.

        Raises:
            MessageError: One of them cannot be in the batch; it names the index. Nothing was sent.
            RocketMQError: As send.
        """
        opened = self._opened()
        batch = messages if isinstance(messages, Batch) else Batch(0, tuple(messages))
        with opened.observers.sending("send_batch", batch.messages) as send:
            outgoing = opened.prepared_batch(batch, send)
            job = opened.job(outgoing, None, queue, timeout)
            send.result = await opened.send_prepared(job, send.messages)
            return send.result

    def split_batch(self, messages: Sequence[Message]) -> list[Batch]:
        """Cut messages, in their order, into batches that `send_batch` takes.

        A message that is larger than a batch may be is alone in its batch, which `send_batch` refuses by its index.

        Raises:
            MessageError: One cannot be in a batch; it names the index.
        """
        return split(self._opened().preparer, messages, self.settings.max_message_bytes)

    async def send_transaction(
        self,
        message: Message,
        execute: Execute,
        *,
        timeout: float | None = None,  # noqa: ASYNC109 -- as send
    ) -> TransactionResult:
        """Send a half message, run the local transaction, and commit or roll back by what it gives.

        `execute(message, result)` is async, or plain, which runs in a thread. What it raises is in the result.

        Raises:
            ValueError: The producer has no `check_transaction`.
            MessageError: It is delayed, or cannot be sent.
            RocketMQError: As send; the local transaction did not run.
        """
        opened = self._opened()
        if opened.transactions is None:
            raise ValueError("a producer of transactions needs check_transaction")
        with opened.observers.sending("send_transaction", (message,)) as send:
            outgoing = opened.prepared(message, send, opened.transactions.half_properties(message))
            await opened.compress(outgoing)
            outgoing.sys_flag |= TransactionType.PREPARED
            job = opened.job(outgoing, message.sharding_key, None, timeout)
            send.result = result = await opened.send_prepared(job, send.messages, HALF)
        return await opened.transactions.execute(message, result, execute)

    async def request(self, message: Message, *, timeout: float | None = None) -> ReceivedMessage:  # noqa: ASYNC109 -- as send
        """Send a message to which some consumer replies, and give the reply.

        Raises:
            ReplyTimeoutError: None came in time.
            RocketMQError: As send.
        """
        opened = self._opened()
        whole_s = self.settings.send_timeout_s if timeout is None else timeout
        deadline_s = opened.loop.time() + whole_s
        correlation_id = opened.requests.expect()
        try:
            extra = request_properties(correlation_id, self._session.client_id, whole_s)
            with opened.observers.sending("request", (message,)) as send:
                outgoing = opened.prepared(message, send, extra)
                await opened.compress(outgoing)
                await opened.announce(outgoing.topic, whole_s)
                left_s = deadline_s - opened.loop.time()
                job = opened.job(outgoing, message.sharding_key, None, left_s)
                send.result = await opened.send_prepared(job, send.messages)
            return await opened.requests.reply(correlation_id, deadline_s - opened.loop.time(), whole_s)
        finally:
            opened.requests.forget(correlation_id)

    async def reply(self, request: ReceivedMessage, body: bytes, *, timeout: float | None = None) -> SendResult:  # noqa: ASYNC109 -- as send
        """Reply to a request that a consumer got.

        Raises:
            MessageError: The message is no request.
            RocketMQError: As send; SendError also when no broker that was tried knows the requester.
        """
        opened = self._opened()
        topic, extra = reply_address(request)
        message = Message(topic=topic, body=body)
        with opened.observers.sending("reply", (message,)) as send:
            outgoing = opened.prepared(message, send, extra)
            outgoing.is_reply = True
            send.result = await opened.send_prepared(opened.job(outgoing, None, None, timeout), send.messages)
            return send.result

    async def recall(self, topic: str, recall_handle: str) -> str:
        """Take back a timer message that was not delivered yet (brokers from 5.3 on), and give its id.

        Raises:
            ValueError: The handle is none.
            NoRouteError: Its broker is not in the route of the topic.
            NotPermittedError: The broker does not allow it, which is the default.
        """
        opened = self._opened()
        broker_name = _broker_of(recall_handle)
        wire_topic = self.settings.wrap(topic)
        plan = await opened.sender.publishing.plan(wire_topic)
        address = plan.addresses.get(broker_name)
        if address is None:
            raise ConnectError(f"broker {broker_name} has no master in the route of {topic}")
        header = RecallMessageRequestHeader(
            producer_group=self.settings.wire_group, topic=wire_topic, recall_handle=recall_handle, bname=broker_name
        )
        return await self._session.requests.recall(address, header)

    async def queues(self, topic: str, *, timeout: float | None = None) -> tuple[MessageQueue, ...]:  # noqa: ASYNC109 -- as send
        """Give the queues to which messages of a topic may be sent now.

        Raises:
            NoRouteError: There is none.
            RemotingError: No NameServer answers.
        """
        limit_s = self.settings.send_timeout_s if timeout is None else timeout
        found = await self._opened().sender.queues(self.settings.wrap(topic), limit_s)
        return tuple(MessageQueue(topic, each.broker_name, each.queue_id) for each in found)

    def _opened(self) -> OpenProducer:
        if self._open is None:
            raise self._not_open()
        self._open.check_loop()
        return self._open

    def _check_not_closed(self) -> None:
        if self._closing is not None:
            raise ClientClosedError("this producer was closed; make a new one")

    def _not_open(self) -> ClientClosedError:
        return ClientClosedError(
            "the producer is closed" if self._closing is not None else "the producer is not started"
        )


async def _ended(opened: OpenProducer | None, session: ClientSession) -> None:
    if opened is None:
        return
    try:
        await opened.close()
    finally:
        await session.release()


def _settings_of(config: ClientConfig, given: Mapping[str, Any]) -> dict[str, Any]:
    names = [each.name for each in dataclasses.fields(ClientConfig)]
    twice = [name for name in names if name in given]
    if twice:
        raise ConfigError(f"{', '.join(twice)}: set by the session.", keys=twice)
    return {name: getattr(config, name) for name in names}


def _broker_of(recall_handle: str) -> str:
    try:
        version, _, broker_name, *_ = base64.urlsafe_b64decode(recall_handle).decode().split(" ")
    except (ValueError, binascii.Error) as error:
        raise ValueError(f"{recall_handle!r} is no recall handle") from error
    if version != "v1":
        raise ValueError(f"{recall_handle!r} is a recall handle of an unknown version {version!r}")
    return broker_name
