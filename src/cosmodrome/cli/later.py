"""Commands that are loaded when they are used, so that help, version and servers start without them.

Owns: where each is, in one table; that it is run, and completed by a shell, as if it were here.
Must not know: what any of them does.
"""

import importlib
from collections.abc import Sequence
from typing import Final, NamedTuple, NoReturn

import click
from click.shell_completion import CompletionItem, ShellComplete

_PASSED_ON: Final = {"ignore_unknown_options": True, "help_option_names": []}


class Later(NamedTuple):
    """A click command: its module, its name there (`group:name` for one of a group), and its line in the list."""

    module: str
    name: str
    summary: str


LATER: Final = {
    "admin": Later("cosmodrome.cli.admin", "admin", "Administer NameServers, as mqadmin."),
    "send": Later("cosmodrome.cli.shell", "send", "Send messages from the shell."),
    "consume": Later("cosmodrome.cli.shell", "consume", "Print messages in the shell."),
    "peers": Later("cosmodrome.cli.admin", "peers_group", "Compare NameServers with each other."),
    "export": Later("cosmodrome.cli.export", "export", "Print files for other programs: openapi and others."),
    "why": Later("cosmodrome.cli.why", "why", "Explain why a topic has no route, or a broker is not there."),
    "capture": Later(
        "cosmodrome.cli.recordings", "recordings:capture", "Record the frames that pass between peers and a server."
    ),
    "replay": Later(
        "cosmodrome.cli.recordings", "recordings:replay", "Ask a server what was recorded, and compare the answers."
    ),
    "decode": Later(
        "cosmodrome.cli.recordings",
        "recordings:decode",
        "Show what frames say, of a recording or in hexadecimal digits.",
    ),
    "config": Later("cosmodrome.cli.config", "config", "Show, explain, check, write and change configuration."),
    "lint": Later(
        "cosmodrome.cli.config", "lint", "Look for what does harm in broker.conf files, of Apache's brokers too."
    ),
    "reload": Later("cosmodrome.cli.life", "life:reload", "Have a server that runs read its configuration again."),
    "drain": Later("cosmodrome.cli.life", "life:drain", "Take a NameServer that runs out of use, or back."),
    "stop": Later("cosmodrome.cli.life", "life:stop", "Stop a server that runs, in good order, and wait for its end."),
    "doctor": Later("cosmodrome.cli.doctor", "doctor", "Look what is wrong with a server and its machine."),
    "watch": Later("cosmodrome.cli.watch", "watch", "Show what happens in a NameServer, as it happens."),
    "history": Later(
        "cosmodrome.cli.looking", "looking:history", "Show what happened to a topic, a broker, or at all."
    ),
    "misses": Later(
        "cosmodrome.cli.looking", "looking:misses", "Show topics that were asked for in vain, and by whom."
    ),
    "clients": Later("cosmodrome.cli.looking", "looking:clients", "Show languages and versions of who is connected."),
    "audit": Later("cosmodrome.cli.audit", "audit", "Show who changed what in a NameServer, and undo it."),
    "completion": Later("cosmodrome.cli.completion", "completion", "Print what completes words in a shell."),
}
"""Every such command by its name, in the order of the list."""


def loaded(name: str) -> click.Command:
    """Import a command of the table."""
    later = LATER[name]
    outer, _, inner = later.name.partition(":")
    found: click.Command = getattr(importlib.import_module(later.module), outer)
    return found.commands[inner] if inner and isinstance(found, click.Group) else found


def run(name: str, words: Sequence[str], program: str) -> NoReturn:
    """Run a command of the table with these words, and end the process with its exit code."""
    from cosmodrome.cli.admin import run as run_command  # noqa: PLC0415  # help and servers do not need it

    run_command(loaded(name), words, program)


class LaterCommand(click.Command):
    """Stands for a command of the table."""

    def __init__(self, name: str) -> None:
        words = click.Argument(["words"], nargs=-1, type=click.UNPROCESSED, shell_complete=self._complete_word)
        super().__init__(
            name,
            callback=self._run,
            params=[words],
            help=LATER[name].summary,
            add_help_option=False,
            context_settings=dict(_PASSED_ON),
        )
        self._key = name

    def _run(self, words: tuple[str, ...]) -> None:
        run(self._key, words, f"cosmodrome {self._key}")

    def _complete_word(self, ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return self.shell_complete(ctx, incomplete)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Give what the command itself would complete a word to, be it a flag or not."""
        words = list(ctx.params.get("words") or ())
        return ShellComplete(loaded(self._key), {}, f"cosmodrome {self._key}", "").get_completions(words, incomplete)
