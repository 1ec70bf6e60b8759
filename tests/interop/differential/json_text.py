"""JSON bodies as trees that keep how each token was written.

Owns: which texts say the same in the same dialect: equal up to the order of members and of the lists
that are sets in Java. `{0:1}` and `{"0":1}` differ here, and so do `"/"` and `"\\/"`.
Must not know: which request an answer belongs to.
"""

import re
from collections.abc import Callable
from typing import Final

Tree = dict[str, "Tree"] | list["Tree"] | str
"""An object, an array, or the text of a string, number or literal. Keys are kept as written too."""

SETS: Final = frozenset({'"topicList"', '"brokerDatas"', '"queueDatas"'})
SETS_BY_NAME: Final = frozenset({'"clusterAddrTable"'})

_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|true|false|null|[][{}:,]')


class NotWrittenByFastjsonError(AssertionError):
    """The text is not JSON without white space."""


def parse(text: str) -> Tree:
    """Read a text without white space.

    Raises:
        NotWrittenByFastjsonError: There is white space, a repeated member, or no JSON at all.
    """
    reader = _Reader(text)
    tree = reader.value()
    if not reader.is_at_end():
        raise NotWrittenByFastjsonError(f"text after the document: {text}")
    return tree


def arrange(tree: Tree, *, is_set: bool = False, holds_sets: bool = False) -> Tree:
    """Return the tree with the lists that are sets sorted."""
    if isinstance(tree, dict):
        return {
            key: arrange(value, is_set=key in SETS or holds_sets, holds_sets=key in SETS_BY_NAME)
            for key, value in sorted(tree.items())
        }
    if isinstance(tree, list):
        arranged = [arrange(each) for each in tree]
        return sorted(arranged, key=repr) if is_set else arranged
    return tree


def walk(tree: Tree, change: Callable[[str, Tree], Tree | None], name: str = "") -> Tree | None:
    """Rebuild a tree: `change(member name, value)` returns a new value, or None to leave it out."""
    if isinstance(tree, dict):
        members = ((key, walk(value, change, key)) for key, value in tree.items())
        tree = {key: value for key, value in members if value is not None}
    return change(name, tree)


def quoted(tree: Tree) -> Tree:
    """Return the tree with every bare key quoted."""
    if isinstance(tree, dict):
        return {key if key.startswith('"') else f'"{key}"': quoted(value) for key, value in tree.items()}
    return [quoted(each) for each in tree] if isinstance(tree, list) else tree


def rewritten(tree: Tree, dropped: frozenset[str], change: Callable[[str], str]) -> Tree:
    """Return the tree without the members that are dropped, and with every token changed."""
    if isinstance(tree, dict):
        members = ((key, rewritten(value, dropped, change)) for key, value in tree.items() if key not in dropped)
        return {change(key): value for key, value in members}
    return [rewritten(each, dropped, change) for each in tree] if isinstance(tree, list) else change(tree)


def text_of(tree: Tree) -> str:
    """Write a tree back."""
    if isinstance(tree, dict):
        return "{" + ",".join(f"{key}:{text_of(value)}" for key, value in tree.items()) + "}"
    if isinstance(tree, list):
        return "[" + ",".join(text_of(each) for each in tree) + "]"
    return tree


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def value(self) -> Tree:
        match token := self._next():
            case "{":
                return self._members()
            case "[":
                return self._items()
            case "]" | "}" | ":" | ",":
                raise self._error()
        return token

    def is_at_end(self) -> bool:
        return self._at == len(self._text)

    def _members(self) -> Tree:
        members: dict[str, Tree] = {}
        while self._more("}", is_first=not members):
            key = self._next()
            if key in members or self._next() != ":":
                raise self._error()
            members[key] = self.value()
        return members

    def _items(self) -> Tree:
        items: list[Tree] = []
        while self._more("]", is_first=not items):
            items.append(self.value())
        return items

    def _more(self, end: str, *, is_first: bool) -> bool:
        if self._text[self._at : self._at + 1] == end:
            self._at += 1
            return False
        if not is_first and self._next() != ",":
            raise self._error()
        return True

    def _next(self) -> str:
        match = _TOKEN.match(self._text, self._at)
        if match is None:
            raise self._error()
        self._at = match.end()
        return match[0]

    def _error(self) -> NotWrittenByFastjsonError:
        return NotWrittenByFastjsonError(f"not JSON without white space at {self._at}: {self._text}")
