"""TLS as a broker's settings want it.

Owns: `tls.config.file`, whose keys win over those of broker.conf.
Must not know: what the keys mean (transport/server_tls.py).
"""

import dataclasses
from pathlib import Path
from typing import Final

from cosmodrome.broker.config import BrokerConfig, values_of
from cosmodrome.client.properties_text import properties_from
from cosmodrome.errors import ConfigError

_NOT_IN_FILE: Final = frozenset({"tls.server.mode", "tls.config.file", "tls.enable"})
_LARGEST_BYTES: Final = 1024 * 1024


def with_tls_config_file(config: BrokerConfig) -> BrokerConfig:
    """Give the settings with those of `tls.config.file` over its own; as they are when there is no such file.

    Raises:
        ConfigError: The file holds a value that its key cannot have.
    """
    path = Path(config.tls_config_file)
    try:
        with path.open("rb") as file:
            text = file.read(_LARGEST_BYTES).decode("utf-8", "replace")
    except OSError:
        return config
    texts = {
        key: value
        for key, value in properties_from(text).items()
        if key in config.listing() and key.startswith("tls.") and key not in _NOT_IN_FILE and value
    }
    try:
        return dataclasses.replace(config, **values_of(texts))
    except ConfigError as error:
        raise ConfigError(f"{path}: {error.what}", keys=error.keys) from error
