"""Configuration: files of both kinds, and the values of keys."""

import dataclasses
from typing import Final

from cosmodrome.errors import ConfigError, PropertiesError
from cosmodrome.namesrv import config_toml, properties
from cosmodrome.namesrv.config import KEYS, NamesrvConfig, apply_changes, blacklisted, parse_values, render_listing
from cosmodrome.namesrv.config_keys import text_of
from fuzz.script import Script
from fuzz.values import text_size

_LONGEST_REASON: Final = 400
_CONFIG: Final = NamesrvConfig(data_dir="/nowhere")


def properties_file(data: bytes) -> None:
    """Any bytes are a text; it is read or refused; writing changes the entries that it should and no other line."""
    script = Script(data)
    new_key, new_value = (script.short().decode("utf-8", "replace") for _ in range(2))
    content = script.rest()
    text, encoding = properties.decode(content)
    assert text.encode(encoding) == content
    try:
        entries = properties.parse(text)
    except PropertiesError as error:
        assert 1 <= error.line <= text.count("\n") + text.count("\r") + 1
        return
    old = properties.last_values(entries)
    assert text_size(old) <= len(text)
    assert properties.last_values(properties.parse(properties.render(old))) == old
    assert properties.updated(text, {}) == text
    for key in (new_key, *list(old)[:2]):
        changed = properties.updated(text, {key: new_value})
        assert properties.last_values(properties.parse(changed)) == old | {key: new_value}
        assert properties.updated(changed, {key: new_value}) == changed


def toml_file(data: bytes) -> None:
    """Any text is read or refused; a change is read back and changes no other entry."""
    script = Script(data)
    key, value = script.choice(list(KEYS)), script.short().decode("utf-8", "replace")
    text, _ = properties.decode(script.rest())
    try:
        old = properties.last_values(config_toml.parse(text))
    except ConfigError:
        return
    try:
        changed = config_toml.updated(text, {key: value})
    except ConfigError:
        return
    assert properties.last_values(config_toml.parse(changed)) == old | {key: value}


def config_values(data: bytes) -> None:
    """Any text is a value of a key or refused in one line; a value is written and read back the same."""
    script = Script(data)
    mode = script.byte()
    names = list(KEYS) if mode % 8 == 0 else [script.choice(list(KEYS))]
    text = script.rest().decode("utf-8", "surrogateescape" if mode & 8 else "replace")
    for name in names:
        _check_value(name, text)
    values, reasons = parse_values(dict.fromkeys(KEYS, text))
    assert values.keys() | reasons.keys() == KEYS.keys()
    blacklisted(_CONFIG, names)


def _check_value(name: str, text: str) -> None:
    key = KEYS[name]
    try:
        value = key.parse(text)
    except ValueError as error:
        _check_reason(str(error))
        return
    written = text_of(value)
    assert written is not None
    assert key.parse(written) == value
    try:
        change = apply_changes(_CONFIG, {name: text})
    except ConfigError as error:
        _check_reason(error.what)
        return
    told = (*change.applied, *change.needs_restart, *change.without_effect, *change.unknown)
    assert told == (name,)
    listing = properties.last_values(properties.parse(render_listing(change.config)))
    if name in listing and name in change.texts:
        assert listing[name] == change.texts[name]
    others = {field.name for field in dataclasses.fields(NamesrvConfig)} - {key.field_name}
    assert all(getattr(change.config, each) == getattr(_CONFIG, each) for each in others)


def _check_reason(reason: str) -> None:
    assert reason.isprintable(), reason
    assert len(reason) <= _LONGEST_REASON, reason
