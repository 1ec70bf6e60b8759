"""`cosmodrome config` and `cosmodrome lint`: commands, flags, help.

Owns: the grammar of these commands, and how they end.
Must not know: what is right and wise in a file (cosmodrome.configuring); layouts (config_form.py).
"""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import click

from cosmodrome.admin.output import Output, OutputForm, Verbosity
from cosmodrome.cli import config_form
from cosmodrome.configuring.changing import change_file
from cosmodrome.configuring.checking import check_file
from cosmodrome.configuring.described import Program, found, meant
from cosmodrome.configuring.files import SettingsFile, read_settings_file
from cosmodrome.configuring.importing import (
    Fate,
    ImportedKey,
    differing_defaults,
    imported,
    new_text,
    new_values,
)
from cosmodrome.configuring.initial import initial_text
from cosmodrome.configuring.java_broker_keys import JAVA_BROKER_KEYS
from cosmodrome.configuring.linting.finding import Severity
from cosmodrome.configuring.linting.host import this_host
from cosmodrome.configuring.linting.lint import lint as lint_files
from cosmodrome.configuring.settings import KeyValue, values_in_force
from cosmodrome.durable_file import replace_file
from cosmodrome.errors import MissingError, StorageError, UsageError
from cosmodrome.namesrv.config_file import saved_settings
from cosmodrome.namesrv.config_keys import KEYS_WITHOUT_FIELD
from cosmodrome.namesrv.config_store import format_of

CONTEXT: Final = {"help_option_names": ["-h", "--help"], "max_content_width": 110}
EXIT_FOUND: Final = 1
"""Something is wrong in a file."""
_BROKER_FILE: Final = "broker.conf"

Command = Callable[..., Any]


def forms(command: Command) -> Command:
    """Add the options about the output; the command gets an Output as `output`."""

    def run(*, form: str, quiet: bool, **flags: Any) -> int:
        verbosity = Verbosity.QUIET if quiet else Verbosity.USUAL
        output = Output(OutputForm(form.lower()), sys.stdout, sys.stderr, verbosity)
        try:
            return int(command(output=output, **flags) or 0)
        finally:
            output.flush()

    run.__doc__, run.__name__ = command.__doc__, command.__name__
    choice = click.Choice([form.value for form in OutputForm], case_sensitive=False)
    run = click.option("-o", "--output", "form", type=choice, default="text", help="Form of the results.")(run)
    return click.option("-q", "--quiet", is_flag=True, help="No confirmations, no notes.")(run)


broker_flag: Final = click.option(
    "--broker", "is_broker", is_flag=True, help="Settings of a broker, not of a NameServer."
)
kind_flags: Final = click.option(
    "--kind",
    type=click.Choice([each.value for each in Program]),
    help="Whose file it is; without it, its name and keys tell.",
)
set_flag: Final = click.option(
    "--set", "settings", multiple=True, metavar="KEY=VALUE", help="As of the server's start."
)


_SERVER_FLAGS: Final = (
    click.option("-n", "--namesrvAddr", "namesrv_addr", metavar="ADDRS", help="NameServers that run (318, 319)."),
    click.option("-b", "--brokerAddr", "broker_addr", metavar="A:P", help="A broker that runs (25, 26)."),
    click.option(
        "--timeout",
        "timeout_s",
        type=click.FloatRange(min=0, min_open=True),
        default=5.0,
        metavar="S",
        help="Of one request.",
    ),
    click.option("--tls", is_flag=True, help="Speak TLS; any certificate will do without --tls-trust."),
    click.option("--tls-trust", metavar="FILE", help="Speak TLS, with certificates signed by those in this file."),
    click.option("--credentials", metavar="FILE", help="YAML of accessKey and secretKey, for servers with accounts."),
)


def server_flags(command: Command) -> Command:
    """Add the options about servers that are asked."""
    for option in reversed(_SERVER_FLAGS):
        command = option(command)
    return command


@click.group("config", context_settings=CONTEXT)
def config() -> None:
    """Show, explain, check, write and change configuration."""


