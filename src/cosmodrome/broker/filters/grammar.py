"""The grammar of SQL92 filters: words → what they mean.

Owns: which part binds how strongly; what is no expression.
Must not know: what values are (java_values.py); messages.

    or          and (OR and)*
    and         equality (AND equality)*
    equality    comparison (= comparison | <> comparison | IS [NOT] NULL)*
    comparison  unary (> >= < <= unary | [NOT] BETWEEN unary AND unary | [NOT] IN (texts) | [NOT] CONTAINS text)*
    unary       + unary | - unary | NOT unary | literal | name | ( or )
"""

from typing import Final

from cosmodrome.broker.filters import expressions
from cosmodrome.broker.filters.expressions import Part
from cosmodrome.broker.filters.tokens import Kind, Token, Tokens, place
from cosmodrome.errors import FilterError

MOST_CHARACTERS: Final = 16_384
_MOST_OPEN: Final = 64
"""So many parentheses and signs may be open at once."""
_SIGNS: Final = (">", ">=", "<", "<=")
_SEARCHES: Final = ("CONTAINS", "STARTSWITH", "ENDSWITH")
_NEGATABLE: Final = ("BETWEEN", "IN", *_SEARCHES)
_LITERALS: Final = {"TRUE": True, "FALSE": False, "NULL": None}


def parse(text: str) -> Part:
    """Give the condition that a text says.

    Raises:
        FilterError: It says none.
    """
    if len(text) > MOST_CHARACTERS:
        raise FilterError(f"the expression has {len(text)} characters; the limit is {MOST_CHARACTERS}")
    return _Parser(text).condition()


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = Tokens(text)
        self._open = 0

    def condition(self) -> Part:
        whole = self._either()
        self._tokens.peek()  # a word that is none is refused even there
        return expressions.condition(whole)

    def _either(self) -> Part:
        parts = [self._all()]
        while self._tokens.is_next("OR"):
            self._tokens.take()
            parts.append(self._all())
        return parts[0] if len(parts) == 1 else expressions.joined(parts, "OR")

    def _all(self) -> Part:
        parts = [self._equality()]
        while self._tokens.is_next("AND"):
            self._tokens.take()
            parts.append(self._equality())
        return parts[0] if len(parts) == 1 else expressions.joined(parts, "AND")

    def _equality(self) -> Part:
        left = self._comparison()
        while self._tokens.is_next("=", "<>", "IS"):
            word = self._tokens.take().text
            if word == "IS":
                left = self._null(left)
                continue
            left = expressions.equal(left, self._comparison())
            if word == "<>":
                left = expressions.inverted(left)
        return left

    def _null(self, left: Part) -> Part:
        is_not = self._tokens.is_next("NOT")
        if is_not:
            self._tokens.take()
        self._expect("NULL")
        found = expressions.is_null(left)
        return expressions.inverted(found) if is_not else found

    def _comparison(self) -> Part:
        left = self._unary()
        while self._tokens.is_next("NOT", *_SIGNS, *_NEGATABLE):
            word = self._tokens.take().text
            if word in _SIGNS:
                left = expressions.ordered(left, word, self._unary())
                continue
            is_not = word == "NOT"
            if is_not:
                word = self._expect(*_NEGATABLE)
            left = self._tested(left, word, is_not=is_not)
        return left

    def _tested(self, left: Part, word: str, *, is_not: bool) -> Part:
        if word == "BETWEEN":
            low = self._unary()
            self._expect("AND")
            return expressions.between(left, low, self._unary(), is_not=is_not)
        if word == "IN":
            return expressions.one_of(left, self._texts(), is_not=is_not)
        return expressions.searched(left, word, self._literal_text(), is_not=is_not)

    def _texts(self) -> list[str]:
        self._expect("(")
        texts = [self._literal_text()]
        while self._expect(",", ")") == ",":
            texts.append(self._literal_text())
        return texts

    def _unary(self) -> Part:
        self._open += 1
        if self._open > _MOST_OPEN:
            raise FilterError(f"more than {_MOST_OPEN} parentheses and signs are open at once")
        try:
            return self._opened()
        finally:
            self._open -= 1

    def _opened(self) -> Part:
        token = self._tokens.take()
        if token.kind is not Kind.WORD:
            return self._value(token)
        if token.text == "+":
            return self._unary()
        if token.text == "-":
            return expressions.negated(self._unary())
        if token.text == "NOT":
            return expressions.inverted(self._unary())
        if token.text == "(":
            inner = self._either()
            self._expect(")")
            return inner
        if token.text in _LITERALS:
            return expressions.constant(_LITERALS[token.text], token.text)
        raise self._refusal(token)

    def _value(self, token: Token) -> Part:
        if token.kind is Kind.NAME:
            return expressions.named(token.text)
        if token.kind is Kind.TEXT:
            return expressions.constant(_decoded(token.text), token.text)
        if token.kind is Kind.WHOLE:
            return expressions.whole_number(token.text)
        if token.kind is Kind.FLOATING:
            return expressions.floating_number(token.text)
        raise self._refusal(token)

    def _literal_text(self) -> str:
        token = self._tokens.take()
        if token.kind is not Kind.TEXT:
            raise self._refusal(token, "a text in single quotes")
        return _decoded(token.text)

    def _expect(self, *words: str) -> str:
        token = self._tokens.take()
        if token.kind is not Kind.WORD or token.text not in words:
            raise self._refusal(token, " or ".join(words))
        return token.text

    def _refusal(self, token: Token, expected: str = "") -> FilterError:
        wanted = f" Was expecting {expected}." if expected else ""
        return FilterError(f"Encountered {token.shown} at {place(self._text, token.at)}.{wanted}")


def _decoded(literal: str) -> str:
    return literal[1:-1].replace("''", "'")
