"""What arrived at the double and what it answered.

Owns: arrivals, replies, what a test may ask about them, and waiting for them.
Must not know: what a request means; faults, but by their names.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from tests.support import wire
from tests.support.waiting import NotInTimeError

Command = wire.Answer
"""A frame as `wire` reads it: requests have the same members as answers."""

DEADLINE_S: Final = 20.0
MOST_KEPT: Final = 200_000
"""Many times what any test sends. Beyond it a loop has no end, and would fill the memory until the machine ends it."""

_SHORT_NAMES: Final = {
    "a": "producerGroup", "b": "topic", "c": "defaultTopic", "d": "defaultTopicQueueNums", "e": "queueId",
    "f": "sysFlag", "g": "bornTimestamp", "h": "flag", "i": "properties", "j": "reconsumeTimes", "k": "unitMode",
    "l": "maxReconsumeTimes", "m": "batch", "n": "brokerName",
}  # fmt: skip


class Reply(NamedTuple):
    """What the double answers, before a fault spoils it."""

    code: int = 0
    remark: str | None = None
    ext: Mapping[str, str] | None = None
    body: bytes = b""


@dataclass(slots=True, eq=False)
class Arrival:
    """One request. `ext` has the long names whichever were sent; `replies` is what really was written, as meant."""

    number: int
    at_s: float
    connection: int
    peer: str
    command: Command
    frame: bytes
    ext: Mapping[str, str]
    fault: str = ""
    replies: list[Reply] = field(default_factory=list)

    @property
    def code(self) -> int:
        """The request code."""
        return self.command.code

    @property
    def is_oneway(self) -> bool:
        """Whether no answer is wanted."""
        return self.command.flag & wire.FLAG_ONEWAY != 0

    @property
    def body(self) -> bytes:
        """The body."""
        return self.command.body

    def json(self) -> Any:
        """Give the body as a value."""
        return self.command.json()


def long_names(ext: Mapping[str, Any] | None) -> dict[str, str]:
    """Give header fields with the long names of a send, and every value as text."""
    fields = {name: _text(value) for name, value in (ext or {}).items() if value is not None}
    if "a" not in fields:
        return fields
    return {_SHORT_NAMES.get(name, name): value for name, value in fields.items()}


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


class Journal:
    """All arrivals of one broker, in order; `answers` are those of clients to requests of the broker.

    With `is_counting_only` no arrival is kept, for tests that measure memory.
    """

    def __init__(self) -> None:
        self.arrivals: list[Arrival] = []
        self.counts: Counter[int] = Counter()
        self.connects = 0
        self.is_counting_only = False
        self._watches: set[tuple[Callable[[], object], asyncio.Future[None]]] = set()

    def note(self, arrival: Arrival) -> None:
        """Keep an arrival."""
        self.counts[arrival.code] += 1
        if self.is_counting_only:
            return
        if len(self.arrivals) >= MOST_KEPT:
            raise AssertionError(f"somebody asks without end: {dict(self.counts)}")
        self.arrivals.append(arrival)

    def stir(self) -> None:
        """Look whether something that a test waits for has come true."""
        for probe, waiter in list(self._watches):
            if not waiter.done() and probe():
                waiter.set_result(None)

    def requests(self, *codes: int, **ext: object) -> list[Arrival]:
        """Give arrivals of these codes (of all, without any) whose header fields have these values."""
        wanted = {name: _text(value) for name, value in ext.items()}
        return [
            arrival
            for arrival in self.arrivals
            if (not codes or arrival.code in codes) and wanted.items() <= arrival.ext.items()
        ]

    def codes(self) -> list[int]:
        """Give the codes that arrived, in order."""
        return [arrival.code for arrival in self.arrivals]

    def clear(self) -> None:
        """Forget what arrived so far."""
        self.arrivals.clear()
        self.counts.clear()

    async def until(self, probe: Callable[[], object], what: str, within_s: float = DEADLINE_S) -> None:
        """Wait until `probe` gives something true; it is asked after every arrival, answer, store and close.

        Raises:
            NotInTimeError: The deadline passed.
        """
        if probe():
            return
        watch = (probe, asyncio.get_running_loop().create_future())
        self._watches.add(watch)
        try:
            async with asyncio.timeout(within_s):
                await watch[1]
        except TimeoutError:
            raise NotInTimeError(f"waited {within_s:g} s for {what}; arrived: {dict(self.counts)}") from None
        finally:
            self._watches.discard(watch)

    async def arrived(self, code: int, count: int = 1, within_s: float = DEADLINE_S, **ext: object) -> list[Arrival]:
        """Wait until so many requests of a code (with these header fields) have arrived, and give them."""
        if not ext and self.is_counting_only:
            await self.until(lambda: self.counts[code] >= count, f"{count} requests {code}", within_s)
            return []
        what = f"{count} requests {code} {ext or ''}"
        await self.until(lambda: len(self.requests(code, **ext)) >= count, what, within_s)
        return self.requests(code, **ext)
