"""Which reference pages there are.

Owns: finding the modules of this folder that give a page, and where each page is kept.
Must not know: what a page says.
"""

import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

DOCS: Final = Path(__file__).resolve().parents[2] / "docs"


def pages() -> Iterator[tuple[Path, str]]:
    """Give the file of each page, and what belongs into it."""
    for found in pkgutil.iter_modules([str(Path(__file__).parent)]):
        module = importlib.import_module(f"scripts.reference.{found.name}")
        if hasattr(module, "page"):
            yield DOCS / getattr(module, "PLACE", f"reference/{found.name}.md"), module.page()