@config.command("init", short_help="Write a first file, all of it comments.")
@click.argument("file", required=False)
@broker_flag
@click.option("--force", is_flag=True, help="Replace a file that is there; it stays beside it as .bak.")
@forms
def init(output: Output, file: str | None, *, is_broker: bool, force: bool) -> int:
    """Write a first file of settings, all of it comments, as .properties (or .conf) or .toml.

    Without FILE it is where the NameServer keeps its settings, and finds them without -c.
    """
    program = Program.BROKER if is_broker else Program.NAMESRV
    given = file or (_BROKER_FILE if is_broker else str(saved_settings(os.environ)))
    path = Path(given)
    if program is Program.BROKER and path.suffix.lower() == ".toml":
        raise UsageError("a broker reads no TOML.", remedy="name a file that ends in .conf")
    _refuse_to_overwrite(path, is_forced=force)
    replace_file(path, initial_text(program, is_toml=path.suffix.lower() == ".toml").encode())
    output.confirm(
        f"written: {given}", f"  use it   cosmodrome {program}{'' if _is_found(file, is_broker) else f' -c {given}'}"
    )
    output.document({"file": given, "program": program.value})
    return 0


def _is_found(file: str | None, is_broker: bool) -> bool:  # noqa: FBT001 -- a flag as it was given
    return file is None and not is_broker


def _refuse_to_overwrite(path: Path, *, is_forced: bool) -> None:
    if path.exists() and not is_forced:
        raise StorageError(
            f"{path} is there already, and was left as it is.", remedy="name another file, or use --force"
        )


@config.command("check", short_help="Say what is wrong in files, line by line.")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@kind_flags
@forms
def check(output: Output, files: tuple[str, ...], kind: str | None) -> int:
    """Say everything that is wrong in files of NameServers (.properties, .toml) and brokers (broker.conf), line by line.

    Ends with 1 when a server would not start with one of them.
    """
    checked = [check_file(file, Program(kind) if kind else None) for file in files]
    for each in checked:
        config_form.show_checked(output, each)
    output.end("files")
    return EXIT_FOUND if any(each.faults for each in checked) else 0


@config.command("explain", short_help="Tell all that is known of a key.")
@click.argument("key")
@click.option("-c", "--configFile", "file", metavar="FILE", help="The file of which the value is shown.")
@forms
def explain(output: Output, key: str, file: str | None) -> int:
    """Tell all that is known of a key: value and where it comes from, default, type, when a change counts, what Java does."""
    descriptions = found(key)
    if not descriptions:
        raise _unknown_key(key)
    program = read_settings_file(file).program if file else None
    for each in descriptions:
        source = file if program in (None, each.program) else None
        values = values_in_force(each.program, source, os.environ)
        config_form.show_explained(output, each, next(value for value in values if value.key.name == key))
    output.end("keys")
    return 0


def _unknown_key(key: str) -> MissingError:
    java = JAVA_BROKER_KEYS.get(key)
    of_brokers = f"of Apache's brokers it is a {java.type.value}, in {', '.join(java.releases)}" if java else ""
    if key in KEYS_WITHOUT_FIELD:
        what = f"{key} is a key of Java's NameServer without effect here: it may stay in a file, and is not looked at."
        return MissingError(what, why=f"{of_brokers}." if java else None)
    if java is not None:
        what = f"{key} is a key of Apache's brokers that this one does not have."
        return MissingError(what, why=f"{of_brokers}.", remedy="leave it out of files for a broker of this release")
    guess = meant(key)
    hint = f"did you mean {guess}? " if guess else ""
    return MissingError(f"there is no key {key[:80]!r}.", remedy=f"{hint}cosmodrome config show has all of them")


@config.command("import", short_help="Say what a file made for Apache's servers comes to here.")
@click.argument("file")
@click.option("-O", "--to", "target", metavar="FILE", help="Write the file that has the same effect here.")
@click.option("--force", is_flag=True, help="Replace a file that is there; it stays beside it as .bak.")
@kind_flags
@forms
def import_(output: Output, file: str, target: str | None, kind: str | None, *, force: bool) -> int:
    """Say of each key of a file made for Apache's servers whether it counts here, counts otherwise, or does not count.

    Ends with 1, and writes nothing, when one asks for what cannot be had here.
    """
    source = read_settings_file(file, Program(kind) if kind else None)
    keys = imported(source)
    config_form.show_imported(output, file, keys, differing_defaults(source))
    is_refused = any(each.fate is Fate.REFUSED for each in keys)
    if target is not None and not is_refused:
        _refuse_to_overwrite(Path(target), is_forced=force)
        _write_imported(source, keys, Path(target))
        output.confirm(f"written: {target}")
    output.end("keys", file=file, program=source.program.value, written=None if is_refused else target)
    return EXIT_FOUND if is_refused else 0


