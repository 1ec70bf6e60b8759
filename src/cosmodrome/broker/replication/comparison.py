"""Whether a slave has the same messages as its master, which the replication protocol cannot say.

Owns: which messages are compared; how a slave is found and asked, as clients ask it.
Must not know: the replication port; what follows from a difference.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from cosmodrome.client.name_server import NameServerClient
from cosmodrome.errors import MalformedBodyError, RocketMQError
from cosmodrome.protocol.bodies.cluster import decode_kv_table
from cosmodrome.protocol.codes import BrokerRequestCode, ResponseCode
from cosmodrome.protocol.command import request
from cosmodrome.protocol.ext_fields import encode_ext_fields
from cosmodrome.protocol.headers.queries import ViewMessageRequestHeader
from cosmodrome.store.reading import Reader
from cosmodrome.transport.client import RemotingClient

logger = logging.getLogger(__name__)

COMPARING_S: Final = 2.0
"""So long a slave waits at most for what it is sent first."""
_SPREAD: Final = 200
"""Messages from all over the log."""
_LAST: Final = 8
"""Of each queue: what a crash tears is at the end."""
_MOST: Final = 1000
_AT_ONCE: Final = 32
_MOST_BYTES: Final = 256 * 1024
"""Of a message that is compared."""


@dataclass(frozen=True, slots=True)
class Difference:
    """What a slave has otherwise: its address, and the place in the log of a message that is another one there."""

    address: str
    position: int


class Comparison:
    """Compares messages with those of slaves. Who cannot be found or asked has no difference."""

    def __init__(self, broker_name: str, name_servers: Iterable[str], client: RemotingClient, reader: Reader) -> None:
        """Find slaves of this name at these NameServers; `client` belongs to whoever made it."""
        self._broker_name = broker_name
        self._name_servers = tuple(name_servers)
        self._client = client
        self._reader = reader

    async def difference(self, host: str, end: int) -> Difference | None:
        """Compare with the slave on a host, of messages before `end`, as many as there is time for.

        None without a difference, and when nobody knows: there is no slave, or are two, or it does not answer.
        """
        try:
            async with asyncio.timeout(COMPARING_S):
                addresses = [each for each in await self._slaves() if each.rpartition(":")[0].strip("[]") == host]
                position = await self._difference_at(addresses[0], end) if len(addresses) == 1 else None
        except (RocketMQError, TimeoutError) as error:
            logger.debug("the slave on %s cannot be compared: %s", host, error)
            return None
        return None if position is None else Difference(addresses[0], position)

    async def _difference_at(self, address: str, end: int) -> int | None:
        """Give the place of a message that is another one there; the newest are looked at first."""
        start = await self._start_of(address)
        places = [each for each in reversed(sample(self._reader, end)) if each >= start]
        for first in range(0, len(places), _AT_ONCE):
            some = places[first : first + _AT_ONCE]
            are_same = await asyncio.gather(*(self._is_same(address, each) for each in some))
            for position, is_same in zip(some, are_same, strict=True):
                # What it has deleted meanwhile is no difference.
                if not is_same and position >= await self._start_of(address):
                    return position
        return None

    async def _start_of(self, address: str) -> int:
        """Give where the log of a slave starts."""
        answer = await self._client.request(
            address, request(BrokerRequestCode.GET_BROKER_RUNTIME_INFO, {}), COMPARING_S
        )
        try:
            return int(decode_kv_table(answer.body)["commitLogMinOffset"])
        except (KeyError, ValueError) as error:
            raise MalformedBodyError("it does not say where its log starts") from error

    async def _slaves(self) -> tuple[str, ...]:
        for server in self._name_servers:
            try:
                info = await NameServerClient(self._client, server, COMPARING_S).cluster_info()
            except RocketMQError as error:
                logger.debug("%s does not say which slaves there are: %s", server, error)
                continue
            found = info.broker_addr_table.get(self._broker_name)
            return () if found is None else tuple(each for number, each in found.broker_addrs.items() if number)
        return ()

    async def _is_same(self, address: str, position: int) -> bool:
        """Whether a slave has this message; it has, as far as we know, when it does not answer such questions."""
        ours = self._reader.record_at(position)
        if ours is None or len(ours) > _MOST_BYTES:
            return True
        fields = encode_ext_fields(ViewMessageRequestHeader(offset=position))
        command = request(BrokerRequestCode.VIEW_MESSAGE_BY_ID, fields)
        answer = await self._client.request(address, command, COMPARING_S)
        if answer.code == ResponseCode.SUCCESS:
            return answer.body == ours
        return answer.code != ResponseCode.SYSTEM_ERROR


def sample(reader: Reader, end: int) -> list[int]:
    """Give places of messages that are wholly before `end`: the last ones of each queue, and others from all over the log."""
    queues = [(topic, each) for topic, numbers in reader.queues().items() for each in numbers]
    total = sum(reader.max_offset(*queue) - reader.min_offset(*queue) for queue in queues)
    step = max(1, total // _SPREAD)
    found: set[int] = set()
    for queue in queues:
        if len(found) < _MOST:
            found.update(_places(reader, queue, step, end))
    return sorted(found)


def _places(reader: Reader, queue: tuple[str, int], step: int, end: int) -> Iterator[int]:
    low = reader.min_offset(*queue)
    high = _first(range(low, reader.max_offset(*queue)), lambda offset: _end_of(reader, queue, offset) > end)
    for offset in {*range(max(low, high - _LAST), high), *range(low, high, step)}:
        unit = reader.unit(*queue, offset)
        if unit is not None:
            yield unit.log_offset


def _first(offsets: range, claim: Callable[[int], bool]) -> int:
    """Give the first of which a claim is true that stays true from there on; else the end."""
    low, high = offsets.start, offsets.stop
    while low < high:
        middle = (low + high) // 2
        if claim(middle):
            high = middle
        else:
            low = middle + 1
    return low


def _end_of(reader: Reader, queue: tuple[str, int], offset: int) -> int:
    unit = reader.unit(*queue, offset)
    return 0 if unit is None else unit.log_offset + unit.size
