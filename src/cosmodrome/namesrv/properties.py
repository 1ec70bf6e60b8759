"""Java .properties text: reading it with line numbers, and changing it without touching other lines.

Owns: encodings of such files, escapes, which line a key is on, how text is changed in place.
Must not know: what the keys mean (config.py); where the text is kept (config_file.py).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from cosmodrome.errors import PropertiesError

_LINE_END: Final = re.compile(r"\r\n?|\n")
_LAST_LINE: Final = re.compile(r"([^\r\n]*)(\r\n|\r|\n)?\Z")
_OPEN_END: Final = re.compile(r"(?<!\\)(?:\\\\)*\\\Z")
_ESCAPED: Final = re.compile(r"[^ -\[\]-~]|\\")
_KEY_ESCAPED: Final = re.compile(r"[^ -\[\]-~]|[\\ =:#!]")
_SHORT: Final = {"\t": "\\t", "\n": "\\n", "\r": "\\r", "\f": "\\f"}
BOM: Final = "\ufeff"


@dataclass(frozen=True, slots=True, kw_only=True)
class Property:
    """One entry of a properties text. `line` is where it begins, from 1; `is_list` is only possible in TOML."""

    key: str
    value: str
    line: int
    is_list: bool = False


class _Element(NamedTuple):
    """One logical line as it stands in the text; `key` is None for a comment and for blank lines."""

    source: str
    key: str | None
    value: str
    line: int


def decode(data: bytes) -> tuple[str, str]:
    """Give the text of a file, and the name of the encoding that turns it back into the same bytes.

    It is read as UTF-8, with or without a byte order mark; what is not UTF-8 is ISO-8859-1, Java's choice.
    """
    try:
        return data.decode("utf-8"), "utf-8"
    except UnicodeDecodeError:
        return data.decode("iso-8859-1"), "iso-8859-1"


def parse(text: str) -> tuple[Property, ...]:
    """Read all entries in their order, duplicates among them; a byte order mark is skipped.

    Raises:
        PropertiesError: A unicode escape does not have four hexadecimal digits.
    """
    elements = _elements(text.removeprefix(BOM))
    return tuple(Property(key=each.key, value=each.value, line=each.line) for each in elements if each.key is not None)


def last_values(properties: Sequence[Property]) -> dict[str, str]:
    """Give the mapping that Java sees: the last entry of a key wins."""
    return {each.key: each.value for each in properties}


def updated(text: str, changes: Mapping[str, str]) -> str:
    """Give the text with other values for some keys; every line of other keys stays as it is.

    The last entry of a changed key is replaced, the one that counts. Keys that are not there are added at
    the end. All added text is ASCII.

    Raises:
        PropertiesError: The text is not a properties text.
    """
    mark = BOM if text.startswith(BOM) else ""
    elements = list(_elements(text.removeprefix(BOM)))
    sources = [element.source for element in elements]
    places = {each.key: at for at, each in enumerate(elements) if each.key is not None}
    end = _line_end(text)
    for key, at in places.items():
        if key in changes:
            final = _LINE_END.search(sources[at][-2:])
            sources[at] = entry(key, changes[key]) + (final[0] if final else "")
    kept = "".join(sources)
    added = "".join(f"{entry(key, value)}{end}" for key, value in changes.items() if key not in places)
    return mark + kept + (_closing(sources, end) if added else "") + added


def with_lines(text: str, sources: Mapping[int, str]) -> str:
    """Give the text with other entries: those that begin on these lines become these texts, the rest stays as it is.

    Raises:
        PropertiesError: The text is not a properties text.
    """
    mark = BOM if text.startswith(BOM) else ""
    kept = []
    for element in _elements(text.removeprefix(BOM)):
        if element.key is None or element.line not in sources:
            kept.append(element.source)
            continue
        final = _LINE_END.search(element.source[-2:])
        kept.append(sources[element.line] + (final[0] if final else ""))
    return mark + "".join(kept)


def render(mapping: Mapping[str, str]) -> str:
    """Write entries, one on each line, so that any reader of properties gets the same mapping."""
    return "".join(f"{entry(key, value)}\n" for key, value in mapping.items())


def entry(key: str, value: str) -> str:
    """Write one entry without a line end."""
    return f"{_KEY_ESCAPED.sub(_escape, key)}={escape_value(value)}"


def escape_value(value: str) -> str:
    """Write a value for use after `key=`; only what a reader would change is escaped, all of it in ASCII."""
    escaped = _ESCAPED.sub(_escape, value)
    return f"\\{escaped}" if escaped.startswith(" ") else escaped


def _escape(match: re.Match[str]) -> str:
    char = match[0]
    if char in _SHORT:
        return _SHORT[char]
    if " " <= char <= "~":
        return f"\\{char}"
    units = char.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def _elements(text: str) -> Iterator[_Element]:
    # It loads parsers of XML and HTTP, which take longer than everything else at a start without a file.
    import javaproperties  # noqa: PLC0415

    line = 1
    try:
        for element in javaproperties.parse(text):
            if isinstance(element, javaproperties.KeyValue):
                yield _Element(source=element.source, key=element.key, value=element.value, line=line)
            else:
                yield _Element(source=element.source, key=None, value="", line=line)
            line += len(_LINE_END.findall(element.source))
    except javaproperties.InvalidUEscapeError as error:
        raise PropertiesError(line, error.escape) from error


def _line_end(text: str) -> str:
    """Give the line end that the text uses, judged by its first line."""
    first = _LINE_END.search(text)
    return first[0] if first else "\n"


def _closing(sources: Sequence[str], end: str) -> str:
    """Give what must stand between the text and an added line: an end for a last line that has none.

    A last line that ends in a backslash asks for a continuation; an empty one satisfies it.
    """
    last = _LAST_LINE.search(sources[-1]) if sources else None
    if last is None:
        return ""
    is_open = bool(_OPEN_END.search(last[1])) and not _is_comment(sources[-1])
    return end * ((not last[2]) + is_open)


def _is_comment(source: str) -> bool:
    return source.lstrip(" \t\f").startswith(("#", "!"))
