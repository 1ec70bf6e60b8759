"""Imports point one way, each module says what it owns, and nothing hides an import.

The layers are those of docs/architecture.md: a module imports from the layers that it names here, no other.
"""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

PACKAGE: Final = "cosmodrome"
SOURCE: Final = Path(__file__).resolve().parents[1] / "src" / PACKAGE

# What a layer may import beside itself, the standard library and what LIBRARIES allows.
# The longest name that a module begins with is its layer.
LAYERS: Final[dict[str, tuple[str, ...]]] = {
    "errors": (),
    "durable_file": ("errors",),
    "shown_text": (),
    "protocol": ("errors",),
    "store": ("protocol", "errors", "durable_file"),
    "transport": ("protocol", "errors"),
    "metrics": ("transport",),
    "audit": ("errors", "durable_file"),
    "http": ("metrics", "transport", "errors"),
    "client": ("transport", "protocol", "errors", "durable_file"),
    "opentelemetry": ("client", "errors"),
    "sync": ("client", "namesrv", "metrics", "protocol", "errors"),
    "broker.processors": ("broker", "store", "transport", "protocol", "errors"),
    "broker": ("store", "client", "http", "metrics", "audit", "transport", "protocol", "errors", "durable_file"),
    "recordings": ("shown_text", "protocol", "errors"),
    "why": ("protocol",),
    "admin": ("shown_text", "why", "client", "transport", "protocol", "errors", "durable_file"),
    "namesrv.events": (),
    "namesrv.counters": (),
    "namesrv.event_history": ("namesrv.events",),
    "namesrv.event_filter": ("namesrv.event_history", "namesrv.events"),
    "namesrv.event_form": ("namesrv.event_history", "namesrv.events"),
    "namesrv.repeats": ("namesrv.counters", "namesrv.events"),
    "namesrv.routing": ("namesrv.events", "protocol", "errors"),
    "namesrv.kv_limits": ("protocol", "errors"),
    "namesrv.kv_config": ("namesrv.kv_limits", "protocol", "errors", "durable_file"),
    "namesrv.memory": (),
    "namesrv.port_owner": (),
    "namesrv.properties": ("errors",),
    "namesrv.registration_digest": ("protocol",),
    "namesrv.config_keys": ("protocol",),
    "namesrv.config_java": ("namesrv.config_keys", "protocol"),
    "namesrv.config_limits": ("namesrv.config_java", "namesrv.config_keys", "namesrv.kv_limits", "protocol"),
    "namesrv.config": ("namesrv.config_limits", "namesrv.config_keys", "namesrv.properties", "protocol", "errors"),
    "namesrv.processors": (
        "namesrv.routing", "namesrv.events", "namesrv.kv_config", "namesrv.live_config", "namesrv.config",
        "namesrv.config_keys", "namesrv.properties", "namesrv.registration_digest", "transport", "protocol", "errors",
    ),
    "namesrv.server": ("namesrv", "http", "metrics", "transport", "protocol", "errors"),
    "namesrv": ("namesrv", "why", "client", "http", "metrics", "audit", "transport", "protocol", "errors", "durable_file"),
    "configuring": ("operating", "namesrv", "broker", "admin", "client", "transport", "protocol", "errors", "durable_file"),
    "operating": ("audit", "namesrv", "client", "transport", "protocol", "errors", "durable_file"),
    "monitoring": (),
    "cli": ("shown_text", "why", "audit", "monitoring", "configuring", "operating", "recordings", "namesrv", "broker", "admin", "client", "transport", "protocol", "errors", "durable_file"),
    "__main__": ("cli",),
    "__init__": (),
}  # fmt: skip

# Where a library may be imported; elsewhere it would spread.
LIBRARIES: Final[dict[str, tuple[str, ...]]] = {
    "msgspec": ("protocol", "recordings", "why", "http", "namesrv", "admin", "client", "broker", "operating", "cli"),
    "click": ("cli",),
    "uvloop": ("cli",),
    "starlette": ("http", "namesrv.http", "broker.http"),
    "uvicorn": ("http.http_server",),
    "prometheus_client": ("metrics.exposition", "metrics.collector"),
    "javaproperties": ("namesrv.properties", "client"),
    "tomlkit": ("namesrv.config_toml",),
    "lz4": ("protocol.messages.compression",),
    "opentelemetry": ("opentelemetry",),
    "zstandard": ("protocol.messages.compression",),
    "yaml": ("broker.security.plain_acl_files",),
}

# What the protocol and the tables do without: they are pure, time is an argument.
IMPURE: Final = frozenset(
    {"asyncio", "socket", "ssl", "time", "threading", "select", "os", "pathlib", "random", "subprocess"}
)
PURE_LAYERS: Final = (
    "protocol", "why", "namesrv.routing", "namesrv.events", "namesrv.event_history", "namesrv.event_filter",
    "namesrv.event_form", "errors",
)  # fmt: skip


LINES: Final[dict[str, list[str]]] = {}


def modules() -> dict[str, ast.Module]:
    """Give every module by its name inside the package."""
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)
        text = path.read_text(encoding="utf-8")
        found[name] = ast.parse(text, str(path))
        LINES[name] = text.splitlines()
    return found


