"""How words become a command: flags as mqadmin takes them, names in any case, help laid out as mqadmin's.

Owns: click's commands and options made of declarations; the options that every command has.
Must not know: any command (the tables); how a command ends (running.py).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

import click

from cosmodrome.admin.output import OutputForm, Verbosity
from cosmodrome.cli.admin.declaration import Declared, Option, positive_s
from cosmodrome.errors import OperatorError, UnavailableError, UsageError

CONTEXT: Final = {"help_option_names": ["-h", "--help"], "max_content_width": 110}
_ADDRESS_HELP: Final = (
    "Addresses of NameServers, for example 10.0.0.1:9876,10.0.0.2:9876 (';' works too, but must be quoted). "
    "Default: $NAMESRV_ADDR, else 127.0.0.1:9876."
)
_LIST_HEAD: Final = "The most commonly used mqadmin commands are:"


@dataclass(frozen=True, slots=True, kw_only=True)
class Common:
    """The options that every command has."""

    namesrv_addr: str | None
    form: str
    timeout_s: float
    credentials: str | None
    tls: bool
    tls_trust: str | None
    quiet: bool
    verbose: int

    def verbosity(self) -> Verbosity:
        """Give how much is said beside results."""
        if self.quiet:
            return Verbosity.QUIET
        return Verbosity.DETAILED if self.verbose else Verbosity.USUAL


Runner = Callable[[Declared, Common, Mapping[str, Any]], int]
"""Runs a command with the values of its options, and gives its exit code."""


class AdminOption(click.Option):
    """An option of mqadmin's, whose long name may also be written with one dash."""

    def __init__(self, names: Sequence[str], **attributes: Any) -> None:
        super().__init__([*names, *(name[1:] for name in names if name.startswith("--"))], **attributes)
        self._shown = [name for name in names if name.startswith("-")]

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Give the line of the help, without the forms that only exist for mqadmin's sake."""
        opts, self.opts = self.opts, self._shown
        try:
            return super().get_help_record(ctx)
        finally:
            self.opts = opts

    def get_error_hint(self, ctx: click.Context | None) -> str:
        """Name the option in an error."""
        del ctx
        return " / ".join(self._shown)


