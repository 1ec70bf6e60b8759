"""Random SQL92 filters, and messages that they are asked of.

Owns: which forms occur; the same seed gives the same.
Must not know: what an expression means.
"""

import random
from collections.abc import Mapping
from typing import Final

MESSAGES: Final[tuple[Mapping[str, str], ...]] = (
    {},
    {"a": "5", "b": "x", "c": "true"},
    {"a": "1", "b": "y"},
    {"a": "1.5", "b": "5"},
    {"a": "-3", "b": "it's", "c": "TRUE"},
    {"a": " 5 ", "b": "x y"},
    {"a": "005", "b": "+5"},
    {"a": "5.0", "c": "false"},
    {"a": "2147483648", "b": "2147483647"},
    {"a": "99999999999999999999"},
    {"a": "NaN", "b": "Infinity"},
    {"a": "1e1", "b": "10"},
    {"a": "0x1p3", "b": "8"},
    {"a": "-0.0", "b": "0.0"},
    {"a": "5f", "b": "5d"},
    {"a": "\uff11\uff12", "b": "日本"},
    {"a": "x"},
    {"b": "x"},
    {"_v": "5", "$m": "6", "A": "7"},
    {"a": "1_0", "b": "--", "c": "/* */"},
)
"""Properties of messages: numbers of all kinds, texts that look like some, and nothing."""

_NAMES: Final = ("a", "a", "a", "b", "b", "c", "_v", "$m", "A", "none", "TAGS")
_WHOLE: Final = ("0", "1", "5", "5", "10", "2147483647", "2147483648", "5L", "7l", "9223372036854775807")
_FLOATING: Final = ("5.0", "1.5", ".5", "5.", "1e1", "1E+1", "2.5e-1")
_TEXTS: Final = ("'x'", "'y'", "'5'", "''", "'it''s'", "'true'", "'x y'", "'日本'", "'--'")
_PIECES: Final = (
    *_NAMES, *_WHOLE, *_TEXTS, "(", ")", "=", "<>", "<", ">", ">=", "<=", ",", "+", "-", "AND", "OR", "NOT", "IN", "IS",
    "NULL", "BETWEEN", "TRUE", "FALSE", "CONTAINS", "STARTSWITH", "ENDSWITH", "#", "!", "*", "'", "0.0", "1e999",
    "9223372036854775808", "-- c\n", "/* c */", "/*", ".", "é", "\t", "NULL", "IS NOT NULL",
)  # fmt: skip


class Expressions:
    """Makes expressions: most are whole, some are broken on purpose."""

    def __init__(self, seed: int) -> None:
        """Begin with a seed."""
        self._random = random.Random(seed)

    def next(self) -> str:
        """Give one."""
        choose = self._random.random()
        if choose < 0.1:
            return " ".join(self._random.choices(_PIECES, k=self._random.randrange(1, 9)))
        text = self._condition(self._random.randrange(4))
        return self._broken(text) if choose < 0.25 else text

    def _broken(self, text: str) -> str:
        at, to = sorted((self._random.randrange(len(text) + 1), self._random.randrange(len(text) + 1)))
        how = self._random.randrange(3)
        if how == 0:
            return text[:at] + text[to if to - at < 6 else at + 1 :]
        if how == 1:
            return f"{text[:at]} {self._random.choice(_PIECES)} {text[at:]}"
        return f"{text} {self._random.choice(_PIECES)}"

    def _condition(self, depth: int) -> str:
        if depth > 0:
            left, right = self._condition(depth - 1), self._condition(depth - 1)
            form = self._random.choice(
                ("{} AND {}", "{} OR {}", "({}) and ({})", "({}) Or {}", "NOT ({})", "({})", "NOT {}")
            )
            return form.format(left, right)
        return self._random.choice(
            (self._compared, self._compared, self._compared, self._tested, self._tested, self._searched, self._odd)
        )()

    def _compared(self) -> str:
        sign = self._random.choice(("=", "=", "<>", "<", "<=", ">", ">="))
        blank = self._random.choice(("", " ", "\t", " /* c */ "))
        return f"{self._operand()}{blank}{sign}{blank}{self._operand()}"

    def _tested(self) -> str:
        name, negation = self._random.choice(_NAMES), self._random.choice(("", "NOT ", "not "))
        how = self._random.randrange(3)
        if how == 0:
            return f"{name} {negation}BETWEEN {self._operand()} AND {self._operand()}"
        if how == 1:
            texts = self._random.choices(_TEXTS, k=self._random.randrange(1, 7))
            return f"{name} {negation}IN ({', '.join(texts)})"
        return f"{self._operand()} IS {negation}NULL"

    def _searched(self) -> str:
        word = self._random.choice(("CONTAINS", "STARTSWITH", "ENDSWITH", "contains"))
        return f"{self._operand()} {self._random.choice(('', 'NOT '))}{word} {self._random.choice(_TEXTS)}"

    def _odd(self) -> str:
        return self._random.choice(
            (
                self._random.choice(_NAMES), "TRUE", "FALSE", "NULL", "1 = 1", "a = TRUE", "TRUE = a", "c = TRUE",
                "a = NOT b", "(a = 5) = TRUE", "(a = 5) = (b = 'x')", "TRUE = TRUE", "a = b", "a <> b", "NOT a = 5",
                "a = 5 = TRUE", "1 = TRUE", "a = (b)", "(a) IN ('5')", "a = 5 <> FALSE", "- - a IS NULL", "a = 5 b = 1",
            )
        )  # fmt: skip

    def _operand(self) -> str:
        how = self._random.random()
        if how < 0.5:
            return self._random.choice(_NAMES)
        sign = self._random.choice(("", "", "", "-", "+", "- "))
        if how < 0.75:
            return sign + self._random.choice(_WHOLE)
        return sign + self._random.choice(_FLOATING) if how < 0.85 else self._random.choice(_TEXTS)
