"""What goes wrong, when a test wants it.

Owns: the faults, which request meets which, and chaos: faults drawn from a seed.
Must not know: what a request means; sockets, but by what a `Call` offers.

A fault sees a request twice: `meet` before it is acted upon, `deliver` when there is an answer to write.
"""

import asyncio
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from tests.support.faulty_broker.journal import Arrival, Reply

SENDS: Final = (10, 310, 320, 324, 325)
PULLS: Final = (11, 361)


class Call(Protocol):
    """One request under way, as faults handle it."""

    arrival: Arrival

    def act(self) -> None:
        """Do what the request asks; the answer comes to `deliver`, perhaps later."""

    def send(self, reply: Reply) -> None:
        """Write an answer."""

    def frame(self, reply: Reply, opaque: int | None = None) -> bytes:
        """Give an answer as bytes."""

    def write(self, data: bytes, *, piece: int = 0) -> None:
        """Write bytes as they are; in pieces of so many, one in each turn of the loop, if it is given."""

    def close(self, *, is_reset: bool = False) -> None:
        """Close the connection, after what was written or (by a reset) at once."""

    def later(self, seconds: float, act: Callable[[], None]) -> None:
        """Do something later, unless the broker is stopped first."""

    def now_s(self) -> float:
        """Give the time of the loop."""


