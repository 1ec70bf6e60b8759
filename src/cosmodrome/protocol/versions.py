"""RocketMQ version ordinals that change what is on the wire.

Owns: the ordinals, and how an ordinal from the wire is clamped (Java: MQVersion).
Must not know: what depends on them.
"""

from typing import Final

V3_0_11: Final = 37
"""Registrations carry a RegisterBrokerBody from here on."""
V4_9_4: Final = 401
"""Routes are written in standard JSON for clients from here on."""
V5_0_0: Final = 413
"""Compressed registrations end with static-topic mappings from here on."""
V5_3_1: Final = 475
"""Clients above this understand GO_AWAY."""
V5_5_0: Final = 513
HIGHER_VERSION: Final = 612
"""The last ordinal; whatever is above counts as this."""

SERVER_VERSION: Final = V5_5_0
"""What our answers carry: the release whose behaviour they follow."""


def clamp_version(version: int) -> int:
    """Treat an ordinal that is newer than all we know as the newest.

    Raises:
        ValueError: The ordinal is negative; Java fails on it as well.
    """
    if version < 0:
        raise ValueError(f"version {version} is negative")
    return min(version, HIGHER_VERSION)
