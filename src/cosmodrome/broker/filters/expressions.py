"""What an expression means: each part of it is a function of a message's properties.

Owns: three-valued logic; which parts may be combined, as in Apache's 5.5.0; what each combination gives.
Must not know: how an expression is written.
"""

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from cosmodrome.broker.filters.java_values import Value, compare, double_of
from cosmodrome.errors import FilterError

Properties = Mapping[str, str]
Evaluate = Callable[[Properties], Value]
"""Raises FilterError when values cannot be compared: the message is not wanted then."""

MOST_NESTED: Final = 200
"""So deep may an expression be: a filter must not exhaust the stack."""
_SMALLEST: Final = 5e-324
_LONG_MAX: Final = 2**63 - 1
_ORDERS: Final[Mapping[str, Callable[[int, int], bool]]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}
_SEARCHES: Final[Mapping[str, Callable[[str, str], bool]]] = {
    "CONTAINS": operator.contains,
    "STARTSWITH": str.startswith,
    "ENDSWITH": str.endswith,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A part of an expression.

    Attributes:
        evaluate: Gives its value; None is what is not known.
        shown: How a refusal names it.
        is_condition: Whether it is true, false or unknown.
        is_constant: Whether it is a literal, of which `value` is the value.
        is_property: Whether it is the name of a property.
        depth: How deep its parts are nested.
    """

    evaluate: Evaluate
    shown: str
    is_condition: bool = False
    is_constant: bool = False
    is_property: bool = False
    value: Value = None
    depth: int = 1


def constant(value: Value, shown: str) -> Part:
    """Give a literal; TRUE, FALSE and NULL are conditions too."""
    is_condition = value is None or isinstance(value, bool)
    return Part(
        evaluate=lambda _: value, shown=shown, is_condition=is_condition, is_constant=True, value=value
    )  # fmt: skip


def whole_number(text: str) -> Part:
    """Give a literal like `5` or `5L`.

    Raises:
        FilterError: It is larger than a Long.
    """
    digits = text.rstrip("lL")
    number = int(digits) if len(digits) < 20 else _LONG_MAX + 1
    if number > _LONG_MAX:
        raise FilterError(f"the number {text[:60]} is too large")
    return constant(number, text)


def floating_number(text: str) -> Part:
    """Give a literal like `5.5` or `5E10`.

    Raises:
        FilterError: It is larger than a Double; or it is 0. COMPAT: which Java takes for too small.
    """
    number = float(text)
    if number == float("inf") or number < _SMALLEST:
        raise FilterError(f"the number {text[:60]} is too {'large' if number else 'small'}")
    return constant(number, text)


def named(name: str) -> Part:
    """Give the value of a property."""

    def evaluate(properties: Properties) -> Value:
        return properties.get(name)

    return Part(evaluate=evaluate, shown=name, is_property=True)


def condition(part: Part) -> Part:
    """Give a part as a condition. A property by itself is never true: it is a text.

    Raises:
        FilterError: It cannot be one.
    """
    if part.is_condition:
        return part
    if not part.is_property:
        raise FilterError(f"Expression will not result in a boolean value: {part.shown}")
    inner = part.evaluate
    return _condition(part.shown, (part,), lambda properties: None if inner(properties) is None else False)


def negated(part: Part) -> Part:
    """Give `-part`. A text has none, so that of a property is unknown."""
    inner = part.evaluate

    def evaluate(properties: Properties) -> Value:
        value = inner(properties)
        return -value if isinstance(value, int | float) and not isinstance(value, bool) else None

    return Part(evaluate=evaluate, shown=f"(- {part.shown})", depth=_depth(part))


def inverted(part: Part) -> Part:
    """Give `NOT part`.

    Raises:
        FilterError: It is no condition.
    """
    inner = condition(part)
    return _condition(f"(NOT {part.shown})", (inner,), _inverse(inner.evaluate))


def _inverse(inner: Evaluate) -> Evaluate:
    def evaluate(properties: Properties) -> Value:
        value = inner(properties)
        return None if value is None else not value

    return evaluate


def joined(parts: Sequence[Part], word: str) -> Part:
    """Give parts joined by AND or OR; the first that decides ends it.

    Raises:
        FilterError: One of them is no condition.
    """
    decisive = word == "OR"
    conditions = [condition(part) for part in parts]
    inner = [part.evaluate for part in conditions]

    def evaluate(properties: Properties) -> Value:
        is_known = True
        for each in inner:
            value = each(properties)
            if value is decisive:
                return decisive
            is_known = is_known and value is not None
        return not decisive if is_known else None

    return _condition(f"({f' {word} '.join(part.shown for part in conditions[:3])})", conditions, evaluate)


def is_null(part: Part) -> Part:
    """Give `part IS NULL`, which is never unknown."""
    inner = part.evaluate
    return _condition(f"({part.shown} IS NULL)", (part,), lambda properties: inner(properties) is None)


def equal(left: Part, right: Part) -> Part:
    """Give `left = right`. COMPAT: with nothing on the right side it is false, not unknown; of two that are missing it is true.

    Raises:
        FilterError: These cannot be compared.
    """
    for part in (left, right):
        if part.is_constant and part.value is None:
            raise FilterError(f"'{part.shown}' cannot be compared.")
    if left.is_constant and right.is_constant and left.is_condition and not right.is_condition:
        raise FilterError(f"'{left.shown}' cannot be compared with '{right.shown}'")
    first, second = left.evaluate, right.evaluate

    def evaluate(properties: Properties) -> Value:
        one, other = first(properties), second(properties)
        if one is None:
            return True if other is None else None
        return other is not None and compare(one, other) == 0

    return _condition(f"({left.shown} = {right.shown})", (left, right), evaluate)


def ordered(left: Part, sign: str, right: Part) -> Part:
    """Give `left sign right`, which compares numbers: two texts as Doubles.

    Raises:
        FilterError: One of them is no number for certain.
    """
    for part in (left, right):
        is_number = isinstance(part.value, int | float) and not isinstance(part.value, bool)
        if part.is_condition or (part.is_constant and not is_number):
            raise FilterError(f"Value '{part.shown}' cannot be compared.")
    first, second, is_so = left.evaluate, right.evaluate, _ORDERS[sign]

    def evaluate(properties: Properties) -> Value:
        one = first(properties)
        other = None if one is None else second(properties)
        if one is None or other is None:
            return None
        if isinstance(one, str) and isinstance(other, str):
            one, other = double_of(one), double_of(other)
        return is_so(compare(one, other), 0)

    return _condition(f"({left.shown} {sign} {right.shown})", (left, right), evaluate)


def between(part: Part, low: Part, high: Part, *, is_not: bool) -> Part:
    """Give `part BETWEEN low AND high`, or NOT.

    Raises:
        FilterError: One of them is no number for certain, or the lower one is the higher one.
    """
    if is_not:
        return joined((ordered(part, "<", low), ordered(part, ">", high)), "OR")
    if low.is_constant and high.is_constant:
        if low.value is None or high.value is None:
            raise FilterError("Illegal values of between, values can not be null!")
        if compare(high.value, low.value) < 0:
            raise FilterError(f"Illegal values of between, {low.shown} must be less than or equal to {high.shown}")
    return joined((ordered(part, ">=", low), ordered(part, "<=", high)), "AND")


def one_of(part: Part, texts: Sequence[str], *, is_not: bool) -> Part:
    """Give `part IN (...)`, or NOT.

    Raises:
        FilterError: It is no property.
    """
    if not part.is_property:
        raise FilterError(f"Expected a property for In expression, got: {part.shown}")
    inner, wanted = part.evaluate, frozenset(texts)

    def evaluate(properties: Properties) -> Value:
        value = inner(properties)
        return None if value is None else (value in wanted) is not is_not

    return _condition(f"({part.shown} {'NOT ' * is_not}IN ...)", (part,), evaluate)


def searched(part: Part, word: str, text: str, *, is_not: bool) -> Part:
    """Give `part CONTAINS text` and the like, or NOT. What is no text, and an empty `text`, give false in both."""
    inner, found = part.evaluate, _SEARCHES[word]

    def evaluate(properties: Properties) -> Value:
        value = inner(properties) if text else None
        return isinstance(value, str) and found(value, text) is not is_not

    return _condition(f"({part.shown} {'NOT ' * is_not}{word} ...)", (part,), evaluate)


def _condition(shown: str, parts: Sequence[Part], evaluate: Evaluate) -> Part:
    return Part(evaluate=evaluate, shown=shown[:200], is_condition=True, depth=_depth(*parts))


def _depth(*parts: Part) -> int:
    depth = max(part.depth for part in parts) + 1
    if depth > MOST_NESTED:
        raise FilterError("the expression is nested too deeply")
    return depth
