"""Consumers for plain threads.

Owns: the names and types of their calls; iteration.
Must not know: how anything is consumed (client/consumer).
"""

from collections.abc import Collection, Mapping
from typing import Self, Unpack

from cosmodrome.client.consumer import consumer, lite_pull
from cosmodrome.client.consumer.filters import Expression
from cosmodrome.client.consumer.handlers import Handler
from cosmodrome.client.consumer.settings import ConsumerOptions
from cosmodrome.client.consumer.status import ConsumerStatus
from cosmodrome.client.message import MessageQueue
from cosmodrome.client.message import ReceivedMessage as Received
from cosmodrome.errors import ClientClosedError
from cosmodrome.sync.blocking import Blocking, Facade, at_once
from cosmodrome.sync.message import ReceivedMessage


class Consumer(Facade[consumer.Consumer]):
    """One member of a consumer group. `with` starts and closes it.

    Without a handler, `for message in consumer` gives messages, to any number of threads, each to one of them; each is
    settled by `message.ack()` or `message.retry()`. With a handler, a plain function is called in up to `concurrency`
    threads and may block; returning normally means done, an exception or `Later` means again later.

    A child process makes a consumer of its own: two processes are two members.

    Args:
        group: The group's name.
        subscriptions: What is read: topic to expression, see `Expression`.
        handler: A function of one message.
        options: See ConsumerSettings and ClientConfig; `namesrv` first of all.

    Raises:
        TypeError: An unknown option, or a handler that cannot be called with one message.
        ValueError, ConfigError, MessageError: A value, a name or an expression that cannot be used.
    """

    def __init__(
        self,
        group: str,
        *,
        subscriptions: Mapping[str, Expression],
        handler: Handler | None = None,
        **options: Unpack[ConsumerOptions],
    ) -> None:
        self._has_handler = handler is not None
        super().__init__(
            "consumer",
            lambda: consumer.Consumer(group, subscriptions=subscriptions, handler=handler, **options),
            reopens=False,
        )

    subscribe = Blocking(consumer.Consumer.subscribe)
    unsubscribe = Blocking(consumer.Consumer.unsubscribe)

    @property
    def dropped_traces(self) -> int:
        """How many traces found no room or no broker."""
        return self.call(lambda client: at_once(lambda: client.dropped_traces))

    def status(self) -> ConsumerStatus:
        """Give a snapshot: the queues, how far they are, and what is in the way."""
        return self.call(lambda client: at_once(client.status))

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it is closed by another thread, and tell whether it is; for programs that only handle messages."""
        return self._ended.wait(timeout)

    def __iter__(self) -> Self:
        """Give the consumer itself.

        Raises:
            RuntimeError: There is a handler.
        """
        if self._has_handler:
            raise RuntimeError("messages of a consumer with a handler go to the handler")
        return self

    def __next__(self) -> ReceivedMessage:
        """Give the next message; the iteration ends when the consumer is closed."""
        was_closed = self._is_closed
        try:
            message = None if was_closed else self.call(_next)
        except ClientClosedError:
            if not self._is_closed:
                raise
            message = None
        if message is None:
            raise StopIteration
        return ReceivedMessage(message, self)


class LitePullConsumer(Facade[lite_pull.LitePullConsumer]):
    """Polls, as the asyncio one does. `with` starts and closes it; one thread at a time may poll.

    Args:
        group: The group under whose name offsets are stored.
        subscriptions: Topic to expression; None for a consumer that assigns queues to itself.
        auto_commit: False saves offsets with `commit` only.
        options: See ConsumerSettings and ClientConfig; `namesrv` first of all.
    """

    def __init__(
        self,
        group: str,
        *,
        subscriptions: Mapping[str, Expression] | None = None,
        auto_commit: bool = True,
        **options: Unpack[ConsumerOptions],
    ) -> None:
        super().__init__(
            "consumer",
            lambda: lite_pull.LitePullConsumer(group, subscriptions=subscriptions, auto_commit=auto_commit, **options),
            reopens=False,
        )

    poll = Blocking(lite_pull.LitePullConsumer.poll)
    commit = Blocking(lite_pull.LitePullConsumer.commit)
    queues_of = Blocking(lite_pull.LitePullConsumer.queues_of)
    assign = Blocking(lite_pull.LitePullConsumer.assign)
    seek = Blocking(lite_pull.LitePullConsumer.seek)
    seek_to_begin = Blocking(lite_pull.LitePullConsumer.seek_to_begin)
    seek_to_end = Blocking(lite_pull.LitePullConsumer.seek_to_end)
    offset_for_time = Blocking(lite_pull.LitePullConsumer.offset_for_time)
    committed = Blocking(lite_pull.LitePullConsumer.committed)

    def assignment(self) -> tuple[MessageQueue, ...]:
        """Give the queues that are read now."""
        return self.call(lambda client: at_once(client.assignment))

    def position(self, queue: MessageQueue) -> int:
        """Give the offset that a commit would save for a queue now. Raises ValueError for one that is not read here."""
        return self.call(lambda client: at_once(lambda: client.position(queue)))

    def pause(self, queues: Collection[MessageQueue]) -> None:
        """Pull nothing and give nothing of these queues until `resume`."""
        self.call(lambda client: at_once(lambda: client.pause(queues)))

    def resume(self, queues: Collection[MessageQueue]) -> None:
        """Read queues again that were paused."""
        self.call(lambda client: at_once(lambda: client.resume(queues)))

    @property
    def dropped_traces(self) -> int:
        """How many traces found no room or no broker."""
        return self.call(lambda client: at_once(lambda: client.dropped_traces))

    def status(self) -> ConsumerStatus:
        """Give a snapshot."""
        return self.call(lambda client: at_once(client.status))


async def _next(client: consumer.Consumer) -> Received | None:
    return await anext(client, None)
