"""`cosmodrome admin` (also as `mqadmin`) and `cosmodrome peers`: the commands, by family.

Owns: which tables of commands there are.
Must not know: what a command asks and prints (cosmodrome.admin).

A new command is one row `Declared(...)` in the table of its family, `*_table.py` beside this file, and the function
that its `runs` names, `module:function` below cosmodrome.admin; a new table goes into COMMANDS. The function is
imported only when the command runs: each run is one short process, whose start is most of its time. Take its name out
of cosmodrome/admin/known_commands.py, and write the reference anew: python -m scripts.reference.
"""

from typing import Final

import click

from cosmodrome.cli.admin.broker_table import BROKER_COMMANDS
from cosmodrome.cli.admin.declaration import Declared
from cosmodrome.cli.admin.grammar import CONTEXT, AdminGroup, unknown_command
from cosmodrome.cli.admin.group_table import GROUP_COMMANDS
from cosmodrome.cli.admin.message_table import MESSAGE_COMMANDS
from cosmodrome.cli.admin.name_server_table import NAME_SERVER_COMMANDS
from cosmodrome.cli.admin.route_table import ROUTE_COMMANDS
from cosmodrome.cli.admin.running import run, run_declared
from cosmodrome.cli.admin.topic_table import TOPIC_COMMANDS

__all__ = ["COMMANDS", "admin", "peers_group", "run", "unknown_command"]

COMMANDS: Final[tuple[Declared, ...]] = (
    *TOPIC_COMMANDS,
    *GROUP_COMMANDS,
    *BROKER_COMMANDS,
    *ROUTE_COMMANDS,
    *NAME_SERVER_COMMANDS,
    *MESSAGE_COMMANDS,
)

_PEERS_DIFF: Final = Declared(
    name="diff",
    text="Compare brokers, topics and routes of NameServers (-n A:9876,B:9876), also of Apache's.",
    runs="peers:peers_diff",
)


def _show_help() -> None:
    """Give the list of commands when none is named."""
    ctx = click.get_current_context()
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


admin: Final = AdminGroup(
    COMMANDS,
    run_declared,
    name="admin",
    help="Administer NameServers and brokers, with the commands and flags of mqadmin.",
    callback=_show_help,
    context_settings=dict(CONTEXT),
    invoke_without_command=True,
)
peers_group: Final = AdminGroup(
    [_PEERS_DIFF],
    run_declared,
    name="peers",
    help="Compare NameServers with each other.",
    callback=_show_help,
    context_settings=dict(CONTEXT),
    invoke_without_command=True,
)


@admin.command("help", help="List the commands, or explain one.", short_help="List the commands, or explain one.")
@click.argument("name", required=False)
@click.pass_context
def _help(ctx: click.Context, name: str | None) -> None:
    parent = ctx.parent
    if parent is None or name is None:
        click.echo((parent or ctx).get_help())
        return
    found = admin.get_command(parent, name)
    if found is None:
        raise unknown_command(name, admin.list_commands(ctx), parent.command_path)
    click.echo(found.get_help(click.Context(found, info_name=found.name, parent=parent)))
