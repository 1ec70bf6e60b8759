"""Which old messages go, and when the disk is too full for new ones.

Owns: the rules by age, by hour and by how full the disk is.
Must not know: clocks; timers; how files are deleted; what a refused sender is told.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from cosmodrome.errors import ConfigError
from cosmodrome.store.message_store import MessageStore

_HOUR_MS: Final = 3_600_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionSettings:
    """When messages may go. Ratios are of the fullest file system on which the store is.

    Attributes:
        reserved_ms: So long a file is kept after it was written last; Java's `fileReservedTime`.
        delete_hours: Hours of the day in which old files are deleted; Java's `deleteWhen`.
        delete_ratio: From here on old files are deleted at any hour; Java's `diskMaxUsedSpaceRatio`.
        force_ratio: From here on files are deleted whatever their age; Java's `diskSpaceCleanForciblyRatio`.
        refuse_ratio: From here on nothing is accepted; Java's `diskSpaceWarningLevelRatio`.

    Raises:
        ConfigError: A value out of range, or ratios that do not ascend.
    """

    reserved_ms: int = 72 * _HOUR_MS
    delete_hours: frozenset[int] = frozenset({4})
    delete_ratio: float = 0.75
    force_ratio: float = 0.85
    refuse_ratio: float = 0.90

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        if self.reserved_ms < 0:
            raise ConfigError("fileReservedTime is negative", keys=("fileReservedTime",))
        if not self.delete_hours <= frozenset(range(24)):
            raise ConfigError("deleteWhen names an hour that is none", keys=("deleteWhen",))
        if not 0 < self.delete_ratio <= self.force_ratio <= self.refuse_ratio <= 1:
            raise ConfigError(
                "the ratios of the disk do not ascend from above 0 to 1",
                keys=("diskMaxUsedSpaceRatio", "diskSpaceCleanForciblyRatio", "diskSpaceWarningLevelRatio"),
            )


class Reason(StrEnum):
    """Why the oldest file of the log is deleted now."""

    FULL = "the disk is too full"
    AGE = "it is old, and it is the hour"
    AGE_AND_FULL = "it is old, and the disk is filling"
    AGE_AND_ASKED = "it is old, and somebody asked"


def reason_to_delete(
    settings: RetentionSettings, age_ms: int, used: float, hour: int, *, is_asked: bool
) -> Reason | None:
    """Say why a file that was written last `age_ms` ago goes now; None when it stays."""
    if used >= settings.force_ratio:
        return Reason.FULL
    if age_ms < settings.reserved_ms:
        return None
    if hour in settings.delete_hours:
        return Reason.AGE
    if used >= settings.delete_ratio:
        return Reason.AGE_AND_FULL
    return Reason.AGE_AND_ASKED if is_asked else None


def is_too_full(settings: RetentionSettings, used: float) -> bool:
    """Tell whether nothing may be accepted."""
    return used >= settings.refuse_ratio


def reason_for_oldest(
    store: MessageStore, settings: RetentionSettings, now_ms: int, hour: int, *, is_asked: bool
) -> Reason | None:
    """Say why the oldest file of a store goes now; None when it stays, or is the last one."""
    written_ms = store.oldest_written_ms()
    if written_ms is None:
        return None
    return reason_to_delete(settings, now_ms - written_ms, store.used_ratio(), hour, is_asked=is_asked)
