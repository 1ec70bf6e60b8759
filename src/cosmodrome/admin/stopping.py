"""How work ends that goes on until somebody has had enough.

Owns: SIGINT and SIGTERM while such work is done.
Must not know: the work.
"""

import asyncio
import contextlib
import signal
from collections.abc import Coroutine
from types import TracebackType
from typing import Any, Final, Self, TypeVar

ValueT = TypeVar("ValueT")

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


class Stopping:
    """A context in which the first SIGINT or SIGTERM asks for an end, and a second one ends the process as usual."""

    def __init__(self) -> None:
        self._asked = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    @property
    def is_asked(self) -> bool:
        """Whether an end was asked for."""
        return self._asked.is_set()

    async def unless(self, work: Coroutine[Any, Any, ValueT], within_s: float | None = None) -> ValueT | None:
        """Give the result of some work; None, with the work cancelled, if the end or the time came first."""
        task = asyncio.ensure_future(work)
        asked = asyncio.ensure_future(self._asked.wait())
        try:
            await asyncio.wait((task, asked), timeout=within_s, return_when=asyncio.FIRST_COMPLETED)
            return task.result() if task.done() else None
        finally:
            for each in (task, asked):
                each.cancel()
            await asyncio.gather(task, asked, return_exceptions=True)

    def __enter__(self) -> Self:
        """Begin to listen for signals, where the event loop can."""
        with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
            for each in _SIGNALS:
                self._loop.add_signal_handler(each, self._ask)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Listen no more."""
        self._release()

    def _ask(self) -> None:
        self._asked.set()
        self._release()

    def _release(self) -> None:
        with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
            for each in _SIGNALS:
                self._loop.remove_signal_handler(each)
