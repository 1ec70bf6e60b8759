"""SQL92 filters: texts of expressions."""

from collections.abc import Mapping
from typing import Final

from cosmodrome.broker.filters.expressions import MOST_NESTED, Part, inverted
from cosmodrome.broker.filters.grammar import parse
from cosmodrome.broker.filters.java_values import Value
from cosmodrome.errors import FilterError

_MESSAGES: Final[tuple[Mapping[str, str], ...]] = (
    {}, {"a": "5", "b": "x"}, {"a": "1.5", "b": "5"}, {"a": "NaN", "b": "-0.0"}, {"a": "x"}, {"a": "true", "b": "0x1p3"},
)  # fmt: skip
_ERROR: Final = "error"


def sql_filter(data: bytes) -> None:
    """Any text is an expression or refused; one is true, false or unknown of any message, and NOT of it is the opposite."""
    text = data.decode("utf-8", "replace")
    found = _parsed(text)
    if found is None:
        return
    assert found.depth <= MOST_NESTED
    for properties in _MESSAGES:
        assert _value(found, properties) in (True, False, None, _ERROR)
    if found.depth == MOST_NESTED:
        return
    opposite = inverted(found)
    for properties in _MESSAGES:
        value = _value(found, properties)
        assert _value(opposite, properties) == (not value if isinstance(value, bool) else value)


def _parsed(text: str) -> Part | None:
    try:
        return parse(text)
    except FilterError:
        return None


def _value(part: Part, properties: Mapping[str, str]) -> Value:
    try:
        return part.evaluate(properties)
    except FilterError:
        return _ERROR
