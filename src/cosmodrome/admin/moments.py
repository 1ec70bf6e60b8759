"""Moments as operators write and read them.

Owns: the forms that are read (mqadmin's, milliseconds, RFC 3339) and written (local time as mqadmin's, RFC 3339 in UTC).
Must not know: what happened then.
"""

import re
from datetime import UTC, datetime
from typing import Final

FORMS: Final = "yyyy-MM-dd#HH:mm:ss:SSS in local time, milliseconds since 1970, or RFC 3339"
_OF_MQADMIN: Final = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})#(\d{1,2}):(\d{1,2}):(\d{1,2}):(\d{1,3})", re.ASCII)
_OF_RFC: Final = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d.*", re.ASCII)
_NUMBER: Final = re.compile(r"-?\d{1,19}", re.ASCII)
_LONGEST_MS: Final = 2**63 - 1


def moment_ms(text: str) -> int:
    """Read a moment, as milliseconds since 1970. RFC 3339 without an offset is local time.

    Raises:
        ValueError: It has none of the forms, or there is no such day or hour.
    """
    if _NUMBER.fullmatch(text):
        number = int(text)
        if abs(number) > _LONGEST_MS:
            raise ValueError(f"{text} does not fit into 64 bits")
        return number
    parts = _OF_MQADMIN.fullmatch(text)
    try:
        if parts:
            year, month, day, hour, minute, second, ms = map(int, parts.groups())
            return _ms_of(datetime(year, month, day, hour, minute, second, ms * 1000).astimezone())
        if _OF_RFC.fullmatch(text):
            return _ms_of(datetime.fromisoformat(text.upper()).astimezone())
    except (ValueError, OverflowError) as error:
        raise ValueError(f"there is no moment {text!r}: {error}") from None
    raise ValueError(f"{text!r} is no moment: write {FORMS}")


def rfc3339(time_ms: int) -> str | None:
    """Write a moment in UTC; None for one that no calendar has."""
    moment = _moment(time_ms)
    return None if moment is None else f"{moment:%Y-%m-%dT%H:%M:%S}.{time_ms % 1000:03d}Z"


def local_second(time_ms: int) -> str:
    """Write a moment in local time, as `yyyy-MM-dd HH:mm:ss`; one that no calendar has as its milliseconds."""
    moment = _moment(time_ms)
    return str(time_ms) if moment is None else f"{moment.astimezone():%Y-%m-%d %H:%M:%S}"


def local_ms(time_ms: int) -> str:
    """Write a moment in local time, as `yyyy-MM-dd HH:mm:ss,SSS`; one that no calendar has as its milliseconds."""
    return f"{local_second(time_ms)},{time_ms % 1000:03d}" if _moment(time_ms) is not None else str(time_ms)


def _ms_of(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)


def _moment(time_ms: int) -> datetime | None:
    try:
        moment = datetime.fromtimestamp(time_ms // 1000, UTC)
        moment.astimezone()
    except (OverflowError, ValueError, OSError):  # a record may say anything
        return None
    return moment
