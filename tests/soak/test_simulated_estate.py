"""The simulated estate of benchmarks/simulated_estate: a small one against our server, and its judgement of answers.

Scaled: 6 brokers, 24 clients and periods of half a second; `python -m benchmarks.simulated_estate` is the full form.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from benchmarks.simulated_estate.population import LIVES, Population, WrongAnswerError, queues_of, topic_name
from benchmarks.simulated_estate.report import delays, faults, table
from benchmarks.simulated_estate.run import SERVER_RESTARTS, Plan, simulate
from benchmarks.simulated_estate.tally import Tally
from benchmarks.simulated_estate.truth import Truth
from tests.interop.rig.name_servers import OurNameServer
from tests.support.wire import dump

SMALL = Population(brokers=6, topics=50, clients=24, polled=5)
DISJOINT = Population(brokers=3, topics=20, clients=12, polled=5, is_disjoint=True, form="compressed")
PLAN = Plan(period_s=0.5, quiet_s=0.3, restart_s=0.3, down_s=0.01, is_server_restarted=True)
EVERYBODY = SMALL.owners(0)


@pytest.mark.parametrize(
    ("population", "plan"),
    [(SMALL, PLAN), (DISJOINT, replace(PLAN, is_server_restarted=False))],
    ids=["the same topics, the server restarts too", "topics of their own, compressed"],
)
def test_no_answer_is_wrong_while_brokers_restart(tmp_path: Path, population: Population, plan: Plan) -> None:
    server = OurNameServer(tmp_path)
    try:
        server.start()
        tally = simulate(server, population, plan, lambda _: None)
    finally:
        server.kill()
    assert list(faults(tally, may_lose=SERVER_RESTARTS)) == [], tally.faults
    assert sum(phase.answers for phase in tally.phases[2:]), table(tally)
    assert sum(len(phase.registrations_s) for phase in tally.phases) >= 2 * population.brokers
    assert all(phase.stall_ms for phase in tally.phases)
    assert (f"| {SERVER_RESTARTS} | " in table(tally)) is plan.is_server_restarted


class TestTruth:
    LIFE = SMALL.bit(2, 0)

    def test_who_registers_may_be_named_before_the_answer_and_must_be_after_it(self) -> None:
        truth = Truth()
        asked = truth.moment
        assert truth.fault(self.LIFE, asked, EVERYBODY)
        epoch = truth.is_coming(self.LIFE)
        assert truth.fault(0, asked, EVERYBODY) is None
        assert truth.fault(self.LIFE, asked, EVERYBODY) is None
        truth.has_come(self.LIFE, epoch)
        assert truth.fault(0, asked, EVERYBODY) is None, "it was asked before"
        assert truth.fault(0, truth.moment, EVERYBODY) == "1 missing of 1 that are registered"

    def test_who_leaves_must_not_be_named_after_the_answer(self) -> None:
        truth = Truth()
        truth.has_come(self.LIFE, truth.is_coming(self.LIFE))
        truth.is_leaving(self.LIFE)
        assert truth.fault(0, truth.moment, EVERYBODY) is None
        assert truth.fault(self.LIFE, truth.moment, EVERYBODY) is None
        truth.has_left(self.LIFE)
        assert truth.fault(self.LIFE, truth.moment - 1, EVERYBODY) is None, "it was asked before"
        assert truth.fault(self.LIFE, truth.moment, EVERYBODY) == "1 named that are not registered"

    def test_a_former_life_is_not_the_present_one(self) -> None:
        truth, former, present = Truth(), SMALL.bit(2, 0), SMALL.bit(2, 1)
        truth.has_come(former, truth.is_coming(former))
        truth.is_leaving(former)
        truth.has_left(former)
        truth.has_come(present, truth.is_coming(present))
        assert truth.fault(former, truth.moment, EVERYBODY)
        assert truth.fault(present, truth.moment, EVERYBODY) is None

    def test_who_does_not_have_the_topic_is_nobody(self) -> None:
        truth, disjoint = Truth(), Population(brokers=2, topics=10, is_disjoint=True)
        for broker in range(2):
            truth.has_come(disjoint.bit(broker, 0), truth.is_coming(disjoint.bit(broker, 0)))
        first, second = disjoint.owners(9), disjoint.owners(10)
        assert truth.fault(disjoint.bit(0, 0), truth.moment, first) is None
        assert truth.fault(disjoint.bit(0, 0), truth.moment, second)

    def test_a_registration_of_before_the_end_of_the_server_counts_for_nothing(self) -> None:
        truth = Truth()
        epoch = truth.is_coming(self.LIFE)
        truth.is_lost()
        truth.has_come(self.LIFE, epoch)
        assert truth.fault(0, truth.moment, EVERYBODY) is None
        assert truth.fault(self.LIFE, truth.moment, EVERYBODY)


def route(topic: int, *lives: tuple[int, int], **changes: Any) -> bytes:
    """A right answer about a topic, with something changed in its first queue data or its first group."""
    names = {broker: SMALL.broker(broker) for broker, _ in lives}
    queue_datas: list[dict[str, Any]] = [
        {
            "brokerName": names[broker].name,
            "perm": 6,
            "readQueueNums": queues_of(topic, life),
            "topicSysFlag": 0,
            "writeQueueNums": queues_of(topic, life),
        }
        for broker, life in lives
    ]
    broker_datas: list[dict[str, Any]] = [
        {"brokerAddrs": {"0": each.addr}, "brokerName": each.name, "cluster": each.cluster} for each in names.values()
    ]
    queue_datas[0] |= {name: value for name, value in changes.items() if name in queue_datas[0]}
    broker_datas[0] |= {name: value for name, value in changes.items() if name in broker_datas[0]}
    return dump({"brokerDatas": broker_datas, "filterServerTable": {}, "queueDatas": queue_datas})


class TestPopulation:
    def test_a_right_answer_is_read_down_to_who_is_in_it(self) -> None:
        assert SMALL.read(7, route(7, (0, 0), (5, 3))) == SMALL.bit(0, 0) | SMALL.bit(5, 3)

    def test_a_registration_says_what_a_right_answer_says(self) -> None:
        body = SMALL.body(1, 2)
        assert f'"{topic_name(7)}":'.encode() in body
        assert f'"readQueueNums":{queues_of(7, 2)}'.encode() in body

    def test_lives_are_told_apart(self) -> None:
        assert len({SMALL.read(3, route(3, (1, life))) for life in range(LIVES)}) == LIVES

    @pytest.mark.parametrize(
        "body",
        [
            b"{}",
            b"[",
            route(8, (0, 0)),
            route(7, (0, 0), (0, 1)),
            route(7, (0, 0), readQueueNums=0),
            route(7, (0, 0), writeQueueNums=1),
            route(7, (0, 0), perm=4),
            route(7, (0, 0), topicSysFlag=1),
            route(7, (0, 0), brokerName="nobody"),
            route(7, (0, 0), cluster="another"),
            route(7, (0, 0), brokerAddrs={"0": "10.90.0.1:10911"}),
            route(7, (0, 0), brokerAddrs={}),
        ],
        ids=lambda body: body.decode()[:40],
    )
    def test_what_no_broker_sent_is_wrong(self, body: bytes) -> None:
        with pytest.raises(WrongAnswerError):
            SMALL.read(7, body)


def test_faults_are_told() -> None:
    tally = Tally(pid=0)
    tally.begin("first")
    tally.take_answer(0.1, None)
    assert list(faults(tally)) == []
    tally.take_answer(4.0, "1 missing of 2 that are registered")
    tally.take_registration(0.1, 2)
    tally.now.lost += 1
    tally.unfinished = "first"
    assert list(faults(tally)) == [
        "1 wrong answers",
        "first: not over in time; the server, or the machine, has too much to do",
        "first: 1 registrations or unregistrations refused",
        "first: 1 connections lost",
    ]
    assert list(delays(tally)) == ["first: 1 answers after more than 3 s"]
    assert "- wrong: 1 missing of 2 that are registered (1 times)" in table(tally)
