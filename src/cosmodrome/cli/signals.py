"""Signals that a server process gets.

Owns: which ones stop it, when a second one ends it at once, and which must not end it.
Must not know: what stopping and reloading mean.
"""

import asyncio
import logging
import signal
import sys
from collections.abc import Callable
from typing import Final

_LOG = logging.getLogger(__name__)

_STOPPING: Final = (signal.SIGTERM, signal.SIGINT)

# A second signal within this time is the same wish: a terminal, and programs such as `timeout`, send it to a
# process and to its group.
_SAME_WISH_S: Final = 0.5


def watch_signals(loop: asyncio.AbstractEventLoop, on_hangup: Callable[[], None]) -> "asyncio.Future[signal.Signals]":
    """Give a future for the first signal to stop; a later one then ends the process at once.

    SIGHUP calls `on_hangup`. SIGUSR1 and SIGUSR2, which log rotators send and which end a process that does not expect
    them, are logged.
    """
    signalled: asyncio.Future[signal.Signals] = loop.create_future()

    def begin_stop(number: signal.Signals) -> None:
        if not signalled.done():
            signalled.set_result(number)
            loop.call_later(_SAME_WISH_S, _set_handlers, loop, signal.SIG_DFL)

    if sys.platform == "win32":
        for number in _STOPPING:
            signal.signal(number, lambda number, _: loop.call_soon_threadsafe(begin_stop, signal.Signals(number)))
        return signalled
    for number in _STOPPING:
        loop.add_signal_handler(number, begin_stop, number)
    loop.add_signal_handler(signal.SIGHUP, _hang_up, on_hangup)
    for number in (signal.SIGUSR1, signal.SIGUSR2):
        loop.add_signal_handler(number, _ignore, number.name)
    return signalled


def _hang_up(on_hangup: Callable[[], None]) -> None:
    _LOG.info("SIGHUP: reading the configuration again", extra={"event": "config.reading"})
    on_hangup()


def _ignore(name: str) -> None:
    _LOG.info("%s: nothing to do", name, extra={"event": "signal.ignored"})


def ignore_signals(loop: asyncio.AbstractEventLoop) -> None:
    """Let nothing change the exit code of a process that has done its work and is about to end."""
    _set_handlers(loop, signal.SIG_IGN)


def _set_handlers(loop: asyncio.AbstractEventLoop, handler: signal.Handlers) -> None:
    for number in _STOPPING:
        if sys.platform != "win32":
            loop.remove_signal_handler(number)
        signal.signal(number, handler)
