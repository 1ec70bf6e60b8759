"""How far groups are behind.

Owns: which pairs of group and topic are looked at; what each lacks; that looking holds up nobody.
Must not know: names of metrics; who asks.

Asked for again soon, it tells what it found before. Pieces of a millisecond take turns with everything else, and old
messages that are not in memory are waited for in a thread.
"""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Final, NamedTuple

from cosmodrome.broker.clock import Clock
from cosmodrome.broker.state import BrokerState
from cosmodrome.protocol.messages.checks import RETRY_PREFIX
from cosmodrome.store.cold import NotInMemoryError
from cosmodrome.store.reading import Reader, ReadLimits

FRESH_S: Final = 5.0
"""So long what was found is told again."""
_REST: Final = 20
"""And so many times as long as it took."""
_PIECE_S: Final = 0.001
COLD_BUDGET_S: Final = 2.0
"""So long one look waits for the disk; times of what is not read by then are told the next time."""
_ONE: Final = ReadLimits(messages=1, size_bytes=1, units=1, is_patient=False)
_SYSTEM_GROUPS: Final = "cid_rmq_sys_"


class GroupLag(NamedTuple):
    """What a group lacks of a topic.

    Attributes:
        is_retry: Whether these are its messages that failed.
        lag: Messages that it has not acknowledged.
        inflight: Those of them that it was given.
        ready: Those that it was not given yet.
        lag_ms: How long ago the oldest of `lag` was stored.
        queueing_ms: The same of `ready`.
    """

    group: str
    topic: str
    is_retry: bool
    lag: int
    inflight: int
    ready: int
    lag_ms: int
    queueing_ms: int


QueueOf = tuple[str, str, int]
Place = tuple[str, int, int]


def is_system_group(group: str) -> bool:
    """Whether a group is the broker's own."""
    return group.lower().startswith(_SYSTEM_GROUPS)


class LagWatch:
    """Looks at all groups of one broker."""

    def __init__(self, state: BrokerState, reader: Reader, clock: Clock) -> None:
        """Look at these."""
        self._state = state
        self._reader = reader
        self._clock = clock
        self._looking = asyncio.Lock()
        self._found: Sequence[GroupLag] = ()
        self._fresh_until_s = 0.0
        self._times: dict[Place, int] = {}
        """When messages were stored that were looked at the last time."""

    async def current(self) -> Sequence[GroupLag]:
        """Give what groups lack, as it is now or was a moment ago."""
        async with self._looking:
            if time.monotonic() >= self._fresh_until_s:
                look = _Look(self._state, self._reader, self._times)
                self._found = [each async for each in look.groups(self._clock.wall_ms())]
                self._times = look.times
                self._fresh_until_s = time.monotonic() + max(FRESH_S, _REST * look.busy_s)
            return [each for each in self._found if self._is_there(each)]

    def _is_there(self, found: GroupLag) -> bool:
        return self._state.groups.get(found.group) is not None and found.topic in self._state.topics


