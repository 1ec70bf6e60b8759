"""Calls that may hang, such as asking a resolver, without anybody having to wait for their end.

Owns: the thread. The event loop's own threads are joined when the process stops; these are not.
Must not know: what is called.
"""

import asyncio
import contextlib
import threading
from collections.abc import Callable
from typing import Any, TypeVar

ResultT = TypeVar("ResultT")


async def in_daemon_thread(function: Callable[..., ResultT], *arguments: Any) -> ResultT:
    """Call a function in a thread of its own. Whoever waits may be cancelled; the thread then ends for nobody."""
    loop = asyncio.get_running_loop()
    result: asyncio.Future[ResultT] = loop.create_future()

    def settle(call: Callable[[], None]) -> None:
        # The loop may be closed by now: then nobody waits.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(lambda: None if result.done() else call())

    def run() -> None:
        try:
            value = function(*arguments)
        except Exception as error:  # noqa: BLE001 -- it belongs to whoever waits
            failure = error
            settle(lambda: result.set_exception(failure))
        else:
            settle(lambda: result.set_result(value))

    threading.Thread(target=run, name=f"cosmodrome-{function.__name__}", daemon=True).start()
    return await result
