"""Where bodies come from that are sent from the shell: an argument, a file, lines of a file or of standard input.

Owns: reading without holding up the event loop; what a line is.
Must not know: how messages are sent.
"""

import asyncio
import contextlib
import os
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

from cosmodrome.errors import StorageError

_CHUNK_BYTES: Final = 64 * 1024
_CHUNKS_AHEAD: Final = 16


async def whole_file(path: str) -> bytes:
    """Give what is in a file; `-` is standard input.

    Raises:
        StorageError: It cannot be read.
    """
    if path == "-":
        return b"".join([chunk async for chunk in _chunks(0)])
    try:
        return await asyncio.to_thread(Path(path).read_bytes)
    except OSError as error:
        raise _unreadable(path, error) from error


async def lines_of(path: str) -> AsyncIterator[bytes]:
    """Give the lines of a file, as soon as they are there; `-` is standard input. Lines without a byte are left out.

    Raises:
        StorageError: It cannot be read.
    """
    rest = b""
    try:
        descriptor = 0 if path == "-" else os.open(path, os.O_RDONLY)
    except OSError as error:
        raise _unreadable(path, error) from error
    async for chunk in _chunks(descriptor):
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            if bare := line.removesuffix(b"\r"):
                yield bare
    if bare := rest.removesuffix(b"\r"):
        yield bare


async def _chunks(descriptor: int) -> AsyncIterator[bytes]:
    """Read in a thread that nobody waits for: a read of a terminal may last for ever."""
    reading = _Reading(descriptor)
    threading.Thread(target=reading.run, name="cosmodrome-bodies", daemon=True).start()
    while chunk := await reading.next():
        yield chunk


class _Reading:
    """A thread that reads, a few chunks ahead of whoever takes them."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._loop = asyncio.get_running_loop()
        self._found: asyncio.Queue[bytes | OSError] = asyncio.Queue()
        self._room = threading.Semaphore(_CHUNKS_AHEAD)

    async def next(self) -> bytes:
        """Give a chunk, empty at the end.

        Raises:
            StorageError: It cannot be read.
        """
        chunk = await self._found.get()
        self._room.release()
        if isinstance(chunk, OSError):
            raise _unreadable("the input", chunk) from chunk
        return chunk

    def run(self) -> None:
        """Read to the end."""
        chunk: bytes | OSError = b"-"
        while chunk and not isinstance(chunk, OSError):
            self._room.acquire()
            try:
                chunk = os.read(self._descriptor, _CHUNK_BYTES)
            except OSError as error:
                chunk = error
            self._tell(chunk)
        if self._descriptor:
            os.close(self._descriptor)

    def _tell(self, chunk: bytes | OSError) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody wants it any more
            self._loop.call_soon_threadsafe(self._found.put_nowait, chunk)


def _unreadable(path: str, error: OSError) -> StorageError:
    return StorageError(f"cannot read {path}.", why=f"{error.strerror or error}.")
