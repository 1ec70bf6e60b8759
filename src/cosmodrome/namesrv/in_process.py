"""A NameServer inside a Python program: for tests, and for programs that bring their own.

Owns: settings given as keywords; files in a temporary folder unless one is named; waiting for a route.
Must not know: how a NameServer works (server.py).
"""

import asyncio
import dataclasses
import tempfile
from collections.abc import Iterable
from typing import Any, Final, Self

from cosmodrome.errors import ConfigError, NoRouteError
from cosmodrome.metrics.family import Family
from cosmodrome.namesrv.config import NamesrvConfig
from cosmodrome.namesrv.events import Event
from cosmodrome.namesrv.server import NameServer as Server
from cosmodrome.protocol.bodies.route import TopicRouteData

_LOOPBACK: Final = "127.0.0.1"


class NameServer:
    """A NameServer in this event loop. `async with` starts and stops it; or call `start` and `stop`.

    Args:
        port: Where it listens; 0 takes a free one.
        host: On which address; others than loopback let other hosts in.
        settings: Keys of the configuration, in snake case: `scan_not_active_broker_interval=1000`. Without `data_dir`
            its files are in a temporary folder that goes with it.

    Raises:
        ConfigError: There is no such key, or a value cannot be used.
    """

    def __init__(self, *, port: int = 9876, host: str = _LOOPBACK, **settings: Any) -> None:
        known = {each.name for each in dataclasses.fields(NamesrvConfig)}
        unknown = sorted(set(settings) - known)
        if unknown:
            raise ConfigError(f"unknown setting {', '.join(unknown)}.", keys=unknown)
        self._settings = {"listen_port": port, "bind_address": host, **settings}
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._server: Server | None = None
        self._waiting: dict[str, list[asyncio.Future[TopicRouteData]]] = {}
        if "data_dir" in settings:
            self._config(str(settings["data_dir"]))

    @property
    def address(self) -> str:
        """Where it listens, `host:port` as bound; empty when it is not started."""
        return "" if self._server is None else self._server.address

    async def start(self) -> None:
        """Start it.

        Raises:
            BindError: The port could not be had.
            StorageError: A file cannot be used.
            RuntimeError: It is started already.
        """
        if self._server is not None:
            raise RuntimeError("this NameServer is started already")
        folder = self._settings.get("data_dir")
        if folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="cosmodrome-namesrv-")
            folder = self._folder.name
        server = Server(self._config(str(folder)), publish=self._told)
        try:
            await server.start()
        except BaseException:
            self._drop_folder()
            raise
        self._server = server

    async def stop(self) -> None:
        """Stop it; a second call does nothing."""
        server, self._server = self._server, None
        if server is not None:
            try:
                await server.stop()
            finally:
                self._drop_folder()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def measured(self) -> Iterable[Family]:
        """Give every metric as it is now, none when the server is not started; see cosmodrome.MetricsCollector."""
        return [] if self._server is None else list(self._server.families())

    async def wait_for_route(self, topic: str, timeout: float) -> TopicRouteData:  # noqa: ASYNC109 -- as users write it
        """Give the route of a topic as soon as a broker serves it.

        Raises:
            NoRouteError: None does in `timeout` seconds.
            RuntimeError: The server is not started.
        """
        if self._server is None:
            raise RuntimeError("this NameServer is not started")
        route = self._server.topic_route(topic)
        if route is not None:
            return route
        waiter: asyncio.Future[TopicRouteData] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(topic, []).append(waiter)
        try:
            async with asyncio.timeout(timeout):
                return await waiter
        except TimeoutError:
            raise NoRouteError(topic, f"no broker registered it in {timeout:g} s") from None
        finally:
            waiters = self._waiting[topic]
            waiters.remove(waiter)
            if not waiters:
                del self._waiting[topic]

    def _told(self, _: Event) -> None:
        """Look for the routes that are waited for: whatever changes one is an event."""
        if not self._waiting or self._server is None:
            return
        for topic, waiters in self._waiting.items():
            route = self._server.topic_route(topic)
            for waiter in waiters:
                if route is not None and not waiter.done():
                    waiter.set_result(route)

    def _config(self, folder: str) -> NamesrvConfig:
        return NamesrvConfig(**{**self._settings, "data_dir": folder})

    def _drop_folder(self) -> None:
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None
