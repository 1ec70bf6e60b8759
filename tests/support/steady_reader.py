"""A client in a process of its own that asks for one route at a steady pace.

Owns: questions at their times, whether or not earlier ones are answered, and how long each answer takes.
Must not know: the package under test; what goes on beside it.
"""

import json
import select
import subprocess
import sys
import time
from collections import deque
from types import TracebackType
from typing import Final, Self

from tests.support.child_program import start_module
from tests.support.latency import p99
from tests.support.peer import ROUTE, SUCCESS, Peer
from tests.support.wire import encode_request, is_readable

PACE_S: Final = 0.01
ENDS_S: Final = 60.0


class SteadyReader:
    """Asks a hundred times a second while `with` lasts; leaving fails when an answer differed from the first one."""

    def __init__(self, address: str, topic: str) -> None:
        """Prepare."""
        self.durations_s: list[float] = []
        self._arguments = (address, topic)
        self._child: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        """Begin to ask; the first answer has come when this returns."""
        self._child = start_module("steady_reader", *self._arguments, first_line="asking")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop asking."""
        assert self._child is not None
        try:
            output, errors = self._child.communicate("", timeout=ENDS_S)
        finally:
            self._child.kill()
            self._child.wait()
        if error is None:
            assert self._child.returncode == 0, errors
            self.durations_s = json.loads(output)

    @property
    def p99_s(self) -> float:
        """The duration that 99 of 100 answers did not exceed."""
        return p99(self.durations_s)


def steady_quiet_p99_s(address: str, topic: str, seconds: float = 1.0) -> float:
    """Return how long such a client waits while nothing else is asked."""
    with SteadyReader(address, topic) as reader:
        time.sleep(seconds)
    return reader.p99_s


def _ask_until_told(address: str, topic: str) -> list[float]:
    """Ask at a steady pace until standard input ends."""
    durations: list[float] = []
    asked: deque[float] = deque()
    with Peer(address, ENDS_S) as peer:
        first = peer.ask_route(topic)
        assert first.code == SUCCESS, first
        question = encode_request(ROUTE, {"topic": topic}, opaque=7)
        sys.stdout.write("asking\n")
        sys.stdout.flush()
        due = time.monotonic()
        is_over = False
        while asked or not is_over:
            if time.monotonic() >= due and not is_over:
                peer.send(question)
                asked.append(due)
                due += PACE_S
            if asked and (peer.untaken() or is_readable([peer], max(0.0, due - time.monotonic()))):
                answer = peer.read_answer()
                assert (answer.code, answer.opaque, answer.body) == (SUCCESS, 7, first.body), answer
                durations.append(time.monotonic() - asked.popleft())
            is_over = is_over or _has_ended(0 if asked else due - time.monotonic())
    return durations


def _has_ended(within_s: float) -> bool:
    """Wait for so long at most, and tell whether standard input has ended."""
    ready, _, _ = select.select([sys.stdin], [], [], max(0.0, within_s))
    return bool(ready)


if __name__ == "__main__":
    json.dump(_ask_until_told(*sys.argv[1:]), sys.stdout)
