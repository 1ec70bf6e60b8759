"""A client that was made for 4.9 finds in our broker's answers what it found in those of a 4.9.7 broker.

Our broker follows 5.5.0 (test_broker_answers.py). Here recorded requests to 4.9.7 are sent to it: every field, message and
table that such a client knows is there, with the same values; refusals are refusals. Where 5.x itself answers otherwise
stands in `apart`, with the reason.
"""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

import pytest
from tests.support.broker_golden import Played, Player, frames, is_alike_for_old_clients

from cosmodrome.broker.clock import Clock
from cosmodrome.broker.server import Broker

_BROADCASTING: Final = "since 5.x members of broadcasting groups are not told of each other"
_UNKNOWN: Final = "who has left out subscriptions that are not known is asked for them, and told of itself then"
_TAGS: Final = "since 5.x messages are found by their tag too"


@dataclass(frozen=True, kw_only=True)
class Case:
    """Scenarios that were recorded one after another; see test_broker_answers.py."""

    scenarios: tuple[str, ...]
    least: int
    apart: Mapping[int, str] = field(default_factory=dict)
    closes: Mapping[float, int] = field(default_factory=dict)

    def frames(self) -> Iterator[Played]:
        """Give what is played."""
        for frame in frames(*(f"{scenario}-4.9.7" for scenario in self.scenarios)):
            if frame.command.opaque not in self.apart:
                yield frame


CASES: Final = (
    Case(
        scenarios=("heartbeat-and-membership", "long-polling", "locks", "query-and-view"),
        least=70,
        apart={686: _UNKNOWN, 67: _TAGS, **dict.fromkeys((693, 696, 697, 706), _BROADCASTING)},
        closes={4987: 3, 7052: 4},
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.scenarios[0])
async def test_a_client_of_4_9_finds_what_it_knows(case: Case) -> None:
    now_ms = [time.time_ns() // 1_000_000]
    clock = Clock(lambda: now_ms[0], lambda: time.monotonic_ns() // 1_000_000)

    def before(frame: Played) -> None:
        ext = frame.command.ext or {}
        born = ext.get("g") or ext.get("bornTimestamp")
        if born is not None:
            now_ms[0] = int(born) + 3

    async with Broker(broker_name="bkX", clock=clock) as broker:
        player = Player(broker.address, before=before, closes=case.closes, alike=is_alike_for_old_clients)
        await player.play(case.frames())
    assert not player.differences, "\n".join(player.differences)
    assert player.compared >= case.least
