"""A server process whose wall clock jumps, and whose event loop stands still when told to.

Owns: a hook inside the process: its wall clock is off by what a file says, and SIGWINCH keeps its main thread asleep.
Must not know: what a right server does about it.
"""

import os
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Final

_HOOK: Final = """
import signal, time

_true_time, _true_time_ns = time.time, time.time_ns
_FILE = {file!r}


def _offset_s():
    with open(_FILE, encoding="ascii") as file:
        return int(file.read() or 0)


time.time = lambda: _true_time() + _offset_s()
time.time_ns = lambda: _true_time_ns() + _offset_s() * 1_000_000_000
signal.signal(signal.SIGWINCH, lambda _number, _frame: time.sleep({stall_s}))
"""


class BrokenClock:
    """The hook, for one process. A signal SIGWINCH stalls its event loop for `stall_s` seconds."""

    def __init__(self, folder: Path, *, stall_s: float) -> None:
        """Prepare; the clock is right at first."""
        self._file = folder / "clock-offset"
        self._hooks = folder / "clock-hooks"
        self._hooks.mkdir()
        source = _HOOK.format(file=str(self._file), stall_s=stall_s)
        (self._hooks / "sitecustomize.py").write_text(textwrap.dedent(source), encoding="utf-8")
        self.jump(0)

    @property
    def environment(self) -> Mapping[str, str]:
        """What to lay over the environment of the process."""
        source = Path(__file__).resolve().parents[2] / "src"
        return {"PYTHONPATH": os.pathsep.join((str(self._hooks), str(source)))}

    def jump(self, offset_s: int) -> None:
        """Let the wall clock be wrong by this much from now on."""
        staging = self._file.with_suffix(".new")
        staging.write_text(str(offset_s), encoding="ascii")
        staging.replace(self._file)
