"""Our broker as a broker of the rig, in a thread with an event loop of its own.

Owns: the thread; the few things that tests ask of a broker.
Must not know: what a test claims.
"""

import asyncio
import json
import threading
from collections.abc import Coroutine
from types import TracebackType
from typing import Any, Final, Self, TypeVar

from tests.support import wire

from cosmodrome.broker.server import Broker

T = TypeVar("T")

CALL_S: Final = 30.0


class OurBroker:
    """A broker of ours. Use it as a context manager; its methods may be called from any thread."""

    def __init__(self, name: str, name_server: str, **settings: Any) -> None:
        """Prepare it with fields of BrokerConfig."""
        self.name = name
        self.broker = Broker(namesrv=name_server, broker_name=name, **settings)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=f"broker-{name}", daemon=True)

    def __enter__(self) -> Self:
        """Start and register it."""
        self._thread.start()
        self._call(self.broker.start())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop it and its thread."""
        self._call(self.broker.stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(CALL_S)
        self._loop.close()

    @property
    def address(self) -> str:
        """Where it listens."""
        return self.broker.address

    def create_topic(self, topic: str, queues: int = 4) -> None:
        """Make a topic, as a tool does."""
        fields = {
            "topic": topic, "defaultTopic": "TBW102", "readQueueNums": str(queues), "writeQueueNums": str(queues),
            "perm": "6", "topicFilterType": "SINGLE_TAG", "topicSysFlag": "0", "order": "false",
        }  # fmt: skip
        with wire.Wire(self.broker.address) as connection:
            answer = connection.request(17, fields)
        assert answer.code == 0, answer

    def serve_by_pop(self, topic: str, group: str) -> None:
        """Let this group have this topic by POP, for consumers that leave rebalancing to the broker."""
        body = json.dumps({"topic": topic, "consumerGroup": group, "mode": "POP", "popShareQueueNum": 0}).encode()
        with wire.Wire(self.broker.address) as connection:
            answer = connection.request(401, None, body)
        assert answer.code == 0, answer

    def _call(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(CALL_S)