class Fault:
    """The base: nothing is wrong. A fault without members of its own may be used again and again."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    @property
    def name(self) -> str:
        """How the journal calls it; "" when nothing is wrong."""
        return "" if type(self) is Fault else type(self).__name__

    def meet(self, call: Call) -> None:
        """Take a request."""
        call.act()

    def deliver(self, call: Call, reply: Reply) -> None:
        """Take the answer to it."""
        call.send(reply)


@dataclass(frozen=True)
class Refuse(Fault):
    """Do nothing and answer with this. Sends get `MSG_REGION` and `TRACE_ON` as real refusals have them."""

    code: int
    remark: str | None = "refused by the double"
    ext: Mapping[str, str] | None = None
    body: bytes = b""

    def meet(self, call: Call) -> None:
        is_send = call.arrival.code in SENDS
        usual = {"MSG_REGION": "DefaultRegion", "TRACE_ON": "true"} if is_send else None
        call.send(Reply(self.code, self.remark, self.ext if self.ext is not None else usual, self.body))


@dataclass(frozen=True)
class AnswerWith(Fault):
    """Do it, but answer with another code and remark; header fields and body stay. 10, 11 and 12 are made so."""

    code: int
    remark: str | None = None

    def deliver(self, call: Call, reply: Reply) -> None:
        call.send(reply._replace(code=self.code, remark=self.remark))


@dataclass(frozen=True)
class Alter(Fault):
    """Do it, and answer what `change` makes of the answer."""

    change: Callable[[Reply], Reply]

    def deliver(self, call: Call, reply: Reply) -> None:
        call.send(self.change(reply))


@dataclass(frozen=True)
class Delay(Fault):
    """Do it at once and answer so much later; or, with `is_before`, do it so much later."""

    seconds: float
    is_before: bool = False

    def meet(self, call: Call) -> None:
        if self.is_before:
            call.later(self.seconds, call.act)
        else:
            call.act()

    def deliver(self, call: Call, reply: Reply) -> None:
        if self.is_before:
            call.send(reply)
        else:
            call.later(self.seconds, lambda: call.send(reply))


@dataclass
class Hold(Fault):
    """Do it (or, with `is_before`, do nothing) and answer when the test calls `release`. Later ones pass at once."""

    is_before: bool = False
    is_released: bool = False
    waiting: list[Callable[[], None]] = field(default_factory=list)

    def release(self) -> None:
        """Let all go that wait."""
        self.is_released = True
        waiting, self.waiting = self.waiting, []
        for go in waiting:
            go()

    def meet(self, call: Call) -> None:
        self._pass(call.act) if self.is_before else call.act()

    def deliver(self, call: Call, reply: Reply) -> None:
        call.send(reply) if self.is_before else self._pass(lambda: call.send(reply))

    def _pass(self, go: Callable[[], None]) -> None:
        if self.is_released:
            go()
        else:
            self.waiting.append(go)


@dataclass
class Paced(Fault):
    """Answer no more than so many per second: a slow broker with a queue."""

    per_second: float
    _free_at_s: float = 0.0

    def deliver(self, call: Call, reply: Reply) -> None:
        now_s = call.now_s()
        self._free_at_s = max(now_s, self._free_at_s) + 1 / self.per_second
        call.later(self._free_at_s - now_s, lambda: call.send(reply))


class Silence(Fault):
    """Do nothing and say nothing."""

    def meet(self, call: Call) -> None:
        """Take it and forget it."""


class DropAnswer(Fault):
    """Do it and say nothing."""

    def deliver(self, call: Call, reply: Reply) -> None:
        """Forget the answer."""


@dataclass(frozen=True)
class CloseBefore(Fault):
    """Do nothing and close the connection."""

    is_reset: bool = False

    def meet(self, call: Call) -> None:
        call.close(is_reset=self.is_reset)


@dataclass(frozen=True)
class CloseUnanswered(Fault):
    """Do it and close the connection instead of answering."""

    is_reset: bool = False

    def deliver(self, call: Call, reply: Reply) -> None:
        call.close(is_reset=self.is_reset)


@dataclass(frozen=True)
class CloseInAnswer(Fault):
    """Do it, write the first `count` bytes of the answer (half of them for None) and close."""

    count: int | None = None

    def deliver(self, call: Call, reply: Reply) -> None:
        frame = call.frame(reply)
        call.write(frame[: len(frame) // 2 if self.count is None else self.count])
        call.close()


class CloseAfter(Fault):
    """Do it, answer, and close."""

    def deliver(self, call: Call, reply: Reply) -> None:
        call.send(reply)
        call.close()


@dataclass(frozen=True)
class WrongOpaque(Fault):
    """Do it and answer under another opaque; with `is_also_right` the right answer follows."""

    shift: int = 100_000
    is_also_right: bool = False

    def deliver(self, call: Call, reply: Reply) -> None:
        call.write(call.frame(reply, call.arrival.command.opaque + self.shift))
        if self.is_also_right:
            call.send(reply)


@dataclass(frozen=True)
class Garbage(Fault):
    """Do it and write these bytes instead of an answer."""

    data: bytes = b"HTTP/1.1 400 Bad Request\r\n\r\n"

    def deliver(self, call: Call, reply: Reply) -> None:
        call.write(self.data)


class AnswerTwice(Fault):
    """Do it once and answer it twice."""

    def deliver(self, call: Call, reply: Reply) -> None:
        call.send(reply)
        call.send(reply)


@dataclass(frozen=True)
class InPieces(Fault):
    """Do it and write the answer in pieces of so many bytes, each in a turn of the loop of its own."""

    size: int = 1

    def deliver(self, call: Call, reply: Reply) -> None:
        call.write(call.frame(reply), piece=self.size)


@dataclass
class Trigger(Fault):
    """Call `act` (a function, or one that gives a coroutine) when the request comes, and serve it as ever.

    What happens to a whole broker at its 300th send is written so. A coroutine runs beside; its end is not awaited.
    """

    act: Callable[[], object]
    _running: set[asyncio.Task[Any]] = field(default_factory=set)

    def meet(self, call: Call) -> None:
        doing = self.act()
        if asyncio.iscoroutine(doing):
            task = asyncio.get_running_loop().create_task(doing)
            self._running.add(task)
            task.add_done_callback(self._running.discard)
        call.act()


@dataclass(eq=False)
class Rule:
    """Which requests meet a fault. `left` counts down; None is for ever. `met` counts those that did."""

    fault: Fault
    codes: tuple[int, ...]
    left: int | None
    skip: int
    when: Callable[[Arrival], object] | None
    met: int = 0

    def stop(self) -> None:
        """Let no more meet it."""
        self.left = 0

    def matches(self, arrival: Arrival) -> bool:
        """Say whether this one is meant, and count it."""
        if self.left == 0 or (self.codes and arrival.code not in self.codes):
            return False
        if self.when is not None and not self.when(arrival):
            return False
        if self.skip:
            self.skip -= 1
            return False
        self.left = None if self.left is None else self.left - 1
        self.met += 1
        return True


class Faults:
    """The rules of one broker, oldest first; the first that matches decides. Chaos takes what is left."""

    def __init__(self) -> None:
        self.rules: list[Rule] = []
        self.chaos: Chaos | None = None

    def add(
        self,
        fault: Fault,
        codes: int | Iterable[int] = (),
        *,
        times: int | None = 1,
        after: int = 0,
        when: Callable[[Arrival], object] | None = None,
    ) -> Rule:
        """Let `times` requests (None: all from now on) of these codes (none named: any) meet a fault.

        Args:
            fault: The fault.
            codes: One request code or several.
            times: How many meet it.
            after: How many of them pass unharmed before.
            when: Further condition.
        """
        chosen = (codes,) if isinstance(codes, int) else tuple(codes)
        rule = Rule(fault, chosen, times, after, when)
        self.rules.append(rule)
        return rule

    def sequence(self, codes: int | Iterable[int], faults: Iterable[Fault]) -> list[Rule]:
        """Let the next requests of these codes meet one fault each, in this order."""
        return [self.add(fault, codes) for fault in faults]

    def clear(self) -> None:
        """Let everything be well again, chaos included."""
        self.rules.clear()
        self.chaos = None

    def take(self, arrival: Arrival) -> Fault:
        """Give the fault that a request meets."""
        for rule in self.rules:
            if rule.matches(arrival):
                return rule.fault
        return Fault() if self.chaos is None else self.chaos.draw(arrival)


BUSY: Final = (
    "[TIMEOUT_CLEAN_QUEUE]broker busy, start flow control for a while, period in queue: 205ms, size of queue: 1"
)

# Codes of which a client knows that another try may help, with the words that brokers use.
PASSING: Final[Sequence[tuple[int, str]]] = (
    (1, "UNKNOWN_ERROR"), (2, BUSY), (14, "service not available now."),
)  # fmt: skip


class Chaos:
    """Faults by chance, the same for the same seed and the same order of requests.

    Nothing that it does is a lie: a client that goes on trying loses nothing. `rate` is the share of requests that
    meet a fault. Silence lasts as long as the client waits, so it is rare.
    """

    def __init__(
        self, seed: int, rate: float = 0.1, *, longest_delay_s: float = 0.05, spared: Iterable[int] = ()
    ) -> None:
        self.seed = seed
        self.rate = rate
        self._random = random.Random(seed)
        self._longest_delay_s = longest_delay_s
        self._spared = frozenset(spared)

    def draw(self, arrival: Arrival) -> Fault:
        """Give the fault of one request."""
        chance = self._random
        if chance.random() >= self.rate or arrival.code in self._spared:
            return Fault()
        makers: list[tuple[Callable[[], Fault], int]] = [
            (lambda: Refuse(*chance.choice(PASSING)), 5),
            (lambda: Delay(chance.random() * self._longest_delay_s, chance.random() < 0.5), 5),
            (lambda: CloseBefore(chance.random() < 0.5), 2),
            (lambda: CloseUnanswered(chance.random() < 0.5), 2),
            (lambda: CloseInAnswer(chance.randrange(1, 40)), 2),
            (CloseAfter, 2),
            (AnswerTwice, 2),
            (lambda: WrongOpaque(chance.randrange(1, 1000), is_also_right=True), 2),
            (lambda: InPieces(chance.randrange(1, 64)), 2),
            (lambda: Garbage(b"\xff" + chance.randbytes(chance.randrange(8, 64))), 1),
            (DropAnswer, 1),
            (Silence, 1),
        ]
        make: Any = chance.choices([maker for maker, _ in makers], [weight for _, weight in makers])[0]
        made: Fault = make()
        return made
