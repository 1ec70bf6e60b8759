"""`cosmodrome admin` (also as `mqadmin`) and `cosmodrome peers`: commands, flags, help.

Owns: the grammar of these commands, and how they end.
Must not know: what a command asks and prints (cosmodrome.admin).

A command imports its module when it runs: each is one short process, whose start is most of its time.
"""

import asyncio
import logging
import os
import ssl
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NoReturn, TextIO

import click

from cosmodrome.admin.name_servers import NameServers
from cosmodrome.admin.output import Output, OutputForm, Verbosity
from cosmodrome.client.addresses import chosen_addresses, resolve
from cosmodrome.errors import OperatorError, UnavailableError, UsageError
from cosmodrome.transport.client import RemotingClient

Action = Callable[[NameServers, Output], Awaitable[int]]

EXIT_INTERRUPTED: Final = 130

_CONTEXT: Final = {"help_option_names": ["-h", "--help"], "max_content_width": 110}
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
    tls: bool
    tls_trust: str | None
    quiet: bool
    verbose: int

    def verbosity(self) -> Verbosity:
        """Give how much is said beside results."""
        if self.quiet:
            return Verbosity.QUIET
        return Verbosity.DETAILED if self.verbose else Verbosity.USUAL


class AdminOption(click.Option):
    """An option of mqadmin's, whose long name may also be written with one dash."""

    def __init__(self, names: Sequence[str], **attributes: Any) -> None:
        super().__init__([*names, *(name[1:] for name in names if name.startswith("--"))], **attributes)

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Give the line of the help, without the forms that only exist for mqadmin's sake."""
        opts, self.opts = self.opts, [opt for opt in self.opts if len(opt) == 2 or opt.startswith("--")]
        try:
            return super().get_help_record(ctx)
        finally:
            self.opts = opts

    def get_error_hint(self, ctx: click.Context | None) -> str:
        """Name the option in an error."""
        del ctx
        return " / ".join(opt for opt in self.opts if len(opt) == 2 or opt.startswith("--"))


class AdminGroup(click.Group):
    """Commands whose names may be in any case; a name that is not here is explained."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Give the command of this name, or None."""
        del ctx
        return next((found for name, found in self.commands.items() if name.lower() == cmd_name.lower()), None)

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
            raise unknown_command(args[0], tuple(self.commands), ctx.command_path)
        return command.name, command, args[1:]

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Give the names in the order of mqadmin's list."""
        del ctx
        return list(self.commands)

    def get_help(self, ctx: click.Context) -> str:
        """Give the list that mqadmin gives."""
        lines = (f"   {name:<20} {command.get_short_help_str(100)}" for name, command in self.commands.items())
        end = f"See '{ctx.command_path} help <command>' for more information on a specific command."
        return "\n".join([_LIST_HEAD, *lines, "", end])


def unknown_command(name: str, known: Sequence[str], path: str) -> OperatorError:
    """Give the error for a command that is not here."""
    import difflib

    from cosmodrome.admin.known_commands import NOT_YET

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


def _positive(_ctx: click.Context, _param: click.Parameter, value: float | None) -> float | None:
    if value is not None and not 0 < value < float("inf"):
        raise click.BadParameter("it must be above 0")
    return value


def _common_options(taken: Sequence[str]) -> list[click.Option]:
    """Give the options of every command; a short name that the command itself has is left out."""

    def free(*names: str) -> list[str]:
        return [name for name in names if name not in taken]

    forms = click.Choice([form.value for form in OutputForm], case_sensitive=False)
    return [
        AdminOption(free("-n", "--namesrvAddr", "namesrv_addr"), metavar="ADDRS", help=_ADDRESS_HELP),
        click.Option(free("-o", "--output", "form"), type=forms, default="text", help="Form of the results."),
        click.Option(
            ["--timeout", "timeout_s"], type=float, default=5.0, metavar="S", callback=_positive, help="Of one request."
        ),
        click.Option(["--tls"], is_flag=True, help="Speak TLS; any certificate will do without --tls-trust."),
        click.Option(
            ["--tls-trust"], metavar="FILE", help="Speak TLS, with certificates signed by those in this file."
        ),
        click.Option(["--no-color"], is_flag=True, expose_value=False, help="Accepted; the output has no colour."),
        click.Option(free("-q", "--quiet", "quiet"), is_flag=True, help="No confirmations, no notes."),
        click.Option(free("-v", "--verbose", "verbose"), count=True, help="More notes; twice: the trace of an error."),
    ]


