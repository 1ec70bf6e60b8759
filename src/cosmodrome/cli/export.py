"""`cosmodrome export`: files for other programs, made from the code.

Owns: which there are, in one table; that a subcommand is loaded when it is used.
Must not know: what is in a file.
"""

import importlib
from typing import Final, NamedTuple

import click


class _Export(NamedTuple):
    """Where a subcommand is (a module with a click command called `command`), and its line in the help."""

    module: str
    summary: str


_EXPORTS: Final = {
    "compose": _Export("cosmodrome.cli.export_compose", "NameServers, and a broker, for Docker Compose and its kin."),
    "systemd": _Export("cosmodrome.cli.export_systemd", "A unit of systemd for a NameServer or a broker."),
    "alerts": _Export("cosmodrome.cli.export_alerts", "Alert rules for Prometheus."),
    "grafana": _Export("cosmodrome.cli.export_grafana", "A dashboard for Grafana."),
    "openapi": _Export("cosmodrome.cli.export_openapi", "The JSON API of a NameServer, as OpenAPI 3.1."),
}
"""Every subcommand by its name."""


class _ExportGroup(click.Group):
    """Subcommands that are imported when they are used; the list of them needs none."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Give the names in order."""
        del ctx
        return sorted(_EXPORTS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Give the command of this name, or None."""
        del ctx
        known = _EXPORTS.get(cmd_name)
        if known is None:
            return None
        found: click.Command = importlib.import_module(known.module).command
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of the help."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, _EXPORTS[name].summary) for name in sorted(_EXPORTS)])


@click.group("export", cls=_ExportGroup, context_settings={"help_option_names": ["-h", "--help"]})
def export() -> None:
    """Print files for other programs; they always fit this release."""
