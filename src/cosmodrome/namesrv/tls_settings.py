"""TLS as the configuration wants it.

Owns: `tls.config.file`.
Must not know: what the keys mean (transport/server_tls.py); how a context is used.
"""

import dataclasses
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Final

from cosmodrome.errors import ConfigError
from cosmodrome.namesrv import properties
from cosmodrome.namesrv.config import KEYS, NamesrvConfig, parse_values
from cosmodrome.transport import server_tls

_NOT_IN_FILE: Final = frozenset({"tls.server.mode", "tls.config.file", "tls.enable"})


class ServerTls(server_tls.ServerTls):
    """The server's side of TLS: who may come in encrypted, with what certificate, and its renewal."""

    def __init__(self, config: NamesrvConfig) -> None:
        """Load everything.

        Raises:
            TlsError: The mode needs files that are missing or cannot be used.
            ConfigError: `tls.config.file` holds a bad value.
        """
        super().__init__(with_tls_config_file(config))


def client_tls(config: NamesrvConfig) -> Callable[[], ssl.SSLContext] | None:
    """Give what makes the context of connections that we open; None when they are plain.

    Raises:
        TlsError: The files cannot be used.
        ConfigError: `tls.config.file` holds a bad value.
    """
    return server_tls.client_tls_of(with_tls_config_file(config)) if config.tls_enable else None


def with_tls_config_file(config: NamesrvConfig) -> NamesrvConfig:
    """Give the configuration with the values of `tls.config.file` over its own; as it is when there is no such file.

    Raises:
        ConfigError: The file holds a value that its key cannot have.
    """
    path = Path(config.tls_config_file)
    try:
        text, _ = properties.decode(path.read_bytes())
    except OSError:
        return config
    texts = {
        name: value
        for name, value in properties.last_values(properties.parse(text)).items()
        if name in KEYS and name.startswith("tls.") and name not in _NOT_IN_FILE and value
    }
    values, reasons = parse_values(texts)
    if reasons:
        problems = "; ".join(f"{name} {reason}" for name, reason in reasons.items())
        raise ConfigError(f"{path}: {problems}.", keys=tuple(reasons))
    fields = {KEYS[name].field_name: value for name, value in values.items()}
    return dataclasses.replace(config, **fields)  # type: ignore[arg-type]  # `parse_values` gives each field's type
