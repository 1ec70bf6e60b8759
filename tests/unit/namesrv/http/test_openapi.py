"""The description is valid, is made from the table that the routes are made from, and is true of a server that runs."""

import json
from pathlib import Path

from click.testing import CliRunner
from openapi_spec_validator import validate
from tests.support.http_plane import plane

from cosmodrome.cli.export import export
from cosmodrome.namesrv.http.description import description
from cosmodrome.namesrv.http.table import OPERATIONS


def test_it_is_valid() -> None:
    validate(description())


def test_every_operation_says_what_it_does() -> None:
    described = description()["paths"]
    names = [each.name for each in OPERATIONS]

    assert len(set(names)) == len(names)
    for each in OPERATIONS:
        said = described[each.path][each.method.lower()]
        assert said["operationId"] == each.name
        assert said["summary"].endswith((".", ":"))
        assert ("requestBody" in said) == (each.takes is not None)
        assert ("security" in said) == each.is_write


def test_what_can_be_changed_is_asked_as_json() -> None:
    assert all(each.is_json_wanted == (each.takes is not None) for each in OPERATIONS)


def test_it_can_be_exported() -> None:
    result = CliRunner().invoke(export, ["openapi"])

    assert (result.exit_code, json.loads(result.stdout)) == (0, description())


async def test_a_server_gives_it(tmp_path: Path) -> None:
    async with plane(tmp_path) as seen:
        assert await seen.json("/api/v1/openapi.json") == description()


async def test_every_path_that_is_described_is_there(tmp_path: Path) -> None:
    async with plane(tmp_path) as seen:
        for path in description()["paths"]:
            if path == "/api/v1/events":
                continue
            answer = await seen.http.options(path.replace("{", "").replace("}", ""))
            assert (answer.status_code, answer.json()["code"]) == (405, "no_such_method"), path
