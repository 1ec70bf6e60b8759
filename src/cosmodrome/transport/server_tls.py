"""TLS of a server as its settings want it.

Owns: what Java's keys mean together; the throw-away certificate of the test mode.
Must not know: where the settings come from; how a context is used.
"""

import logging
import ssl
from collections.abc import Callable
from typing import Protocol

from cosmodrome.errors import TlsError
from cosmodrome.transport.entrance import EntrancePolicy, TlsMode
from cosmodrome.transport.throw_away import throw_away_server_context
from cosmodrome.transport.tls import TlsFiles, WatchedContext, client_context, server_context

logger = logging.getLogger(__name__)


class ServerTlsSettings(Protocol):
    """The settings of a server that accepts connections. A path that is None or empty is none."""

    @property
    def tls_server_mode(self) -> str: ...  # noqa: D102 -- as Java's tls.server.mode
    @property
    def tls_test_mode_enable(self) -> bool: ...  # noqa: D102 -- as Java's
    @property
    def tls_server_need_client_auth(self) -> str: ...  # noqa: D102 -- as Java's
    @property
    def tls_server_cert_path(self) -> str | None: ...  # noqa: D102 -- as Java's
    @property
    def tls_server_key_path(self) -> str | None: ...  # noqa: D102 -- as Java's
    @property
    def tls_server_key_password(self) -> str | None: ...  # noqa: D102 -- as Java's
    @property
    def tls_server_auth_client(self) -> bool: ...  # noqa: D102 -- as Java's
    @property
    def tls_server_trust_cert_path(self) -> str | None: ...  # noqa: D102 -- as Java's


class ClientTlsSettings(Protocol):
    """The settings of connections that are opened."""

    @property
    def tls_enable(self) -> bool: ...  # noqa: D102 -- as Java's
    @property
    def tls_test_mode_enable(self) -> bool: ...  # noqa: D102 -- as Java's
    @property
    def tls_client_cert_path(self) -> str | None: ...  # noqa: D102 -- as Java's
    @property
    def tls_client_key_path(self) -> str | None: ...  # noqa: D102 -- as Java's
    @property
    def tls_client_key_password(self) -> str | None: ...  # noqa: D102 -- as Java's
    @property
    def tls_client_auth_server(self) -> bool: ...  # noqa: D102 -- as Java's
    @property
    def tls_client_trust_cert_path(self) -> str | None: ...  # noqa: D102 -- as Java's


class ServerTls:
    """The server's side of TLS: who may come in encrypted, with what certificate, and its renewal."""

    def __init__(self, settings: ServerTlsSettings) -> None:
        """Load everything.

        Raises:
            TlsError: The mode needs files that are missing or cannot be used.
        """
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


def client_tls_of(settings: ClientTlsSettings) -> Callable[[], ssl.SSLContext] | None:
    """Give what makes the context of connections that we open; None when they are plain.

    Raises:
        TlsError: The files cannot be used.
    """
    if not settings.tls_enable:
        return None
    is_checked = settings.tls_client_auth_server and not settings.tls_test_mode_enable
    files = TlsFiles(
        cert_path=settings.tls_client_cert_path or None,
        key_path=settings.tls_client_key_path or None,
        key_password=settings.tls_client_key_password or None,
        trust_path=settings.tls_client_trust_cert_path or None,
        verify=ssl.CERT_REQUIRED if is_checked else ssl.CERT_NONE,
    )
    context = client_context(files)
    return lambda: context


def _server_files(settings: ServerTlsSettings) -> TlsFiles:
    if not settings.tls_server_cert_path:
        raise TlsError(
            "TLS is on without a certificate.",
            why="tls.test.mode.enable is false and tls.server.certPath is not set.",
            remedy="set tls.server.certPath and tls.server.keyPath, or switch TLS off: tls.server.mode=disabled",
        )
    return TlsFiles(
        cert_path=settings.tls_server_cert_path,
        key_path=settings.tls_server_key_path or None,
        key_password=settings.tls_server_key_password or None,
        trust_path=settings.tls_server_trust_cert_path or None,
        verify=_verify_mode(settings),
    )


def _verify_mode(settings: ServerTlsSettings) -> ssl.VerifyMode:
    """Give what is asked of clients.

    Java can ask for a certificate and believe whatever comes (authClient=false). Python's TLS cannot; for
    `optional` that is the same as not asking, for `require` it must not pass silently.
    """
    wanted = settings.tls_server_need_client_auth
    if wanted == "none" or (wanted == "optional" and not settings.tls_server_auth_client):
        return ssl.CERT_NONE
    if not settings.tls_server_auth_client:
        raise TlsError(
            "tls.server.need.client.auth=require needs tls.server.authClient=true here.",
            why="a certificate that is required and not checked proves nothing, and Python's TLS cannot do that.",
            remedy="set tls.server.authClient=true and tls.server.trustCertPath, or need.client.auth=none",
        )
    return ssl.CERT_REQUIRED if wanted == "require" else ssl.CERT_OPTIONAL