MODULES: Final = modules()


def imported(tree: ast.Module) -> Iterator[tuple[ast.stmt, str]]:
    """Give every import, wherever it stands, with the full name of what it imports from."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node, alias.name
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"a relative import in line {node.lineno}"
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield node, whole if whole.removeprefix(f"{PACKAGE}.") in MODULES else str(node.module)


def own(tree: ast.Module) -> set[str]:
    """Give the modules of this package that a module imports."""
    names = {name for _, name in imported(tree) if name.split(".")[0] == PACKAGE}
    return {name.removeprefix(PACKAGE).removeprefix(".") or "__init__" for name in names}


def is_in(module: str, layer: str) -> bool:
    return module == layer or module.startswith(f"{layer}.")


def layer_of(module: str) -> str:
    return max((layer for layer in LAYERS if is_in(module, layer)), key=len, default="")


@pytest.mark.parametrize("module", MODULES)
def test_every_module_has_a_layer(module: str) -> None:
    assert layer_of(module), f"{module} is in no layer of LAYERS"


@pytest.mark.parametrize("module", MODULES)
def test_imports_point_the_right_way(module: str) -> None:
    layer = layer_of(module)
    allowed = (layer, *LAYERS[layer])
    # A narrower layer than the one named is part of it only where it is named too, or is above nothing.
    wrong = {
        other
        for other in own(MODULES[module])
        if not any(is_in(other, each) for each in allowed) and other != "__init__"
    }

    assert not wrong, f"{module} ({layer}) may import from {allowed} only"


@pytest.mark.parametrize("module", MODULES)
def test_libraries_stay_where_they_belong(module: str) -> None:
    for library, layers in LIBRARIES.items():
        used = any(name.split(".")[0] == library for _, name in imported(MODULES[module]))
        assert not used or any(is_in(module, layer) for layer in layers), f"{module} imports {library}"


@pytest.mark.parametrize("module", [name for name in MODULES if any(is_in(name, layer) for layer in PURE_LAYERS)])
def test_the_protocol_and_the_tables_are_pure(module: str) -> None:
    used = {name.split(".")[0] for _, name in imported(MODULES[module])} & IMPURE

    assert not used, f"{module} imports {used}"


def test_the_server_is_imported_by_no_part_of_it() -> None:
    """What is put together does not know what puts it together: the command line, and what programs use, see the whole."""
    users = {name for name, tree in MODULES.items() if "namesrv.server" in own(tree)}

    assert all(is_in(name, "cli") or name == "namesrv.in_process" for name in users), users


def test_processors_do_not_know_each_other() -> None:
    for package in ("namesrv.processors", "broker.processors"):
        families = [name for name in MODULES if name.startswith(f"{package}.")]

        assert families
        for name in families:
            assert not {other for other in own(MODULES[name]) if is_in(other, package)}


def test_there_are_no_cycles() -> None:
    graph = {name: own(tree) & set(MODULES) - {name} for name, tree in MODULES.items()}
    done: set[str] = set()

    def visit(name: str, path: tuple[str, ...]) -> None:
        assert name not in path, f"a cycle: {' -> '.join((*path[path.index(name) :], name))}"
        if name not in done:
            for other in sorted(graph[name]):
                visit(other, (*path, name))
            done.add(name)

    for name in graph:
        visit(name, ())


@pytest.mark.parametrize("module", MODULES)
def test_every_module_has_a_docstring(module: str) -> None:
    tree = MODULES[module]
    text = ast.get_docstring(tree)

    assert text or not tree.body, f"{module} says nothing about itself"


@pytest.mark.parametrize(
    "module",
    [
        name
        for name in MODULES
        if name.split(".")[0] in ("protocol", "transport", "http", "metrics", "audit", "namesrv", "broker")
    ],
)
def test_modules_of_the_core_say_what_they_own_and_must_not_know(module: str) -> None:
    """But packages, and modules that are a list of headers."""
    text = ast.get_docstring(MODULES[module]) or ""
    is_package = (SOURCE / Path(*module.split("."))).is_dir()
    if is_package or is_in(module, "protocol.headers"):
        return

    assert "Owns:" in text
    assert "Must not know:" in text


@pytest.mark.parametrize("module", MODULES)
def test_no_import_is_hidden(module: str) -> None:
    """No TYPE_CHECKING, no star; an import inside a function is of a library that is slow to load, and says so; the command line may load late."""
    lines = LINES[module]
    tree = MODULES[module]
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    names |= {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    assert "TYPE_CHECKING" not in names
    assert not any(isinstance(node, ast.ImportFrom) and node.names[0].name == "*" for node in ast.walk(tree))
    for node, name in imported(tree):
        if node.col_offset > 0 and node not in tree.body:
            is_free = is_in(module, "cli") or _is_in_try(tree, node)
            assert is_free or "noqa: PLC0415" in lines[node.lineno - 1], f"{name} in line {node.lineno}"


def _is_in_try(tree: ast.Module, node: ast.stmt) -> bool:
    """Whether an import stands in a `try` of the module itself: of what may not be there."""
    return any(node in each.body for each in tree.body if isinstance(each, ast.Try))
