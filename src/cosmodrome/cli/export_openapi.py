"""`cosmodrome export openapi`: the description of the JSON API.

Owns: how it is printed.
Must not know: what is in it (cosmodrome/namesrv/http).
"""

import json

import click

from cosmodrome.namesrv.http.description import description


@click.command("openapi")
def command() -> None:
    """Print the JSON API of a NameServer as OpenAPI 3.1, as /api/v1/openapi.json answers it."""
    click.echo(json.dumps(description(), indent=2))