def _write_imported(source: SettingsFile, keys: list[ImportedKey], target: Path) -> None:
    """Write a properties text as it was, line by line; another form only with what counts."""
    is_same_form = source.path.suffix.lower() != ".toml" and target.suffix.lower() != ".toml"
    if is_same_form:
        text = new_text(source, keys)
    elif source.program is Program.BROKER:
        raise UsageError("a broker reads no TOML.", remedy="name a file that ends in .conf")
    else:
        text = format_of(target).updated("", new_values(keys))
    replace_file(target, text.encode())


@config.command("show", short_help="Show settings in force, and where each comes from.")
@click.option("-c", "--configFile", "file", metavar="FILE", help="What a start with this file would use.")
@set_flag
@broker_flag
@click.option("--http", "http", metavar="A:P", help="Of a NameServer that runs, with sources, by its JSON API.")
@server_flags
@forms
def show(output: Output, file: str | None, settings: tuple[str, ...], **flags: Any) -> int:
    """Show settings in force, and where each comes from: of a start here and now, or of servers that run."""
    is_broker, http = flags.pop("is_broker"), flags.pop("http")
    if http is not None:
        from cosmodrome.cli.config_servers import show_over_http  # noqa: PLC0415  # files need no connections

        return show_over_http(output, http, flags["timeout_s"])
    if flags["namesrv_addr"] is not None or flags["broker_addr"] is not None:
        from cosmodrome.cli.config_servers import Target, show_of_servers  # noqa: PLC0415  # as above

        return show_of_servers(output, Target(**flags))
    program = Program.BROKER if is_broker else Program.NAMESRV
    if file is not None and not is_broker:
        program = read_settings_file(file).program
    config_form.show_values(output, _values(program, file, settings))
    return 0


def _values(program: Program, file: str | None, settings: tuple[str, ...]) -> list[KeyValue]:
    wrong = next((each for each in settings if "=" not in each), None)
    if wrong is not None:
        raise UsageError(f"--set {wrong!r} is not KEY=VALUE.")
    pairs = [(key.strip(), text) for key, _, text in (each.partition("=") for each in settings)]
    return values_in_force(program, file, os.environ, pairs)


@config.command("set", short_help="Change a setting, of servers that run or in a file.")
@click.argument("key")
@click.argument("value")
@click.option("--file", "file", metavar="FILE", help="Change this file, and ask no server.")
@kind_flags
@server_flags
@forms
def set_(output: Output, key: str, value: str, file: str | None, kind: str | None, **flags: Any) -> int:
    """Change a setting while servers run, of one or several NameServers or of a broker, or in a file: only its line.

    Each server says when the change counts. A file is written whole or not at all, and stays as it was as .bak.
    """
    if file is not None:
        change = change_file(file, Program(kind) if kind else None, key, value)
        config_form.show_change(output, file, change)
        return 0
    from cosmodrome.cli.config_servers import Target, set_on_servers  # noqa: PLC0415  # as above

    return set_on_servers(output, Target(**flags), key, value)


@click.command("lint", context_settings=CONTEXT)
@click.argument("files", nargs=-1, required=True, metavar="broker.conf...")
@forms
def lint(output: Output, files: tuple[str, ...]) -> int:
    """Look for what does harm in files of brokers, of Apache's too: addresses, ports, ids, keys that nobody reads.

    Several files are looked at together: names and ids that are there twice, ports that clash on one host. Ends with 1
    when there is an error; warnings and notes do not count.
    """
    report = lint_files(files, this_host())
    config_form.show_report(output, report)
    return EXIT_FOUND if report.count(Severity.ERROR) else 0
