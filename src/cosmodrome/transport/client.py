"""RemotingClient: connections that we open (Java: NettyRemotingClient).

Owns: one connection per address, made when it is needed; which of a name's addresses takes it; closing them all.
Must not know: what requests mean; how one connection gathers and matches (channel.py).
"""

import asyncio
import contextlib
import ipaddress
import socket
import ssl
from collections.abc import Callable
from typing import Final

from cosmodrome.errors import ConnectError, RequestTimeoutError
from cosmodrome.protocol.command import RemotingCommand
from cosmodrome.transport.channel import Channel, Links
from cosmodrome.transport.daemon_thread import in_daemon_thread

DEFAULT_IDLE_LIMIT_S: Final = 120.0
CONNECT_LIMIT_S: Final = 10.0
"""How long one attempt may take: the kernel's own repetitions are soon a minute apart, and a peer may be back by then."""
CLOSE_LIMIT_S: Final = 0.5
"""How long a close waits for peers that do not take the last bytes; then the connections are reset."""


class RemotingClient:
    """Sends requests to any address, over one connection each. `close()` ends them all.

    The opaque of a command that is sent is replaced by one of the connection's own.
    """

    def __init__(
        self,
        idle_limit_s: float = DEFAULT_IDLE_LIMIT_S,
        tls: Callable[[], ssl.SSLContext] | None = None,
        links: Links | None = None,
    ) -> None:
        self._idle_limit_s = idle_limit_s
        self._tls = tls
        self._links = links or Links()
        self._channels: dict[str, Channel] = {}
        self._connecting: dict[str, asyncio.Task[Channel]] = {}
        self._closing: set[Channel] = set()
        self._is_closed = False

    async def request(self, address: str, command: RemotingCommand, timeout_s: float) -> RemotingCommand:
        """Send a request and give its answer.

        Raises:
            ConnectError: No connection, or it broke before the answer came.
            RequestTimeoutError: No answer in time; an answer that comes later is dropped.
        """
        loop = asyncio.get_running_loop()
        deadline_s = loop.time() + timeout_s
        try:
            channel = self.connected(address) or await self.channel(address, timeout_s)
            return await channel.request(command, deadline_s - loop.time())
        except RequestTimeoutError:
            raise RequestTimeoutError(f"{address} did not answer request {command.code} in {timeout_s:g} s") from None

    async def send_oneway(self, address: str, command: RemotingCommand, timeout_s: float) -> None:
        """Send a request that has no answer; returns when the bytes are handed to the connection.

        Raises:
            ConnectError: No connection.
            RequestTimeoutError: No connection, or the peer did not take the bytes, in time.
        """
        try:
            channel = self.connected(address) or await self.channel(address, timeout_s)
        except RequestTimeoutError:
            raise RequestTimeoutError(f"{address} did not take request {command.code} in {timeout_s:g} s") from None
        channel.tell(command)

    def connected(self, address: str) -> Channel | None:
        """Give the connection to an address, if there is one that takes bytes now."""
        channel = self._channels.get(address)
        return channel if channel is not None and channel.is_writable else None

    async def channel(self, address: str, timeout_s: float) -> Channel:
        """Give the connection to an address when there is one that takes bytes.

        Raises:
            ConnectError: It cannot be made, or broke meanwhile.
            RequestTimeoutError: Not in time.
        """
        try:
            async with asyncio.timeout(timeout_s):
                channel = self._channels.get(address) or await self._connected(address)
                await channel.wait_writable()
                return channel
        except TimeoutError:
            raise RequestTimeoutError(f"no connection to {address} that takes bytes in {timeout_s:g} s") from None

    def addresses(self) -> tuple[str, ...]:
        """Give the addresses to which there is a connection."""
        return tuple(self._channels)

    def drop(self, address: str) -> None:
        """Close the connection to an address, if there is one; what waits for its answers ends with ConnectError."""
        channel = self._channels.pop(address, None)
        if channel is not None:
            self._closing.add(channel)
            channel.close()

    def abandon(self, sender: object) -> None:
        """End what waits for answers to this sender's sends, with ConnectError."""
        for channel in (*self._channels.values(), *self._closing):
            channel.abandon(sender)

    async def close(self) -> None:
        """Close all connections, for good: requests that wait, and later ones, end with ConnectError.

        May be called again.
        """
        self._is_closed = True
        connecting = tuple(self._connecting.values())
        for task in connecting:
            task.cancel()
        for address in tuple(self._channels):
            self.drop(address)
        await asyncio.gather(*connecting, return_exceptions=True)
        for address in tuple(self._channels):  # one that was made just before its task was cancelled
            self.drop(address)
        closing = tuple(self._closing)
        if closing:
            await asyncio.wait([channel.lost for channel in closing], timeout=CLOSE_LIMIT_S)
            for channel in closing:
                channel.abort()
            await asyncio.wait([channel.lost for channel in closing])
        await asyncio.sleep(0)

    async def _connected(self, address: str) -> Channel:
        if self._is_closed:
            raise ConnectError(f"the client was closed; it does not connect to {address}")
        task = self._connecting.get(address)
        if task is None:
            task = self._connecting[address] = asyncio.ensure_future(self._connect(address))
            task.add_done_callback(lambda done: self._has_connected(address, done))
        # Several requests may wait for one connection; one that gives up must not take it from the others.
        await asyncio.wait({task})
        if task.cancelled():
            raise ConnectError(f"the client was closed while it connected to {address}")
        return task.result()

    def _has_connected(self, address: str, done: asyncio.Task[Channel]) -> None:
        self._connecting.pop(address, None)
        if not done.cancelled():
            done.exception()  # those who waited may all have given up: then nobody else asks for it

    async def _connect(self, address: str) -> Channel:
        try:
            hosts, port = await _numeric(address)
            channel = await self._connect_to_one(address, hosts, port)
        except (OSError, ValueError, OverflowError) as error:
            reason = str(error) or f"no answer in {CONNECT_LIMIT_S:g} s"
            raise ConnectError(f"cannot connect to {address}: {reason}") from error
        self._channels[address] = channel
        if self._links.on_opened is not None:
            self._links.on_opened(channel)
        return channel

    async def _connect_to_one(self, address: str, hosts: tuple[str, ...], port: int) -> Channel:
        loop = asyncio.get_running_loop()
        for number, host in enumerate(hosts, start=1):
            try:
                async with asyncio.timeout(CONNECT_LIMIT_S):
                    transport, channel = await loop.create_connection(
                        lambda: Channel(address, self._idle_limit_s, self._links, self._forget),
                        host,
                        port,
                        ssl=None if self._tls is None else self._tls(),
                        server_hostname=None if self._tls is None else "",
                    )
            except OSError:
                if number == len(hosts):
                    raise
            else:
                if transport.get_extra_info("sockname") != transport.get_extra_info("peername"):
                    return channel
                # TCP lets a port of this host connect to itself when nobody listens there, and would keep it.
                channel.abort()
                raise OSError("nobody listens there")
        raise OSError(f"{address} has no address")

    def _forget(self, channel: Channel) -> None:
        self._closing.discard(channel)
        if self._channels.get(channel.address) is channel:
            del self._channels[channel.address]


async def _numeric(address: str) -> tuple[tuple[str, ...], int]:
    """Give `host:port` with the host as numbers; a name is looked up in a thread that a stop need not wait for."""
    host, _, port = address.rpartition(":")
    host = host.strip("[]")
    with contextlib.suppress(ValueError):
        ipaddress.ip_address(host)
        return (host,), int(port)
    return await in_daemon_thread(lookup, host, int(port)), int(port)


def lookup(host: str, port: int) -> tuple[str, ...]:
    """Give the addresses of a name, in the resolver's order. May take as long as the resolver does."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(entry[4][0]) for entry in found))
