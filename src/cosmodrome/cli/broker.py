"""What `cosmodrome broker` does.

Owns: the way from flags and a properties file to a running broker; its ready line.
Must not know: the grammar of flags (commands.py); what a broker does.
"""

import asyncio
import logging
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cosmodrome.broker.config import BrokerConfig
from cosmodrome.broker.server import Broker
from cosmodrome.cli.failures import EXIT_OK, end_with
from cosmodrome.cli.signals import ignore_signals, watch_signals
from cosmodrome.client.addresses import ADDRESS_VARIABLES
from cosmodrome.errors import ConfigError
from cosmodrome.namesrv.logs import LineWriter, LogFormat, configure_logging, end_logging
from cosmodrome.namesrv.properties import decode, parse

_DEFAULT_STORE: Final = "~/store"


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerOptions:
    """The flags, as given; None is a flag that was not given."""

    config_file: str | None = None
    namesrv_addr: str | None = None
    settings: tuple[tuple[str, str], ...] = ()
    log_level: str = "info"


def run(options: BrokerOptions) -> None:
    """Run a broker until a signal, and end the process."""
    end_with(lambda: _act(options), shows_traces=False)


def _act(options: BrokerOptions) -> int:
    config = _config(options)
    configure_logging(logging.getLevelNamesMapping()[options.log_level.upper()], LogFormat.AUTO, sys.stderr)
    try:
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            return runner.run(_serve(config))
    finally:
        end_logging()


def _config(options: BrokerOptions) -> BrokerConfig:
    """Read the settings: a later source wins, of the environment, the file, and the flags."""
    texts = {"storePathRootDir": _DEFAULT_STORE}
    address = next((os.environ[name] for name in ADDRESS_VARIABLES if os.environ.get(name)), None)
    if address is not None:
        texts["namesrvAddr"] = address
    if options.config_file is not None:
        try:
            text, _ = decode(Path(options.config_file).read_bytes())
        except OSError as error:
            raise ConfigError(f"cannot read {options.config_file}: {error.strerror or error}.") from error
        texts |= {each.key: each.value for each in parse(text)}
    if options.namesrv_addr is not None:
        texts["namesrvAddr"] = options.namesrv_addr
    return BrokerConfig.of_java(texts | dict(options.settings))


async def _serve(config: BrokerConfig) -> int:
    loop = asyncio.get_running_loop()
    signalled = watch_signals(loop, lambda: logging.getLogger(__name__).info("settings are read at a start only"))
    broker = Broker(config=config)
    await broker.start()
    try:
        known = f" and name server is {config.namesrv_addr}" if config.namesrv_addr else ""
        line = f"The broker[{config.broker_name}, {broker.address}] boot success. serializeType=JSON{known}"
        LineWriter(sys.stdout).write(line)
        await signalled
    finally:
        await broker.stop()
        ignore_signals(loop)
    return EXIT_OK


def _loop_factory() -> type[asyncio.AbstractEventLoop] | None:
    """Give the faster event loop where it is installed, else None for asyncio's own."""
    try:
        import uvloop  # noqa: PLC0415  # optional
    except ImportError:
        return None
    return uvloop.Loop
