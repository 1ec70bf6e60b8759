"""The double answers what real brokers of 5.5.0 and 4.9.7 answered, request for request."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import pytest
from tests.support import wire
from tests.support.broker_golden import Played, Player, frames, served
from tests.support.faulty_broker import V4_9_7, V5_5_0, FaultyBroker, Topic

RELEASES: Final = {"5.5.0": V5_5_0, "4.9.7": V4_9_7}


@dataclass(frozen=True, kw_only=True)
class Case:
    """Scenarios that were recorded one after another, and what the recording does not hold.

    `there` is what was stored before (topic, queue → messages); `left_out` a message too long for it, by the request
    that followed; `closes` when connections were closed; `stored_at` the
    time at which the message of a request was stored, where a later answer depends on it; `delivered` when messages of
    level 1 came due; `apart` the requests (opaque → why) whose answers depend on what the double does not know.
    """

    release: str
    scenarios: tuple[str, ...]
    least: int
    topics: tuple[Topic, ...] = ()
    there: Mapping[tuple[str, int], int] = field(default_factory=dict)
    left_out: Mapping[int, tuple[str, bytes, int]] = field(default_factory=dict)
    closes: Mapping[float, int] = field(default_factory=dict)
    stored_at: Mapping[int, int] = field(default_factory=dict)
    delivered: tuple[float, ...] = ()
    apart: Mapping[int, str] = field(default_factory=dict)
    asker: tuple[int, str] | None = None
    revived: Mapping[float, int] = field(default_factory=dict)
    """Time of the recording → time of day until which popped messages that were due had come back."""

    @property
    def id(self) -> str:
        return f"{self.scenarios[0]}-{self.release}"


SENDS: Final = ("send-forms-and-refusals", "pull-statuses", "offsets")
MEMBERS: Final = ("heartbeat-and-membership", "long-polling", "locks", "query-and-view")
BACK: Final = ("send-back-and-delay", "transaction-end")
LONG_NAME: Final = "a" * 127

CASES: Final = (
    Case(
        release="5.5.0",
        scenarios=SENDS,
        least=130,
        left_out={47: ("SpecT1_73129", b"long", 3)},
        stored_at={1: 1_795_973_129_200},
    ),
    Case(
        release="4.9.7",
        scenarios=SENDS,
        least=130,
        there={
            (LONG_NAME, 0): 1,
            ("TBW102", 0): 1,
            ("rmq_sys_wheel_timer", 0): 1,
            ("BenchmarkTest", 0): 1,
            ("%RETRY%nogroupX", 0): 1,
            ("%DLQ%nogroupX", 0): 1,
            ("DefaultCluster", 0): 1,
        },
        left_out={47: ("SpecT1_70875", b"long", 3)},
        stored_at={1: 1_795_970_875_672, 2: 1_795_970_875_680},
    ),
    Case(release="5.5.0", scenarios=MEMBERS, least=75, closes={4305: 3, 6183: 4}),
    Case(release="4.9.7", scenarios=MEMBERS, least=75, closes={4987: 3, 7038: 4}),
    Case(
        release="5.5.0",
        scenarios=BACK,
        least=55,
        topics=(Topic(name="W73253", perm=2), Topic(name="R73253", perm=4), Topic(name="RW73253", read=2, write=4)),
        there={("RMQ_SYS_TRANS_HALF_TOPIC", 0): 3, ("rmq_sys_wheel_timer", 0): 10},
        delivered=(2685, 5061),
        apart={
            90: "a group without permission", 94: "a group that may not broadcast", 113: "a reset that is pending",
            160: "brokerPermission", 162: "brokerPermission", 167: "rejectTransactionMessage", 170: "autoCreateTopicEnable",
            171: "autoCreateSubscriptionGroup", 174: "autoCreateSubscriptionGroup", 178: "a reset that is pending",
        },
    ),
    Case(
        release="4.9.7",
        scenarios=BACK,
        least=55,
        topics=(Topic(name="W71380", perm=2), Topic(name="R71380", perm=4), Topic(name="RW71380", read=2, write=4)),
        delivered=(2600, 5185),
        apart={
            89: "a group without permission", 93: "a group that may not broadcast", 159: "brokerPermission",
            161: "brokerPermission", 166: "rejectTransactionMessage", 169: "autoCreateTopicEnable",
            170: "autoCreateSubscriptionGroup", 173: "autoCreateSubscriptionGroup", 177: "longPollingEnable",
            65: "dispatched too late to be read",
        },
    ),
    Case(
        release="5.5.0",
        scenarios=("pop",),
        least=48,
        revived={10222: 1_795_973_768_821, 12768: 1_795_973_771_368, 76157: 1_795_973_834_000},
    ),
    Case(release="5.5.0", scenarios=("request-reply",), least=5, asker=(5, "rq@73158")),
    Case(release="4.9.7", scenarios=("request-reply",), least=5, asker=(5, "rq@71644")),
)  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
async def test_the_double_answers_as_the_recorded_broker_did(case: Case) -> None:
    """Codes, remarks, header fields and stored records; ids, times and the texts of Java exceptions are its own."""
    async with FaultyBroker((), "bk55", release=RELEASES[case.release]) as broker:
        broker.pulls.settings.sweep_s = 0.05
        broker.pulls.settings.longest_hold_s = 0.1
        broker.pops.invisible_s = 1000.0
        broker.sends.settings.level_s = broker.sends.settings.timer_s = 1000.0
        broker.store.topics |= {topic.name: topic for topic in case.topics}
        for (topic, queue_id), count in case.there.items():
            for _ in range(count):
                broker.put(topic, queue_id=queue_id)
        player, due = Player(broker.address, closes=case.closes), list(case.delivered)

        def before(frame: Played) -> None:
            ext = frame.command.ext or {}
            born = ext.get("g") or ext.get("bornTimestamp") or ext.get("bornTime")
            if born not in (None, "1"):
                stored_at = case.stored_at.get(frame.command.opaque, int(born) + 3)
                broker.clock = lambda: stored_at
            if frame.command.opaque in case.left_out:
                broker.put(*case.left_out[frame.command.opaque])
            if frame.t_ms in case.revived:
                broker.pops.revive(case.revived[frame.t_ms])
            while due and due[0] <= frame.t_ms:
                due.pop(0)
                broker.sends.deliver_parked(1)

        player.before = before
        if case.asker is not None:
            hello = {"clientID": case.asker[1], "producerDataSet": [{"groupName": "requesters"}]}
            await player.say(case.asker[0], 34, wire.dump(hello))
        recorded = frames(*(f"{scenario}-{case.release}" for scenario in case.scenarios))
        await player.play(
            [frame for frame in served(recorded, broker.works) if frame.command.opaque not in case.apart],
        )
    assert not player.differences, "\n".join(player.differences)
    assert player.compared >= case.least
