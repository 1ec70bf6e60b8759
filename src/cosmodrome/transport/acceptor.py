"""Accepting connections.

Owns: the listening socket from its binding to its end; waiting when the system has no descriptors left.
Must not know: who may come in; what is done with a connection.
"""

import asyncio
import contextlib
import errno
import logging
import socket
from collections.abc import Callable
from typing import Final

logger = logging.getLogger(__name__)

_AT_ONCE: Final = 16
"""Connections accepted before others get their turn."""
_RETRY_S: Final = 1.0
_EXHAUSTED: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
_GONE: Final = frozenset({errno.ECONNABORTED, errno.EPROTO, errno.EPERM, errno.ECONNRESET})
"""The one connection that would have been next is gone, or a firewall's rule forbids it."""


class Acceptor:
    """Accepts on one listening socket, the same way on every event loop.

    An event loop's own server does not survive a lack of descriptors: uvloop's accepts and drops connections in
    silence and may stop for good, asyncio's logs a traceback for each attempt.
    """

    def __init__(
        self,
        sock: socket.socket,
        on_accept: Callable[[socket.socket, object], None],
        on_exhausted: Callable[[OSError], None],
    ) -> None:
        """Take a socket that listens already. `on_accept` gets non-blocking sockets and owns them."""
        self._socket = sock
        self._on_accept = on_accept
        self._on_exhausted = on_exhausted
        self._retry = asyncio.Event()
        self._task = asyncio.ensure_future(self._run())

    def retry(self) -> None:
        """Stop waiting for descriptors, if that is what goes on: one came free."""
        self._retry.set()

    async def stop(self) -> None:
        """Accept no more, and close the socket."""
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task
        self._socket.close()

    async def _run(self) -> None:
        while True:
            try:
                await self._accept_some()
            except OSError as error:
                await self._go_on_after(error)

    async def _accept_some(self) -> None:
        """Accept connections that wait, or wait for one.

        Raises:
            OSError: As the system says.
        """
        for _ in range(_AT_ONCE):
            try:
                accepted, address = self._socket.accept()
            except BlockingIOError:
                accepted, address = await asyncio.get_running_loop().sock_accept(self._socket)
            accepted.setblocking(False)
            self._on_accept(accepted, address)
        await asyncio.sleep(0)

    async def _go_on_after(self, error: OSError) -> None:
        if error.errno in _GONE:
            return
        self._retry.clear()
        if error.errno in _EXHAUSTED:
            self._on_exhausted(error)
        else:
            logger.error("cannot accept connections: %s", error)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._retry.wait(), _RETRY_S)
