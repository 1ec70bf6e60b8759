"""What the parts of the double ask of the whole.

Owns: the one protocol that keeps them apart.
Must not know: how the whole does it.
"""

from collections.abc import Callable, Mapping
from typing import Protocol

from tests.support.faulty_broker.journal import Command
from tests.support.faulty_broker.line import Line


class Surroundings(Protocol):
    """The broker as its parts see it."""

    @property
    def broker_name(self) -> str:
        """The name of its group."""

    @property
    def cluster(self) -> str:
        """The name of its cluster."""

    def now_ms(self) -> int:
        """Give the time of day."""

    def later(self, seconds: float, act: Callable[[], None]) -> None:
        """Do something later, unless the broker stops first."""

    def topics_changed(self) -> None:
        """Tell the name servers."""

    def producer_line(self, client_id: str) -> Line | None:
        """Give the connection of a producer."""

    def ask(
        self, line: Line, code: int, ext: Mapping[str, str], body: bytes, then: Callable[[Command | None], None]
    ) -> None:
        """Send a request to a client; `then` gets its answer, or None if none came."""
