"""Peers with bugs or bad intentions: each does its one thing over one connection, in an event loop of many.

Owns: what a bad peer does with its connection, and how it ended.
Must not know: the package under test; how many of them there are, and what else goes on.
"""

import asyncio
import contextlib
import random
import socket
import struct
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from tests.support import bad_bytes

CONNECT_S: Final = 5.0
_SMALL_WINDOW: Final = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The server, and a topic that it has a route of. `source` is the own address to come from."""

    host: str
    port: int
    topic: str
    source: str | None = None


class Line:
    """One connection, without a buffer of its own: what is not read waits in the kernel, or at the server."""

    def __init__(self, sock: socket.socket) -> None:
        self._loop = asyncio.get_running_loop()
        self.sock = sock

    async def send(self, data: bytes, within_s: float) -> bool:
        """Send; give whether all of it went out in time."""
        return await _in_time(self._loop.sock_sendall(self.sock, data), within_s)

    async def read(self, size: int = 65536, within_s: float = 1.0) -> bytes | None:
        """Give what comes, b"" for a close, None for silence."""
        try:
            async with asyncio.timeout(within_s):
                return await self._loop.sock_recv(self.sock, size)
        except TimeoutError:
            return None
        except ConnectionError:
            return b""

    async def end(self, within_s: float) -> str:
        """Read whatever comes for so long, and tell what it was."""
        deadline = self._loop.time() + within_s
        has_answered = False
        while (left := deadline - self._loop.time()) > 0:
            data = await self.read(within_s=left)
            if data == b"":
                return "answered and closed" if has_answered else "closed"
            has_answered = has_answered or data is not None
        return "answered" if has_answered else "silence"

    def abort(self) -> None:
        """End with a reset instead of in good order."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


@asynccontextmanager
async def connected(target: Target, *, receive_buffer: int = 0) -> AsyncIterator[Line]:
    """Connect.

    Raises:
        OSError: It was refused, or neither accepted nor refused.
    """
    with socket.socket() as sock:
        sock.setblocking(False)
        if receive_buffer:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        if target.source is not None:
            sock.bind((target.source, 0))
        try:
            async with asyncio.timeout(CONNECT_S):
                await asyncio.get_running_loop().sock_connect(sock, (target.host, target.port))
        except TimeoutError:
            raise ConnectionAbortedError("neither accepted nor refused") from None
        yield Line(sock)


async def random_frames(target: Target, rng: random.Random, patience_s: float = 0.3) -> str:
    """Send noise, listen for a moment, and go without a word."""
    async with connected(target) as line:
        for _ in range(rng.randrange(1, 6)):
            await line.send(bad_bytes.random_bytes(rng), patience_s)
        return await line.end(patience_s)


def says(messages: Sequence[bytes], patience_s: float = 0.5) -> "BadPeer":
    """Make a peer that says one of these and listens for a moment."""

    async def peer(target: Target, rng: random.Random) -> str:
        async with connected(target) as line:
            await line.send(rng.choice(messages), CONNECT_S)
            return await line.end(patience_s)

    return peer


def half_open(hold_s: float) -> "BadPeer":
    """Make a peer that sends the beginning of a large frame, and then nothing for so long."""

    async def peer(target: Target, rng: random.Random) -> str:
        async with connected(target) as line:
            await line.send(bad_bytes.half_frame()[: rng.choice((1, 3, 6, 500))], CONNECT_S)
            outcome = await line.end(hold_s)
            if rng.random() < 0.5:
                line.abort()
            return outcome

    return peer


def trickler(hold_s: float, pace_s: float) -> "BadPeer":
    """Make a peer that sends a large frame byte by byte."""

    async def peer(target: Target, _: random.Random) -> str:
        frame = bad_bytes.half_frame()
        async with connected(target) as line:
            for at in range(int(hold_s / pace_s)):
                if not await line.send(frame[at : at + 1], pace_s):
                    return "closed"
                if await line.read(within_s=pace_s) == b"":
                    return "closed"
            return "held"

    return peer


