"""`cosmodrome doctor`: flags, and how findings are printed.

Owns: from which configuration it is known what to look at; the exit code.
Must not know: what is looked at (cosmodrome.operating.doctor).
"""

import contextlib
import dataclasses
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import click

from cosmodrome.cli.banner import own_address
from cosmodrome.client.addresses import ADDRESS_VARIABLES, parse_addresses
from cosmodrome.errors import ConfigError, UsageError
from cosmodrome.operating.doctor.examination import examine
from cosmodrome.operating.doctor.finding import Finding, Subject, Verdict, fail, ok, warn
from cosmodrome.operating.doctor.server import as_it_runs

_CONTEXT: Final = {"help_option_names": ["-h", "--help"], "max_content_width": 110}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """What a configuration says: the server, where it was read, what is odd in it, and NameServers that it names."""

    subject: Subject
    source: str
    notes: tuple[str, ...] = ()
    name_servers: str = ""


@click.command("doctor", context_settings=_CONTEXT)
@click.argument("kind", type=click.Choice(["namesrv", "broker"]), default="namesrv")
@click.option("-c", "--configFile", "config_file", metavar="F", help="Its configuration.")
@click.option("--data-dir", "--dataDir", metavar="D", help="Its data folder; of a broker, that of its store.")
@click.option("--http", metavar="A:P|off", help="Where its HTTP is, if not where its configuration says.")
@click.option(
    "-n", "--namesrvAddr", "name_servers", metavar="ADDRS", help="NameServers to look at, too ($NAMESRV_ADDR)."
)
@click.option("-o", "--output", "form", type=click.Choice(["text", "json"]), default="text", help="Form.")
@click.option("-q", "--quiet", "is_quiet", is_flag=True, help="Say only what is not good.")
def doctor(*, form: str, is_quiet: bool, **flags: Any) -> int:
    """Look what is, or will be, wrong with a server and its machine. Nothing is changed.

    Exit code 1 when something fails; what may do harm is a warning, and no failure.
    """
    found = []
    for finding in _findings(**flags):
        found.append(finding)
        if form == "text" and (not is_quiet or finding.verdict is not Verdict.OK):
            click.echo(finding.text())
    counts = {verdict: sum(each.verdict is verdict for each in found) for verdict in Verdict}
    if form == "json":
        items = [
            {"name": each.name, "verdict": each.verdict.value, "what": each.what, "why": each.why, "do": each.do}
            for each in found
            if not is_quiet or each.verdict is not Verdict.OK
        ]
        totals = {verdict.value: count for verdict, count in counts.items()}
        click.echo(json.dumps({"totals": totals, "findings": items}, indent=2))
    elif not is_quiet:
        click.echo(", ".join(f"{count} {verdict.value}" for verdict, count in counts.items()))
    return 1 if counts[Verdict.FAIL] else 0


def _findings(
    *, kind: str, config_file: str | None, data_dir: str | None, http: str | None, name_servers: str | None
) -> Iterator[Finding]:
    of_kind = _namesrv if kind == "namesrv" else _broker
    try:
        known = of_kind(config_file, data_dir)
    except ConfigError as error:
        yield fail("configuration", error.what, f"{kind} does not start with it.", error.remedy or "mend what is named")
        known = of_kind(config_file, data_dir, is_wrong=True)
    else:
        yield ok("configuration", known.source or "built-in defaults, and the environment")
    for note in known.notes:
        yield warn("configuration", note, "it is not what it looks like.", "cosmodrome config check FILE")
    subject = as_it_runs(known.subject)
    if http is not None:
        subject = dataclasses.replace(subject, http=_http(http))
    variable = next((name for name in ADDRESS_VARIABLES if os.environ.get(name)), "")
    given = name_servers or os.environ.get(variable) or known.name_servers
    try:
        addresses = parse_addresses(given) if given else ()
    except UsageError as error:
        if name_servers:
            raise
        yield fail(
            "NameServer", error.what, "nobody can be asked.", f"mend {variable and '$'}{variable or 'namesrvAddr'}"
        )
        addresses = ()
    yield from examine(subject, addresses, own_address())


