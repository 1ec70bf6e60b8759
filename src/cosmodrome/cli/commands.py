"""Commands, their flags and their help.

Owns: the grammar of both servers' commands, and the programs that are installed; other commands are in later.py.
Must not know: what a command does; that is imported when it runs, so that help and version are quick.
"""

import os
import sys
from typing import Any, Final

import click

from cosmodrome import __version__
from cosmodrome.cli.later import LATER, LaterCommand, run

_CONTEXT: Final = {"help_option_names": ["-h", "--help"], "max_content_width": 110}

# The descriptions of the Java NameServer's own flags, which scripts and people look for.
_JAVA_HELP: Final = """\
usage: {command} [-c <arg>] [-h] [-n <arg>] [-p]
 -c,--configFile <arg>    Name server config properties file
 -h,--help                Print help
 -n,--namesrvAddr <arg>   Name server address list, eg: '192.168.0.1:9876;192.168.0.2:9876'
 -p,--printConfigItem     Print all config items
"""


class NamesrvCommand(click.Command):
    """A command whose help begins as Java's does; flags that stand there are hidden from the rest."""

    def get_help(self, ctx: click.Context) -> str:
        """Give Java's help, then ours."""
        formatter = ctx.make_formatter()
        with formatter.section("Flags that Java does not have"):
            flags = (parameter for parameter in self.get_params(ctx) if isinstance(parameter, click.Option))
            records = [record for flag in flags if (record := flag.get_help_record(ctx))]
            formatter.write_dl([record for record in records if not record[0].startswith("-h")])
        formatter.write_paragraph()
        formatter.write_text(
            "A configuration key comes from, later wins: its default, the -c file (.properties or .toml), the "
            "environment (COSMODROME_LISTEN_PORT for listenPort), flags and --set. docs/configuration.md has them all."
        )
        formatter.write_paragraph()
        formatter.write_text(
            "Who may do what is set by adminPolicy, adminAllow, brokerAllow, brokerAuth, aclFile, auditLog and "
            "tls.server.mode: see docs/policy.md."
        )
        return f"{_JAVA_HELP.format(command=ctx.command_path)}\n{formatter.getvalue().rstrip()}"


def _settings(_ctx: click.Context, _param: click.Parameter, values: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    for value in values:
        if "=" not in value:
            raise click.BadParameter(f"{value!r} is not KEY=VALUE")
    return tuple((key.strip(), text) for key, _, text in (value.partition("=") for value in values))


def _open_descriptor(_ctx: click.Context, _param: click.Parameter, value: int | None) -> int | None:
    if value is not None:
        try:
            os.fstat(value)
        except OSError as error:
            raise click.BadParameter(f"{value} is not an open file descriptor") from error
    return value


@click.group(context_settings=_CONTEXT)
@click.version_option(__version__, message="cosmodrome %(version)s")
def cosmodrome() -> None:
    """Apache RocketMQ in Python."""


@cosmodrome.command(cls=NamesrvCommand, context_settings=_CONTEXT)
@click.option("-c", "--configFile", "config_file", hidden=True)
@click.option("-n", "--namesrvAddr", "namesrv_addr", hidden=True, help="Accepted without effect, as in Java.")
@click.option("-p", "--printConfigItem", "print_config", is_flag=True, hidden=True)
@click.option("--listenPort", "listen_port", metavar="N", help="Port to listen on; 0 takes any free one.")
@click.option("--bindAddress", "bind_address", metavar="A", help="Address to listen on.")
@click.option("--data-dir", "--dataDir", "data_dir", metavar="D", help="Folder of the files that the server writes.")
@click.option("--http", metavar="A:P|off", help="Where probes, metrics and the JSON API are.")
@click.option("--shadow", metavar="A:P", help="Put every read to this NameServer too, and report differing answers.")
@click.option("--shadow-report", metavar="F", help="Write what --shadow found here, at the end and on SIGUSR1.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", callback=_settings, help="Set any key.")
@click.option("--lenient", is_flag=True, help="Ignore unknown configuration keys instead of refusing them.")
@click.option("--check-config", is_flag=True, help="Check the configuration and exit.")
@click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"], case_sensitive=False),
    default="info",
    show_default=True,
    envvar="COSMODROME_LOG_LEVEL",
    help="Log events from this level on.",
)
@click.option(
    "--log-format",
    type=click.Choice(["auto", "text", "json"], case_sensitive=False),
    default="auto",
    show_default=True,
    envvar="COSMODROME_LOG_FORMAT",
    help="How log lines on standard error look; auto is text on a terminal.",
)
@click.option("--pid-file", metavar="F", help="Write the process id here while running.")
@click.option(
    "--ready-fd", type=int, metavar="N", callback=_open_descriptor, help="Write HOST:PORT here when ready, and close."
)
@click.option("--banner/--no-banner", default=None, help="Show what runs where; default: on a terminal.")
@click.option("-v", "verbose", count=True, help="Log at level debug; -vv also shows the trace of an error.")
@click.version_option(__version__, message="cosmodrome %(version)s")
@click.argument("ignored", nargs=-1, type=click.UNPROCESSED, required=False)
def namesrv(**options: Any) -> None:
    """Run a NameServer."""
    del options["ignored"], options["namesrv_addr"]
    # It loads the server, which help and version do not need.
    from cosmodrome.cli.namesrv import NamesrvOptions, run  # noqa: PLC0415

    run(NamesrvOptions(**options))