def command(group: click.Group, name: str, text: str) -> Callable[[Callable[..., Action]], click.Command]:
    """Make a command of a function that gives the action for its flags; the common options are added."""

    def decorate(function: Callable[..., Action]) -> click.Command:
        own = list(reversed(getattr(function, "__click_params__", [])))
        taken = [opt for option in own for opt in option.opts]

        def run_it(**flags: Any) -> int:
            common = Common(**{field: flags.pop(field) for field in Common.__dataclass_fields__})
            return asyncio.run(_act(common, function(**flags)))

        made = click.Command(
            name,
            callback=run_it,
            params=[*own, *_common_options(taken)],
            help=text,
            short_help=text,
            context_settings=dict(_CONTEXT),
        )
        group.add_command(made)
        return made

    return decorate


def _stripped(_ctx: click.Context, _param: click.Parameter, value: str | None) -> str | None:
    return None if value is None else value.strip()


def option(*names: str, **attributes: Any) -> Callable[[Callable[..., Action]], Callable[..., Action]]:
    """Declare an option of one command; blanks around its value are cut off, as mqadmin does."""
    return click.option(*names, cls=AdminOption, callback=_stripped, **attributes)


def flag(*names: str, **attributes: Any) -> Callable[[Callable[..., Action]], Callable[..., Action]]:
    """Declare an option without a value."""
    return click.option(*names, cls=AdminOption, is_flag=True, **attributes)


async def _act(common: Common, action: Action) -> int:
    addresses = chosen_addresses(common.namesrv_addr, os.environ)
    servers = await resolve(addresses, common.timeout_s)
    uses_tls = common.tls or common.tls_trust is not None
    remoting = RemotingClient(tls=_tls_maker(common) if uses_tls else None)
    output = Output(OutputForm(common.form.lower()), sys.stdout, sys.stderr, common.verbosity())
    output.detail(f"NameServers: {', '.join(map(str, servers.found)) or 'none'}")
    output.flush()
    try:
        return await action(NameServers(remoting, servers, common.timeout_s, uses_tls=uses_tls), output)
    finally:
        await remoting.close()
        output.flush()


def _tls_maker(common: Common) -> Callable[[], ssl.SSLContext]:
    from cosmodrome.transport.tls import TlsFiles, client_context

    verify = ssl.CERT_REQUIRED if common.tls_trust else ssl.CERT_NONE
    context = client_context(TlsFiles(trust_path=common.tls_trust, verify=verify))
    return lambda: context


@click.group(cls=AdminGroup, context_settings=_CONTEXT, invoke_without_command=True)
@click.pass_context
def admin(ctx: click.Context) -> None:
    """Administer NameServers, with the commands and flags of mqadmin."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


@click.group("peers", cls=AdminGroup, context_settings=_CONTEXT, invoke_without_command=True)
@click.pass_context
def peers_group(ctx: click.Context) -> None:
    """Compare NameServers with each other."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


_TOPIC: Final = option("-t", "--topic", "topic", required=True, metavar="TOPIC", help="topic name")
_NAMESPACE: Final = option("-s", "--namespace", "namespace", required=True, metavar="NS", help="the namespace")
_KEY: Final = option("-k", "--key", "key", required=True, metavar="KEY", help="the key name")
_BROKER: Final = option("-b", "--brokerName", "broker_name", required=True, metavar="NAME", help="broker name")


@command(admin, "deleteTopic", "Delete topic from NameServers; not from brokers.")
@_TOPIC
@option("-c", "--clusterName", "cluster", required=True, metavar="NAME", help="delete topic from which cluster")
def _delete_topic(topic: str, cluster: str) -> Action:
    from cosmodrome.admin import topics

    return lambda servers, output: topics.delete_topic(servers, output, topic, cluster)


