"""Parameters of requests, read.

Owns: times, numbers and patterns in a query: their forms, their limits, what is said of one that cannot be used.
Must not know: what they choose.
"""

from datetime import UTC, datetime
from http import HTTPStatus
from typing import Final

from starlette.requests import Request

from cosmodrome.http.operations import Parameter
from cosmodrome.http.problems import Problem

_LONGEST_NUMBER: Final = 18
_MOST_PATTERNS: Final = 20
_LONGEST_PATTERN: Final = 300
_LONGEST_TEXT: Final = 1024

_TIME: Final = {"type": "string", "anyOf": [{"format": "date-time"}, {"pattern": r"^([0-9]+(\.[0-9]+)?)?$"}]}
TIMES: Final = (
    Parameter(name="from", meaning="not before this: RFC 3339, or Unix time", schema=_TIME),
    Parameter(name="to", meaning="not after this: RFC 3339, or Unix time", schema=_TIME),
)
"""Parameters of what is of a time."""


def text_of(request: Request, name: str) -> str:
    """Read a text; empty when there is none.

    Raises:
        Problem: It is too long.
    """
    text = request.query_params.get(name, "")
    if len(text) > _LONGEST_TEXT:
        raise Problem(HTTPStatus.BAD_REQUEST, "long_text", f"{name} has at most {_LONGEST_TEXT} characters")
    return text


def patterns_of(request: Request, name: str) -> list[str]:
    """Give the values of a parameter that may be given again, each with several values between commas.

    Raises:
        Problem: They are too many, or too long.
    """
    patterns = [each for text in request.query_params.getlist(name) for each in text.split(",") if each]
    if len(patterns) > _MOST_PATTERNS or any(len(each) > _LONGEST_PATTERN for each in patterns):
        detail = f"{name} takes at most {_MOST_PATTERNS} patterns of {_LONGEST_PATTERN} characters"
        raise Problem(HTTPStatus.BAD_REQUEST, "long_text", detail)
    return patterns


def number_of(text: str, name: str) -> int:
    """Read a whole number.

    Raises:
        Problem: It is none.
    """
    if not (text.isascii() and text.isdigit() and len(text) <= _LONGEST_NUMBER):
        raise Problem(HTTPStatus.BAD_REQUEST, "bad_number", f"{name} must be a whole number, not {text[:40]!r}")
    return int(text)


def time_of(request: Request, name: str) -> float | None:
    """Read a time: RFC 3339 (without a zone: UTC), or Unix time; None when there is none.

    Raises:
        Problem: It is neither.
    """
    text = request.query_params.get(name, "")
    try:
        return _unix_time(text) if text else None
    except ValueError:
        detail = f"{name} must be a time like 2026-03-01T14:03:20Z, or Unix time, not {text[:40]!r}"
        raise Problem(HTTPStatus.BAD_REQUEST, "bad_time", detail, "in a query, + is written %2B") from None


def _unix_time(text: str) -> float:
    if text.isascii() and text.replace(".", "", 1).isdigit():
        return float(text)
    when = datetime.fromisoformat(text)
    return (when if when.tzinfo is not None else when.replace(tzinfo=UTC)).timestamp()
