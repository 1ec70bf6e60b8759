"""What families of requests have in common that may wait for messages.

Owns: what they answer with, and the settings in force.
Must not know: which requests; what ends a wait.
"""

from collections.abc import Callable
from typing import Generic, TypeVar

from cosmodrome.broker.clock import Clock
from cosmodrome.broker.config import BrokerConfig
from cosmodrome.broker.outbox import Outbox

PartsT = TypeVar("PartsT")


class HoldingProcessor(Generic[PartsT]):
    """Holds requests. `is_writable` says of a connection whether its peer takes messages now."""

    def __init__(
        self, config: BrokerConfig, clock: Clock, parts: PartsT, outbox: Outbox, is_writable: Callable[[int], bool]
    ) -> None:
        """Use these parts."""
        self._config = config
        self._clock = clock
        self._parts = parts
        self._outbox = outbox
        self._is_writable = is_writable

    def configure(self, config: BrokerConfig) -> None:
        """Use other settings from now on."""
        self._config = config
