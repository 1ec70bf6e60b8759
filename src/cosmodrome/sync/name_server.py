"""A NameServer for plain threads.

Owns: the names and types of its calls.
Must not know: how a NameServer works (namesrv).
"""

from collections.abc import Iterable
from typing import Any, Self

from cosmodrome.metrics.family import Family
from cosmodrome.namesrv import in_process
from cosmodrome.protocol.bodies.route import TopicRouteData
from cosmodrome.sync.blocking import Facade


class _Server:
    """An in-process NameServer under the names of a client."""

    def __init__(self, server: in_process.NameServer) -> None:
        self.server = server

    async def start(self) -> None:
        """Start it."""
        await self.server.start()

    async def close(self) -> None:
        """Stop it."""
        await self.server.stop()


class NameServer:
    """A NameServer in this process, in the shared loop. `with` starts and stops it; or call `start` and `stop`.

    Args:
        port: Where it listens; 0 takes a free one.
        host: On which address; others than loopback let other hosts in.
        settings: Keys of the configuration in snake case, see the asyncio NameServer.

    Raises:
        ConfigError: There is no such key, or a value cannot be used.
    """

    def __init__(self, *, port: int = 9876, host: str = "127.0.0.1", **settings: Any) -> None:
        self._server = in_process.NameServer(port=port, host=host, **settings)
        self._facade = Facade("NameServer", lambda: _Server(self._server), reopens=False)

    @property
    def address(self) -> str:
        """Where it listens, `host:port` as bound; empty when it is not started."""
        return self._server.address

    def start(self) -> None:
        """Start it. Raises as the asyncio NameServer's `start`."""
        self._facade.start()

    def stop(self) -> None:
        """Stop it; a second call does nothing."""
        self._facade.close()

    def wait_for_route(self, topic: str, timeout: float) -> TopicRouteData:
        """Give the route of a topic as soon as a broker serves it.

        Raises:
            NoRouteError: None does in `timeout` seconds.
        """
        return self._facade.call(lambda each: each.server.wait_for_route(topic, timeout))

    def measured(self) -> Iterable[Family]:
        """Give every metric as it is now, none when the server is not started; see cosmodrome.MetricsCollector."""
        return self._facade.call(lambda each: each.server.measured())

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
