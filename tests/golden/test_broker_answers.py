"""Our broker answers what Apache's 5.5.0 answered, request for request.

What it answers otherwise on purpose is `apart` in CASES, with the reason; the releases before are not its model.
"""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

import pytest
from tests.support import wire
from tests.support.broker_golden import Played, Player, frames

from cosmodrome.broker.clock import Clock
from cosmodrome.broker.server import Broker

_WRONG_NAMES: Final = "fields under the other names are read too, whatever the code"
_NO_QUEUES: Final = "a topic without queues is not made"


@dataclass(frozen=True, kw_only=True)
class Case:
    """Scenarios that were recorded one after another.

    Attributes:
        least: How many answers must be compared at least.
        only: Requests (by opaque) that are sent at all; the others need settings that this broker does not have.
        apart: Requests (by opaque) that are not sent, and why: the answer differs on purpose, or hangs on what was not recorded.
        asker: Connection and client id of a producer whose heartbeat was not recorded.
        instead: Requests that are sent with another body.
        before: A message of so many bytes, too long for the recording, that came before the one with this opaque.
        closes: When a connection was closed (time → connection).
        stored_at: When a message was stored, where a later answer hangs on it.
        broker_name: Of the broker that was recorded, where an answer shows it.
    """

    scenarios: tuple[str, ...]
    least: int
    only: range = range(2**31)
    apart: Mapping[int, str] = field(default_factory=dict)
    asker: tuple[int, str] | None = None
    instead: Mapping[int, tuple[bytes, bytes]] = field(default_factory=dict)
    before: Mapping[int, int] = field(default_factory=dict)
    closes: Mapping[float, int] = field(default_factory=dict)
    stored_at: Mapping[int, int] = field(default_factory=dict)
    broker_name: str = "bkX"

    def frames(self) -> Iterator[Played]:
        """Give what is played."""
        for frame in frames(*(f"{scenario}-5.5.0" for scenario in self.scenarios)):
            command = frame.command
            if command.opaque in self.apart or command.opaque not in self.only:
                continue
            if frame.is_from_client and command.opaque in self.before:
                long = command._replace(
                    opaque=-1, body=b"x" * self.before[command.opaque], ext={**(command.ext or {}), "i": ""}
                )
                yield frame._replace(command=long)
            if frame.is_from_client and command.opaque in self.instead:
                command = command._replace(body=command.body.replace(*self.instead[command.opaque]))
            yield frame._replace(command=command)


CASES: Final = (
    Case(
        scenarios=("send-forms-and-refusals", "pull-statuses", "offsets"),
        least=125,
        apart={
            4: _WRONG_NAMES,
            5: _WRONG_NAMES,
            9: _WRONG_NAMES,
            33: "nobody may send to the topic of timers",
            43: _NO_QUEUES,
            44: _NO_QUEUES,
            61: "it shows the message of 53",
        },
        instead={53: (b"DELAY", b"DELAX")},
        before={47: 4},
        stored_at={1: 1_795_973_129_200},
    ),
    Case(
        scenarios=("heartbeat-and-membership", "long-polling", "locks", "query-and-view"),
        least=75,
        apart={26: "who has left out subscriptions that are not known is asked for them", 389: "the notice after 26"},
        closes={4305: 3, 6183: 4},
    ),
    Case(
        scenarios=("send-back-and-delay",),
        least=22,
        only=range(1, 29),
        apart=dict.fromkeys((13, 18, 20), "it shows when delayed messages came, which the test does not wait for"),
    ),
    Case(scenarios=("request-reply",), least=5, asker=(5, "rq@73158")),
    Case(
        scenarios=("pop",),
        least=23,
        only=range(1, 26),
        broker_name="bk55",
        apart={8: "the order of queues in an assignment is that of a hash set"},
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.scenarios[0])
async def test_the_broker_answers_as_5_5_0_did(case: Case) -> None:
    """Codes, remarks, header fields and stored records; ids, times and the texts of Java exceptions are its own."""
    now_ms = [time.time_ns() // 1_000_000]
    clock = Clock(lambda: now_ms[0], lambda: time.monotonic_ns() // 1_000_000)

    def before(frame: Played) -> None:
        ext = frame.command.ext or {}
        born = ext.get("g") or ext.get("bornTimestamp") or ext.get("bornTime")
        if born is not None and int(born) > 1:
            now_ms[0] = case.stored_at.get(frame.command.opaque, int(born) + 3)

    async with Broker(broker_name=case.broker_name, clock=clock) as broker:
        player = Player(broker.address, before=before, closes=case.closes)
        if case.asker is not None:
            hello = {"clientID": case.asker[1], "producerDataSet": [{"groupName": "requesters"}]}
            await player.say(case.asker[0], 34, wire.dump(hello))
        await player.play(case.frames())
    assert not player.differences, "\n".join(player.differences)
    assert player.compared >= case.least