@cosmodrome.command(context_settings=_CONTEXT)
@click.option("-c", "--configFile", "config_file", metavar="F", help="Settings, as in Apache's broker.conf.")
@click.option("-n", "--namesrvAddr", "namesrv_addr", metavar="A:P;A:P", help="NameServers to register with.")
@click.option("-p", "--printConfigItem", "print_config", is_flag=True, help="Print all settings and exit.")
@click.option("-m", "--printImportantConfig", "print_config", is_flag=True, help="The same.")
@click.option("--http", metavar="A:P|off", help="Where probes and metrics are.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", callback=_settings, help="Set any key.")
@click.option("--check-config", is_flag=True, help="Check the settings and exit.")
@click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"], case_sensitive=False),
    default="info",
    show_default=True,
    envvar="COSMODROME_LOG_LEVEL",
    help="Log events from this level on.",
)
@click.option(
    "--log-format",
    type=click.Choice(["auto", "text", "json"], case_sensitive=False),
    default="auto",
    show_default=True,
    envvar="COSMODROME_LOG_FORMAT",
    help="How log lines on standard error look; auto is text on a terminal.",
)
@click.option("--pid-file", metavar="F", help="Write the process id here while running.")
@click.option(
    "--ready-fd", type=int, metavar="N", callback=_open_descriptor, help="Write HOST:PORT here when ready, and close."
)
@click.option("-v", "verbose", count=True, help="Log at level debug; -vv also shows the trace of an error.")
@click.version_option(__version__, message="cosmodrome %(version)s")
@click.argument("ignored", nargs=-1, type=click.UNPROCESSED, required=False)
def broker(**options: Any) -> None:
    """Run a broker. docs/broker.md says what it does and what it does not, docs/broker-security.md who may do what.

    SIGHUP has the settings read again, SIGTERM ends it when what is asked is answered.
    """
    del options["ignored"]  # as Java does; old instructions have settings there
    from cosmodrome.cli.broker import BrokerOptions, run  # noqa: PLC0415  # help and other commands do not need it

    run(BrokerOptions(**options))


@cosmodrome.command("help", hidden=True, context_settings={"ignore_unknown_options": True})
@click.argument("words", nargs=-1, metavar="[COMMAND]...")
def help_(words: tuple[str, ...]) -> None:
    """Show the help of a command, or of all of it, as --help does."""
    cosmodrome([*words, "--help"], prog_name="cosmodrome")


for _name in LATER:
    cosmodrome.add_command(LaterCommand(_name))


def main() -> None:
    """Run `cosmodrome` with the arguments of this process; ends the process."""
    _fill_standard_descriptors()
    cosmodrome(prog_name="cosmodrome")


def mqnamesrv() -> None:
    """Run `mqnamesrv`, which is `cosmodrome namesrv`, with the arguments of this process; ends the process."""
    _fill_standard_descriptors()
    namesrv(sys.argv[1:], prog_name="mqnamesrv")


def mqbroker() -> None:
    """Run `mqbroker`, which is `cosmodrome broker`, with the arguments of this process; ends the process."""
    _fill_standard_descriptors()
    broker(sys.argv[1:], prog_name="mqbroker")


def mqshutdown() -> None:
    """Run `mqshutdown`, which is `cosmodrome stop`, with the arguments of this process; ends the process."""
    _fill_standard_descriptors()
    run("stop", sys.argv[1:], "mqshutdown")


def mqadmin() -> None:
    """Run `mqadmin`, which is `cosmodrome admin`, with the arguments of this process; ends the process."""
    _fill_standard_descriptors()
    run("admin", sys.argv[1:], "mqadmin")


def _fill_standard_descriptors() -> None:
    """Open those of the first three descriptors that a parent closed.

    Else a socket would take such a number, and what is meant for a stream would go to a peer.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free
