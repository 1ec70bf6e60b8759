"""`cosmodrome export compose`: a compose file.

Owns: flags.
Must not know: what is in the file (cosmodrome/operating/compose.py).
"""

import re
from typing import Final

import click

from cosmodrome.operating.compose import MOST, compose_file

_IMAGE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/:@-]*")


def _image(_ctx: click.Context, _param: click.Parameter, value: str | None) -> str | None:
    if value is not None and not _IMAGE.fullmatch(value):
        raise click.BadParameter(f"{value!r} is no name of an image")
    return value


@click.command("compose")
@click.option("--servers", type=click.IntRange(1, MOST), default=3, show_default=True, metavar="N", help="NameServers.")
@click.option(
    "--broker/--no-broker", "has_broker", default=False, help="With a broker that registers with all of them."
)
@click.option("--image", metavar="NAME", callback=_image, help="Use this image; by default what a checkout builds.")
def command(*, servers: int, has_broker: bool, image: str | None) -> None:
    """Print a compose file: NameServers, each with its volume, and a broker if wanted."""
    click.echo(compose_file(servers, image, has_broker=has_broker), nl=False)
