"""Reading all queues of a topic at once, in no group.

Owns: pulls that wait for messages, one under way for each queue; going on when a broker fails for a while.
Must not know: what is done with the messages.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Final

from cosmodrome.client.admin.admin import AdminClient
from cosmodrome.client.admin.pulls import PullStatus, Wanted
from cosmodrome.client.message import MessageQueue, MessageView
from cosmodrome.errors import NoRouteError, NotReadyError, RemotingError, RocketMQError

SUSPEND_S: Final = 10.0
_PAUSE_S: Final = 0.5
"""Before the next pull of a queue in which there was nothing, at a broker that does not hold pulls."""
_AFTER_FAILURE_S: Final = 1.0
_AHEAD: Final = 4
"""Pulls whose messages wait to be taken."""
_PASSING: Final = (RemotingError, NotReadyError, NoRouteError)


class QueueReading:
    """Messages of several queues as they come, those of one queue in order.

    Args:
        admin: Pulls; open as long as this is used.
        wanted: Which messages.
        tell: Is told of a broker that fails, when it begins.
    """

    def __init__(self, admin: AdminClient, wanted: Wanted, tell: Callable[[str], None]) -> None:
        self._admin = admin
        self._wanted = wanted
        self._tell = tell
        self._found: asyncio.Queue[Sequence[MessageView] | RocketMQError] = asyncio.Queue(_AHEAD)

    async def next(self) -> Sequence[MessageView]:
        """Wait for messages of some queue. Cancelling loses nothing.

        Raises:
            RocketMQError: A queue could not be read, from the first pull on, or for a reason that stays.
        """
        found = await self._found.get()
        if isinstance(found, RocketMQError):
            raise found
        return found

    @asynccontextmanager
    async def reading(self, offsets: Mapping[MessageQueue, int]) -> AsyncIterator[None]:
        """Read these queues from these offsets on, as long as the context lasts."""
        tasks = [asyncio.create_task(self._read(queue, offset)) for queue, offset in offsets.items()]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _read(self, queue: MessageQueue, offset: int) -> None:
        is_well = has_begun = False
        while True:
            try:
                offset = await self._pull(queue, offset)
            except _PASSING as error:
                if not has_begun:
                    await self._found.put(error)
                    return
                if is_well:
                    self._tell(f"{queue.broker_name}: {error}; trying again")
                is_well = False
                await asyncio.sleep(_AFTER_FAILURE_S)
            except RocketMQError as error:
                await self._found.put(error)
                return
            else:
                is_well = has_begun = True

    async def _pull(self, queue: MessageQueue, offset: int) -> int:
        """Pull once, and give where to go on."""
        loop = asyncio.get_running_loop()
        begun_s = loop.time()
        pulled = await self._admin.messages.pull(queue, offset, self._wanted)
        if pulled.messages:
            await self._found.put(pulled.messages)
        elif (
            pulled.status is not PullStatus.FOUND and pulled.next_offset <= offset and loop.time() - begun_s < _PAUSE_S
        ):
            await asyncio.sleep(_PAUSE_S)
        return max(pulled.next_offset, 0)
