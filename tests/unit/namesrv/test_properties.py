"""Java .properties text: read with line numbers, changed without touching other lines."""

import javaproperties
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cosmodrome.errors import PropertiesError
from cosmodrome.namesrv.properties import (
    Property,
    decode,
    entry,
    escape_value,
    last_values,
    parse,
    render,
    updated,
    with_lines,
)

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
KEYS = TEXTS.filter(bool)
# Pieces that make up texts with everything the format has: comments, continuations, all line ends, escapes.
PIECES = st.sampled_from(
    [
        "a",
        "b",
        "key",
        "=",
        ":",
        " ",
        "\t",
        "\n",
        "\r\n",
        "\r",
        "\\\n",
        "\\\\",
        "\\",
        "#",
        "!",
        "é",
        "\\u00e9",
        "\f",
    ]
)
FILES = st.lists(PIECES, max_size=30).map("".join)


def read(text: str) -> dict[str, str]:
    return last_values(parse(text))


class TestReading:
    def test_separators_comments_and_continuations_are_java_s(self) -> None:
        text = "# c\n! c\na=1\nb : 2\nc 3\nd\ne=x\\\n   y\n\n"

        assert read(text) == {"a": "1", "b": "2", "c": "3", "d": "", "e": "xy"}

    def test_an_entry_knows_the_line_where_it_begins(self) -> None:
        entries = parse("# one\r\na=1\\\r\n  2\r\n\r\nb=3")

        assert entries == (Property(key="a", value="12", line=2), Property(key="b", value="3", line=5))

    def test_duplicates_are_all_given_and_the_last_one_counts(self) -> None:
        entries = parse("a=1\na=2\n")

        assert [each.line for each in entries] == [1, 2]
        assert last_values(entries) == {"a": "2"}

    def test_a_byte_order_mark_is_not_part_of_the_first_key(self) -> None:
        text, encoding = decode(b"\xef\xbb\xbflistenPort=1\n")

        assert read(text) == {"listenPort": "1"}
        assert text.encode(encoding) == b"\xef\xbb\xbflistenPort=1\n"

    def test_utf_8_is_tried_first(self) -> None:
        assert decode("a=火箭".encode()) == ("a=火箭", "utf-8")

    def test_what_is_not_utf_8_is_read_as_java_reads_it(self) -> None:
        assert decode(b"a=caf\xe9") == ("a=café", "iso-8859-1")

    def test_trailing_blanks_are_kept(self) -> None:
        """As in Java; what they mean is decided by the key."""
        assert read("a=1 \n") == {"a": "1 "}

    @pytest.mark.parametrize("escape", ["\\uZZZZ", "\\u12", "\\u"])
    def test_a_bad_unicode_escape_is_named_with_its_line(self, escape: str) -> None:
        with pytest.raises(PropertiesError, match="line 3") as caught:
            parse(f"a=1\n\nb={escape}\n")

        assert caught.value.line == 3
        assert caught.value.escape == escape


class TestWriting:
    @given(st.dictionaries(KEYS, TEXTS, max_size=8))
    def test_any_mapping_reads_back_identical(self, mapping: dict[str, str]) -> None:
        text = render(mapping)

        assert read(text) == mapping
        assert javaproperties.loads(text) == mapping
        assert javaproperties.loads(text.encode("ascii")) == mapping

    @pytest.mark.parametrize(
        "value",
        [
            "center",
            "configBlackList;configStorePath;kvConfigPath",
            "/home/rmq/namesrv/kvConfig.json",
            "a = b: c # d ! e",
            "",
            "trailing blank ",
        ],
    )
    def test_what_needs_no_escape_is_written_as_java_lists_it(self, value: str) -> None:
        assert escape_value(value) == value

    @pytest.mark.parametrize(
        ("value", "written"),
        [
            ("C:\\rmq\\kv", "C:\\\\rmq\\\\kv"),
            (" leading", "\\ leading"),
            ("\ttab", "\\ttab"),
            ("line\nbreak", "line\\nbreak"),
            ("火", "\\u706b"),
            ("🚀", "\\ud83d\\ude80"),
            ("\x00\x7f", "\\u0000\\u007f"),
        ],
    )
    def test_what_a_reader_would_change_is_escaped(self, value: str, written: str) -> None:
        assert escape_value(value) == written
        assert read(f"key={written}") == {"key": value}

    def test_half_a_surrogate_pair_survives(self) -> None:
        """Java strings hold them, so a file may."""
        assert read(entry("a", "\ud83d")) == {"a": "\ud83d"}


