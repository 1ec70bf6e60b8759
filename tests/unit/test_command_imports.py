"""What the command loads: help nothing that is slow to load, a command what it needs. Modules are counted, not seconds."""

import json
import socket
import subprocess
import sys
from typing import Final

import pytest

from cosmodrome.cli.later import LATER, LaterCommand, loaded

SLOW: Final = frozenset({"starlette", "uvicorn", "rich", "prometheus_client", "cryptography", "yaml", "tomlkit"})
NOT_FOR_HELP: Final = SLOW | {"asyncio", "ssl", "uvloop", "msgspec", "javaproperties", "http", "urllib"}
NOT_FOR_ADMIN: Final = SLOW | {"uvloop", "javaproperties"}


def loaded_by(*words: str) -> frozenset[str]:
    """Give the modules that are loaded when the command has ended."""
    source = (
        "import atexit, json, sys\n"
        "atexit.register(lambda: sys.stderr.write('\\n' + json.dumps(sorted(sys.modules))))\n"
        "from cosmodrome.cli import main\n"
        f"sys.argv[1:] = {list(words)!r}\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-I", "-c", source], capture_output=True, text=True, check=False)
    return frozenset(json.loads(done.stderr.splitlines()[-1]))


def packages(modules: frozenset[str]) -> frozenset[str]:
    return frozenset(name.partition(".")[0] for name in modules)


def parts(modules: frozenset[str]) -> frozenset[str]:
    return frozenset(name.split(".")[1] for name in modules if name.startswith("cosmodrome."))


@pytest.mark.parametrize("words", [("--help",), ("--version",), ("namesrv", "--help"), ("broker", "--help")], ids=str)
def test_help_loads_the_grammar_and_nothing_else(words: tuple[str, ...]) -> None:
    modules = loaded_by(*words)

    assert "click" in modules
    assert not packages(modules) & NOT_FOR_HELP
    assert parts(modules) == {"cli"}


def test_a_question_to_a_name_server_loads_no_server_and_no_http() -> None:
    """Nobody listens there; the answer is an error, and all modules are there by then."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        modules = loaded_by("admin", "topicRoute", "-t", "T", "-n", address, "--timeout", "5")

    assert "cosmodrome.admin.routes" in modules
    assert not packages(modules) & NOT_FOR_ADMIN
    assert not parts(modules) & {"namesrv", "broker", "store", "http", "metrics", "sync", "operating", "configuring"}


@pytest.mark.parametrize("name", ["stop", "reload"])
def test_telling_a_process_something_loads_no_server(name: str) -> None:
    modules = loaded_by(name, "--pid-file", "/nowhere/pid")

    assert not packages(modules) & (SLOW | {"uvloop"})
    assert not parts(modules) & {"broker", "store", "namesrv", "metrics"}


@pytest.mark.parametrize("name", LATER)
def test_every_command_of_the_table_is_there(name: str) -> None:
    command = loaded(name)

    assert command.help, "a command says what it is for"
    assert LaterCommand(name).get_short_help_str(200) == LATER[name].summary