@command(admin, "topicRoute", "Examine topic route info.")
@_TOPIC
@flag("-l", "--list", "as_table", help="Use list format to print data")
def _topic_route(topic: str, *, as_table: bool) -> Action:
    from cosmodrome.admin import routes

    return lambda servers, output: routes.topic_route(servers, output, topic, as_table=as_table)


@command(admin, "topicClusterList", "Get cluster info for topic.")
@_TOPIC
def _topic_cluster_list(topic: str) -> Action:
    from cosmodrome.admin import routes

    return lambda servers, output: routes.topic_cluster_list(servers, output, topic)


@command(admin, "clusterList", "List cluster infos.")
@flag("-m", "--moreStats", "is_more", help="Print more stats")
@click.option(
    "-i", "--interval", "interval_s", type=float, callback=_positive, metavar="S", help="Repeat after so long."
)
@option("-c", "--clusterName", "cluster", metavar="NAME", help="which cluster")
def _cluster_list(cluster: str | None, interval_s: float | None, *, is_more: bool) -> Action:
    from cosmodrome.admin import clusters

    if interval_s is None:
        return lambda servers, output: clusters.cluster_list(servers, output, cluster, is_more=is_more)
    return lambda servers, output: clusters.cluster_list_for_ever(
        servers, output, cluster, is_more=is_more, interval_s=interval_s
    )


@command(admin, "topicList", "Fetch all topic list from name server.")
@flag("-c", "--clusterModel", "by_cluster", help="With clusters and consumer groups (asks brokers, too)")
@flag("--user", "user", help="Topics of users")
@flag("--system", "system", help="Topics of the system, clusters and brokers")
@flag("--retry", "retry", help="Retry topics (%RETRY%)")
@flag("--dlq", "dlq", help="Dead-letter topics (%DLQ%)")
def _topic_list(*, by_cluster: bool, **chosen: bool) -> Action:
    from cosmodrome.admin import topics

    kinds = frozenset(kind for kind in topics.TopicKind if chosen[kind.value])
    make = topics.topic_list_by_cluster if by_cluster else topics.topic_list
    return lambda servers, output: make(servers, output, kinds)


@command(admin, "updateKvConfig", "Create or update KV config.")
@_NAMESPACE
@_KEY
@click.option("-v", "--value", "value", cls=AdminOption, required=True, metavar="VALUE", help="the key value, as it is")
def _update_kv_config(namespace: str, key: str, value: str) -> Action:
    from cosmodrome.admin import kv_config

    return lambda servers, output: kv_config.update_kv_config(servers, output, namespace, key, value)


@command(admin, "deleteKvConfig", "Delete KV config.")
@_NAMESPACE
@_KEY
def _delete_kv_config(namespace: str, key: str) -> Action:
    from cosmodrome.admin import kv_config

    return lambda servers, output: kv_config.delete_kv_config(servers, output, namespace, key)


@command(admin, "getKvConfig", "Print one KV config. (Not in mqadmin.)")
@_NAMESPACE
@_KEY
def _get_kv_config(namespace: str, key: str) -> Action:
    from cosmodrome.admin import kv_config

    return lambda servers, output: kv_config.get_kv_config(servers, output, namespace, key)


@command(admin, "listKvConfig", "Print all KV config of a namespace. (Not in mqadmin.)")
@_NAMESPACE
def _list_kv_config(namespace: str) -> Action:
    from cosmodrome.admin import kv_config

    return lambda servers, output: kv_config.list_kv_config(servers, output, namespace)


@command(admin, "wipeWritePerm", "Wipe write perm of broker in all name server you defined in the -n param.")
@_BROKER
def _wipe_write_perm(broker_name: str) -> Action:
    from cosmodrome.admin import permissions

    return lambda servers, output: permissions.wipe_write_perm(servers, output, broker_name)


@command(admin, "addWritePerm", "Add write perm of broker in all name server you defined in the -n param.")
@_BROKER
def _add_write_perm(broker_name: str) -> Action:
    from cosmodrome.admin import permissions

    return lambda servers, output: permissions.add_write_perm(servers, output, broker_name)