class TestChanging:
    TEXT = "# ports\nlistenPort = 9876  \n\n! name\nproductEnvName: center\n"

    def test_only_the_line_of_the_changed_key_differs(self) -> None:
        changed = updated(self.TEXT, {"listenPort": "9886"})

        assert changed == "# ports\nlistenPort=9886\n\n! name\nproductEnvName: center\n"

    def test_a_new_key_goes_to_the_end(self) -> None:
        assert updated("a=1\n", {"b": "2"}) == "a=1\nb=2\n"

    def test_a_last_line_without_an_end_gets_one(self) -> None:
        assert updated("a=1", {"b": "2"}) == "a=1\nb=2\n"

    def test_line_ends_of_the_file_are_used(self) -> None:
        assert updated("a=1\r\n", {"b": "2"}) == "a=1\r\nb=2\r\n"

    def test_no_changes_are_no_change(self) -> None:
        assert updated(self.TEXT, {}) == self.TEXT

    def test_the_last_of_duplicates_is_replaced(self) -> None:
        assert updated("a=1\na=2\nb=1\n", {"a": "3"}) == "a=1\na=3\nb=1\n"

    def test_all_lines_of_a_continued_entry_are_replaced(self) -> None:
        assert updated("a=1\\\n  2\nb=1\n", {"a": "3"}) == "a=3\nb=1\n"

    def test_a_byte_order_mark_stays(self) -> None:
        assert updated("\ufeffa=1\n", {"a": "2"}) == "\ufeffa=2\n"

    @given(FILES, st.dictionaries(st.sampled_from(["a", "b", "key", "new"]), TEXTS, max_size=3))
    @example("a=b\\", {"new": "1"})
    @example("a=b\\\n", {"new": "1"})
    @example("# no continuation \\", {"new": "1"})
    @example("\\", {"new": "1"})
    def test_any_file_then_means_what_it_meant_and_the_changes(self, text: str, changes: dict[str, str]) -> None:
        before = read(text)

        after = updated(text, changes)

        assert read(after) == before | changes
        assert javaproperties.loads(after) == before | changes

    @given(FILES, TEXTS)
    def test_every_other_line_stays_byte_for_byte(self, text: str, value: str) -> None:
        changed = updated(f"{text}\n\n", {"a": value})

        kept = [each.source for each in javaproperties.parse(f"{text}\n\n") if getattr(each, "key", None) != "a"]
        left = [each.source for each in javaproperties.parse(changed) if getattr(each, "key", None) != "a"]
        assert left == kept


@pytest.mark.parametrize(
    ("text", "sources", "after"),
    [
        ("a=1\n# c\nb = 2\n", {3: "#b=2"}, "a=1\n# c\n#b=2\n"),
        ("a=1\\\n  2\r\nb=2", {1: "a=3", 3: "b=4"}, "a=3\r\nb=4"),
        ("\ufeffa=1\n", {1: "b=1"}, "\ufeffb=1\n"),
        ("a=1\n\n", {2: "x", 9: "y"}, "a=1\n\n"),
    ],
)
def test_entries_are_put_in_the_place_of_others(text: str, sources: dict[int, str], after: str) -> None:
    assert with_lines(text, sources) == after
