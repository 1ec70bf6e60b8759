"""A client in a process of its own that asks for more than any server can answer.

Owns: requests of several kinds, sent as fast as the connections take them whether or not earlier ones are answered; how
    many answers came, by request and by answer.
Must not know: the package under test; which answers are right.
"""

import json
import selectors
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from types import TracebackType
from typing import Final, Self

from tests.support.child_program import start_module
from tests.support.peer import HB, REG, ROUTE, TOPICS, topics_named
from tests.support.wire import (
    Broker,
    Ext,
    crc32_masked,
    encode_request,
    identity_ext,
    register_body,
    registration_ext,
    split,
)

MIX: Final = (ROUTE, ROUTE, HB, ROUTE, TOPICS, ROUTE, REG, ROUTE)
"""What each connection asks, over and over."""
STEADY: Final = Broker(name="flooded", cluster="flooded-C", addr="192.0.2.241:10911", ha_addr="192.0.2.241:10912")
_REPEATING: Final = Broker(name="repeating", cluster="flooded-C", addr="192.0.2.242:10911", ha_addr="192.0.2.242:10912")
_TURNS: Final = 50
_CHUNK_BYTES: Final = 256 * 1024
_DRAIN_S: Final = 60.0


def steady_body(topic: str) -> bytes:
    """Return the table of the broker whose route is asked for."""
    return register_body(topics_named(topic, f"{topic}-2"))


class Flood:
    """Asks while `with` lasts; leaving fails when an answer did not come."""

    def __init__(self, address: str, topic: str, connections: int) -> None:
        """Prepare."""
        self.answers: dict[int, dict[int, int]] = {}
        """How many answers came, by request code and by response code."""
        self._arguments = (address, topic, str(connections))
        self._child: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        """Begin to ask; the first answers have come when this returns."""
        self._child = start_module("flood", *self._arguments, first_line="flooding")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop asking, and wait for the answers."""
        assert self._child is not None
        try:
            output, errors = self._child.communicate("", timeout=2 * _DRAIN_S)
        finally:
            self._child.kill()
            self._child.wait()
        if error is None:
            assert self._child.returncode == 0, errors
            counts = json.loads(output)
            self.answers = {int(code): {int(of): n for of, n in by.items()} for code, by in counts.items()}


class _Line:
    """One connection: what it still has to send, and what it has read."""

    def __init__(self, address: str, chunk: bytes) -> None:
        host, _, port = address.rpartition(":")
        self.socket = socket.create_connection((host, int(port)), 30)
        self.socket.setblocking(False)
        self.asked = 0
        self.answered: Counter[tuple[int, int]] = Counter()
        self._chunk = chunk
        self._unsent = memoryview(b"")
        self._received = b""

    def send(self, *, more: bool) -> bool:
        """Send as much as the connection takes at once; tell whether anything is left to send."""
        if not self._unsent and more:
            self._unsent = memoryview(self._chunk)
            self.asked += _TURNS * len(MIX)
        try:
            self._unsent = self._unsent[self.socket.send(self._unsent) :]
        except BlockingIOError:
            return True
        return bool(self._unsent) or more

    def receive(self) -> None:
        """Read what has come."""
        try:
            data = self.socket.recv(_CHUNK_BYTES)
        except BlockingIOError:
            return
        assert data, "the server closed a connection"
        answers, self._received = split(self._received + data)
        for answer in answers:
            self.answered[MIX[answer.opaque], answer.code] += 1

    @property
    def is_answered(self) -> bool:
        return not self._unsent and self.answered.total() == self.asked


def _chunk(topic: str) -> bytes:
    body = steady_body(f"{topic}-repeated")
    ext: dict[int, Ext] = {
        ROUTE: {"topic": topic},
        HB: identity_ext(STEADY),
        TOPICS: {},
        REG: registration_ext(_REPEATING, crc=crc32_masked(body)),
    }
    turn = (encode_request(code, ext[code], body if code == REG else b"", opaque=at) for at, code in enumerate(MIX))
    return b"".join(turn) * _TURNS


def _flood(address: str, topic: str, count: int) -> dict[int, dict[int, int]]:
    chunk = _chunk(topic)
    lines = [_Line(address, chunk) for _ in range(count)]
    both = selectors.EVENT_READ | selectors.EVENT_WRITE
    with selectors.DefaultSelector() as ready:
        ready.register(sys.stdin, selectors.EVENT_READ, None)
        for line in lines:
            ready.register(line.socket, both, line)
        is_over, deadline = False, float("inf")
        is_told = False
        while not (is_over and all(line.is_answered for line in lines)):
            assert time.monotonic() < deadline, "not everything was answered"
            for key, events in ready.select(0.1):
                line = key.data
                if line is None:
                    is_over, deadline = True, time.monotonic() + _DRAIN_S
                    ready.unregister(sys.stdin)
                    continue
                if events & selectors.EVENT_READ:
                    line.receive()
                if events & selectors.EVENT_WRITE and not line.send(more=not is_over):
                    ready.modify(line.socket, selectors.EVENT_READ, line)
            if not is_told and all(line.answered for line in lines):
                is_told = True
                sys.stdout.write("flooding\n")
                sys.stdout.flush()
    return _summed(lines)


def _summed(lines: Sequence[_Line]) -> dict[int, dict[int, int]]:
    total: Counter[tuple[int, int]] = Counter()
    for line in lines:
        total.update(line.answered)
        line.socket.close()
    return {code: {of: n for (asked, of), n in total.items() if asked == code} for code in set(MIX)}


if __name__ == "__main__":
    json.dump(_flood(sys.argv[1], sys.argv[2], int(sys.argv[3])), sys.stdout)
