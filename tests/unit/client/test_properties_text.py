"""Configuration as text."""

from cosmodrome.client.properties_text import properties_from, properties_text


def test_what_is_written_is_read_back() -> None:
    values = {"a": "1", "path with = and :": r"C:\users\x", "blank": "", "text": "  Grüße, 消息\nnext line"}

    assert properties_from(properties_text(values)) == values


def test_a_listing_is_read_as_properties() -> None:
    assert properties_from("a=1\nb = 2\n# no key\n") == {"a": "1", "b": "2"}


def test_a_listing_that_is_no_properties_text_is_taken_as_it_is() -> None:
    """Apache's servers do not escape what they list."""
    assert properties_from("path=C:\\users\\x\nb=2\nno pair\n") == {"path": r"C:\users\x", "b": "2"}
