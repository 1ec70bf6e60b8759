"""A JSON reader as tolerant as fastjson, for documents that people write by hand.

Owns: bare keys, single quotes, comments, repeated and trailing commas, a byte order mark.
Must not know: what a document means.
"""

import re
from typing import Any, Final

from cosmodrome.errors import MalformedBodyError

LENIENT_MAX_BYTES: Final = 64 * 1024
MAX_DEPTH: Final = 64
_NUMBER_MAX_CHARACTERS: Final = 400

_BLANK: Final = re.compile(r"(?:[\s\ufeff]|//[^\n]*(?:\n|$)|/\*.*?\*/)*", re.DOTALL)
_NUMBER: Final = re.compile(r"[+-]?[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?")
_BARE: Final = re.compile(r"[^\s,:{}\[\]\"'/]+")
_END_OF_RUN: Final = {quote: re.compile(rf"[{quote}\\]") for quote in "\"'"}
_LONE_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_PAIR: Final = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_ESCAPES: Final = {
    "b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r", "v": "\v", "0": "\0",
    '"': '"', "'": "'", "\\": "\\", "/": "/",
}  # fmt: skip
_HEX_ESCAPES: Final = {"u": re.compile("[0-9a-fA-F]{4}"), "x": re.compile("[0-9a-fA-F]{2}")}
_WORDS: Final = {"true": True, "false": False, "null": None, "undefined": None, "NaN": None}


def parse_lenient_text(text: str) -> Any:
    """Read one document.

    Raises:
        MalformedBodyError: Not readable, nested deeper than MAX_DEPTH, empty, or followed by something.
    """
    reader = _Reader(text)
    value = reader.value(0)
    reader.skip_blank()
    if reader.position != len(text):
        raise reader.error("text after the document")
    return value


class _Reader:
    """A position in a text, and the rules that move it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0

    def error(self, reason: str) -> MalformedBodyError:
        return MalformedBodyError(f"{reason} at character {self.position}")

    def skip_blank(self) -> None:
        match = _BLANK.match(self.text, self.position)
        if match:
            self.position = match.end()

    def peek(self) -> str:
        """Give the next character that is not blank, or nothing at the end."""
        self.skip_blank()
        return self.text[self.position : self.position + 1]

    def value(self, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise self.error("nested too deeply")
        first = self.peek()
        if first == "{":
            return self.mapping(depth)
        if first == "[":
            return self.sequence(depth)
        if first in ('"', "'") and first:
            return self.quoted(first)
        return self.bare()

    def mapping(self, depth: int) -> dict[str, Any]:
        self.position += 1
        members: dict[str, Any] = {}
        while True:
            self.skip_commas()
            first = self.peek()
            if first == "}":
                self.position += 1
                return members
            key = self.quoted(first) if first in ('"', "'") and first else self.bare_text()
            if self.peek() != ":":
                raise self.error("expected ':'")
            self.position += 1
            members[key] = self.value(depth + 1)
            if self.peek() not in (",", "}"):
                raise self.error("expected ',' or '}'")

    def sequence(self, depth: int) -> list[Any]:
        self.position += 1
        items: list[Any] = []
        while True:
            self.skip_commas()
            if self.peek() == "]":
                self.position += 1
                return items
            items.append(self.value(depth + 1))
            if self.peek() not in (",", "]"):
                raise self.error("expected ',' or ']'")

    def skip_commas(self) -> None:
        while self.peek() == ",":
            self.position += 1

    def bare_text(self) -> str:
        match = _BARE.match(self.text, self.position)
        if match is None:
            raise self.error("expected a value" if self.position < len(self.text) else "the document ends too early")
        self.position = match.end()
        return _valid_unicode(match.group())

    def bare(self) -> Any:
        """Read a number or a word; words other than JSON's are not values."""
        start = self.position
        word = self.bare_text()
        if word in _WORDS:
            return _WORDS[word]
        match = _NUMBER.fullmatch(word)
        if match is None or len(word) > _NUMBER_MAX_CHARACTERS:
            self.position = start
            raise self.error(f"{word[:40]!r} is not a value")
        return int(word) if match.group(1) is None and match.group(2) is None else float(word)

    def quoted(self, quote: str) -> str:
        self.position += 1
        parts: list[str] = []
        end_of_run = _END_OF_RUN[quote]
        while True:
            end = end_of_run.search(self.text, self.position)
            if end is None:
                raise self.error("a text does not end")
            parts.append(self.text[self.position : end.start()])
            self.position = end.start()
            following = self.text[self.position]
            self.position += 1
            if following == quote:
                return _valid_unicode("".join(parts))
            parts.append(self.escape())

    def escape(self) -> str:
        letter = self.text[self.position : self.position + 1]
        self.position += 1
        if letter in _ESCAPES:
            return _ESCAPES[letter]
        digits = _HEX_ESCAPES[letter].match(self.text, self.position) if letter in _HEX_ESCAPES else None
        if digits is None:
            raise self.error("unknown escape")
        self.position = digits.end()
        return chr(int(digits.group(), 16))


def _valid_unicode(text: str) -> str:
    """Join surrogate pairs; half a pair becomes `?`, as Java writes it."""
    if not _LONE_SURROGATE.search(text):
        return text
    joined = _PAIR.sub(lambda pair: pair.group().encode("utf-16", "surrogatepass").decode("utf-16"), text)
    return _LONE_SURROGATE.sub("?", joined)
