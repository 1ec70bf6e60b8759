"""Producer for plain threads.

Owns: the names and types of its calls.
Must not know: how anything is sent (client/producer).
"""

from collections.abc import Sequence
from typing import Unpack

from cosmodrome.client.message import Message, SendResult
from cosmodrome.client.message import ReceivedMessage as Received
from cosmodrome.client.producer import producer
from cosmodrome.client.producer.batches import Batch
from cosmodrome.client.producer.settings import ProducerOptions
from cosmodrome.client.producer.transactions import Check
from cosmodrome.sync.blocking import Blocking, Facade, at_once
from cosmodrome.sync.message import ReceivedMessage


class Producer(Facade[producer.Producer]):
    """Sends messages, and waits for each. `with` opens and closes it; any number of threads may use it.

    In a child process (gunicorn, Celery, multiprocessing) it opens connections of its own when it is first used.

    Args:
        group: The producer group.
        check_transaction: As for the asyncio producer; a plain function runs in a thread.
        options: The settings, see ProducerSettings.

    Raises:
        ConfigError: A setting is unknown or cannot be used.
    """

    def __init__(
        self, group: str, *, check_transaction: Check | None = None, **options: Unpack[ProducerOptions]
    ) -> None:
        super().__init__(
            "producer",
            lambda: producer.Producer(group, check_transaction=check_transaction, **options),
            reopens=True,
        )

    send = Blocking(producer.Producer.send)
    send_oneway = Blocking(producer.Producer.send_oneway)
    send_batch = Blocking(producer.Producer.send_batch)
    send_transaction = Blocking(producer.Producer.send_transaction)
    request = Blocking(producer.Producer.request)
    recall = Blocking(producer.Producer.recall)
    queues = Blocking(producer.Producer.queues)

    def reply(self, request: ReceivedMessage | Received, body: bytes, *, timeout: float | None = None) -> SendResult:
        """Reply to a request that a consumer got. Raises as the asyncio producer's `reply`."""
        message = request.received if isinstance(request, ReceivedMessage) else request
        return self.call(lambda client: client.reply(message, body, timeout=timeout))

    def split_batch(self, messages: Sequence[Message]) -> list[Batch]:
        """Cut messages, in their order, into batches that `send_batch` takes.

        Raises:
            MessageError: One cannot be in a batch; it names the index.
        """
        return self.call(lambda client: at_once(lambda: client.split_batch(messages)))

    @property
    def client_id(self) -> str:
        """By which brokers know this client; empty before the start."""
        return self._client.client_id

    @property
    def dropped_traces(self) -> int:
        """How many traces found no room or no broker."""
        return self._client.dropped_traces