def _namesrv(file: str | None, data_dir: str | None, *, is_wrong: bool = False) -> _Known:
    """Give what a NameServer is started with; when something in it is wrong, what is right in it.

    Raises:
        ConfigError: Something is wrong, and nobody said so.
    """
    import logging  # noqa: PLC0415  # with what follows: one program's at a time

    from cosmodrome.namesrv.config_file import ConfigSources, Setting, load_config, load_usable  # noqa: PLC0415
    from cosmodrome.namesrv.http_service import default_address  # noqa: PLC0415
    from cosmodrome.namesrv.tls_settings import with_tls_config_file  # noqa: PLC0415

    flags = [] if data_dir is None else [Setting("dataDir", data_dir, "--data-dir")]
    sources = ConfigSources(file=file, environment=os.environ, flags=flags)
    if is_wrong:
        try:
            loaded = load_usable(sources)
        except ConfigError:  # as if the file were empty
            loaded = load_usable(dataclasses.replace(sources, file=os.devnull))
    else:
        loaded = load_config(sources)
    config = loaded.config
    with contextlib.suppress(*_known_faults(is_wrong=is_wrong)):
        config = with_tls_config_file(config)
    subject = Subject(
        kind="namesrv",
        host=config.bind_address,
        port=config.listen_port,
        http=_http(config.http if "http" in loaded.sources else default_address(config.listen_port)),
        folder=Path(config.data_dir),
        pid_file=Path(config.pid_file),
        certificates=_paths(config),
    )
    notes = tuple(note.text for note in loaded.notes if note.level >= logging.WARNING)
    return _Known(subject=subject, source=str(loaded.path or ""), notes=notes)


def _broker(file: str | None, data_dir: str | None, *, is_wrong: bool = False) -> _Known:
    """Give what a broker is started with; when something in it is wrong, what is right in it.

    Raises:
        ConfigError: Something is wrong, and nobody said so.
    """
    from cosmodrome.broker.tls import with_tls_config_file  # noqa: PLC0415  # one program's at a time
    from cosmodrome.cli.broker import BrokerOptions, load_settings, pid_path  # noqa: PLC0415

    settings = () if data_dir is None else (("storePathRootDir", data_dir),)
    options = BrokerOptions(config_file=file, settings=settings)
    config = _usable_of_broker(options) if is_wrong else load_settings(options).config
    with contextlib.suppress(*_known_faults(is_wrong=is_wrong)):
        config = with_tls_config_file(config)
    subject = Subject(
        kind="broker",
        host=config.bind_address,
        port=config.listen_port,
        http=_http(config.http),
        folder=Path(config.store_path_root_dir).expanduser(),
        pid_file=pid_path(options, config),
        certificates=_paths(config),
    )
    return _Known(subject=subject, source=file or "", name_servers=config.namesrv_addr)


def _known_faults(*, is_wrong: bool) -> tuple[type[Exception], ...]:
    return (ConfigError,) if is_wrong else ()


def _usable_of_broker(options: Any) -> Any:
    """Give the settings of a broker without those that cannot be used, by themselves or with others."""
    from cosmodrome.broker.config import BrokerConfig  # noqa: PLC0415  # one program's at a time
    from cosmodrome.configuring.described import Program  # noqa: PLC0415
    from cosmodrome.configuring.files import read_settings_file  # noqa: PLC0415
    from cosmodrome.configuring.settings import DEFAULT_STORE  # noqa: PLC0415

    flags = {"storePathRootDir": DEFAULT_STORE} | dict(options.settings)
    texts = dict(flags)
    with contextlib.suppress(ConfigError):
        file = read_settings_file(options.config_file, Program.BROKER)
        texts = {key: entry.value for key, entry in file.last().items()} | dict(options.settings)
        texts.setdefault("storePathRootDir", DEFAULT_STORE)
    while texts:
        try:
            return BrokerConfig.of_java(texts)
        except ConfigError as error:
            left = {key: text for key, text in texts.items() if key not in error.keys}
            texts = left if len(left) < len(texts) else {}
    return BrokerConfig.of_java(flags)


def _paths(config: Any) -> tuple[Path, ...]:
    """Give the certificates that are used: those of the test mode are made anew at each start."""
    named = () if config.tls_test_mode_enable else (config.tls_server_cert_path, config.tls_client_cert_path)
    return tuple(Path(each) for each in dict.fromkeys(named) if each)


def _http(text: str) -> str:
    return "" if text == "off" or text.endswith(":0") else text
