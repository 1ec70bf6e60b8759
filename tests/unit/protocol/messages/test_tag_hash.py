"""Java's hash of a text."""

import pytest

from cosmodrome.protocol.messages.tag_hash import java_hash, tag_code


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", 0), ("a", 97), ("TagA", 2598919), ("TagB", 2598920), ("order-created", -392709271),
        ("TopicTest#KEY1", -1656969516), ("polygenelubricants", -(2**31)),
    ],
)  # fmt: skip
def test_known_hashes(text: str, value: int) -> None:
    assert java_hash(text) == value


@pytest.mark.parametrize(("one", "other"), [("Aa", "BB"), ("AaAa", "BBBB"), ("AaBB", "BBAa")])
def test_c064_different_tags_with_one_code(one: str, other: str) -> None:
    assert tag_code(one) == tag_code(other)


@pytest.mark.parametrize(
    ("tag", "units"),
    [
        ("\N{GRINNING FACE}", [0xD83D, 0xDE00]),
        ("\u6807\u7b7e", [0x6807, 0x7B7E]),
        ("a ", [0x61, 0x20]),
        ("\ud800", [0xD800]),
        ("\xff", [0xFF]),
    ],
)
def test_c064_units_of_utf16_are_counted(tag: str, units: list[int]) -> None:
    value = 0
    for unit in units:
        value = (31 * value + unit) % 2**32

    assert tag_code(tag) % 2**32 == value
    assert -(2**31) <= tag_code(tag) < 2**31


def test_no_tag_has_the_code_0() -> None:
    assert tag_code(None) == tag_code("") == 0


def test_a_long_tag_is_not_kept() -> None:
    tag = "x" * 30_000

    assert tag_code(tag) == java_hash(tag)
