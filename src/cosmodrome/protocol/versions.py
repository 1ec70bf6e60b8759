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
SERVER_RELEASE: Final = "5.5.0"
"""The same, as a person writes it."""


def clamp_version(version: int) -> int:
    """Treat an ordinal that is newer than all we know as the newest.

    Raises:
        ValueError: The ordinal is negative; Java fails on it as well.
    """
    if version < 0:
        raise ValueError(f"version {version} is negative")
    return min(version, HIGHER_VERSION)


def version_name(version: int) -> str:
    """Give the release of a client as Java's tools write it, `V5_5_0`; of one that is older than 4.9, the ordinal."""
    release, rest = divmod(clamp_version(max(0, version)) - _V4_9_0 + 1, _OF_A_RELEASE)
    if not 0 <= release <= _LAST_RELEASE:
        return str(version)
    major, minor, patch = _FIRST_MAJOR, _FIRST_MINOR, release
    carried, patch = divmod(patch, _PATCHES)
    carried, minor = divmod(minor + carried, _PATCHES)
    return f"V{major + carried}_{minor}_{patch}{'' if rest else '_SNAPSHOT'}"


_V4_9_0: Final = 393
_FIRST_MAJOR: Final = 4
_FIRST_MINOR: Final = 9
_PATCHES: Final = 10
_OF_A_RELEASE: Final = 2
"""Ordinals: its snapshot, and itself."""
_LAST_RELEASE: Final = 109
"""5.9.9, counted from 4.9.0."""
