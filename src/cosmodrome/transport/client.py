"""RemotingClient: connections that we open (Java: NettyRemotingClient).

Owns: one connection per address, made when it is needed; requests and oneways with time limits; idle close.
Must not know: what requests mean.
"""

import asyncio
import contextlib
import ipaddress
import logging
import socket
import ssl
from collections.abc import Callable
from typing import Final, cast

from cosmodrome.errors import ConnectError, ProtocolError, RequestTimeoutError
from cosmodrome.protocol.command import RemotingCommand, decode_command, encode_command
from cosmodrome.protocol.exchange import Exchange
from cosmodrome.protocol.frame import FrameDecoder
from cosmodrome.transport.daemon_thread import in_daemon_thread

logger = logging.getLogger(__name__)

DEFAULT_IDLE_LIMIT_S: Final = 120.0

_Waiter = asyncio.Future[RemotingCommand]


class RemotingClient:
    """Sends requests to any address, over one connection each. `close()` ends them all.

    The opaque of a command that is sent is replaced by one of the connection's own.
    """

    def __init__(
        self, idle_limit_s: float = DEFAULT_IDLE_LIMIT_S, tls: Callable[[], ssl.SSLContext] | None = None
    ) -> None:
        self._idle_limit_s = idle_limit_s
        self._tls = tls
        self._channels: dict[str, _Channel] = {}
        self._connecting: dict[str, asyncio.Task[_Channel]] = {}

    async def request(self, address: str, command: RemotingCommand, timeout_s: float) -> RemotingCommand:
        """Send a request and give its answer.

        Raises:
            ConnectError: No connection, or it broke before the answer came.
            RequestTimeoutError: No answer in time; an answer that comes later is dropped.
        """
        try:
            async with asyncio.timeout(timeout_s):
                channel = await self._channel(address)
                return await channel.request(command)
        except TimeoutError:
            raise RequestTimeoutError(f"{address} did not answer request {command.code} in {timeout_s:g} s") from None

    async def send_oneway(self, address: str, command: RemotingCommand, timeout_s: float) -> None:
        """Send a request that has no answer; returns when the bytes are handed to the system.

        Raises:
            ConnectError: No connection.
            RequestTimeoutError: No connection, or the peer did not take the bytes, in time.
        """
        try:
            async with asyncio.timeout(timeout_s):
                channel = await self._channel(address)
                await channel.send(command)
        except TimeoutError:
            raise RequestTimeoutError(f"{address} did not take request {command.code} in {timeout_s:g} s") from None

    async def close(self) -> None:
        """Close all connections; requests that wait end with ConnectError. May be called again."""
        for task in self._connecting.values():
            task.cancel()
        for channel in list(self._channels.values()):
            channel.close()
        self._channels.clear()
        await asyncio.sleep(0)

    async def _channel(self, address: str) -> "_Channel":
        channel = self._channels.get(address)
        if channel is not None:
            return channel
        task = self._connecting.get(address)
        if task is None:
            task = self._connecting[address] = asyncio.ensure_future(self._connect(address))
            task.add_done_callback(lambda _: self._connecting.pop(address, None))
        # Several requests may wait for one connection; one that gives up must not take it from the others.
        await asyncio.wait({task})
        if task.cancelled():
            raise ConnectError(f"the client was closed while it connected to {address}")
        return task.result()

    async def _connect(self, address: str) -> "_Channel":
        loop = asyncio.get_running_loop()
        try:
            host, port = await _numeric(address)
            _, channel = await loop.create_connection(
                lambda: _Channel(address, self._idle_limit_s, self._forget),
                host,
                port,
                ssl=None if self._tls is None else self._tls(),
                server_hostname=None if self._tls is None else "",
            )
        except (OSError, ValueError, OverflowError) as error:
            raise ConnectError(f"cannot connect to {address}: {error}") from error
        self._channels[address] = channel
        return channel

    def _forget(self, channel: "_Channel") -> None:
        if self._channels.get(channel.address) is channel:
            del self._channels[channel.address]


async def _numeric(address: str) -> tuple[str, int]:
    """Give `host:port` with the host as a number; a name is looked up in a thread that a stop need not wait for."""
    host, _, port = address.rpartition(":")
    host = host.strip("[]")
    with contextlib.suppress(ValueError):
        ipaddress.ip_address(host)
        return host, int(port)
    found = await in_daemon_thread(lookup, host, int(port))
    return found, int(port)


def lookup(host: str, port: int) -> str:
    """Give the first address of a name. May take as long as the resolver does."""
    return str(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][4][0])


class _Channel(asyncio.Protocol):
    """One connection to one address."""

    def __init__(self, address: str, idle_limit_s: float, on_lost: Callable[["_Channel"], None]) -> None:
        self.address = address
        self._idle_limit_s = idle_limit_s
        self._on_lost = on_lost
        self._decoder = FrameDecoder()
        self._exchange: Exchange[_Waiter] = Exchange()
        self._transport: asyncio.Transport | None = None
        self._idle_timer: asyncio.TimerHandle | None = None
        self._may_write = asyncio.Event()
        self._may_write.set()

    async def request(self, command: RemotingCommand) -> RemotingCommand:
        loop = asyncio.get_running_loop()
        waiter: _Waiter = loop.create_future()
        opaque = self._exchange.next_opaque()
        self._exchange.expect(opaque, waiter)
        try:
            await self._write(command.replaced(opaque=opaque))
            return await waiter
        finally:
            self._exchange.settle(opaque)

    async def send(self, command: RemotingCommand) -> None:
        await self._write(command.replaced(opaque=self._exchange.next_opaque()))

    async def _write(self, command: RemotingCommand) -> None:
        await self._may_write.wait()
        if self._transport is None or self._transport.is_closing():
            raise ConnectError(f"the connection to {self.address} broke")
        self._transport.write(encode_command(command))
        self._restart_idle_timer()

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is one in all but its base class
        self._restart_idle_timer()

    def data_received(self, data: bytes) -> None:
        self._restart_idle_timer()
        self._decoder.feed(data)
        try:
            while (frame := self._decoder.next_frame()) is not None:
                self._take(decode_command(frame))
        except ProtocolError as error:
            logger.warning("closing connection to %s: %s", self.address, error)
            if self._transport is not None:
                self._transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 -- asyncio's signature
        self._may_write.set()
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        for waiter in self._exchange.abandon():
            if not waiter.done():
                waiter.set_exception(ConnectError(f"the connection to {self.address} broke"))
        self._on_lost(self)

    def pause_writing(self) -> None:
        self._may_write.clear()

    def resume_writing(self) -> None:
        self._may_write.set()

    def _take(self, command: RemotingCommand) -> None:
        if not command.is_response:
            logger.debug("request %d of %s was ignored: this side only asks", command.code, self.address)
            return
        waiter = self._exchange.settle(command.opaque)
        if waiter is not None and not waiter.done():
            waiter.set_result(command)

    def _restart_idle_timer(self) -> None:
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        self._idle_timer = asyncio.get_running_loop().call_later(self._idle_limit_s, self.close)
