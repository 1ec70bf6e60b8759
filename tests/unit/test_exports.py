"""What the package offers by name, and what naming it costs."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import cosmodrome

NAMES: tuple[str, ...] = tuple(vars(cosmodrome)["__all__"])
STUB = Path(str(cosmodrome.__file__)).with_suffix(".pyi")


@pytest.mark.parametrize("name", NAMES)
def test_every_name_is_there(name: str) -> None:
    assert getattr(cosmodrome, name).__name__ == name


def test_the_stub_says_the_same() -> None:
    tree = ast.parse(STUB.read_text(encoding="utf-8"))
    names = {alias.asname for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert names == set(NAMES) <= set(dir(cosmodrome))


def test_a_name_that_is_not_there() -> None:
    with pytest.raises(AttributeError, match="Nothing"):
        _ = cosmodrome.Nothing  # type: ignore[attr-defined]  # the point of it


def test_importing_the_package_loads_none_of_it() -> None:
    program = "import sys, cosmodrome; print([m for m in sys.modules if m.startswith('cosmodrome.') or m == 'asyncio'])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_producer_loads_neither_the_server_nor_the_command_line() -> None:
    program = (
        "import sys; from cosmodrome import Message, Producer;"
        "print([m for m in sys.modules if m.split('.')[:2][-1] in ('namesrv', 'cli', 'click')])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
