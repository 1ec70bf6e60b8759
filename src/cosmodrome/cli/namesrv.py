"""What `cosmodrome namesrv` does.

Owns: the way from flags to a checked configuration, to printing or checking it, or to a running server.
Must not know: the grammar of flags (commands.py); signals and output while it runs (serve.py).
"""

import logging
import os
import signal
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from cosmodrome.cli.failures import EXIT_BUG, EXIT_OK, end_with
from cosmodrome.cli.file_watch import FileWatch
from cosmodrome.durable_file import Stamp
from cosmodrome.errors import ConfigError, OperatorError
from cosmodrome.namesrv.config import NamesrvConfig, print_items
from cosmodrome.namesrv.config_file import ConfigSources, LoadedConfig, Setting, load_config
from cosmodrome.namesrv.config_store import ConfigStore
from cosmodrome.namesrv.events import ServerFailed
from cosmodrome.namesrv.logs import EventLog, LineWriter, LogFormat, configure_logging, end_logging, line_of

_LOG = logging.getLogger("cosmodrome.namesrv.config")


@dataclass(frozen=True, slots=True, kw_only=True)
class NamesrvOptions:
    """The flags, as given; None is a flag that was not given."""

    config_file: str | None = None
    print_config: bool = False
    listen_port: str | None = None
    bind_address: str | None = None
    data_dir: str | None = None
    http: str | None = None
    shadow: str | None = None
    shadow_report: str | None = None
    settings: tuple[tuple[str, str], ...] = ()
    lenient: bool = False
    check_config: bool = False
    log_level: str = "info"
    log_format: str = "auto"
    pid_file: str | None = None
    ready_fd: int | None = None
    banner: bool | None = None
    verbose: int = 0


def run(options: NamesrvOptions) -> None:
    """Do what the flags say, and end the process."""
    end_with(lambda: _act(options, time.perf_counter()), shows_traces=options.verbose > 1)


def flag_settings(options: NamesrvOptions) -> list[Setting]:
    """Give what the command line sets; a flag of its own wins over `--set`."""
    named = {
        "listenPort": ("--listenPort", options.listen_port),
        "bindAddress": ("--bindAddress", options.bind_address),
        "dataDir": ("--data-dir", options.data_dir),
        "http": ("--http", options.http),
        "shadow": ("--shadow", options.shadow),
        "pidFile": ("--pid-file", options.pid_file),
    }
    return [
        *(Setting(key, text, "--set") for key, text in options.settings),
        *(Setting(key, text, flag) for key, (flag, text) in named.items() if text is not None),
    ]


def _act(options: NamesrvOptions, began_s: float) -> int:
    sources = ConfigSources(
        file=options.config_file,
        environment=os.environ,
        flags=flag_settings(options),
        lenient=options.lenient,
    )
    loaded = load_config(sources)
    if options.shadow_report is not None and loaded.config.shadow is None:
        raise ConfigError("--shadow-report has nothing to report.", remedy="name the other server: --shadow HOST:PORT")
    stdout = LineWriter(sys.stdout)
    if options.check_config:
        return _report_check(loaded, stdout)
    if options.config_file is not None:
        stdout.write(f"load config properties file OK, {options.config_file}")
    if options.print_config:
        stdout.write(print_items(loaded.config).removesuffix("\n"))
        return EXIT_OK
    return _serve(options, sources, loaded, began_s)


def _report_check(loaded: LoadedConfig, stdout: LineWriter) -> int:
    for note in loaded.notes:
        stdout.write(f"{logging.getLevelName(note.level).lower()}: {note.text}")
    for line in _checked_files(loaded.config):
        stdout.write(line)
    stdout.write(f"configuration OK: {loaded.path or 'built-in defaults'}")
    return EXIT_OK


def _checked_files(config: NamesrvConfig) -> list[str]:
    """Read the files that a start reads, change none, and tell what a KV file holds if there is one.

    Raises:
        StorageError: The KV file cannot be used.
        TlsError: A certificate or key cannot be used.
        ConfigError: The accounts cannot be used.
    """
    from cosmodrome.namesrv.kv_config import check_kv_file  # noqa: PLC0415  # as in _serve
    from cosmodrome.namesrv.policy.accounts import AccountFile  # noqa: PLC0415
    from cosmodrome.namesrv.policy.admission import load_accounts  # noqa: PLC0415
    from cosmodrome.namesrv.tls_settings import ServerTls  # noqa: PLC0415

    ServerTls(config)
    load_accounts(config, AccountFile(config.acl_file, lambda _: None))
    path = Path(config.kv_config_path)
    tables = check_kv_file(path)
    entries = sum(map(len, tables.values()))
    return [f"KV file {path}: {entries} entries in {len(tables)} namespaces"] if path.exists() else []


