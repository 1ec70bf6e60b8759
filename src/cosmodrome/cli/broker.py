"""What `cosmodrome broker` does.

Owns: the way from flags and a properties file to checked settings, to printing or checking them, or to a running broker.
Must not know: the grammar of flags (commands.py); signals while it runs (serve.py); what a broker does.
"""

import logging
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cosmodrome.broker.config import BrokerConfig
from cosmodrome.cli.failures import EXIT_OK, end_with
from cosmodrome.cli.file_watch import FileWatch
from cosmodrome.configuring.described import Program
from cosmodrome.configuring.files import read_settings_file
from cosmodrome.configuring.settings import broker_settings
from cosmodrome.errors import ConfigError
from cosmodrome.namesrv.config_file import Setting
from cosmodrome.namesrv.config_store import ConfigStore
from cosmodrome.namesrv.logs import LineWriter, LogFormat, configure_logging, end_logging

_LOG = logging.getLogger("cosmodrome.broker.config")

PID_FILE: Final = "broker.pid"


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerOptions:
    """The flags, as given; None is a flag that was not given."""

    config_file: str | None = None
    namesrv_addr: str | None = None
    http: str | None = None
    settings: tuple[tuple[str, str], ...] = ()
    print_config: bool = False
    check_config: bool = False
    log_level: str = "info"
    log_format: str = "auto"
    pid_file: str | None = None
    ready_fd: int | None = None
    verbose: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedSettings:
    """Settings, and where changes of them are kept; None without a file.

    `overridden` are keys that the file gives another value, and the flag that wins over it.
    """

    config: BrokerConfig
    store: ConfigStore | None
    overridden: Mapping[str, str]


def run(options: BrokerOptions) -> None:
    """Do what the flags say, and end the process."""
    end_with(lambda: _act(options), shows_traces=options.verbose > 1)


def load_settings(options: BrokerOptions) -> LoadedSettings:
    """Read the settings: a later source wins, of the environment, the file, and the flags.

    Raises:
        ConfigError: The file cannot be read, a key is not known, or a value cannot be used; it names every place.
    """
    flags = _flags(options)
    file = store = None
    overridden: dict[str, str] = {}
    if options.config_file is not None:
        file = read_settings_file(options.config_file, Program.BROKER)
        store = ConfigStore(file.path, dict.fromkeys(flags, "a flag"), is_given=True, content=file.data)
        texts = {key: entry.value.strip() for key, entry in file.last().items()}
        overridden = {
            key: "--set" if key in dict(options.settings) else f"--{key}"
            for key, text in flags.items()
            if texts.get(key, text.strip()) != text.strip()
        }
    settings = broker_settings(file, os.environ, [Setting(key, text, "a flag") for key, text in flags.items()])
    config = BrokerConfig.of_java({key: each.text for key, each in settings.items()})
    return LoadedSettings(config=config, store=store, overridden=overridden)


def _flags(options: BrokerOptions) -> dict[str, str]:
    named = {"namesrvAddr": options.namesrv_addr, "http": options.http}
    return {key: text for key, text in named.items() if text is not None} | dict(options.settings)


def _act(options: BrokerOptions) -> int:
    loaded = load_settings(options)
    stdout = LineWriter(sys.stdout)
    if options.check_config:
        for line in _check(loaded.config):
            stdout.write(line)
        stdout.write(f"configuration OK: {options.config_file or 'built-in defaults'}")
        return EXIT_OK
    if options.print_config:
        for key, value in loaded.config.listing().items():
            stdout.write(f"{key}={value}")
        return EXIT_OK
    return _serve(options, loaded, stdout)


def _check(config: BrokerConfig) -> list[str]:
    """Read the files that a start reads, and change none.

    Raises:
        TlsError: A certificate or key cannot be used.
        ConfigError: The accounts cannot be used.
    """
    from cosmodrome.broker.security.auth_file import initial_users  # noqa: PLC0415  # a start does not need all of it
    from cosmodrome.broker.security.plain_acl_files import PlainAclFiles  # noqa: PLC0415
    from cosmodrome.broker.tls import with_tls_config_file  # noqa: PLC0415
    from cosmodrome.transport.server_tls import ServerTls  # noqa: PLC0415

    ServerTls(with_tls_config_file(config))
    initial_users(config.init_authentication_user, config.inner_client_authentication_credentials)
    if not config.acl_enable:
        return []
    if not config.rocketmq_home:
        raise ConfigError("aclEnable=true needs rocketmqHome.", keys=("aclEnable", "rocketmqHome"))
    files = PlainAclFiles(Path(config.rocketmq_home).expanduser() / "conf", lambda: 0)
    return [f"accounts below {config.rocketmq_home}: {len(files.acl)}"]


def _serve(options: BrokerOptions, loaded: LoadedSettings, stdout: LineWriter) -> int:
    # They load the broker and the event loop, which printing and checking do not need.
    from cosmodrome.broker.server import Broker  # noqa: PLC0415
    from cosmodrome.cli.broker_words import BrokerProgram, BrokerWords  # noqa: PLC0415
    from cosmodrome.cli.sd_notify import ServiceManager  # noqa: PLC0415
    from cosmodrome.cli.serve import Announcer, serve  # noqa: PLC0415
    from cosmodrome.operating.pid_file import PidFile  # noqa: PLC0415

    level = logging.DEBUG if options.verbose else logging.getLevelNamesMapping()[options.log_level.upper()]
    configure_logging(level, LogFormat(options.log_format.lower()), sys.stderr)
    _warn_of_secrets(options, loaded.config)
    try:
        broker = Broker(config=loaded.config, settings_file=loaded.store)
        announcer = Announcer(
            words=BrokerWords(broker, stdout),
            pid_file=PidFile(pid_path(options, loaded.config), is_asked_for=options.pid_file is not None),
            ready_fd=options.ready_fd,
            manager=ServiceManager(os.environ),
        )
        return serve(BrokerProgram(broker), announcer, lambda: load_settings(options), _watch(loaded))
    finally:
        end_logging()


def _watch(loaded: LoadedSettings) -> FileWatch | None:
    """Give what looks at the files of settings; None when there is none, or nobody is to look."""
    store, interval_s = loaded.store, loaded.config.config_watch_seconds
    if store is None or not interval_s:
        return None
    return FileWatch([store.path, Path(loaded.config.tls_config_file)], interval_s, store.is_ours)


def pid_path(options: BrokerOptions, config: BrokerConfig) -> Path:
    """Give where the process id is while it runs: in the folder of the store, unless a flag says otherwise."""
    if options.pid_file is not None:
        return Path(options.pid_file)
    return Path(config.store_path_root_dir).expanduser() / PID_FILE


def _warn_of_secrets(options: BrokerOptions, config: BrokerConfig) -> None:
    from cosmodrome.broker.security.secret_files import is_open_to_others  # noqa: PLC0415  # as above
    from cosmodrome.broker.security_settings import SECRETS  # noqa: PLC0415

    has_secrets = any(getattr(config, name) for name in SECRETS)
    if has_secrets and options.config_file is not None and is_open_to_others(Path(options.config_file)):
        _LOG.warning("%s holds secrets and can be read by others: chmod 600", options.config_file)
