"""The normal client, as a process of its own.

    python -m benchmarks.hostile.client HOST:PORT TOPIC BROKERS

It asks for one route at a steady pace until standard input ends, whether or not earlier questions are answered: four of
five times over a connection that it keeps, else over a new one. Then it prints how it fared, as JSON.

Owns: the questions, and what counts as answered: rightly, within what clients of RocketMQ wait.
Must not know: what else goes on.
"""

import asyncio
import contextlib
import json
import sys
import time
from dataclasses import dataclass, field
from typing import Final

from tests.support import wire
from tests.support.bad_bytes import route_request

PACE_S: Final = 0.02
PATIENCE_S: Final = 3.0
NEW_CONNECTION_EVERY: Final = 5


@dataclass
class Fared:
    """What became of the questions; durations in seconds."""

    asked: int = 0
    unanswered: int = 0
    wrong: int = 0
    durations_s: list[float] = field(default_factory=list)


class Kept:
    """A connection that is made again when it was lost; answers find their questions by opaque."""

    def __init__(self, host: str, port: int, topic: str) -> None:
        self._place = host, port
        self._topic = topic
        self._opaque = 0
        self._waiting: dict[int, asyncio.Future[wire.Answer]] = {}
        self._writer: asyncio.StreamWriter | None = None
        self._reading: asyncio.Task[None] | None = None
        self._connecting = asyncio.Lock()

    async def ask(self) -> wire.Answer:
        """Ask once.

        Raises:
            OSError: No connection, or it was lost before the answer.
        """
        async with self._connecting:
            if self._reading is None or self._reading.done():
                reader, self._writer = await asyncio.open_connection(*self._place)
                self._reading = asyncio.create_task(self._read(reader, self._writer))
        assert self._writer is not None
        self._opaque += 1
        future: asyncio.Future[wire.Answer] = asyncio.get_running_loop().create_future()
        self._waiting[self._opaque] = future
        self._writer.write(route_request(self._topic, self._opaque))
        return await future

    async def _read(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        buffer = b""
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                answers, buffer = wire.split(buffer + data)
                for answer in answers:
                    future = self._waiting.pop(answer.opaque, None)
                    if future is not None and not future.done():
                        future.set_result(answer)
        writer.close()
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(ConnectionResetError("the server closed the connection"))
        self._waiting.clear()


async def _ask_anew(host: str, port: int, topic: str) -> wire.Answer:
    reader, writer = await asyncio.open_connection(host, port)
    try:
        writer.write(route_request(topic))
        length = int.from_bytes(await reader.readexactly(4), "big")
        return wire.decode(await reader.readexactly(length))
    finally:
        writer.close()


async def _fare(address: str, topic: str, brokers: int) -> Fared:
    host, _, port = address.rpartition(":")
    kept, fared = Kept(host, int(port), topic), Fared()

    async def question(number: int) -> None:
        begin = time.perf_counter()
        try:
            async with asyncio.timeout(PATIENCE_S):
                is_new = number % NEW_CONNECTION_EVERY == 0
                answer = await (_ask_anew(host, int(port), topic) if is_new else kept.ask())
        except (OSError, EOFError):
            fared.unanswered += 1
            return
        took_s = time.perf_counter() - begin
        if answer.code == 0 and len(answer.json()["brokerDatas"]) == brokers:
            fared.durations_s.append(took_s)
        else:
            fared.wrong += 1

    over = asyncio.create_task(asyncio.to_thread(sys.stdin.readline))
    begin_s = asyncio.get_running_loop().time()
    async with asyncio.TaskGroup() as group:
        while not over.done():
            group.create_task(question(fared.asked))
            fared.asked += 1
            due_s = begin_s + fared.asked * PACE_S
            await asyncio.sleep(max(0.0, due_s - asyncio.get_running_loop().time()))
    return fared


def main() -> None:
    """Ask as the arguments say, and print how it went."""
    address, topic, brokers = sys.argv[1:]
    fared = asyncio.run(_fare(address, topic, int(brokers)))
    json.dump(vars(fared), sys.stdout)


if __name__ == "__main__":
    main()
