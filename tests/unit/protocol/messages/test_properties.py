"""The text of properties."""

import pytest

from cosmodrome.protocol.messages import properties
from cosmodrome.protocol.messages.properties import (
    RESERVED,
    decode_properties,
    encode_properties,
    is_reserved,
    properties_bytes,
    properties_text,
)


def test_each_entry_is_ended() -> None:
    assert encode_properties({"KEYS": "K1 K2", "TAGS": "TagA"}) == "KEYS\x01K1 K2\x02TAGS\x01TagA\x02"
    assert encode_properties({}) == ""


@pytest.mark.parametrize("ending", ["", "\x02"])
def test_c011_both_endings_are_read_alike(ending: str) -> None:
    """4.9 leaves the last separator out, 5.x writes it."""
    assert decode_properties(f"DELAY\x013\x02TAGS\x01TagA{ending}") == {"DELAY": "3", "TAGS": "TagA"}


@pytest.mark.parametrize(
    "broken",
    ["", "name", "name\x01", "\x01value", "\x01", "a\x01b\x01c", "name\x01\x01", "\x01\x01"],
    ids=repr,
)
def test_c011_a_broken_entry_is_skipped_and_the_others_survive(broken: str) -> None:
    text = f"first\x011\x02{broken}\x02last\x012"

    assert decode_properties(text) == {"first": "1", "last": "2"}
    assert decode_properties(f"{broken}\x02first\x011") == {"first": "1"}
    assert decode_properties(f"first\x011\x02{broken}") == {"first": "1"}


def test_c011_text_that_was_glued_on_costs_only_what_it_touches() -> None:
    """A plug-in added an entry to a text without its last separator: two entries have become one that is none."""
    assert decode_properties("a\x01b\x02DELAY\x013" + "plugin\x01x\x02") == {"a": "b"}
    assert decode_properties(encode_properties({"a": "b", "DELAY": "3"}) + "plugin\x01x\x02") == {
        "a": "b", "DELAY": "3", "plugin": "x",
    }  # fmt: skip


@pytest.mark.parametrize("text", ["k\x011\x02k\x012\x02", "k\x011\x02\x02k\x012", "k\x012\x02k\x01\x02"])
def test_the_last_whole_entry_of_a_name_counts(text: str) -> None:
    assert decode_properties(text) == {"k": "2"}


def test_c011_ten_thousand_entries_and_emoji() -> None:
    many = {
        f"n{number}\N{GRINNING FACE}": f"w\N{LATIN SMALL LETTER E WITH ACUTE}rt {number}" for number in range(10_000)
    }

    assert decode_properties(encode_properties(many)) == many


@pytest.mark.parametrize(
    ("entries", "named"),
    [
        ({"a": "x\x01y"}, "value of property 'a'"),
        ({"a": "x\x02"}, "value of property 'a'"),
        ({"ok": "1", "b\x01": "x"}, r"name of property 'b\\x01'"),
        ({"\x02": "x"}, r"name of property '\\x02'"),
        ({"a": ""}, "value of property 'a' is empty"),
        ({"": "x"}, "name of property '' is empty"),
        # Together they have as many separators as they should.
        ({"a\x01b": "c\x02d\x01e", "": ""}, "property"),
    ],
)
def test_c011_what_could_not_be_read_back_is_not_written(entries: dict[str, str], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        encode_properties(entries)


def test_reserved_names() -> None:
    constants = {
        value
        for name, value in vars(properties).items()
        if name.isupper() and isinstance(value, str) and not name.endswith(("_SEPARATOR", "_PREFIX"))
    }

    assert constants == RESERVED
    assert all(map(is_reserved, RESERVED))
    assert is_reserved("__RMQ.TRANSIENT.x")
    assert not is_reserved("keys")
    assert not is_reserved("user")


def test_c031_bytes_of_others_that_are_no_utf8_are_seen_and_hinder_nothing() -> None:
    text = properties_text(b"a\x01\xff\xfe\x02b\x01ok\x02")

    assert decode_properties(text) == {"a": "\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}", "b": "ok"}


def test_c031_half_a_surrogate_pair_is_stored_as_java_stores_it() -> None:
    assert properties_bytes("a\x01\ud800b\x02") == b"a\x01?b\x02"
