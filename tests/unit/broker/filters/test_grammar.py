"""What SQL92 filters mean, in the words of a recorded 5.5.0 parser: each row is what it gave."""

from typing import Final

import pytest
from tests.support.sql_expressions import MESSAGES, Expressions

from cosmodrome.broker.filters.grammar import MOST_CHARACTERS, parse
from cosmodrome.errors import FilterError

SAMPLES: Final[tuple[dict[str, str], ...]] = (
    {"a": "5", "b": "x"},
    {"a": "1.5"},
    {"a": "true", "b": "it's"},
    {},
    {"a": "5 ", "b": "5"},
    {"a": "0x10"},
    {"a": "1e3d", "b": "NaN"},
    {"a": "99999999999"},
    {"a": "-5", "b": "+5"},
    {"a": "\u0663"},
)
"""T is true, F false, n unknown, e an error: the message is not wanted then."""

RECORDED = [
    ("a = 5", "TeeneeeeFF"),
    ("a = 5 b = 3", "TeeneeeeFF"),
    ("a = 5 )", "TeeneeeeFF"),
    ("a = 5 b #", "TeeneeeeFF"),
    ("a", "FFFnFFFFFF"),
    ("TRUE", "TTTTTTTTTT"),
    ("NULL IS NULL", "TTTTTTTTTT"),
    ("a IS NULL IS NULL", "FFFFFFFFFF"),
    ("a > 5", "FeeneeeeFF"),
    ("a > b", "enenFnFnFn"),
    ("a = b", "FFFTFFFFFF"),
    ("a <> b", "TTTFTTTTTT"),
    ("a BETWEEN 1 AND 5", "TeeneeeeFT"),
    ("a BETWEEN b AND 7", "eeeneeFeFn"),
    ("a NOT BETWEEN 1 AND 5", "FeeneeeeTF"),
    ("-a > 3", "nnnnnnnnnn"),
    ("a > -5", "TeeneeeeFT"),
    ("- - 5 = a", "TeeFeeeeFF"),
    ("a = -- c\n5", "TeeneeeeFF"),
    ("/* x */ a = 5", "TeeneeeeFF"),
    ("a = 5 -- x", "TeeneeeeFF"),
    ("a=5l", "TeeneeeeFF"),
    ("a = 007", "FeeneeeeFF"),
    ("a = 5.", "TFenTeFFFe"),
    ("a = .5", "FFenFeFFFe"),
    ("a = 5e0", "TFenTeFFFe"),
    ("a = 9223372036854775807", "FeeneeeFFF"),
    ("a = 2147483648", "FeeneeeFFF"),
    ("1 = TRUE", "FFFFFFFFFF"),
    ("a = TRUE", "FFTnFFFFFF"),
    ("TRUE = a", "eeeFeeeeee"),
    ("(a = 5) = TRUE", "TeeneeeeFF"),
    ("(a=5) = (b='x')", "TeeTeeeeTF"),
    ("NOT a = 5", "FFFnFFFFFF"),
    ("NOT (a = 5)", "FeeneeeeTT"),
    ("a IN ('5','1')", "TFFnFFFFFF"),
    ("a NOT IN ('5')", "FTTnTTTTTT"),
    ("a CONTAINS '5'", "TTFFTFFFTF"),
    ("a NOT CONTAINS '5'", "FFTFFTTTFT"),
    ("a CONTAINS ''", "FFFFFFFFFF"),
    ("a STARTSWITH '5'", "TFFFTFFFFF"),
    ("a NOT ENDSWITH '5'", "FFTFTTTTFT"),
    ("a ENDSWITH '5' AND b = 'x'", "TnFFFFFFFF"),
    ("b = 'it''s'", "FnTnFnFnFn"),
    ("a = 5 OR b = 'x' AND a = 1", "TeeneeeeFF"),
    ("a between 1 and 5 and b = 'x'", "TeeneeeeFn"),
    ("A = 5", "nnnnnnnnnn"),
    ("a <> 5 = TRUE", "FeeneeeeTT"),
    ("a >= 5.0", "TFenTeTTFe"),
    ("5 > a", "FeeneeeeTT"),
    ("5 = '5'", "TTTTTTTTTT"),
    ("'x' = 5", "eeeeeeeeee"),
    ("a is null or b is not null", "TFTTTFTFTF"),
    ("TRUE AND NULL", "nnnnnnnnnn"),
    ("TRUE OR NULL", "TTTTTTTTTT"),
    ("a = 1.2.3", "FFenFeFFFe"),
    ("a = NOT b", "FFTTFFFFFF"),
    ("a = (b)", "FFFTFFFFFF"),
]

REFUSED = [
    "", "  ", "AND", "a = 5 AND", "a = 5 #", "a = NULL", "a > 'x'", "'x'", "a BETWEEN 5 AND 1", "a BETWEEN NULL AND 5",
    "a = --5\n", "a = 5 /* x", "a = 0.0", "a = 1e400", "a = 9223372036854775808", "TRUE = 1", "(a=5) > 3", "NOT 5",
    "-TRUE", "a IN (5)", "a IN ()", "a IN ('5',)", "5 IN ('5')", "a CONTAINS b", "()", "(a = 5", "\u00e9 = 5", "a.b = 5",
    "1a = 5", "a != 5", "a == 5", "a < 5 < 3", "a = 'x' OR 'y'", "a IS 5", "a NOT 5", "a = 5 NOT", "a = 5 IS",
    "a = 'unclosed", 'a = "x"', "a = 5;", "a\u00a0= 5", "a > TRUE", "NOT a > 5", "a * 2 > 3", "a >> 1",
]  # fmt: skip


def results(expression: str, messages: tuple[dict[str, str], ...] = SAMPLES) -> str:
    evaluate = parse(expression).evaluate

    def letter(properties: dict[str, str]) -> str:
        try:
            return {True: "T", False: "F", None: "n"}[evaluate(properties)]  # type: ignore[index]  # a condition
        except FilterError:
            return "e"

    return "".join(map(letter, messages))


@pytest.mark.parametrize(("expression", "expected"), RECORDED)
def test_an_expression_gives_what_java_gives(expression: str, expected: str) -> None:
    assert results(expression) == expected


@pytest.mark.parametrize("expression", REFUSED)
def test_c063_what_java_refuses_is_refused(expression: str) -> None:
    with pytest.raises(FilterError):
        parse(expression)


def test_a_refusal_says_what_was_found_where() -> None:
    with pytest.raises(FilterError, match=r"Encountered '\)' at line 2, column 7. Was expecting a text in single"):
        parse("a = 5 AND\nb IN ()")


@pytest.mark.parametrize("expression", ["(" * 500 + "a = 5" + ")" * 500, "NOT " * 500 + "a", "a" + " = TRUE" * 500])
def test_what_is_nested_too_deeply_is_refused(expression: str) -> None:
    with pytest.raises(FilterError):
        parse(expression)


def test_a_long_chain_is_not_deep() -> None:
    assert results(" OR ".join(f"a = '{number}'" for number in range(800))) == "TFFnFFFFFF"


def test_a_text_that_is_too_long_is_refused() -> None:
    with pytest.raises(FilterError, match="characters"):
        parse(f"a = '{'x' * MOST_CHARACTERS}'")


def test_any_text_is_an_expression_or_is_refused() -> None:
    expressions = Expressions(7)
    for _ in range(400):
        text = expressions.next()
        try:
            evaluate = parse(text).evaluate
        except FilterError:
            continue
        for properties in MESSAGES:
            try:
                assert evaluate(properties) in (True, False, None)
            except FilterError:
                continue
