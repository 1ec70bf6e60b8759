"""A table of operations as OpenAPI 3.1.

Owns: how an operation is written there.
Must not know: which operations there are.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final

import msgspec

from cosmodrome.http.operations import JSON, Operation, Parameter
from cosmodrome.http.problems import CONTENT_TYPE, ProblemBody

_REF: Final = "#/components/schemas/{name}"
_NAME: Final = re.compile(r"\{(\w+)\}")
_OF_ALL: Final = {
    HTTPStatus.BAD_REQUEST: "something about the request is wrong",
    HTTPStatus.FORBIDDEN: "not allowed, by policy or by where it comes from",
    HTTPStatus.MISDIRECTED_REQUEST: "the Host is no address and no name of this server",
    HTTPStatus.INTERNAL_SERVER_ERROR: "a fault of the server's",
    HTTPStatus.SERVICE_UNAVAILABLE: "too much is asked for at once, or the server stops",
}
_OF_WRITES: Final = {
    HTTPStatus.UNAUTHORIZED: "a change from another host needs the token",
    HTTPStatus.REQUEST_TIMEOUT: "the body did not come in time",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "the body is too long",
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE: "the request does not call itself JSON",
    HTTPStatus.INSUFFICIENT_STORAGE: "it could not be stored, and was not done",
}
_NOT_FOUND: Final = {HTTPStatus.NOT_FOUND: "there is nothing of that name"}


def document(operations: Iterable[Operation], *, title: str, version: str, text: str) -> dict[str, Any]:
    """Give the description of all operations."""
    listed = list(operations)
    types = _distinct([*(each.answers for each in listed), *(each.takes for each in listed), ProblemBody])
    schemas, components = msgspec.json.schema_components(types, ref_template=_REF)
    of_type = dict(zip(map(repr, types), schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for each in listed:
        paths.setdefault(each.path, {})[each.method.lower()] = _described(each, of_type)
    return {
        "openapi": "3.1.0",
        "info": {"title": title, "version": version, "description": text, "license": {"name": "Apache-2.0"}},
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def problems_of(operation: Operation) -> Mapping[HTTPStatus, str]:
    """Give what can go wrong with an operation, by status."""
    found = {**_OF_ALL, **(_OF_WRITES if operation.is_write else {})}
    if _NAME.search(operation.path) and not operation.is_write:
        found |= _NOT_FOUND
    return dict(sorted((found | dict(operation.problems)).items()))


def _distinct(types: Sequence[Any]) -> list[Any]:
    return list({repr(each): each for each in types if each is not None}.values())


def _described(operation: Operation, of_type: Mapping[str, Any]) -> dict[str, Any]:
    first, _, rest = operation.text.partition("\n")
    answer = of_type[repr(operation.answers)]
    problem = {CONTENT_TYPE: {"schema": of_type[repr(ProblemBody)]}}
    responses: dict[str, Any] = {"200": {"description": "done", "content": {operation.media_type: {"schema": answer}}}}
    responses |= {
        str(status.value): {"description": text, "content": problem} for status, text in problems_of(operation).items()
    }
    described: dict[str, Any] = {"operationId": operation.name, "summary": first, "responses": responses}
    if rest.strip():
        described["description"] = rest.strip()
    parameters = [*_path_parameters(operation.path), *map(_query_parameter, operation.query)]
    if parameters:
        described["parameters"] = parameters
    if operation.takes is not None:
        content = {JSON: {"schema": of_type[repr(operation.takes)]}}
        described["requestBody"] = {"required": True, "content": content}
    if operation.is_write:
        described["security"] = [{}, {"token": []}]
    return described


def _path_parameters(path: str) -> list[dict[str, Any]]:
    schema = {"type": "string", "minLength": 1}
    return [{"name": name, "in": "path", "required": True, "schema": schema} for name in _NAME.findall(path)]


def _query_parameter(parameter: Parameter) -> dict[str, Any]:
    return {
        "name": parameter.name,
        "in": "query",
        "required": False,
        "description": parameter.meaning,
        "schema": dict(parameter.schema),
    }
