"""The probe for stalls: what it finds of a server that answers, and of one that once does not for a while."""

import os
import socket
import threading

import pytest
from tests.support.stall_probe import StallProbe
from tests.support.wire import frame

STALL_S = 0.2
ANSWER = frame(b'{"code":17,"flag":1,"opaque":1}')


class Stalling:
    """A server of one connection that answers everything, the tenth question late, and closes after `last`."""

    def __init__(self, *, stall_s: float, last: int | None = None) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self._stall_s = stall_s
        self._last = last
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def end(self) -> None:
        self._thread.join()
        self._listener.close()

    def _serve(self) -> None:
        connection, _ = self._listener.accept()
        with connection:
            asked = 0
            while (length := connection.recv(4, socket.MSG_WAITALL)) and asked != self._last:
                connection.recv(int.from_bytes(length, "big"), socket.MSG_WAITALL)
                asked += 1
                if asked == 10:
                    threading.Event().wait(self._stall_s)
                connection.sendall(ANSWER)


def test_a_stall_is_found_at_its_length() -> None:
    server = Stalling(stall_s=STALL_S)
    with StallProbe(server.address, os.getpid()) as probe:
        threading.Event().wait(STALL_S * 2)
    server.end()
    assert probe.found.asked > 10
    assert probe.found.longest_ms >= STALL_S * 1000
    assert 0 < probe.found.longest_of_server_ms <= probe.found.longest_ms


def test_a_server_that_ends_is_told() -> None:
    server = Stalling(stall_s=0, last=20)
    probe = StallProbe(server.address, os.getpid())
    probe.start()
    server.end()
    with pytest.raises(AssertionError, match="ConnectionResetError"):
        probe.stop()
