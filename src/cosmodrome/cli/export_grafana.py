"""`cosmodrome export grafana`: the dashboard.

Owns: how it is printed.
Must not know: what is drawn (cosmodrome/monitoring/dashboard.py).
"""

import click

from cosmodrome.monitoring.dashboard import dashboard_json


@click.command("grafana")
def command() -> None:
    """Print a dashboard of NameServers and brokers, to be imported into Grafana."""
    click.echo(dashboard_json())
