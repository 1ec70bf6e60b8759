"""Which broker a consumer is told to pull from next.

Owns: when a reader is so far behind that a slave had better serve it.
Must not know: which slaves there are: a client without that one stays where it is.
"""

import os
from collections.abc import Callable
from typing import Final

from cosmodrome.broker.config import BrokerConfig
from cosmodrome.broker.long_polls import QueueKey
from cosmodrome.protocol.bodies.groups import SubscriptionGroupConfig
from cosmodrome.store.reading import Reader, ReadResult, ReadStatus

MASTER_ID: Final = 0
_UNKNOWN_MEMORY_BYTES: Final = 24 * 1024**3
_LOOKED: Final = frozenset({ReadStatus.FOUND, ReadStatus.NO_MATCHED_MESSAGE, ReadStatus.MESSAGE_WAS_REMOVING})
"""What became of a read that looked at messages."""


class SlowReaders:
    """Sends readers of what is no longer in memory to a slave, with `slaveReadEnable`; else nobody anywhere."""

    def __init__(self, config: BrokerConfig, reader: Reader, log_end: Callable[[], int]) -> None:
        """Take as memory the part of the machine's that the settings name."""
        self._is_enabled = config.slave_read_enable
        self._near_bytes = _memory_bytes() * config.access_message_in_memory_max_ratio // 100
        self._reader = reader
        self._log_end = log_end

    def broker_id(self, queue: QueueKey, result: ReadResult, group: SubscriptionGroupConfig) -> int:
        """Say which broker of this name a group had better ask next."""
        if not self._is_enabled:
            return MASTER_ID
        return group.which_broker_when_consume_slowly if self._is_far(queue, result) else group.broker_id

    def _is_far(self, queue: QueueKey, result: ReadResult) -> bool:
        """Whether the last message that was looked at is further from the end of the log than memory reaches."""
        unit = self._reader.unit(*queue, result.next_offset - 1) if result.status in _LOOKED else None
        return unit is not None and self._log_end() - unit.log_offset > self._near_bytes


def _memory_bytes() -> int:
    """Give how much memory this machine has."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return _UNKNOWN_MEMORY_BYTES
