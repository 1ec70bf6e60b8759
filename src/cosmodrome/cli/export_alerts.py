"""`cosmodrome export alerts`: the alert rules.

Owns: how they are printed.
Must not know: when somebody is to be told (cosmodrome/monitoring/alerts.py).
"""

import click

from cosmodrome.monitoring.alerts import rules_yaml


@click.command("alerts")
def command() -> None:
    """Print alert rules about NameServers and brokers, for rule_files of Prometheus."""
    click.echo(rules_yaml(), nl=False)
