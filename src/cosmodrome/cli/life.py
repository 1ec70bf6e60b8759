"""`cosmodrome reload`, `drain` and `stop`: flags, and what is printed.

Owns: which server is meant when nobody says; progress on a terminal.
Must not know: how a server is told (cosmodrome.operating).
"""

import dataclasses
import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import click

from cosmodrome.cli.http_target import TOKEN_VARIABLE, api_of
from cosmodrome.errors import AdminError, UnavailableError, UsageError
from cosmodrome.operating import control
from cosmodrome.operating.api import Api
from cosmodrome.operating.process import RunningProcess, Waiting

_CONTEXT: Final = {"help_option_names": ["-h", "--help"], "max_content_width": 110}


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Which server, as the flags say; None is a flag that was not given."""

    kind: str
    pid_file: str | None
    config_file: str | None
    data_dir: str | None
    http: str | None
    namesrv_addr: str | None
    timeout_s: float
    form: str
    is_quiet: bool


@click.group("cosmodrome", context_settings=_CONTEXT)
def life() -> None:
    """Control servers that run."""


def _of_a_server(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the flags that say which server, how long, and in which form."""
    flags = (
        click.argument("kind", type=click.Choice(["namesrv", "broker"]), default="namesrv"),
        click.option("--pid-file", metavar="F", help="The pid file of the server; by default that of its configuration."),
        click.option("-c", "--configFile", "config_file", metavar="F", help="The configuration that it was started with."),
        click.option("--data-dir", "--dataDir", metavar="D", help="Its data folder; of a broker, that of its store."),
        click.option(
            "--http", metavar="A:P", help=f"Tell it by HTTP, also on another host (a NameServer only; ${TOKEN_VARIABLE})."
        ),
        click.option(
            "-n", "--namesrvAddr", "namesrv_addr", metavar="A:P",
            help="The same by its remoting address: HTTP is 10000 ports above.",
        ),
        click.option(
            "--timeout", "timeout_s", type=click.FloatRange(0, min_open=True), default=90.0, show_default=True, metavar="S",
            help="Wait so long.",
        ),
        click.option("-o", "--output", "form", type=click.Choice(["text", "json"]), default="text", help="Form."),
        click.option("-q", "--quiet", "is_quiet", is_flag=True, help="Say nothing that the exit code says."),
    )  # fmt: skip
    for each in reversed(flags):
        function = each(function)
    return function


@life.command("reload", context_settings=_CONTEXT)
@_of_a_server
def _reload(**flags: Any) -> int:
    """Have a server read its configuration again, and say what came of it, per key.

    What cannot be used changes nothing. Exit code 78 then; 69 when there is no server, 75 when it says nothing in time,
    77 when we may not.
    """
    target = Target(**flags)
    waiting = _progress(target, "reads its configuration")
    if _is_by_http(target):
        return _show(target, control.reload_over_http(_api(target)))
    return _show(target, control.reload_process(pid_path(target), target.timeout_s, waiting))


@life.command("drain", context_settings=_CONTEXT)
@_of_a_server
@click.option("--undo", is_flag=True, help="Put it back into use.")
@click.option("--until", type=click.IntRange(0), metavar="N", help="Wait until it has no more than N connections.")
def _drain(*, undo: bool, until: int | None, **flags: Any) -> int:
    """Take a NameServer out of use, by HTTP: it is not ready, newer clients are sent away, and everybody else is served.

    Without --http and -n it is the one of $NAMESRV_ADDR, or else that of this host. One that is named by its pid file,
    its configuration or its data folder is asked where it listens.

    Exit code 69 when there is no server, 75 when it has too many connections in the end, 77 when we may not.
    """
    target = Target(**flags)
    if target.kind == "broker":
        raise UnavailableError(
            "a broker is not drained without being stopped.",
            remedy="keep messages away from it: cosmodrome admin wipeWritePerm -b NAME; or: cosmodrome stop broker",
        )
    waiting = _progress(target, "sends clients away")
    drained = control.drain(_api(target), draining=not undo, until=until, timeout_s=target.timeout_s, waiting=waiting)
    return _show(target, drained)


