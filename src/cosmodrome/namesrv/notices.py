"""Notices of a changed smallest broker id (905), on their way to brokers.

Owns: sending each by itself, so that a broker that does not listen delays nobody; what becomes of them at the end.
Must not know: when a notice is due (routing/).
"""

import asyncio
from typing import Final

from cosmodrome.errors import RemotingError
from cosmodrome.namesrv.events import NoticeFailed, Publish
from cosmodrome.namesrv.routing.effects import MinBrokerIdNotice
from cosmodrome.protocol.codes import RequestCode, SerializeType
from cosmodrome.protocol.command import request
from cosmodrome.protocol.ext_fields import encode_ext_fields
from cosmodrome.transport.client import RemotingClient

NOTICE_TIMEOUT_S: Final = 3.0


class NoticeSender:
    """Sends notices through a client that somebody else closes. `publish` is told of those that did not arrive."""

    def __init__(self, client: RemotingClient, serialize_type: SerializeType, publish: Publish) -> None:
        self._client = client
        self._serialize_type = serialize_type
        self._publish = publish
        self._tasks: set[asyncio.Task[None]] = set()

    def send(self, notice: MinBrokerIdNotice) -> None:
        """Begin to tell every receiver."""
        for receiver in notice.receivers:
            task = asyncio.ensure_future(self._tell(notice, receiver))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def stop(self) -> None:
        """Give up what is still on its way."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def _tell(self, notice: MinBrokerIdNotice, receiver: str) -> None:
        command = request(RequestCode.NOTIFY_MIN_BROKER_ID_CHANGE, encode_ext_fields(notice.header), is_oneway=True)
        command = command.replaced(serialize_type=self._serialize_type)
        try:
            await self._client.send_oneway(receiver, command, NOTICE_TIMEOUT_S)
        except RemotingError as error:
            self._publish(NoticeFailed(broker=notice.broker_name, addr=receiver, reason=str(error)))