class AdminGroup(click.Group):
    """Commands whose names may be in any case; a name that is not here is explained.

    A command is made of its declaration when its name is asked for: there are many, and a run needs one.
    """

    def __init__(self, declared: Sequence[Declared], runner: Runner, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.declared: Final = {each.name: each for each in declared}
        self._names: Final = {name.lower(): name for name in self.declared}
        self._runner = runner

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Give the command of this name, or None."""
        name = self._names.get(cmd_name.lower())
        if name is None:
            return super().get_command(ctx, cmd_name.lower())
        return _made(self.declared[name], self._runner)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Give the command that the first word names, and the words after it.

        Raises:
            UnavailableError: mqadmin has it, and this release does not.
            UsageError: Nobody has it.
        """
        command = self.get_command(ctx, args[0])
        if command is None:
            raise unknown_command(args[0], self.list_commands(ctx), ctx.command_path)
        return command.name, command, args[1:]

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Give the names in the order of mqadmin's list."""
        del ctx
        return [*self.declared, *self.commands]

    def get_help(self, ctx: click.Context) -> str:
        """Give the list that mqadmin gives."""
        texts = {name: each.text for name, each in self.declared.items()}
        texts |= {name: command.get_short_help_str(100) for name, command in self.commands.items()}
        lines = (f"   {name:<20} {text}" for name, text in texts.items())
        end = f"See '{ctx.command_path} help <command>' for more information on a specific command."
        return "\n".join([_LIST_HEAD, *lines, "", end])


def unknown_command(name: str, known: Sequence[str], path: str) -> OperatorError:
    """Give the error for a command that is not here."""
    import difflib  # noqa: PLC0415  # a name is rarely unknown

    from cosmodrome.admin.known_commands import NOT_YET  # noqa: PLC0415

    if name.lower() in NOT_YET:
        spelled, family = NOT_YET[name.lower()]
        instead = f"here: {', '.join(family.instead)}; or use " if family.instead else "use "
        return UnavailableError(
            f"{spelled} is not available yet.",
            why=f"{family.needs}.",
            remedy=f"{instead}mqadmin of Apache RocketMQ, which works with this NameServer: mqadmin {spelled}",
        )
    names = {each.lower(): each for each in known} | {key: spelled for key, (spelled, _) in NOT_YET.items()}
    near = difflib.get_close_matches(name.lower(), names, n=1)
    hint = f"did you mean {names[near[0]]}? " if near else ""
    return UsageError(f"there is no command {name!r}.", remedy=f"{hint}{path} help lists them")


def _made(declared: Declared, runner: Runner) -> click.Command:
    """Make a command; a short name that it has itself is left out of the options of every command."""

    def run_it(**flags: Any) -> int:
        common = Common(**{field: flags.pop(field) for field in Common.__dataclass_fields__})
        _check_groups(declared, flags)
        return runner(declared, common, flags)

    taken = [flag for each in declared.options for flag in each.flags]
    return click.Command(
        declared.name,
        callback=run_it,
        params=[*map(_click_option, declared.options), *common_options(taken)],
        help=declared.text,
        short_help=declared.text,
        epilog=_epilog(declared),
        context_settings=dict(CONTEXT),
    )


def _epilog(declared: Declared) -> str | None:
    flags = {each.name: each.flags[0] for each in declared.options}
    rules = [f"Exactly one of {' and '.join(flags[name] for name in declared.one_of)}."] if declared.one_of else []
    rules += [f"At least one of {' and '.join(flags[name] for name in declared.any_of)}."] if declared.any_of else []
    return " ".join([*rules, *([declared.more] if declared.more else [])]) or None


def _check_groups(declared: Declared, flags: Mapping[str, Any]) -> None:
    spelled = {each.name: " / ".join(each.flags) for each in declared.options}
    for names, allowed in ((declared.one_of, {1}), (declared.any_of, set(range(1, len(declared.any_of) + 1)))):
        given = [name for name in names if flags[name] is not None]
        if names and len(given) not in allowed:
            shown = " or ".join(spelled[name] for name in names)
            kind = "only one of" if given else "Missing option: one of"
            raise click.UsageError(f"{kind} {shown}.", click.get_current_context(silent=True))


def _click_option(declared: Option) -> click.Option:
    if declared.is_flag:
        return AdminOption([*declared.flags, declared.name], is_flag=True, help=declared.help)
    kind = click.Choice(declared.choices, case_sensitive=False) if declared.choices else None
    return AdminOption(
        [*declared.flags, declared.name],
        type=kind,
        required=declared.is_required,
        metavar=None if kind else declared.metavar,
        help=declared.help,
        callback=None if declared.is_verbatim or kind else _converting(declared.convert, _hint_of(declared)),
    )


def _hint_of(declared: Option) -> Mapping[str, str]:
    """Give what is added to the error about a value: forms of the output behind a `-o` that means something else."""
    if "-o" not in declared.flags:
        return {}
    return {form.value: f"; the form of the output is --output {form.value} here" for form in OutputForm}


def _converting(
    convert: Callable[[str], Any] | None, hints: Mapping[str, str] = MappingProxyType({})
) -> Callable[[click.Context, click.Parameter, Any], Any]:
    def converted(_ctx: click.Context, _param: click.Parameter, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        text = value.strip()
        try:
            return text if convert is None else convert(text)
        except ValueError as error:
            raise click.BadParameter(f"{error}{hints.get(text.lower(), '')}") from None

    return converted


def common_options(taken: Sequence[str]) -> list[click.Option]:
    """Give the options of every command, without the names that the command itself has."""

    def free(*names: str) -> list[str]:
        return [name for name in names if name not in taken]

    forms = click.Choice([form.value for form in OutputForm], case_sensitive=False)
    return [
        AdminOption(free("-n", "--namesrvAddr", "namesrv_addr"), metavar="ADDRS", help=_ADDRESS_HELP),
        click.Option(free("-o", "--output", "form"), type=forms, default="text", help="Form of the results."),
        click.Option(
            ["--timeout", "timeout_s"],
            default="5",
            metavar="S",
            callback=_converting(positive_s),
            help="Of one request.",
        ),
        click.Option(
            ["--credentials"], metavar="FILE", help="Sign with accessKey and secretKey of this file, as tools.yml."
        ),
        click.Option(["--tls"], is_flag=True, help="Speak TLS; any certificate will do without --tls-trust."),
        click.Option(
            ["--tls-trust"], metavar="FILE", help="Speak TLS, with certificates signed by those in this file."
        ),
        click.Option(["--no-color"], is_flag=True, expose_value=False, help="Accepted; the output has no colour."),
        click.Option(free("-q", "--quiet", "quiet"), is_flag=True, help="No confirmations, no notes."),
        click.Option(free("-v", "--verbose", "verbose"), count=True, help="More notes; twice: the trace of an error."),
    ]
