"""`cosmodrome export systemd`: a unit.

Owns: flags, and which program the unit starts.
Must not know: what is in a unit (cosmodrome/operating/units.py).
"""

import sys
from pathlib import Path

import click

from cosmodrome.operating.units import KINDS, hidden, unit


@click.command("systemd")
@click.argument("kind", type=click.Choice(KINDS), default="namesrv")
@click.option("--program", metavar="PATH", help="The installed command; by default this one.")
@click.option("-c", "--configFile", "config_file", metavar="F", help="The configuration that the unit starts it with.")
def command(kind: str, program: str | None, config_file: str | None) -> None:
    """Print a unit of systemd for a NameServer or a broker: its own user, no rights, restarted when that helps."""
    chosen = program or _own_program()
    file = config_file and str(Path(config_file).absolute())
    try:
        click.echo(unit(kind, chosen, file), nl=False)
    except ValueError as error:
        raise click.UsageError(f"{error}; name another with --program or -c") from error
    for each in hidden([chosen, *([file] if file else [])]):
        click.echo(f"warning: {each}", err=True)


def _own_program() -> str:
    """Give the command that runs now, if it is installed as one; else the one beside this interpreter."""
    called = Path(sys.argv[0])
    if called.name == "cosmodrome" and called.exists():
        return str(called.absolute())
    return str(Path(sys.executable).parent / "cosmodrome")
