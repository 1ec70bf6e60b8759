"""The ports that a broker takes beside its own, for slaves.

Owns: which ports they are, as Java numbers them.
Must not know: what is served on them.
"""

import socket
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from cosmodrome.broker.config import NO_REPLICATION, BrokerConfig
from cosmodrome.errors import BindError
from cosmodrome.transport.listening import bind_error, listening_socket
from cosmodrome.transport.server import RemotingServer

FAST_BELOW: Final = 2
"""The fast port is so far below the main one: slaves ask there for topics, clients with vipChannelEnabled for all but messages."""
HA_ABOVE: Final = 1
FAST_CONNECTIONS: Final = 2**40
"""Connections to the fast port have numbers above it, so that they are not mixed up with those to the main one."""


@dataclass(frozen=True, slots=True)
class SlavePorts:
    """Ports that are taken: one over which slaves get the log, and a server that they ask for tables."""

    replication: socket.socket
    fast: RemotingServer

    async def close(self) -> None:
        """Give both up, before or after they are used."""
        self.replication.close()
        await self.fast.close()


def bind_slave_ports(
    config: BrokerConfig, main_port: int, make_server: Callable[[int, int], RemotingServer]
) -> SlavePorts | None:
    """Take the ports of a broker that listens on `main_port`; None when it wants none beside it.

    `make_server` gets the port of the fast one, and the number above which its connections are numbered.

    Raises:
        BindError: One of them cannot be had.
    """
    if config.ha_listen_port == NO_REPLICATION:
        return None
    host = config.bind_address
    fast = make_server(main_port - FAST_BELOW, FAST_CONNECTIONS)
    try:
        bound = fast.bind()
    except BindError as error:
        raise _not_had(error) from error
    port = config.ha_listen_port or (main_port + HA_ABOVE if config.listen_port else 0)
    try:
        return SlavePorts(listening_socket(host, port), fast)
    except OSError as error:
        bound.close()
        raise _not_had(bind_error(host, port, error)) from error


def _not_had(error: BindError) -> BindError:
    """Say what the port is for."""
    return BindError(
        error.what,
        why="slaves, and clients with vipChannelEnabled, connect to the ports around the one of the broker: listenPort - 2, and haListenPort.",
        remedy="choose other ports, or set haListenPort=-1 if there are no slaves.",
    )
