"""How slaves are served, as the configuration of a broker says it.

Owns: which setting is which.
Must not know: what is done with one.
"""

import ipaddress
from dataclasses import dataclass
from typing import Self

from cosmodrome.broker.config import BrokerConfig
from cosmodrome.broker.replication.copies import CopyRules

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicationSettings:
    """How slaves are served.

    Attributes:
        sign_ms: A connection on which nothing was sent for so long gets a sign of life; Java's `haSendHeartbeatInterval`.
        silence_ms: One from which nothing came, or which took nothing, for so long is closed; Java's `haHousekeepingInterval`.
        batch_bytes: Of the log, in one transfer; Java's `haTransferBatchSize`.
        most_behind_bytes: A slave that lacks as much is not in sync; Java's `haMaxGapNotInSync`, `haSlaveFallbehindMax` before 5.
        copies: How sends wait for slaves; None when they do not.
        allowed: From where slaves may come; None from everywhere.
    """

    sign_ms: int = 5000
    silence_ms: int = 20_000
    batch_bytes: int = 32 * 1024
    most_behind_bytes: int = 256 * 1024 * 1024
    copies: CopyRules | None = None
    allowed: tuple[Network, ...] | None = None

    @classmethod
    def of(cls, config: BrokerConfig) -> Self:
        """Read them."""
        most_behind = min(config.ha_max_gap_not_in_sync, config.ha_slave_fallbehind_max)
        rules = CopyRules(
            slaves=config.in_sync_replicas - 1, timeout_ms=config.slave_timeout, most_behind_bytes=most_behind
        )
        return cls(
            sign_ms=config.ha_send_heartbeat_interval,
            silence_ms=config.ha_housekeeping_interval,
            batch_bytes=config.ha_transfer_batch_size,
            most_behind_bytes=most_behind,
            copies=rules if config.is_waiting_for_slaves else None,
            allowed=config.slave_networks,
        )
