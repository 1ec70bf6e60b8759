"""What importing this package loads: nothing that is not used."""

import ast
import importlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

import cosmodrome
from cosmodrome import sync

HEAVY: Final = frozenset({"asyncio", "ssl", "uvloop", "click", "msgspec", "javaproperties", "tomlkit", "cryptography"})
NOT_FOR_CLIENTS: Final = frozenset(
    {"uvloop", "click", "tomlkit", "javaproperties", "lz4", "zstandard", "cryptography", "opentelemetry"}
)
SOURCE: Final = Path(cosmodrome.__file__).parent


def loaded_by(statement: str) -> frozenset[str]:
    """Give the modules that a statement loads in a fresh interpreter."""
    text = f"import sys\nbefore = set(sys.modules)\n{statement}\nimport json\nprint(json.dumps(sorted(set(sys.modules) - before)))"
    child = subprocess.run([sys.executable, "-I", "-c", text], capture_output=True, text=True, check=True)
    return frozenset(json.loads(child.stdout))


def packages(modules: frozenset[str]) -> frozenset[str]:
    return frozenset(name.partition(".")[0] for name in modules)


def parts(modules: frozenset[str]) -> frozenset[str]:
    """Give the parts of this package that are among these modules."""
    return frozenset(name.split(".")[1] for name in modules if name.startswith("cosmodrome."))


@pytest.mark.parametrize("statement", ["import cosmodrome", "import cosmodrome.sync"])
def test_the_bare_package_loads_nothing(statement: str) -> None:
    loaded = loaded_by(statement)

    assert not packages(loaded) & HEAVY
    assert parts(loaded) <= {"sync"}


@pytest.mark.parametrize("name", ["Producer", "Consumer", "LitePullConsumer", "AdminClient", "Message"])
def test_a_client_loads_no_server_and_no_command_line(name: str) -> None:
    loaded = loaded_by(f"from cosmodrome import {name}")

    assert not packages(loaded) & NOT_FOR_CLIENTS
    assert not parts(loaded) & {"namesrv", "cli", "admin", "store", "broker", "sync"}


@pytest.mark.parametrize("name", ["Producer", "Consumer", "AdminClient"])
def test_a_blocking_client_loads_no_server_and_no_command_line(name: str) -> None:
    loaded = loaded_by(f"from cosmodrome.sync import {name}")

    assert not packages(loaded) & NOT_FOR_CLIENTS
    assert not parts(loaded) & {"namesrv", "cli", "admin", "store", "broker"}


def test_a_producer_does_not_load_consumers_nor_the_admin_client() -> None:
    loaded = loaded_by("from cosmodrome import Producer")

    assert not {name for name in loaded if name.startswith(("cosmodrome.client.consumer", "cosmodrome.client.admin"))}


@pytest.mark.parametrize("package", ["cosmodrome", "cosmodrome.sync"])
def test_the_stub_names_what_there_is(package: str) -> None:
    """Type checkers read the stub, programs the table; both say the same of every name."""
    module = importlib.import_module(package)
    stub = SOURCE.joinpath(*package.split(".")[1:], "__init__.pyi")
    named = {}
    for node in ast.parse(stub.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                assert alias.asname == alias.name
                named[alias.name] = node.module

    assert set(named) == set(vars(module)["__all__"])
    for name, origin in named.items():
        assert getattr(module, name) is getattr(importlib.import_module(str(origin)), name)


def test_a_name_that_is_not_there_is_named() -> None:
    with pytest.raises(AttributeError, match="Produzer"):
        getattr(cosmodrome, "Produzer")  # noqa: B009 -- it is not there
    assert set(vars(cosmodrome)["__all__"]) <= set(dir(cosmodrome))
    assert set(vars(sync)["__all__"]) <= set(dir(sync))
