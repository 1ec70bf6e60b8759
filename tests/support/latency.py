"""How long answers take, beside something else that goes on.

Owns: readers in the background, and the comparison with a quiet server.
Must not know: what goes on.
"""

import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Final, Self

from tests.support.peer import Addresses, Peer, read_route

QUIET_S: Final = 0.5
FACTOR: Final = 10
_NOISE_S: Final = 0.02
"""What a machine busy with other things adds to any one answer."""


class RouteReader:
    """Asks for one route over and over on its own connection while `with` lasts.

    Leaving fails when an answer was an error or did not satisfy `is_right`.
    """

    def __init__(self, address: str, topic: str, is_right: Callable[[dict[str, Addresses]], bool]) -> None:
        """Prepare; `is_right` gets broker name → id → address."""
        self.durations_s: list[float] = []
        self._address = address
        self._topic = topic
        self._is_right = is_right
        self._is_over = threading.Event()
        self._failure: str | None = None
        self._thread = threading.Thread(target=self._read, daemon=True)

    def __enter__(self) -> Self:
        """Begin to ask."""
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop asking, and fail if an answer was wrong."""
        self._is_over.set()
        self._thread.join(30)
        if error is None:
            assert not self._thread.is_alive(), "an answer did not come"
            assert self._failure is None, self._failure
            assert self.durations_s, "not one answer came"

    @property
    def p99_s(self) -> float:
        """The duration that 99 of 100 answers did not exceed."""
        return p99(self.durations_s)

    def _read(self) -> None:
        try:
            with Peer(self._address) as peer:
                while not self._is_over.is_set():
                    begin = time.perf_counter()
                    answer = peer.ask_route(self._topic)
                    self.durations_s.append(time.perf_counter() - begin)
                    brokers = dict(read_route(answer).brokers)
                    if not self._is_right(brokers):
                        self._failure = f"a wrong route after {len(self.durations_s)} answers: {brokers}"
                        return
                    time.sleep(0.001)
        except (OSError, AssertionError) as error:
            self._failure = f"{type(error).__name__} after {len(self.durations_s)} answers: {error}"


def p99(durations_s: list[float]) -> float:
    """Return the duration that 99 of 100 did not exceed."""
    return sorted(durations_s)[int(len(durations_s) * 0.99)]


def quiet_p99_s(address: str, topic: str) -> float:
    """Return how long the route of this topic takes while nothing else is asked."""
    with RouteReader(address, topic, lambda _: True) as reader:
        time.sleep(QUIET_S)
    return reader.p99_s


def assert_not_slowed(p99_s: float, quiet_s: float, factor: float = FACTOR) -> None:
    """Fail when answers took many times what they take on the quiet server."""
    limit = factor * (quiet_s + _NOISE_S)
    assert p99_s <= limit, f"p99 {p99_s * 1000:.1f} ms, quiet {quiet_s * 1000:.1f} ms, allowed {limit * 1000:.1f} ms"