class _Look:
    """One look at everything."""

    def __init__(self, state: BrokerState, reader: Reader, known: dict[Place, int]) -> None:
        self._state = state
        self._reader = reader
        self._known = known
        self.times: dict[Place, int] = {}
        self.busy_s = 0.0
        """How long it worked."""
        self._piece_s = time.perf_counter()
        self._cold_s = 0.0

    async def groups(self, now_ms: int) -> AsyncIterator[GroupLag]:
        popped = await self._popped()
        for topic, group in list(self._pairs()):
            if topic in self._state.topics and self._state.groups.get(group) is not None:
                yield await self._of(topic, group, popped, now_ms)
        self.busy_s += time.perf_counter() - self._piece_s

    def _pairs(self) -> Iterator[tuple[str, str]]:
        members = self._state.members
        connected = members.consumer_groups()
        found = {(topic, group): None for group in connected for topic in members.subscriptions(group)}
        known = self._state.offsets.pairs()
        found |= {(topic, group): None for topic, group in known if not is_system_group(group)}
        yield from found

    async def _popped(self) -> Counter[QueueOf]:
        """Count what was popped and is not acknowledged."""
        counts: Counter[QueueOf] = Counter()
        for popped in self._state.pop.in_flight.of(lambda _: True):
            key = popped.key
            counts[key.topic, key.group, key.queue_id] += len(popped.offsets) - popped.done.bit_count()
            await self._breathe()
        return counts

    async def _of(self, topic: str, group: str, popped: Counter[QueueOf], now_ms: int) -> GroupLag:
        config = self._state.topics.get(topic)
        queues = 0 if config is None else max(config.read_queue_nums, config.write_queue_nums)
        lag = inflight = ready = lag_ms = queueing_ms = 0
        for queue_id in range(queues):
            await self._breathe()
            at = self._places(topic, group, queue_id, popped)
            if at is None:
                continue
            lag, inflight, ready = lag + at.lag, inflight + at.inflight, ready + at.ready
            if at.lag:
                stored_ms = await self._stored_ms((topic, queue_id, at.oldest))
                lag_ms = max(lag_ms, now_ms - stored_ms) if stored_ms else lag_ms
            if at.ready:
                stored_ms = await self._stored_ms((topic, queue_id, at.first_ready))
                queueing_ms = max(queueing_ms, now_ms - stored_ms) if stored_ms else queueing_ms
        is_retry = topic.startswith(RETRY_PREFIX)
        shown = topic.removeprefix(f"{RETRY_PREFIX}{group}_")  # as Java names what was popped and comes again
        return GroupLag(group, shown, is_retry, lag, inflight, ready, lag_ms, queueing_ms)

    def _places(self, topic: str, group: str, queue_id: int, popped: Counter[QueueOf]) -> "_Places | None":
        """Say where a group is in a queue; None where it has not been: nothing there is known to be its."""
        end, first = self._reader.max_offset(topic, queue_id), self._reader.min_offset(topic, queue_id)
        committed = self._state.offsets.committed(topic, group, queue_id)
        pulled = self._state.offsets.pulled(topic, group, queue_id)
        open_count = popped.get((topic, group, queue_id), 0)
        if committed is None and not pulled and not open_count:
            return None
        done = max(pulled if committed is None else committed, first)
        given = max(pulled, done)
        return _Places(
            lag=max(0, end - done) + open_count,
            inflight=open_count or given - done,
            ready=max(0, end - given),
            oldest=max(first, done - open_count),
            first_ready=given,
        )

    async def _stored_ms(self, place: Place) -> int:
        """Give when a message was stored; 0 when that is not known, or not yet."""
        stored_ms = self._known.get(place) or self.times.get(place)
        if stored_ms is None:
            try:
                stored_ms = await self._read(*place)
            except OSError:  # the disk fails, which others tell of
                stored_ms = 0
        if stored_ms:
            self.times[place] = stored_ms
        return stored_ms

    async def _read(self, topic: str, queue_id: int, offset: int) -> int:
        try:
            self._reader.read((topic, queue_id), offset, _ONE)
        except NotInMemoryError as cold:
            if self._cold_s >= COLD_BUDGET_S:
                return 0
            begun_s = time.perf_counter()
            self.busy_s += begun_s - self._piece_s
            await asyncio.to_thread(cold.fetch)
            self._piece_s = time.perf_counter()
            self._cold_s += self._piece_s - begun_s
        return self._reader.store_time_ms(topic, queue_id, offset) or 0

    async def _breathe(self) -> None:
        """Let others have their turn after each piece of work."""
        took_s = time.perf_counter() - self._piece_s
        if took_s >= _PIECE_S:
            self.busy_s += took_s
            await asyncio.sleep(0)
            self._piece_s = time.perf_counter()


class _Places(NamedTuple):
    """Of one queue; `oldest` is the offset of the first message of `lag`, `first_ready` that of `ready`."""

    lag: int
    inflight: int
    ready: int
    oldest: int
    first_ready: int
