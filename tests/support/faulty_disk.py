"""The calls that change a disk, watched, and made to fail or to be the last ones of a process.

Owns: standing between the code under test and `os`; what of it a power cut leaves, by the loosest rules a file system may have.
Must not know: the package under test; which calls it makes, and what its files hold.
"""

import itertools
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

NAMES: Final = ("open", "write", "fsync", "link", "replace", "unlink", "mkdir", "chmod", "fchown")


Call = tuple[str, tuple[Any, ...], Any]
"""The name of a function of `os`, its arguments, and what it returned; None if it failed."""


class Killed(BaseException):
    """The process ended here: nothing that it would have done afterwards happens."""


class FaultyDisk:
    """Counts the calls of this thread that change something on disk, and lets some of them fail.

    Args:
        error: What the calls raise; `Killed` then also happens to every later call. None for a disk without faults.
        fails: Given the number of a call, from 0 on, tells whether it fails.
    """

    def __init__(self, error: BaseException | None = None, fails: Callable[[int], bool] = lambda _: True) -> None:
        """Prepare; `below` puts it in place."""
        self.calls: list[Call] = []
        self._error = error
        self._fails = fails
        self._thread = threading.get_ident()
        self._is_dead = False

    def below(self, patches: pytest.MonkeyPatch) -> None:
        """Put it between everybody and the disk, until the patches are undone."""
        for name in NAMES:
            patches.setattr(os, name, self._watched(name, getattr(os, name)))

    def _watched(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            if threading.get_ident() != self._thread or _changes_nothing(name, arguments):
                return real(*arguments, **named)
            if self._is_dead:
                raise Killed
            if self._error is not None and self._fails(len(self.calls)):
                self.calls.append((name, arguments, None))
                self._fail(name, real, arguments)
            result = real(*arguments, **named)
            self.calls.append((name, arguments, result))
            return result

        return call

    def _fail(self, name: str, real: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        assert self._error is not None
        if name == "write":  # a part of it found room
            real(arguments[0], bytes(arguments[1])[: len(arguments[1]) // 2])
        self._is_dead = isinstance(self._error, Killed)
        raise self._error


def after_power_cuts(
    folder: Path, before: dict[str, bytes], calls: list[Call]
) -> Iterator[tuple[int, dict[str, bytes]]]:
    """Give what may be found in a folder when the power went after so many of the calls: the count, contents by name.

    `before` is on disk. A file holds what was synced, or else nothing or half; an entry of the folder that was not
    synced is there or not, in any combination with others. Every call must have succeeded.
    """
    for count in range(len(calls) + 1):
        disk = _Disk(folder, before)
        for call in calls[:count]:
            disk.do(*call)
        for state in disk.may_be_left():
            yield count, state


class _Disk:
    """A folder as the machine sees it, and what of it is certain to last."""

    def __init__(self, folder: Path, before: dict[str, bytes]) -> None:
        self._folder = folder
        self._contents: list[bytearray] = [bytearray(data) for data in before.values()]
        self._is_synced = [True] * len(before)
        self._entries = {name: number for number, name in enumerate(before)}
        self._lasting = dict(self._entries)
        self._pending: list[dict[str, int | None]] = []
        self._open: dict[int, int | None] = {}

    def do(self, name: str, arguments: tuple[Any, ...], result: Any) -> None:
        if name == "open":
            self._opened(Path(arguments[0]), arguments[1], result)
        elif name == "write":
            self._contents[self._number(arguments[0])] += arguments[1][:result]
            self._is_synced[self._number(arguments[0])] = False
        elif name == "fsync":
            self._synced(self._open[arguments[0]])
        elif name == "link":
            self._change({Path(arguments[1]).name: self._entries[Path(arguments[0]).name]})
        elif name == "replace":
            source, target = (Path(argument).name for argument in arguments)
            self._change({target: self._entries[source], source: None})
        elif name == "unlink":
            self._change({Path(arguments[0]).name: None})
        else:
            assert name in {"chmod", "fchown"}, name

    def may_be_left(self) -> Iterator[dict[str, bytes]]:
        for kept in itertools.product((False, True), repeat=len(self._pending)):
            entries: dict[str, int | None] = dict(self._lasting)
            for is_kept, change in zip(kept, self._pending, strict=True):
                entries |= change if is_kept else {}
            present = {name: number for name, number in entries.items() if number is not None}
            for cut in (0, 2):
                yield {name: self._left_of(number, cut) for name, number in present.items()}

    def _left_of(self, number: int, cut: int) -> bytes:
        data = bytes(self._contents[number])
        return data if self._is_synced[number] else data[: len(data) // cut if cut else 0]

    def _opened(self, path: Path, flags: int, descriptor: int) -> None:
        if path == self._folder:
            self._open[descriptor] = None
            return
        assert flags & os.O_CREAT
        self._contents.append(bytearray())
        self._is_synced.append(False)
        self._open[descriptor] = len(self._contents) - 1
        self._change({path.name: len(self._contents) - 1})

    def _synced(self, number: int | None) -> None:
        if number is not None:
            self._is_synced[number] = True
            return
        self._lasting = dict(self._entries)
        self._pending.clear()

    def _change(self, change: dict[str, int | None]) -> None:
        self._pending.append(change)
        entries = {**self._entries, **change}
        self._entries = {name: number for name, number in entries.items() if number is not None}

    def _number(self, descriptor: int) -> int:
        number = self._open[descriptor]
        assert number is not None
        return number


def _changes_nothing(name: str, arguments: tuple[Any, ...]) -> bool:
    """Opening to read changes nothing, but a folder is opened in order to sync it."""
    return name == "open" and not arguments[1] & os.O_CREAT and not Path(arguments[0]).is_dir()
