"""A client of a broker that says exactly what a test wants.

Owns: one connection; requests with fields as they travel; what the broker asked meanwhile.
Must not know: which broker it is.
"""

import asyncio
import json
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Final, Self

from cosmodrome.client.credentials import Credentials
from cosmodrome.protocol.codes import LanguageCode
from cosmodrome.protocol.command import RemotingCommand, request, response_to
from cosmodrome.protocol.messages.properties import encode_properties
from cosmodrome.protocol.messages.record import StoredMessage, decode_records
from cosmodrome.protocol.versions import SERVER_VERSION
from cosmodrome.transport.channel import Channel, Links
from cosmodrome.transport.client import RemotingClient

WITHIN_S: Final = 20.0


class Caller:
    """Asks the broker at `address`, signing with `credentials` if there are some. Use it as a context manager."""

    def __init__(self, address: str, credentials: Credentials | None = None) -> None:
        self.address = address
        self.language = LanguageCode.JAVA
        self.version = SERVER_VERSION
        """Of the client that it is."""
        self.heard: list[RemotingCommand] = []
        """Requests of the broker."""
        self._change = asyncio.Event()
        self._client = RemotingClient(
            links=Links(on_request=self._asked, prepare=None if credentials is None else credentials.signed)
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._client.close()

    async def ask(
        self, code: int, fields: Mapping[str, str | None] | None = None, body: bytes = b"", within_s: float = WITHIN_S
    ) -> RemotingCommand:
        """Give the answer, whatever its code."""
        asked = request(code, fields or {}, body).replaced(language=self.language, version=self.version)
        return await self._client.request(self.address, asked, within_s)

    async def ok(self, code: int, fields: Mapping[str, str | None] | None = None, body: bytes = b"") -> RemotingCommand:
        """Give the answer, which must be a success."""
        answer = await self.ask(code, fields, body)
        assert answer.code == 0, answer
        return answer

    async def send(self, topic: str, body: bytes = b"x", queue_id: int = 0, **more: Any) -> RemotingCommand:
        """Send a message; names in capitals are properties, others replace fields of the request."""
        return await self.ask(310, send_fields(topic, queue_id, **more), body)

    async def pull(self, topic: str, offset: int = 0, queue_id: int = 0, **more: str) -> RemotingCommand:
        """Pull with a subscription to everything, without waiting."""
        fields = {
            "consumerGroup": "g", "topic": topic, "queueId": str(queue_id), "queueOffset": str(offset), "maxMsgNums": "32",
            "sysFlag": "4", "commitOffset": "0", "suspendTimeoutMillis": "15000", "subVersion": "0", "subscription": "*",
        }  # fmt: skip
        return await self.ask(11, fields | more)

    def records(self, answer: RemotingCommand) -> list[StoredMessage]:
        """Give the messages of a pull."""
        return decode_records(answer.body)

    async def messages(self, topic: str, queue_id: int = 0) -> list[StoredMessage]:
        """Give everything that is in a queue; nothing when there is no such topic."""
        found: list[StoredMessage] = []
        while True:
            answer = await self.pull(topic, len(found), queue_id)
            if answer.code != 0:
                return found
            found += decode_records(answer.body)

    async def until(self, topic: str, count: int, queue_id: int = 0, within_s: float = WITHIN_S) -> list[StoredMessage]:
        """Wait until so many messages are in a queue, and give them."""
        async with asyncio.timeout(within_s):
            while len(found := await self.messages(topic, queue_id)) < count:
                await self.pull(topic, len(found), queue_id, sysFlag="6", suspendTimeoutMillis="200")
        return found

    async def heartbeat(
        self, group: str, topic: str = "T", client_id: str = "c@1", producer: str | None = None
    ) -> None:
        """Be a member of a consumer group, and of a producer group if one is named."""
        subscription = {"topic": topic, "subString": "*", "subVersion": 1, "expressionType": "TAG"}
        data = {
            "clientID": client_id,
            "producerDataSet": [] if producer is None else [{"groupName": producer}],
            "consumerDataSet": [
                {
                    "groupName": group, "consumeType": "CONSUME_PASSIVELY", "messageModel": "CLUSTERING",
                    "consumeFromWhere": "CONSUME_FROM_FIRST_OFFSET", "subscriptionDataSet": [subscription],
                }
            ],
        }  # fmt: skip
        await self.ok(34, {}, json.dumps(data).encode())

    async def next_heard(self, code: int, count: int = 1) -> list[RemotingCommand]:
        """Wait for so many requests of the broker with this code, and give them."""
        async with asyncio.timeout(WITHIN_S):
            while len(found := [each for each in self.heard if each.code == code]) < count:
                self._change.clear()
                await self._change.wait()
        return found

    async def answer(self, asked: RemotingCommand, body: bytes) -> None:
        """Answer a request of the broker with success."""
        channel = await self._client.channel(self.address, WITHIN_S)
        channel.answer(response_to(asked, 0, body=body))

    def _asked(self, _: Channel, command: RemotingCommand) -> None:
        self.heard.append(command)
        self._change.set()


def send_fields(topic: str, queue_id: int = 0, **more: Any) -> dict[str, str | None]:
    """Give the fields of 310."""
    properties = {name: str(value) for name, value in more.items() if name.isupper()}
    fields: dict[str, str | None] = {
        "a": "pg", "b": topic, "c": "TBW102", "d": "4", "e": str(queue_id), "f": "0", "g": str(time.time_ns() // 1_000_000), "h": "0",
        "i": encode_properties(properties), "j": "0", "k": "false", "m": "false",
    }  # fmt: skip
    return fields | {name: str(value) for name, value in more.items() if not name.isupper()}