@command(admin, "updateOrderConf", "Create or update or delete order conf.")
@_TOPIC
@option("-v", "--orderConf", "order_conf", metavar="CONF", help="set order conf, e.g. brokerName1:num;brokerName2:num")
@click.option(
    "-m",
    "--method",
    cls=AdminOption,
    type=click.Choice(["put", "get", "delete"], case_sensitive=False),
    required=True,
    help="what to do",
)
def _update_order_conf(topic: str, order_conf: str | None, method: str) -> Action:
    from cosmodrome.admin import kv_config

    if method == "get":
        return lambda servers, output: kv_config.get_order_conf(servers, output, topic)
    if method == "delete":
        return lambda servers, output: kv_config.delete_order_conf(servers, output, topic)
    if not order_conf:
        raise UsageError("please set orderConf with option -v.", remedy="for example: -v 'broker-a:4;broker-b:4'")
    return lambda servers, output: kv_config.put_order_conf(servers, output, topic, order_conf)


@command(admin, "allocateMQ", "Allocate MQ.")
@_TOPIC
@option("-i", "--ipList", "ip_list", required=True, metavar="IPS", help="consumers, separated by commas")
def _allocate_mq(topic: str, ip_list: str) -> Action:
    from cosmodrome.admin import routes

    clients = list(dict.fromkeys(client.strip() for client in ip_list.split(",") if client.strip()))
    if not clients:
        raise UsageError("there is no consumer in -i.", remedy="for example: -i 10.0.0.1,10.0.0.2")
    return lambda servers, output: routes.allocate_mq(servers, output, topic, clients)


@command(admin, "getNamesrvConfig", "Get configs of name server.")
def _get_namesrv_config() -> Action:
    from cosmodrome.admin import namesrv_config

    return namesrv_config.get_namesrv_config


@command(admin, "updateNamesrvConfig", "Update configs of name server.")
@option("-k", "--key", "key", required=True, metavar="KEY", help="config key")
@option("-v", "--value", "value", required=True, metavar="VALUE", help="config value")
def _update_namesrv_config(key: str, value: str) -> Action:
    from cosmodrome.admin import namesrv_config

    return lambda servers, output: namesrv_config.update_namesrv_config(servers, output, key, value)


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
        raise unknown_command(name, tuple(admin.commands), parent.command_path)
    click.echo(found.get_help(click.Context(found, info_name=found.name, parent=parent)))


@command(peers_group, "diff", "Compare brokers, topics and routes of NameServers (-n A:9876,B:9876), also of Apache's.")
def _peers_diff() -> Action:
    from cosmodrome.admin import peers

    return peers.peers_diff


def run(group: click.Group, words: Sequence[str], program: str) -> NoReturn:
    """Run a command line of one of the two groups, and end the process with its exit code."""
    _make_lossless(sys.stdout)
    logging.getLogger("cosmodrome").addHandler(logging.NullHandler())  # what matters is in the errors
    shows_traces = any(word.startswith("-vv") for word in words)
    sys.exit(_exit_code(lambda: _main(group, words, program), shows_traces=shows_traces))


def _main(group: click.Group, words: Sequence[str], program: str) -> int:
    try:
        return int(group.main(list(words), prog_name=program, standalone_mode=False) or 0)
    except click.UsageError as error:
        path = error.ctx.command_path if error.ctx else program
        raise UsageError(f"{path}: {error.format_message()}", remedy=f"{path} -h shows the options") from error


def _exit_code(action: Callable[[], int], *, shows_traces: bool) -> int:
    try:
        return action()
    except (KeyboardInterrupt, click.Abort):
        return EXIT_INTERRUPTED
    except Exception as error:  # noqa: BLE001  # outermost; the report of a bug is not worth loading before
        if isinstance(error, OperatorError) and not shows_traces:
            sys.stderr.write(f"{error.render()}\n")
            return error.exit_code
        from cosmodrome.cli.failures import exit_code_of

        return exit_code_of(_raising(error), shows_traces=shows_traces)


def _raising(error: Exception) -> Callable[[], int]:
    def action() -> int:
        raise error

    return action


def _make_lossless(stream: TextIO) -> None:
    """Write values as they are, whatever the locale."""
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(encoding="utf-8", errors="backslashreplace")
