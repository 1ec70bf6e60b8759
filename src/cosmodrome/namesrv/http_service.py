"""The HTTP listener of a NameServer: where it is, and what becomes of a server that cannot have it.

Owns: the default address, and that a listener nobody asked for never keeps a server down.
Must not know: what is answered there (http/); how a listener works (cosmodrome/http/plane.py).
"""

from typing import Final

from cosmodrome.errors import BindError, ConfigError
from cosmodrome.http.application import Application
from cosmodrome.http.plane import HttpPlane, missing_libraries, plane_at
from cosmodrome.namesrv.config import NamesrvConfig
from cosmodrome.namesrv.events import HttpListening, HttpUnavailable, Publish
from cosmodrome.namesrv.http_port import PORT_DISTANCE
from cosmodrome.namesrv.view import View

_HOST: Final = "127.0.0.1"


class HttpService:
    """Binds, starts and stops the listener that a configuration asks for, or the default one where that is offered.

    Attributes:
        missing: Why the default address could not be had; empty when it was, or none was wanted.
    """

    def __init__(self, config: NamesrvConfig, publish: Publish, *, is_offered: bool = False) -> None:
        self.missing = ""
        self._publish = publish
        self._is_asked_for = bool(config.http)
        self._address = config.http or (default_address(config.listen_port) if is_offered else "")
        self._plane: HttpPlane | None = None

    @property
    def address(self) -> str:
        """Where HTTP is answered, `host:port` as bound; empty when it is not."""
        return "" if self._plane is None else self._plane.address

    def url(self) -> str:
        """Give the URL for people; empty when there is none."""
        return f"http://{self.address}" if self.address else ""

    def bind(self) -> None:
        """Take the address, if there is to be one; one that was not asked for is done without when it cannot be had.

        Raises:
            BindError: It was asked for, and could not be had.
            ConfigError: It was asked for, and its libraries are not installed.
        """
        plane = plane_at(self._address)
        if plane is None:
            return
        try:
            _check_libraries()
            plane.bind()
        except (BindError, ConfigError) as error:
            if self._is_asked_for:
                raise
            self.missing = error.what
            self._publish(HttpUnavailable(address=self._address, reason=error.what))
        else:
            self._plane = plane

    def start(self, view: View) -> None:
        """Answer for a server; without a listener nothing happens."""
        if self._plane is not None:
            self._plane.start(lambda: _application(view), is_awaited=self._is_asked_for)
            self._publish(HttpListening(address=self.address))

    async def stop(self) -> None:
        """Stop answering. May be called again."""
        if self._plane is not None:
            await self._plane.stop()


def default_address(listen_port: int) -> str:
    """Give where HTTP is when nobody says where: on loopback, and at a free port when the remoting port is free, too."""
    return f"{_HOST}:{listen_port + PORT_DISTANCE if listen_port else 0}"


def _check_libraries() -> None:
    missing = missing_libraries()
    if missing:
        raise ConfigError(
            f"HTTP needs what is not installed here: {', '.join(missing)}.",
            keys=("http",),
            remedy=f"pip install {' '.join(each.replace('_', '-') for each in missing)}, or --http off",
        )


def _application(view: View) -> Application:
    from cosmodrome.namesrv.http.app import application  # noqa: PLC0415 -- slow to load, and not for everybody

    return application(view)
