"""Request and reply over messages.

Owns: the properties of requests and replies; which waiting request a reply is for.
Must not know: how a message is sent.
"""

import asyncio
import uuid
from collections.abc import Mapping
from typing import Final

from cosmodrome.client.message import ReceivedMessage
from cosmodrome.errors import MessageError, ReplyTimeoutError
from cosmodrome.protocol.bodies.message_queue import MessageQueue
from cosmodrome.protocol.headers.replies import ReplyMessageRequestHeader
from cosmodrome.protocol.messages import properties as names
from cosmodrome.protocol.messages.hosts import encode_host, parse_host
from cosmodrome.protocol.messages.record import StoredMessage, body_crc

REPLY_TOPIC_END: Final = "_REPLY_TOPIC"
_REPLY: Final = "reply"
_NOWHERE: Final = encode_host("0.0.0.0", 0)  # noqa: S104 -- no address to listen at: an unknown host


class Requests:
    """The requests of one producer that wait for their replies."""

    def __init__(self) -> None:
        self._waiting: dict[str, asyncio.Future[ReceivedMessage]] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def expect(self) -> str:
        """Begin to wait for a reply, and give the id by which it is known."""
        correlation_id = str(uuid.uuid4())
        self._waiting[correlation_id] = asyncio.get_running_loop().create_future()
        return correlation_id

    async def reply(self, correlation_id: str, timeout_s: float, whole_s: float) -> ReceivedMessage:
        """Give the reply.

        Raises:
            ReplyTimeoutError: None came in time; `whole_s` is what the caller gave for all of it.
        """
        waiter = self._waiting[correlation_id]
        await asyncio.wait({waiter}, timeout=max(0.0, timeout_s))
        if not waiter.done():
            raise ReplyTimeoutError(correlation_id, whole_s)
        return waiter.result()

    def forget(self, correlation_id: str) -> None:
        """Stop waiting."""
        waiter = self._waiting.pop(correlation_id, None)
        if waiter is not None and waiter.done() and not waiter.cancelled():
            waiter.exception()  # of one that ended before anybody waited for its reply

    def on_reply(self, header: ReplyMessageRequestHeader, body: bytes) -> bool:
        """Take a reply; tell whether a request waits for it."""
        text = header.properties or ""
        waiter = self._waiting.get(names.decode_properties(text).get(names.CORRELATION_ID, ""))
        if waiter is None:
            return False
        if not waiter.done():
            waiter.set_result(received(header, body))
        return True

    def fail(self, error: Exception) -> None:
        """End all that wait."""
        for waiter in self._waiting.values():
            if not waiter.done():
                waiter.set_exception(error)


def request_properties(correlation_id: str, client_id: str, timeout_s: float) -> Mapping[str, str]:
    """Give what a request carries beside the user's properties."""
    return {
        names.CORRELATION_ID: correlation_id,
        names.REPLY_TO_CLIENT: client_id,
        names.TTL: str(int(timeout_s * 1000)),
    }


def reply_address(request: ReceivedMessage) -> tuple[str, Mapping[str, str]]:
    """Give the topic of a reply, and what it carries.

    Raises:
        MessageError: The message is no request.
    """
    found = request.properties
    missing = [name for name in (names.CLUSTER, names.CORRELATION_ID, names.REPLY_TO_CLIENT) if not found.get(name)]
    if missing:
        raise MessageError(f"the message is no request that can be replied to: it has no {', '.join(missing)}")
    carried = (names.CORRELATION_ID, names.REPLY_TO_CLIENT, names.TTL)
    properties = {name: found[name] for name in carried if found.get(name)}
    return found[names.CLUSTER] + REPLY_TOPIC_END, {names.MSG_TYPE: _REPLY, **properties}


def received(header: ReplyMessageRequestHeader, body: bytes) -> ReceivedMessage:
    """Give a reply that a broker pushed as a message."""
    stored = StoredMessage(
        header.topic or "",
        body,
        names.properties_bytes(header.properties or ""),
        header.queue_id or 0,
        0,
        0,
        header.born_timestamp or 0,
        _host(header.born_host),
        header.store_timestamp or 0,
        _host(header.store_host),
        body_crc(body),
        header.sys_flag or 0,
        header.flag or 0,
    )
    return ReceivedMessage(stored, MessageQueue(stored.topic, "", stored.queue_id))


def _host(text: str | None) -> bytes:
    try:
        return _NOWHERE if text is None else encode_host(*parse_host(text.removeprefix("/")))
    except ValueError:
        return _NOWHERE