def _serve(options: NamesrvOptions, sources: ConfigSources, loaded: LoadedConfig, began_s: float) -> int:
    # They load the server and the event loop, which printing and checking do not need.
    from cosmodrome.cli.namesrv_words import NamesrvWords, Terminal  # noqa: PLC0415
    from cosmodrome.cli.outputs import log_to_file, open_outputs  # noqa: PLC0415
    from cosmodrome.cli.reporting import ReportingServer  # noqa: PLC0415
    from cosmodrome.cli.sd_notify import ServiceManager  # noqa: PLC0415
    from cosmodrome.cli.serve import Announcer, serve  # noqa: PLC0415
    from cosmodrome.namesrv.program import Program  # noqa: PLC0415
    from cosmodrome.namesrv.server import NameServer  # noqa: PLC0415
    from cosmodrome.operating.pid_file import PidFile  # noqa: PLC0415

    config = loaded.config
    outputs = open_outputs(config)
    level = logging.DEBUG if options.verbose else logging.getLevelNamesMapping()[options.log_level.upper()]
    log_format = LogFormat(options.log_format.lower())
    log = configure_logging(level, log_format, outputs.log)
    outputs.tell(log.publish, config.log_file)
    if config.log_file:
        for each in (log, EventLog(LineWriter(outputs.stderr), line_of(log_format, outputs.stderr))):
            each.publish(log_to_file(config))
    _log_notes(loaded)
    for folder in unwritable_folders(config, loaded.store.path):
        _LOG.warning("%s cannot be written: changes that are kept there will be refused; routes do not need it", folder)
    has_banner = options.banner if options.banner is not None else bool(sys.stderr and sys.stderr.isatty())
    terminal = Terminal(stdout=LineWriter(outputs.stdout), stderr=LineWriter(outputs.stderr if has_banner else None))
    announcer = Announcer(
        words=NamesrvWords(
            loaded=loaded,
            terminal=terminal,
            began_s=began_s,
            publish=log.publish,
            no_http=lambda: name_server.no_http,
        ),
        pid_file=PidFile(Path(config.pid_file), is_asked_for="pidFile" in loaded.sources),
        ready_fd=options.ready_fd,
        manager=ServiceManager(os.environ),
    )
    reading = _ReadingAgain(sources, loaded.store)
    program = Program(
        offers_http="http" not in loaded.sources,
        read_again=reading.read,
        end=lambda: signal.raise_signal(signal.SIGTERM),
    )
    name_server = NameServer(config, config_store=loaded.store, publish=log.publish, program=program)
    report = options.shadow_report
    server = name_server if report is None else ReportingServer(name_server, Path(report))
    try:
        return serve(server, announcer, reading.read, reading.watch(config))
    except Exception as error:
        if config.log_file:
            exit_code = error.exit_code if isinstance(error, OperatorError) else EXIT_BUG
            log.publish(ServerFailed(reason=f"{type(error).__name__}: {error}", exit_code=exit_code))
        raise
    finally:
        end_logging()
        outputs.close()


def unwritable_folders(config: NamesrvConfig, store: Path) -> list[Path]:
    """Give the folders of KV entries and saved settings that take no files; they are made if they are missing."""
    return [
        folder
        for folder in dict.fromkeys((Path(config.kv_config_path).parent, store.parent))
        if not _takes_files(folder)
    ]


def _takes_files(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


class _ReadingAgain:
    """Reads the configuration from where it came from, and knows the file that changes are kept in now."""

    def __init__(self, sources: ConfigSources, store: ConfigStore) -> None:
        self._sources = sources
        self._store = store

    def read(self) -> tuple[NamesrvConfig, ConfigStore]:
        """Read everything anew.

        Raises:
            ConfigError: Something is wrong in it.
        """
        loaded = load_config(self._sources)
        if loaded.store.is_damaged:
            raise ConfigError(f"{loaded.store.path} is damaged: what is in force is better than its previous version.")
        _log_notes(loaded)
        self._store = loaded.store
        return loaded.config, loaded.store

    def watch(self, config: NamesrvConfig) -> FileWatch | None:
        """Give what looks at the file, also at one that is not there yet; None when nobody is to look."""
        if not config.config_watch_seconds:
            return None
        return FileWatch([self._store.path], config.config_watch_seconds, self._is_ours)

    def _is_ours(self, path: Path, stamp: Stamp | None) -> bool:
        return self._store.is_ours(path, stamp)


def _log_notes(loaded: LoadedConfig) -> None:
    for note in loaded.notes:
        _LOG.log(note.level, "%s", note.text)
