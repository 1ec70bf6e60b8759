"""Where lines go, without the server ever waiting for it: a descriptor, or a file that is bounded by rotation.

Owns: the queue, the thread that writes, what happens when nobody reads or a disk is full; rotation.
Must not know: what a line says.
"""

import contextlib
import os
import select
import stat
import threading
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Final, Protocol

QUEUED_CHARACTERS: Final = 1024 * 1024
"""What may wait for a slow reader. About 4,000 lines; a reader that is alive has them in a blink."""
_BATCH_CHARACTERS: Final = 32 * 1024
_CLOSE_TIMEOUT_S: Final = 2.0
_FILE_MODE: Final = 0o640
_LINE_END: Final = ord("\n")


class Sink(Protocol):
    """Takes bytes, and may block for ever."""

    def write(self, data: bytes) -> None:
        """Take all of it, or raise OSError; it may have taken a part then."""


class DescriptorSink:
    """An open descriptor, such as that of standard error."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._is_in_line = False

    def write(self, data: bytes) -> None:
        """As Sink. After a write that broke off within a line it begins with a line break."""
        rest = memoryview(b"\n" + data if self._is_in_line else data)
        while rest:
            try:
                written = os.write(self._descriptor, rest)
            except BlockingIOError:  # somebody else's setting of a descriptor that is shared
                select.select([], [self._descriptor], [])
                continue
            self._is_in_line = rest[written - 1] != _LINE_END
            rest = rest[written:]


class RotatingFile:
    """A file that becomes `<path>.1` when it would grow beyond a size; of those, so many are kept.

    It is opened when there is something to write, and again when it was moved or removed. What is no regular file (a
    device, a pipe) is not rotated. Where the folder does not allow renaming, the file is emptied instead.
    """

    def __init__(self, path: Path, max_bytes: int, backups: int) -> None:
        self._path = path
        self._max_bytes = max_bytes
        self._backups = backups
        self._descriptor = -1
        self._sink = DescriptorSink(-1)

    def write(self, data: bytes) -> None:
        """As Sink."""
        status = self._opened()
        if stat.S_ISREG(status.st_mode) and status.st_size > 0 and status.st_size + len(data) > self._max_bytes:
            self._rotate()
        self._sink.write(data)

    def _opened(self) -> os.stat_result:
        if self._descriptor >= 0:
            status = os.fstat(self._descriptor)
            with contextlib.suppress(OSError):
                there = self._path.stat()
                if (there.st_dev, there.st_ino) == (status.st_dev, status.st_ino):
                    return status
            self._close()
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, _FILE_MODE)
        self._sink = DescriptorSink(self._descriptor)
        return os.fstat(self._descriptor)

    def _rotate(self) -> None:
        try:
            for number in range(self._backups - 1, 0, -1):
                with contextlib.suppress(FileNotFoundError):
                    self._backup(number).replace(self._backup(number + 1))
            if self._backups:
                self._path.replace(self._backup(1))
            else:
                self._path.unlink()
        except OSError:
            os.ftruncate(self._descriptor, 0)
            return
        self._close()
        self._opened()

    def _backup(self, number: int) -> Path:
        return self._path.with_name(f"{self._path.name}.{number}")

    def _close(self) -> None:
        os.close(self._descriptor)
        self._descriptor = -1


class LogOutput:
    """A stream whose `write` never blocks and never fails; one thread passes the text on.

    What does not fit the queue is dropped and counted. The thread is started by the first write; where no thread can
    be had, writing is done at once.

    Args:
        sink: Where it goes.
        fallback: Where it goes while `sink` fails, if anywhere.
        encoding: Of the text; letters that it does not have are escaped.
        is_terminal: Whether a person reads it.
    """

    def __init__(
        self, sink: Sink, fallback: Sink | None = None, *, encoding: str = "utf-8", is_terminal: bool = False
    ) -> None:
        self._sink = sink
        self._fallback = fallback
        self._encoding = encoding
        self._is_terminal = is_terminal
        self._on_dropped: Callable[[int, str], object] = lambda _lines, _reason: None
        self._on_diverted: Callable[[str], object] = lambda _reason: None
        self._queue: deque[str] = deque()
        self._queued = 0
        self._dropped = 0
        self._reason = ""
        self._is_diverted = False
        self._is_failing = False
        self._is_closing = False
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def tell(self, on_dropped: Callable[[int, str], object], on_diverted: Callable[[str], object]) -> None:
        """Call these, in the thread, with lines that were lost and why, and when the fallback is used and why."""
        self._on_dropped = on_dropped
        self._on_diverted = on_diverted

    def write(self, text: str) -> None:
        """Take whole lines. May be called from any thread."""
        with self._changed:
            is_notice = threading.current_thread() is self._thread  # of lost lines; it must not be lost too
            if self._queue and self._queued + len(text) > QUEUED_CHARACTERS and not is_notice:
                self._dropped += text.count("\n")
                self._reason = self._reason or "nobody reads them fast enough"
                return
            self._queue.append(text)
            self._queued += len(text)
            if self._thread is None:
                self._start()
            self._changed.notify()

    def flush(self) -> None:
        """Do nothing: the thread writes as soon as it can."""

    def isatty(self) -> bool:
        """Tell whether a person reads it."""
        return self._is_terminal

    def close(self, timeout_s: float = _CLOSE_TIMEOUT_S) -> None:
        """Wait until everything is written, but not for ever."""
        with self._changed:
            self._is_closing = True
            self._changed.notify()
            thread = self._thread
        if thread is not None and thread.is_alive():
            thread.join(timeout_s)

    def _start(self) -> None:
        self._thread = threading.Thread(target=self._run, name="cosmodrome-log", daemon=True)
        try:
            self._thread.start()
        except RuntimeError:  # such as a limit of threads
            self._thread = None
            self._pass_on(self._take())

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._queue or self._is_closing)
                if not self._queue:
                    return
                batch = self._take()
            self._pass_on(batch)
            self._tell_dropped()

    def _take(self) -> list[str]:
        batch: list[str] = []
        size = 0
        while self._queue and (not batch or size + len(self._queue[0]) <= _BATCH_CHARACTERS):
            text = self._queue.popleft()
            size += len(text)
            batch.append(text)
        self._queued -= size
        return batch

    def _pass_on(self, batch: list[str]) -> None:
        data = "".join(batch).encode(self._encoding, "backslashreplace")
        try:
            self._sink.write(data)
        except OSError as error:
            reason = error.strerror or str(error)
            self._is_failing = not self._is_diverted_to_fallback(data, reason)
            if self._is_failing:
                with self._changed:
                    self._dropped += data.count(b"\n")
                    self._reason = reason
        else:
            self._is_failing = self._is_diverted = False

    def _is_diverted_to_fallback(self, data: bytes, reason: str) -> bool:
        if self._fallback is None:
            return False
        try:
            self._fallback.write(data)
        except OSError:
            return False
        if not self._is_diverted:
            self._is_diverted = True
            self._on_diverted(reason)
        return True

    def _tell_dropped(self) -> None:
        """Tell what was lost, once lines get through again."""
        with self._changed:
            if not self._dropped or self._is_failing:
                return
            lines, reason = self._dropped, self._reason
            self._dropped, self._reason = 0, ""
        self._on_dropped(lines, reason)
