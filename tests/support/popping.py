"""A client that pops, acknowledges and hides messages as a test says.

Owns: the fields of these requests; receipts made as clients make them.
Must not know: which broker it is.
"""

import asyncio
import base64
import json
import time
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from tests.support.broker_calls import Caller

from cosmodrome.protocol.command import RemotingCommand
from cosmodrome.protocol.messages.record import StoredMessage, decode_records

WITHIN_S: Final = 90.0


class Popped(NamedTuple):
    """A message, the topic from which it was popped, and its receipt."""

    message: StoredMessage
    topic: str
    queue_id: int
    offset: int
    receipt: str
    group: str

    @property
    def body(self) -> bytes:
        """Its body."""
        return self.message.body


class Popper:
    """Pops for one group over a caller."""

    def __init__(self, caller: Caller, group: str = "g", topic: str = "T") -> None:
        self.caller = caller
        self.group = group
        self.topic = topic

    async def ask(self, **more: Any) -> RemotingCommand:
        """Give the answer to a pop, whatever its code; names in snake case replace fields."""
        fields = {
            "consumerGroup": self.group, "topic": self.topic, "queueId": "-1", "maxMsgNums": "32",
            "invisibleTime": "60000", "pollTime": "0", "bornTime": str(time.time_ns() // 1_000_000), "initMode": "0",
            "expType": "TAG", "exp": "*", "order": "false",
        }  # fmt: skip
        return await self.caller.ask(200_050, fields | {_camel(name): str(value) for name, value in more.items()})

    async def pop(self, **more: Any) -> list[Popped]:
        """Give what a pop gives; nothing when it finds nothing."""
        answer = await self.ask(**more)
        if answer.code == 210:
            return []
        assert answer.code == 0, answer
        return self.messages(answer)

    def messages(self, answer: RemotingCommand) -> list[Popped]:
        """Give the messages of an answer."""
        return [self._popped(each, answer.ext_fields or {}) for each in decode_records(answer.body)]

    async def wait(self, count: int, **more: Any) -> list[Popped]:
        """Pop until so many messages have come."""
        found: list[Popped] = []
        async with asyncio.timeout(WITHIN_S):
            while len(found) < count:
                found += await self.pop(**({"poll_time": 15_000} | more))
        return found

    def _popped(self, message: StoredMessage, fields: Any) -> Popped:
        """Give a message of an answer with its receipt, made as clients make it."""
        receipt = message.properties.get("POP_CK")
        if receipt is None:
            parts = [part.split(" ") for part in fields["startOffsetInfo"].split(";")]
            start = next(begin for flag, queue, begin in parts if (flag, queue) == ("0", str(message.queue_id)))
            receipt = (
                f"{start} {fields['popTime']} {fields['invisibleTime']} {fields['reviveQid']} 0 broker-a "
                f"{message.queue_id} {message.queue_offset}"
            )
        flag, queue_id, offset = receipt.split(" ")[4], *map(int, receipt.split(" ")[6:8])
        topic = f"%RETRY%{self.group}_{self.topic}" if flag == "1" else self.topic
        return Popped(message, topic, queue_id, offset, receipt, self.group)

    async def ack(self, popped: Popped) -> RemotingCommand:
        """Acknowledge a message."""
        return await self.caller.ask(200_051, _fields(popped))

    async def ack_all(self, all_popped: Iterable[Popped]) -> RemotingCommand:
        """Acknowledge messages of one queue that were popped at once, by 200151."""
        popped = list(all_popped)
        start, pop_time, invisible, revive, flag = popped[0].receipt.split(" ")[:5]
        bits = sum(1 << (each.offset - int(start)) for each in popped)
        ack = {
            "c": self.group, "t": self.topic, "r": flag, "so": int(start), "q": popped[0].queue_id, "rq": int(revive),
            "pt": int(pop_time), "it": int(invisible), "b": base64.b64encode(bits.to_bytes(4, "little")).decode(),
        }  # fmt: skip
        return await self.caller.ask(200_151, {}, json.dumps({"brokerName": "broker-a", "acks": [ack]}).encode())

    async def hide(self, popped: Popped, invisible_ms: int, **more: str) -> Popped:
        """Hide a message for another time, and give it with its new receipt."""
        answer = await self.caller.ok(200_053, _fields(popped) | {"invisibleTime": str(invisible_ms)} | more)
        new = answer.ext_fields or {}
        rest = popped.receipt.split(" ")[4:]
        start = str(popped.offset)
        receipt = " ".join((start, str(new["popTime"]), str(invisible_ms), str(new["reviveQid"]), *rest))
        return popped._replace(receipt=receipt)


def _fields(popped: Popped) -> dict[str, str | None]:
    return {
        "consumerGroup": popped.group, "topic": popped.topic, "queueId": str(popped.queue_id),
        "extraInfo": popped.receipt, "offset": str(popped.offset),
    }  # fmt: skip


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(each.capitalize() for each in rest)
