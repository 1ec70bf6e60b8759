"""Server-sent events, read as a browser reads them.

Owns: how the text of a stream is cut into messages.
Must not know: what is in them.
"""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import httpx


@dataclass
class Message:
    """What a stream said between two blank lines. `data` is read as JSON; None for a message without."""

    event: str = ""
    id: str = ""
    data: Any = None
    comments: list[str] = field(default_factory=list)


async def messages(answer: httpx.Response) -> AsyncIterator[Message]:
    """Give the messages of a stream as they come."""
    message = Message()
    async for line in answer.aiter_lines():
        name, _, value = line.partition(": ")
        match name:
            case "":
                if value:
                    message.comments.append(value)
                else:
                    yield message
                    message = Message()
            case "event":
                message.event = value
            case "id":
                message.id = value
            case "data":
                message.data = json.loads(value)
            case "retry":
                message.comments.append(line)
            case _:
                raise AssertionError(line)


async def take(stream: AsyncIterator[Message], count: int) -> list[Message]:
    """Give the next messages that have data."""
    taken: list[Message] = []
    async for message in stream:
        if message.data is not None:
            taken.append(message)
        if len(taken) == count:
            break
    return taken