@life.command("stop", context_settings=_CONTEXT)
@_of_a_server
def _stop(**flags: Any) -> int:
    """Stop a server in good order: what is in work is finished, everything acknowledged is on disk, the process ends.

    Exit code 69 when there is no server, 75 when it does not end in time, 77 when we may not.
    """
    target = Target(**flags)
    waiting = _progress(target, "finishes what it does")
    if _is_by_http(target):
        return _show(target, control.stop_over_http(_api(target), target.timeout_s, waiting))
    return _show(target, control.stop_process(pid_path(target), target.timeout_s, waiting))


def pid_path(target: Target) -> Path:
    """Give the pid file: the one named, else that of a server with this configuration.

    Raises:
        ConfigError: The configuration cannot be used.
    """
    if target.pid_file is not None:
        return Path(target.pid_file)
    if target.kind == "broker":
        from cosmodrome.cli.broker import BrokerOptions, load_settings, pid_path  # noqa: PLC0415  # slow to load

        settings = () if target.data_dir is None else (("storePathRootDir", target.data_dir),)
        options = BrokerOptions(config_file=target.config_file, settings=settings)
        return pid_path(options, load_settings(options).config)
    return Path(_namesrv_config(target).config.pid_file)


def _namesrv_config(target: Target) -> Any:
    from cosmodrome.namesrv.config_file import ConfigSources, Setting, load_config  # noqa: PLC0415  # slow to load

    flags = [] if target.data_dir is None else [Setting("dataDir", target.data_dir, "--data-dir")]
    sources = ConfigSources(file=target.config_file, environment=os.environ, flags=flags, lenient=True)
    return load_config(sources)


def _is_by_http(target: Target) -> bool:
    """Whether the server is told by HTTP: when its address is given, and where processes cannot be sent signals.

    Raises:
        UsageError: The address is that of a NameServer, and a broker is meant.
    """
    if target.kind == "broker" and target.namesrv_addr is not None:
        raise UsageError(
            "-n names a NameServer, and a broker is meant.", remedy="-c FILE, --data-dir DIR or --pid-file FILE"
        )
    is_named = target.http is not None or target.namesrv_addr is not None
    return is_named or (sys.platform == "win32" and target.kind == "namesrv")


def _api(target: Target) -> Api:
    """Give where it is told by HTTP: as flags say, as the environment says, else where the one of this host has it."""
    from cosmodrome.client.addresses import ADDRESS_VARIABLES  # noqa: PLC0415  # slow to load

    timeout_s = min(target.timeout_s, 30.0)
    is_of_this_host = any(each is not None for each in (target.pid_file, target.config_file, target.data_dir))
    is_elsewhere = not is_of_this_host and any(os.environ.get(name, "").strip() for name in ADDRESS_VARIABLES)
    if is_elsewhere or target.http is not None or target.namesrv_addr is not None:
        return api_of(target.http, target.namesrv_addr, timeout_s)
    return Api(_own_http(target), token=os.environ.get(TOKEN_VARIABLE, ""), timeout_s=timeout_s)


def _own_http(target: Target) -> str:
    """Give where the NameServer of this host with this pid file or configuration answers HTTP, if it does.

    Raises:
        ConfigError: The configuration cannot be used.
        UnavailableError: It runs without HTTP.
    """
    try:
        with RunningProcess(pid_path(target)) as process:
            found = process.addresses()
    except AdminError:
        found = None
    if found is not None:
        who, http = f"the NameServer at {found.remoting}", found.http
    else:
        from cosmodrome.namesrv.http_service import default_address  # noqa: PLC0415  # slow to load

        loaded = _namesrv_config(target)
        who = "a NameServer with this configuration"
        http = loaded.config.http if "http" in loaded.sources else default_address(loaded.config.listen_port)
    if not http:
        raise UnavailableError(f"{who} has no HTTP.", remedy="start it with --http 127.0.0.1:PORT")
    return str(http)


def _show(target: Target, result: control.Reloaded | control.Drained | control.Stopped) -> int:
    if target.form == "json":
        click.echo(json.dumps(dataclasses.asdict(result), indent=2))
    elif not target.is_quiet:
        click.echo(result.text())
    return 0


def _progress(target: Target, doing: str) -> Waiting:
    """Give what tells a person on a terminal, once a second, that one waits."""
    told_s = 0.0

    def waiting(waited_s: float) -> None:
        nonlocal told_s
        if waited_s >= told_s + 1 and not target.is_quiet and sys.stderr.isatty():
            told_s = waited_s
            sys.stderr.write(f"the server {doing}: {waited_s:.0f} s of {target.timeout_s:g} s\n")

    return waiting
