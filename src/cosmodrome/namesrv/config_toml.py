"""Configuration in TOML: the same keys as a properties file, read and changed in the same way.

Owns: how TOML values become the text that a properties file would hold, and back.
Must not know: what the keys mean (config.py); where the text is kept (config_file.py).
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import tomlkit
from tomlkit.exceptions import TOMLKitError

from cosmodrome.errors import ConfigError
from cosmodrome.namesrv.properties import BOM, Property, last_values

_WHOLE_NUMBER: Final = re.compile(r"0|-?[1-9][0-9]{0,17}")


def parse(text: str) -> tuple[Property, ...]:
    """Read all entries; `[a]` above `b = 1` is the key `a.b`. A `line` of 0 means that it was not found.

    Raises:
        ConfigError: The text is not TOML.
    """
    lines = text.splitlines()
    return tuple(
        Property(key=key, value=_text(value), line=_line_of(key, lines), is_list=isinstance(value, list))
        for key, value in _entries(_document(text))
    )


def updated(text: str, changes: Mapping[str, str]) -> str:
    """Give the text with other values for some keys; comments and the lines of other keys stay.

    Raises:
        ConfigError: The text is not TOML, or cannot be changed so that it reads back as it should.
    """
    # The library puts a new line behind a last one that has no end, and joins the two, for some forms of keys.
    is_ended = not text or text.endswith("\n")
    document = _document(text if is_ended else f"{text}\n")
    for key, value in changes.items():
        table, name = _place(document, key)
        table[name] = _toml_value(value)
    changed = (BOM if text.startswith(BOM) else "") + document.as_string()
    _check_changed(text, changes, changed)
    return changed


def _check_changed(text: str, changes: Mapping[str, str], changed: str) -> None:
    """Make sure that nothing is written which the next start would read otherwise, or not at all."""
    wanted = last_values(parse(text)) | dict(changes)
    try:
        is_right = last_values(parse(changed)) == wanted
    except ConfigError:
        is_right = False
    if not is_right:
        raise ConfigError(
            f"{', '.join(changes)} cannot be written into this TOML text",
            why="a part of it is in a form that cannot be changed by a program.",
            remedy="write each key on a line of its own, as `key = value` or under its [table]",
        )


def _document(text: str) -> tomlkit.TOMLDocument:
    try:
        return tomlkit.parse(text.removeprefix(BOM))
    except TOMLKitError as error:
        raise ConfigError(f"not TOML: {error}") from error


def _entries(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in table.items():
        if isinstance(value, Mapping):
            yield from _entries(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def _text(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case list():
            return ";".join(map(str, value))
        case _:
            return str(value)


def _toml_value(text: str) -> bool | int | str:
    """Give the TOML value that reads back as this text, a bare one where there is one."""
    if text in {"true", "false"}:
        return text == "true"
    return int(text) if _WHOLE_NUMBER.fullmatch(text) else text


def _place(document: tomlkit.TOMLDocument, key: str) -> tuple[Any, str]:
    """Find the table that holds a key, and the key's name in it; a new key goes to the top."""
    table: Any = document
    name = key
    while name not in table:
        first, dot, rest = name.partition(".")
        if not dot or not isinstance(table.get(first), Mapping):
            return document, key
        table, name = table[first], rest
    return table, name


def _line_of(key: str, lines: list[str]) -> int:
    names = (key, key.rpartition(".")[2])
    pattern = re.compile(rf"""\s*(?:[\w."'-]+\.)?["']?(?:{"|".join(map(re.escape, names))})["']?\s*=""")
    return next((number for number, line in enumerate(lines, 1) if pattern.match(line)), 0)
