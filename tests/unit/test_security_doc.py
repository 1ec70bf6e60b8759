"""SECURITY.md names tests; they must be there."""

import re
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]


def test_every_test_that_is_named_exists() -> None:
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(test_\w+)`", text))
    sources = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))

    assert len(named) > 15
    assert {name for name in named if not re.search(rf"def {name}\b", sources)} == set()


def test_every_page_that_is_linked_exists() -> None:
    for page in (ROOT / "SECURITY.md", ROOT / "docs" / "deployment.md"):
        targets = re.findall(r"\]\(([^)#]+)", page.read_text(encoding="utf-8"))

        assert targets
        assert [target for target in targets if not (page.parent / target).exists()] == [], page
