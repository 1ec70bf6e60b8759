"""Values in a filter, compared as Java does.

Owns: which values are numbers; the order of any two values.
Must not know: expressions; messages.

Java's types decide what a text is read as: a whole number from -2147483647 to 2147483647 is an Integer, every other a Long, one with
a point or an exponent a Double. Here the first two are int, the last is float.
"""

import math
import re
from typing import Final

from cosmodrome.errors import FilterError

Known = bool | int | float | str
Value = Known | None
"""None is what is not known: a property that is missing."""

_INT_MAX: Final = 2**31 - 1
_LONG_MAX: Final = 2**63 - 1
_MOST_DIGITS: Final = 4000
_BLANKS: Final = "".join(map(chr, range(33)))
_DECIMAL: Final = re.compile(
    r"([+-]?)(?:(NaN|Infinity)|((?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)[fFdD]?)", re.ASCII
)
_HEXADECIMAL: Final = re.compile(
    r"([+-]?)0[xX](?:[0-9a-fA-F]+\.?|[0-9a-fA-F]*\.[0-9a-fA-F]+)[pP][+-]?[0-9]+(?=[fFdD]?\Z)", re.ASCII
)


def compare(left: Known, right: Known) -> int:
    """Give a negative number, 0 or a positive one; of two texts only whether they are equal counts.

    Raises:
        FilterError: A text is no number of the other's kind, or they cannot be compared.
    """
    if isinstance(left, bool):
        return _compare_boolean(left, right)
    if isinstance(left, str):
        return _compare_text(left, right)
    if isinstance(right, bool):
        return -1
    if isinstance(left, float):
        return _order(left, double_of(right) if isinstance(right, str) else float(right))
    if isinstance(right, float):
        return _order(float(left), right)
    whole = _whole_of(right, left) if isinstance(right, str) else right
    return (left > whole) - (left < whole)


def _compare_boolean(left: bool, right: Known) -> int:  # noqa: FBT001 -- a value like others
    if isinstance(right, bool):
        return left - right
    if isinstance(right, str):
        # COMPAT: Java reads the wrong one of the two as a text, and fails.
        raise FilterError("a condition cannot be compared with a text")
    return -1


def _compare_text(left: str, right: Known) -> int:
    if isinstance(right, str):
        return (left > right) - (left < right)
    if isinstance(right, bool):
        return (left.lower() == "true") - right
    if isinstance(right, float):
        return _order(double_of(left), right)
    whole = _whole_of(left, right)
    return (whole > right) - (whole < right)


def _order(left: float, right: float) -> int:
    """Order as Double.compareTo: -0.0 before 0.0, NaN after everything and equal to itself."""
    if left < right:
        return -1
    if left > right:
        return 1
    if math.isnan(left) or math.isnan(right):
        return math.isnan(left) - math.isnan(right)
    return int(math.copysign(1, left) - math.copysign(1, right))


def _whole_of(text: str, like: int) -> int:
    """Read a text as a number of the other's type."""
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not digits.isdecimal() or not digits or max(digits) > "\uffff" or len(digits) > _MOST_DIGITS:
        raise FilterError(f"{text[:60]!r} is no whole number")
    number = -int(digits) if text[0] == "-" else int(digits)
    most = _INT_MAX if abs(like) <= _INT_MAX else _LONG_MAX
    if not -most - 1 <= number <= most:
        raise FilterError(f"{text[:60]!r} is too large")
    return number


def double_of(text: str) -> float:
    """Read a text as a Double.

    Raises:
        FilterError: It is none.
    """
    trimmed = text.strip(_BLANKS)
    found = _DECIMAL.fullmatch(trimmed)
    if found is not None:
        sign, name, digits = found.groups()
        return float(sign + (name or digits))
    found = _HEXADECIMAL.match(trimmed)
    if found is None:
        raise FilterError(f"{text[:60]!r} is no number")
    try:
        return float.fromhex(found[0])
    except OverflowError:
        return -math.inf if found[1] == "-" else math.inf
