"""docs/reference/http.md: every operation of a NameServer's JSON API, from the table that its routes are made from.

Owns: the layout of that page.
Must not know: anything about an operation that the table does not say.
"""

from collections.abc import Iterator
from typing import Any, Final

from cosmodrome.http.openapi import problems_of
from cosmodrome.http.operations import Operation
from cosmodrome.namesrv.http.description import TEXT, description
from cosmodrome.namesrv.http.table import OPERATIONS
from cosmodrome.protocol.codes import RequestCode

_HEAD: Final = """\
# The JSON API of a NameServer

<!-- Written by `python -m scripts.reference` from src/cosmodrome/namesrv/http. Do not edit. -->

{text}

A name in a path is one segment, percent-encoded: the topic `%RETRY%group` is `%25RETRY%25group`, a slash is `%2F`. Times are RFC 3339 in
UTC. The same as OpenAPI 3.1: `/api/v1/openapi.json`, or `cosmodrome export openapi`. Who may do it: as the request named beside it, see
[policy.md](../policy.md#over-http). Examples and probes: [monitoring.md](../monitoring.md).
"""

_SCHEMAS: Final[dict[str, Any]] = description()["components"]["schemas"]


def page() -> str:
    """Give the whole page."""
    parts = [_HEAD.format(text=TEXT)]
    parts += ["".join(_operation(each)) for each in OPERATIONS]
    parts.append("## Bodies\n")
    parts += [_schema(name, schema) for name, schema in sorted(_SCHEMAS.items())]
    return "\n".join(parts)


def _operation(operation: Operation) -> Iterator[str]:
    yield f"## {operation.method} {operation.path}\n\n{operation.text}\n\n"
    like = "" if operation.like is None else f" As request {int(operation.like)} ({RequestCode(operation.like).name})."
    takes = "" if operation.takes is None else f"Takes {_link(operation.takes)}. "
    yield f"{takes}Answers {_link(operation.answers)} ({operation.media_type}).{like}\n"
    if operation.query:
        yield "\n| parameter | meaning |\n|---|---|\n"
        yield from (f"| `{each.name}` | {each.meaning}{_limits(each.schema)} |\n" for each in operation.query)
    own = {status: text for status, text in problems_of(operation).items() if status in operation.problems}
    if own:
        yield "\n" + "".join(f"- {status.value}: {text}\n" for status, text in own.items())


def _link(kind: Any) -> str:
    name = getattr(kind, "__name__", "")
    if name in _SCHEMAS:
        return f"[{name}](#{name.lower()})"
    return "an object" if name == "dict" or "dict" in repr(kind) else "text"


def _limits(schema: Any) -> str:
    if "maximum" in schema:
        return f", {schema['minimum']} to {schema['maximum']}, else {schema['default']}"
    return ""


def _schema(name: str, schema: dict[str, Any]) -> str:
    rows = "".join(
        f"| `{member}` | {_type(about)}{'' if member in schema.get('required', ()) else ', optional'} |\n"
        for member, about in schema.get("properties", {}).items()
    )
    table = f"\n| member | type |\n|---|---|\n{rows}" if rows else ""
    return f"### {name}\n\n{schema.get('description', '')}\n{table}"


def _type(about: dict[str, Any]) -> str:
    if "$ref" in about:
        name = about["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in about:
        return " or ".join(_type(each) for each in about["anyOf"])
    kind = about.get("type", "anything")
    if kind == "array":
        return f"list of {_type(about.get('items', {}))}"
    if kind == "object" and isinstance(about.get("additionalProperties"), dict):
        return f"object of {_type(about['additionalProperties'])}"
    return f"one of {', '.join(map(str, about['enum']))}" if "enum" in about else str(kind)
