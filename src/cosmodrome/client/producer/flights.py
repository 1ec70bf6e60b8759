"""What many sends wait for and is done once: a route, a connection.

Owns: the work under way, and who waits for it.
Must not know: what the work is.
"""

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from typing import Any

from cosmodrome.client.producer.deadlines import Deadlines
from cosmodrome.errors import ConnectError


class Flights:
    """Work by key; whoever asks for work that is under way joins it, and may leave it without ending it."""

    def __init__(self, deadlines: Deadlines) -> None:
        self._deadlines = deadlines
        self._loop = asyncio.get_running_loop()
        self._tasks: dict[Hashable, asyncio.Task[Any]] = {}
        self._waiting: dict[Hashable, set[asyncio.Future[Any]]] = {}
        self._is_closed = False

    async def join(self, key: Hashable, begin: Callable[[], Coroutine[Any, Any, Any]], deadline_s: float) -> Any:
        """Give what the work gives.

        Raises:
            TimeoutError: It was not done at the deadline; it goes on for the others.
            ConnectError: Everything was closed.
            Exception: What the work raises.
        """
        if self._is_closed:
            raise ConnectError("the client was closed")
        if key not in self._tasks:
            task = self._tasks[key] = self._loop.create_task(begin())
            self._waiting[key] = set()
            task.add_done_callback(lambda done: self._landed(key, done))
        waiting = self._waiting[key]
        future: asyncio.Future[Any] = self._loop.create_future()
        waiting.add(future)
        ticket = self._deadlines.add(future, deadline_s, TimeoutError)
        try:
            return await future
        finally:
            self._deadlines.remove(ticket)
            waiting.discard(future)

    def close(self) -> None:
        """End all work, and who waits for it, with ConnectError."""
        self._is_closed = True
        for task in tuple(self._tasks.values()):
            task.cancel()

    def _landed(self, key: Hashable, task: asyncio.Task[Any]) -> None:
        del self._tasks[key]
        waiting = self._waiting.pop(key)
        error = ConnectError("the client was closed") if task.cancelled() else task.exception()
        for future in waiting:
            if future.done():
                continue
            if error is None:
                future.set_result(task.result())
            else:
                future.set_exception(error)
