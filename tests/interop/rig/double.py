"""The faulty broker of the client tests, as a broker of the rig: real Java clients say whether it is to be believed.

Owns: a thread with an event loop in which the double lives; the few things that tests ask of a broker.
Must not know: what a test claims.
"""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Mapping
from types import TracebackType
from typing import Any, Final, Self, TypeVar

from tests.support.faulty_broker import V4_9_7, V5_5_0, FaultyBroker, Release

T = TypeVar("T")

CALL_S: Final = 30.0
LEVEL_S: Final = 1.0
CHECK_S: Final = 1.0
RELEASES: Final[Mapping[str, Release]] = {"5.5.0": V5_5_0, "4.9.7": V4_9_7}


class DoubleBroker:
    """A faulty broker without faults. Use it as a context manager; its methods may be called from any thread."""

    def __init__(
        self, release: str, name: str, name_server: str, sql: Callable[[str, Mapping[str, str]], bool]
    ) -> None:
        """Prepare it; `sql` stands for SQL92."""
        self.name = name
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=f"double-{name}", daemon=True)
        self._thread.start()
        self.broker = self._call(self._made(RELEASES[release], name_server, sql))

    def __enter__(self) -> Self:
        """Register it."""
        self._call(self.broker.__aenter__())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop it and its thread."""
        self._call(self.broker.stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(CALL_S)
        self._loop.close()

    def create_topic(self, topic: str, queues: int = 4) -> None:
        """Make a topic and register it."""
        self._call(self.broker.set_topic(topic, queues))

    def serve_by_pop(self, topic: str, group: str) -> None:
        """Let this group have this topic by POP."""
        self.broker.pops.modes[topic, group] = "POP"

    async def _made(
        self, release: Release, name_server: str, sql: Callable[[str, Mapping[str, str]], bool]
    ) -> FaultyBroker:
        broker = FaultyBroker(name_server, self.name, release=release, cluster="RigCluster")
        broker.sends.settings.level_s = LEVEL_S
        broker.check_every_s = CHECK_S
        broker.groups.sql = sql
        return broker

    def _call(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(CALL_S)
