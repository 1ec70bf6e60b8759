"""TLS as the configuration wants it.

Owns: the Java keys and what they mean together; `tls.config.file`; the throw-away certificate of the test mode.
Must not know: how a context is used.
"""

import dataclasses
import logging
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Final

from cosmodrome.errors import ConfigError, TlsError
from cosmodrome.namesrv import properties
from cosmodrome.namesrv.config import KEYS, NamesrvConfig, parse_values
from cosmodrome.transport.entrance import EntrancePolicy, TlsMode
from cosmodrome.transport.throw_away import throw_away_server_context
from cosmodrome.transport.tls import TlsFiles, WatchedContext, client_context, server_context

logger = logging.getLogger(__name__)

_NOT_IN_FILE: Final = frozenset({"tls.server.mode", "tls.config.file", "tls.enable"})


class ServerTls:
    """The server's side of TLS: who may come in encrypted, with what certificate, and its renewal."""

    def __init__(self, config: NamesrvConfig) -> None:
        """Load everything.

        Raises:
            TlsError: The mode needs files that are missing or cannot be used.
            ConfigError: `tls.config.file` holds a bad value.
        """
        settings = with_tls_config_file(config)
        self._mode = TlsMode(settings.tls_server_mode)
        self._watched: WatchedContext | None = None
        self._throw_away: ssl.SSLContext | None = None
        self._is_throw_away_wanted = False
        if self._mode is TlsMode.DISABLED:
            return
        if settings.tls_test_mode_enable and settings.tls_server_cert_path:
            logger.warning(
                "tls.server.certPath is set and not used: tls.test.mode.enable=true, Java's default, comes before it"
            )
        if not settings.tls_test_mode_enable:
            files = _server_files(settings)
            self._watched = WatchedContext(lambda: server_context(files), files.paths())
        elif self._mode is TlsMode.ENFORCING:
            self._throw_away = throw_away_server_context()
        else:
            # Java's default, which few use: made when the first encrypted connection comes.
            self._is_throw_away_wanted = True

    @property
    def policy(self) -> EntrancePolicy:
        """What each new connection is let in by."""
        return EntrancePolicy(tls_mode=self._mode, context=self._current)

    @property
    def has_files(self) -> bool:
        """Whether there are files that may change."""
        return self._watched is not None

    def refresh(self) -> None:
        """Look whether the files changed, and use them from now on if they are a complete, valid set."""
        if self._watched is None:
            return
        try:
            if self._watched.refresh():
                logger.info("TLS certificate, key or trust anchors were replaced: new connections use them")
        except TlsError as error:
            logger.error("TLS files changed and cannot be used, the old ones stay in use: %s", error.render())  # noqa: TRY400 -- not ours

    def _current(self) -> ssl.SSLContext | None:
        if self._is_throw_away_wanted:
            self._is_throw_away_wanted = False
            try:
                self._throw_away = throw_away_server_context()
            except TlsError as error:
                logger.error("%s", error.render())  # noqa: TRY400 -- not ours
        return self._throw_away if self._watched is None else self._watched.current


def client_tls(config: NamesrvConfig) -> Callable[[], ssl.SSLContext] | None:
    """Give what makes the context of connections that we open; None when they are plain.

    Raises:
        TlsError: The files cannot be used.
        ConfigError: `tls.config.file` holds a bad value.
    """
    if not config.tls_enable:
        return None
    settings = with_tls_config_file(config)
    is_checked = settings.tls_client_auth_server and not settings.tls_test_mode_enable
    files = TlsFiles(
        cert_path=settings.tls_client_cert_path,
        key_path=settings.tls_client_key_path,
        key_password=settings.tls_client_key_password,
        trust_path=settings.tls_client_trust_cert_path,
        verify=ssl.CERT_REQUIRED if is_checked else ssl.CERT_NONE,
    )
    context = client_context(files)
    return lambda: context


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


def _server_files(config: NamesrvConfig) -> TlsFiles:
    if not config.tls_server_cert_path:
        raise TlsError(
            "TLS is on without a certificate.",
            why="tls.test.mode.enable is false and tls.server.certPath is not set.",
            remedy="set tls.server.certPath and tls.server.keyPath, or switch TLS off: tls.server.mode=disabled",
        )
    return TlsFiles(
        cert_path=config.tls_server_cert_path,
        key_path=config.tls_server_key_path,
        key_password=config.tls_server_key_password,
        trust_path=config.tls_server_trust_cert_path,
        verify=_verify_mode(config),
    )


def _verify_mode(config: NamesrvConfig) -> ssl.VerifyMode:
    """Give what is asked of clients.

    Java can ask for a certificate and believe whatever comes (authClient=false). Python's TLS cannot; for
    `optional` that is the same as not asking, for `require` it must not pass silently.
    """
    wanted = config.tls_server_need_client_auth
    if wanted == "none" or (wanted == "optional" and not config.tls_server_auth_client):
        return ssl.CERT_NONE
    if not config.tls_server_auth_client:
        raise TlsError(
            "tls.server.need.client.auth=require needs tls.server.authClient=true here.",
            why="a certificate that is required and not checked proves nothing, and Python's TLS cannot do that.",
            remedy="set tls.server.authClient=true and tls.server.trustCertPath, or need.client.auth=none",
        )
    return ssl.CERT_REQUIRED if wanted == "require" else ssl.CERT_OPTIONAL
