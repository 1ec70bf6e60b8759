"""JSON bodies as fastjson writes them: integers and whole objects as keys.

Owns: reading such a text into a value that can be compared.
Must not know: which request an answer belongs to.
"""

import json
import re
from typing import Any, Final

_TOKEN: Final = re.compile(r'\s*("(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|true|false|null|[][{}:,])')


class NotJsonError(AssertionError):
    """The text is not JSON, however tolerant one is."""


def read_json(text: str) -> Any:
    """Read a text; keys that are no strings become their text, sorted, with `=` before it.

    Raises:
        NotJsonError: It is none.
    """
    reader = _Reader(text)
    value = reader.value()
    if text[reader.at :].strip():
        raise NotJsonError(f"text after the document: {text}")
    return value


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self.at = 0

    def value(self) -> Any:
        match word := self._next():
            case "{":
                return self._members()
            case "[":
                return self._items()
            case "]" | "}" | ":" | ",":
                raise NotJsonError(f"not JSON at {self.at}: {self._text}")
        return json.loads(word)

    def _members(self) -> dict[str, Any]:
        members: dict[str, Any] = {}
        while self._peek() != "}":
            if members and self._next() != ",":
                raise NotJsonError(f"not JSON at {self.at}: {self._text}")
            key = self.value()
            if self._next() != ":":
                raise NotJsonError(f"not JSON at {self.at}: {self._text}")
            members[key if isinstance(key, str) else f"={json.dumps(key, sort_keys=True)}"] = self.value()
        self._next()
        return members

    def _items(self) -> list[Any]:
        items: list[Any] = []
        while self._peek() != "]":
            if items and self._next() != ",":
                raise NotJsonError(f"not JSON at {self.at}: {self._text}")
            items.append(self.value())
        self._next()
        return items

    def _peek(self) -> str:
        match = _TOKEN.match(self._text, self.at)
        if match is None:
            raise NotJsonError(f"not JSON at {self.at}: {self._text}")
        return match[1]

    def _next(self) -> str:
        match = _TOKEN.match(self._text, self.at)
        if match is None:
            raise NotJsonError(f"not JSON at {self.at}: {self._text}")
        self.at = match.end()
        return match[1]
