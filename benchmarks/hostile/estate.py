"""The good brokers: they register, repeat themselves, and come back when they lose their connection.

Owns: what the estate consists of; whether its registrations are accepted, and how often it had to come back.
Must not know: the attack; the clients.
"""

import asyncio
import contextlib
from typing import Final

from tests.support import wire
from tests.support.wire import Broker, register_body, registration_ext, topic_config

BROKERS: Final = 32
TOPIC: Final = "wanted"
TOPICS_EACH: Final = 50
START_S: Final = 60.0
REPEAT_S: Final = 5.0
ANSWER_S: Final = 24.0
"""How long a broker waits for the answer to a registration."""


class Estate:
    """Brokers as tasks of the running loop, from `start` to `stop`; all of them serve the topic `wanted`."""

    def __init__(self, address: str) -> None:
        self.accepted = 0
        self.failed = 0
        self._host, _, self._port = address.rpartition(":")
        self._tasks: list[asyncio.Task[None]] = []
        self._is_complete = asyncio.Event()

    async def start(self) -> None:
        """Begin; every broker has registered when this returns."""
        self._tasks = [asyncio.create_task(self._broker(number)) for number in range(BROKERS)]
        async with asyncio.timeout(START_S):
            await self._is_complete.wait()

    async def stop(self) -> None:
        """Let all of them die."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _broker(self, number: int) -> None:
        while True:
            try:
                await self._life(number)
            except (OSError, TimeoutError, asyncio.IncompleteReadError):
                self.failed += 1
                await asyncio.sleep(1)

    def _take(self, code: int) -> None:
        self.accepted += code == 0
        self.failed += code != 0
        if self.accepted >= BROKERS:
            self._is_complete.set()

    async def _life(self, number: int) -> None:
        request = _registration(number)
        reader, writer = await asyncio.open_connection(self._host, int(self._port))
        try:
            while True:
                writer.write(request)
                async with asyncio.timeout(ANSWER_S):
                    length = int.from_bytes(await reader.readexactly(4), "big")
                    answer = wire.decode(await reader.readexactly(length))
                self._take(answer.code)
                await asyncio.sleep(REPEAT_S)
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()


def _registration(number: int) -> bytes:
    broker = Broker(
        name=f"broker-{number}", cluster="hostile", addr=f"10.3.0.{number}:10911", ha_addr=f"10.3.0.{number}:10912"
    )
    topics = [topic_config(name) for name in (TOPIC, *(f"topic-{number}-{at}" for at in range(TOPICS_EACH)))]
    body = register_body(topics)
    fields = registration_ext(broker, crc=wire.crc32_masked(body))
    return wire.encode_request(wire.REGISTER_BROKER, fields, body, opaque=1)
