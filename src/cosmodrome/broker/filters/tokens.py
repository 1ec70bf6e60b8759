"""The words of an SQL92 filter.

Owns: where a word ends; keywords; what is skipped between words.
Must not know: in which order words make sense.
"""

import re
from enum import Enum, auto
from typing import Final, NamedTuple

from cosmodrome.errors import FilterError


class Kind(Enum):
    """What a word is; a keyword or a sign is the word itself, in capitals."""

    NAME = auto()
    TEXT = auto()
    WHOLE = auto()
    FLOATING = auto()
    WORD = auto()
    END = auto()


KEYWORDS: Final = frozenset(
    {
        "NOT", "AND", "OR", "BETWEEN", "IN", "TRUE", "FALSE", "NULL", "IS", "CONTAINS", "STARTSWITH", "ENDSWITH",
    }
)  # fmt: skip

# A longer word wins over a shorter one, so a number with a point comes before a whole one, and a comment before a sign.
_SKIPPED: Final = re.compile(r"(?:[ \t\n\r\f]+|--[^\n\r]*(?:\r\n|\n|\r)|/\*[^*]*\*+(?:[^/*][^*]*\*+)*/)+")
_EXPONENT: Final = r"[eE][+-]?[0-9]+"
_TOKEN: Final = re.compile(
    rf"(?P<FLOATING>[0-9]+\.[0-9]*(?:{_EXPONENT})?|\.[0-9]+(?:{_EXPONENT})?|[0-9]+{_EXPONENT})"
    r"|(?P<WHOLE>0|[1-9][0-9]*[lL]?)"
    r"|(?P<TEXT>'(?:''|[^'])*')"
    r"|(?P<NAME>[A-Za-z_$][A-Za-z0-9_$]*)"
    r"|(?P<WORD><>|<=|>=|[=<>(),+-])"
)
_KINDS: Final = {kind.name: kind for kind in Kind}


class Token(NamedTuple):
    """One word. `at` is its first character's place, from 0."""

    kind: Kind
    text: str
    at: int

    @property
    def shown(self) -> str:
        """The word as a refusal names it."""
        return "the end" if self.kind is Kind.END else repr(self.text)


class Tokens:
    """The words of a text, read one after another; a text is not looked at further than it is read.

    COMPAT: so what stands behind a whole expression is not seen, but for its first word, as in Apache's brokers.
    """

    def __init__(self, text: str) -> None:
        """Begin at the start."""
        self._text = text
        self._at = 0
        self._ahead: list[Token] = []

    def peek(self, further: int = 0) -> Token:
        """Give the next word, or one behind it, and stay.

        Raises:
            FilterError: No word begins there.
        """
        while len(self._ahead) <= further:
            self._ahead.append(self._read())
        return self._ahead[further]

    def take(self) -> Token:
        """Give the next word, and go on.

        Raises:
            FilterError: No word begins there.
        """
        token = self.peek()
        del self._ahead[0]
        return token

    def is_next(self, *words: str) -> bool:
        """Tell whether the next word is one of these keywords or signs."""
        token = self.peek()
        return token.kind is Kind.WORD and token.text in words

    def _read(self) -> Token:
        skipped = _SKIPPED.match(self._text, self._at)
        start = self._at if skipped is None else skipped.end()
        if start == len(self._text):
            return Token(Kind.END, "", start)
        found = _TOKEN.match(self._text, start)
        if found is None:
            raise FilterError(f"Lexical error at {place(self._text, start)}. Encountered: {self._text[start]!r}")
        self._at = found.end()
        text, kind = found[0], _KINDS[found.lastgroup or ""]
        if kind is Kind.NAME and text.upper() in KEYWORDS:
            return Token(Kind.WORD, text.upper(), start)
        return Token(kind, text, start)


def place(text: str, at: int) -> str:
    """Say where a character stands, in lines and columns from 1."""
    line = text.count("\n", 0, at)
    return f"line {line + 1}, column {at - (text.rfind(chr(10), 0, at) + 1) + 1}"