def slow_reader(hold_s: float, requests: int, bytes_per_s: int) -> "BadPeer":
    """Make a peer that pipelines route requests and reads the answers at a snail's pace."""

    async def peer(target: Target, _: random.Random) -> str:
        loop = asyncio.get_running_loop()
        async with connected(target, receive_buffer=_SMALL_WINDOW) as line:
            sending = asyncio.ensure_future(line.send(bad_bytes.route_request(target.topic) * requests, hold_s))
            try:
                deadline = loop.time() + hold_s
                while loop.time() < deadline:
                    if await line.read(max(1, bytes_per_s // 10)) == b"":
                        return "closed"
                    await asyncio.sleep(0.1)
            finally:
                sending.cancel()
            return "held"

    return peer


def never_reader(hold_s: float, requests: int) -> "BadPeer":
    """Make a peer that pipelines route requests and reads nothing at all."""

    async def peer(target: Target, rng: random.Random) -> str:
        async with connected(target, receive_buffer=_SMALL_WINDOW) as line:
            is_sent = await line.send(bad_bytes.route_request(target.topic) * requests, hold_s / 2)
            await asyncio.sleep(hold_s / 2)
            if rng.random() < 0.5:
                line.abort()
            return "all requests taken" if is_sent else "requests not taken"

    return peer


def idle(hold_s: float) -> "BadPeer":
    """Make a peer that connects and is silent."""

    async def peer(target: Target, _: random.Random) -> str:
        async with connected(target) as line:
            return "closed" if await line.read(within_s=hold_s) == b"" else "held"

    return peer


def bomber(bomb: bytes, patience_s: float = 20.0) -> "BadPeer":
    """Make a peer that sends a bomb and waits for what becomes of it."""

    async def peer(target: Target, _: random.Random) -> str:
        async with connected(target) as line:
            if not await line.send(bomb, patience_s):
                return "bomb not taken"
            data = await line.read(within_s=patience_s)
            return "closed" if data == b"" else "silence" if data is None else "answered"

    return peer


def lingerer(frame: bytes, hold_s: float) -> "BadPeer":
    """Make a peer that sends one whole frame, takes the answer, and keeps the connection."""

    async def peer(target: Target, _: random.Random) -> str:
        async with connected(target) as line:
            await line.send(frame, hold_s)
            if not await line.read(within_s=hold_s):
                return "closed"
            return "answered, then closed" if await line.read(within_s=hold_s) == b"" else "answered, then held"

    return peer


async def passer_by(target: Target, rng: random.Random) -> str:
    """Open a burst of connections and close them at once, in good order or not."""
    async with contextlib.AsyncExitStack() as stack:
        for _ in range(rng.randrange(1, 40)):
            line = await stack.enter_async_context(connected(target))
            if rng.random() < 0.5:
                line.abort()
    return "passed"


BadPeer = Callable[[Target, random.Random], Awaitable[str]]


async def crowd(
    peer: BadPeer,
    target: Target,
    rng: random.Random,
    *,
    size: int,
    until_s: float,
    pause_s: float = 0.0,
    ramp_s: float = 0.0,
) -> Counter[str]:
    """Keep `size` such peers at it until the loop's clock says `until_s`; count how each of their lives ended.

    Args:
        peer: What one of them does with one connection.
        target: Whom they do it to.
        rng: Their chance.
        size: How many there are at a time.
        until_s: No new life begins after that; those that are under way end by themselves, or are cut off.
        pause_s: What each waits between two lives, to bound the load.
        ramp_s: The time in which they come, evenly spread.
    """
    loop = asyncio.get_running_loop()
    outcomes: Counter[str] = Counter()

    async def member(number: int, chance: random.Random) -> None:
        await asyncio.sleep(ramp_s * number / size)
        while loop.time() < until_s:
            try:
                async with asyncio.timeout_at(until_s + CONNECT_S):
                    outcomes[await peer(target, chance)] += 1
            except TimeoutError:
                outcomes["there until the end"] += 1
            except OSError as error:
                outcomes[f"cut off: {type(error).__name__}"] += 1
            await asyncio.sleep(min(pause_s * chance.uniform(0.5, 1.5), max(0.0, until_s - loop.time())))

    async with asyncio.TaskGroup() as group:
        for number in range(size):
            group.create_task(member(number, random.Random(rng.random())))
    return outcomes


async def _in_time(sending: Awaitable[None], within_s: float) -> bool:
    try:
        async with asyncio.timeout(within_s):
            await sending
    except (TimeoutError, ConnectionError):
        return False
    return True
