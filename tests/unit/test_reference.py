"""The generated reference pages say what the code says."""

from pathlib import Path

import pytest
from scripts.reference.pages import DOCS, pages


@pytest.mark.parametrize(("place", "text"), [pytest.param(*page, id=page[0].stem) for page in pages()])
def test_the_page_is_up_to_date(place: Path, text: str) -> None:
    assert place.read_text(encoding="utf-8") == text, "write it anew: python -m scripts.reference"


def test_there_are_no_pages_of_modules_that_are_gone() -> None:
    assert set((DOCS / "reference").glob("*.md")) <= {place for place, _ in pages()}
