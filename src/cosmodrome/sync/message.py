"""A received message for plain threads.

Owns: settling a message by calls that block.
Must not know: what settling does.
"""

from typing import Any

from cosmodrome.client.message import MessageView
from cosmodrome.client.message import ReceivedMessage as Received
from cosmodrome.sync.blocking import Facade


class ReceivedMessage(MessageView):
    """A message that was delivered; `received` is the asyncio client's."""

    def __init__(self, received: Received, consumer: Facade[Any]) -> None:
        super().__init__(received.stored, received.queue, topic=received.topic)
        self.received = received
        self._consumer = consumer

    def ack(self) -> None:
        """Say that it is done."""
        self._consumer.call(lambda _: self.received.ack())

    def retry(self, delay_level: int | None = None) -> None:
        """Say that it is to be delivered again, after the time of this level; None: the broker chooses."""
        self._consumer.call(lambda _: self.received.retry(delay_level))
