"""What a field case is given.

Owns: names of a test's own; how a test asks for a server.
Must not know: who shares a server with whom (tests/field/conftest.py).
"""

import zlib
from typing import Any, Protocol

from tests.support.server_process import ServerProcess
from tests.support.wire import Broker


class Names:
    """Names that no other test uses."""

    def __init__(self, prefix: str) -> None:
        """Put `prefix` before all names."""
        self._prefix = prefix

    def __call__(self, text: str) -> str:
        """Return this test's own version of a name."""
        return f"{self._prefix}-{text}"

    def broker(
        self, name: str = "broker-a", broker_id: int = 0, addr: str | None = None, *, cluster: str = "C", **more: Any
    ) -> Broker:
        """Return a broker whose name and cluster are this test's own; each name and id has its own address."""
        host = f"10.{zlib.crc32(name.encode()) % 250}.{zlib.crc32(cluster.encode()) % 250}.{broker_id + 1}"
        more = {"ha_addr": f"{host}:10912"} | more
        return Broker(name=self(name), id=broker_id, addr=addr or f"{host}:10911", cluster=self(cluster), **more)


class StartServer(Protocol):
    """Starts a server for one test, or gives a shared one."""

    def __call__(self, *flags: str, **config: object) -> ServerProcess:
        """Return a running server with these flags and configuration keys."""
