"""docs/reference/commands.md: every command of `cosmodrome admin`, from its declaration.

Owns: the layout of that page.
Must not know: anything about a command that its declaration does not say.
"""

from collections.abc import Iterable
from typing import Final

import click

from cosmodrome.admin.known_commands import NOT_YET
from cosmodrome.cli.admin import COMMANDS, admin
from cosmodrome.cli.admin.broker_table import BROKER_COMMANDS
from cosmodrome.cli.admin.declaration import Declared, Option
from cosmodrome.cli.admin.group_table import GROUP_COMMANDS
from cosmodrome.cli.admin.message_table import MESSAGE_COMMANDS
from cosmodrome.cli.admin.name_server_table import NAME_SERVER_COMMANDS
from cosmodrome.cli.admin.route_table import ROUTE_COMMANDS
from cosmodrome.cli.admin.topic_table import TOPIC_COMMANDS

_HEAD: Final = """\
# Commands of `cosmodrome admin`

<!-- Written by `python -m scripts.reference` from src/cosmodrome/cli/admin. Do not edit. -->

`cosmodrome admin COMMAND ...`, or `mqadmin COMMAND ...`. Names may be in any case, long flags may have one dash or two.
[docs/admin.md](../admin.md) says what the options of every command mean, how servers are found, and how commands end.
{count} commands; those that mqadmin of Apache RocketMQ 5.5.0 does not have say so.
"""

_FAMILIES: Final = (
    ("Topics", TOPIC_COMMANDS),
    ("Routes and clusters", ROUTE_COMMANDS),
    ("Consumer groups and producers", GROUP_COMMANDS),
    ("Messages and offsets", MESSAGE_COMMANDS),
    ("Brokers", BROKER_COMMANDS),
    ("NameServers", NAME_SERVER_COMMANDS),
)


def page() -> str:
    """Give the whole page.

    Raises:
        ValueError: A table of commands is in no family.
    """
    listed = [each for _, commands in _FAMILIES for each in commands]
    if sorted(each.name for each in listed) != sorted(each.name for each in COMMANDS):
        raise ValueError("a table of commands is missing in _FAMILIES")
    parts = [_HEAD.format(count=len(listed)), _common()]
    parts += [f"## {title}\n\n" + "\n".join(map(_command, commands)) for title, commands in _FAMILIES]
    return "\n".join([*parts, _not_yet()])


def _common() -> str:
    """Give the options of every command, as the help of one without options of its own tells them."""
    command = admin.get_command(click.Context(admin), "getNamesrvConfig")
    if command is None:
        raise ValueError("there is no getNamesrvConfig any more")
    context = click.Context(command, help_option_names=["-h", "--help"])
    records = [
        record
        for parameter in command.get_params(context)
        if isinstance(parameter, click.Option) and (record := parameter.get_help_record(context))
    ]
    rows = "".join(f"| `{_cell(flags)}` | {_cell(text)} |\n" for flags, text in records)
    return f"## Options of every command\n\n| Option | Meaning |\n|---|---|\n{rows}"


def _command(declared: Declared) -> str:
    lines = [f"### {declared.name}\n", f"{declared.text}\n"]
    rules = [
        f"{start} {_listed(declared, names)}.\n"
        for start, names in (("Exactly one of", declared.one_of), ("At least one of", declared.any_of))
        if names
    ]
    if declared.options:
        rows = "\n".join(map(_row, declared.options))
        lines.append(f"| Option | Value | Meaning |\n|---|---|---|\n{rows}\n")
    return "\n".join([*lines, *rules, *([f"{declared.more}\n"] if declared.more else [])])


def _row(option: Option) -> str:
    flags = ", ".join(f"`{flag}`" for flag in option.flags)
    value = "" if option.is_flag else " or ".join(option.choices) or option.metavar
    needed = " (required)" if option.is_required else ""
    return f"| {flags}{needed} | {_cell(value)} | {_cell(option.help)} |"


def _listed(declared: Declared, names: Iterable[str]) -> str:
    flags = {each.name: each.flags[0] for each in declared.options}
    return " and ".join(f"`{flags[name]}`" for name in names)


def _not_yet() -> str:
    families = dict.fromkeys(family for _, family in NOT_YET.values())
    rows = "".join(f"| {', '.join(f'`{name}`' for name in family.names)} | {family.needs} |\n" for family in families)
    return (
        "## Not here yet\n\nThese answer `not available yet` with exit code 69, and name what comes nearest.\n\n"
        f"| Commands | Why |\n|---|---|\n{rows}"
    )


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())
