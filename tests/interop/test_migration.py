"""A live estate moves from Apache's NameServer to ours and back, and no send of a producer fails.

The steps of docs/migration.md, in their order: the tests of this file are one story, and each goes on where the one
before it ended. Messages are sent from the first step to the last.
"""

import json
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.interop.conftest import StageMaker
from tests.interop.rig.brokers import CLUSTER, REGISTRATION_PERIOD_S, ApacheBroker, BrokerSettings
from tests.interop.rig.jars import V5_5
from tests.interop.rig.mqadmin import MqAdmin
from tests.interop.rig.name_servers import NameServer
from tests.interop.rig.ports import HOST, free_port
from tests.interop.rig.process import RigProcess
from tests.interop.rig.sender import SteadySender
from tests.support.waiting import wait_until

BROKER = "broker-moved"
BROKER_CONFIG = {"updateNameServerAddrPeriod": "5000"}
"""How often a broker takes up a changed `namesrvAddr`, the first time after 10 s; 2 minutes by default."""
BROKER_READS_ADDRESSES_S = 60
PERIODS_S = 4 * REGISTRATION_PERIOD_S
SENDS = 100
"""So many more must succeed after each step: two seconds of sending."""

Report = dict[str, Any]


class ShadowingNameServer(NameServer):
    """Ours, comparing its answers with those of another NameServer."""

    def __init__(self, folder: Path, other: str) -> None:
        """Prepare it; nothing is started yet."""
        port = free_port()
        self._report = folder / "shadow.json"
        flags = {
            "--bindAddress": HOST,
            "--listenPort": str(port),
            "--http": "off",
            "--data-dir": str(folder / "data"),
            "--shadow": other,
            "--shadow-report": str(self._report),
        }
        folder.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "cosmodrome", "namesrv", *(word for flag in flags.items() for word in flag)]
        super().__init__(RigProcess(command, folder, {"HOME": str(folder)}), port)

    def report(self) -> Report:
        """Have the report written anew, and return it."""
        before = self._report.read_text(encoding="utf-8")
        os.kill(self.process.pid, signal.SIGUSR1)
        return wait_until(lambda: self._report_unlike(before), "a new report", 10)

    def last_report(self) -> Report:
        """Return the report as it is now, such as after the end."""
        return self._report_unlike("") or {}

    def _report_unlike(self, before: str) -> Report | None:
        text = self._report.read_text(encoding="utf-8")
        return None if text == before else json.loads(text)


@dataclass(kw_only=True)
class Estate:
    """Everything that runs, and the questions of the story. At first the broker knows Apache's server only."""

    apache: NameServer
    ours: ShadowingNameServer
    broker: ApacheBroker
    sender: SteadySender
    admin: MqAdmin
    topics: int = 0

    def tell_broker_both_addresses(self) -> None:
        """Change `namesrvAddr` of the whole cluster."""
        both = f"{self.apache.address};{self.ours.address}"
        words = ("-n", self.apache.address, "-c", CLUSTER, "-k", "namesrvAddr", "-v", both)
        said = self.admin.run("updateBrokerConfig", *words)
        assert "update broker config success" in said, said

    def give_producer_both_addresses(self) -> None:
        """Restart it, as it were."""
        self.sender.renew(f"{self.apache.address};{self.ours.address}")

    def new_topic(self) -> str:
        """Make a topic at the broker, whose route nobody has asked for yet."""
        self.topics += 1
        topic = f"Moved-{self.topics}"
        self.broker.create_topic(topic)
        return topic

    def assert_still_sending(self) -> None:
        """Wait for more messages, and fail if a send failed."""
        wanted = self.sender.counts().sent + SENDS
        wait_until(lambda: self.sender.counts().sent >= wanted or self.sender.counts().failed, "more messages", 60)
        assert self.sender.counts().failed == 0

    def read_everything_from_ours(self) -> int:
        """Ask ours for all there is, as brokers, clients and tools do; return how many questions that were at least."""
        topics = self.ours.view.topics()
        self.ours.view.member_ids(CLUSTER, BROKER)
        listed = self.admin.run("topicList", "-n", self.ours.address, "-c")
        assert all(topic in listed for topic in topics), listed
        return len(topics) + 4

    def settled_report(self) -> Report:
        """Return the shadow's report once every read has its outcome."""

        def settled() -> Report | None:
            report = self.ours.report()
            return None if report["pending"] else report

        return wait_until(settled, "a shadow that has nothing left to compare", PERIODS_S)

    def assert_answers_are_the_same(self) -> None:
        """Ask ours for everything, and fail unless Apache's answered all of it alike."""
        before = self.settled_report()
        questions = self.read_everything_from_ours()
        after = self.settled_report()
        assert after["different"] == before["different"], after
        assert after["failed"] == before["failed"], after
        assert after["same"] >= before["same"] + questions, after

    def assert_routes_come_from(self, name_server: NameServer) -> None:
        """Have the producer send to a topic that it knows nothing about yet."""
        topic = self.new_topic()
        wait_until(lambda: name_server.view.route(topic), f"the route of {topic}", PERIODS_S)
        self.sender.go_on_with(topic)
        self.assert_still_sending()


@pytest.fixture(scope="module")
def estate(new_stage: StageMaker) -> Iterator[Estate]:
    """Apache's NameServer and broker, and a producer that sends; ours is not started yet."""
    with new_stage("migration") as stage, ExitStack() as endings:
        apache = stage.started_name_server(V5_5)
        settings = BrokerSettings(release=V5_5, name=BROKER, name_servers=[apache.address], config=BROKER_CONFIG)
        broker = stage.registered_broker(settings)
        ours = ShadowingNameServer(stage.folder / "ours", apache.address)
        endings.callback(ours.kill)
        sender = SteadySender(V5_5, stage.folder / "sender")
        endings.callback(sender.stop)
        estate = Estate(apache=apache, ours=ours, broker=broker, sender=sender, admin=stage.mqadmin(V5_5))
        topic = estate.new_topic()
        wait_until(lambda: apache.view.route(topic), "the first route", PERIODS_S)
        sender.start(apache.address, topic)
        yield estate


def test_1_the_broker_registers_with_both_when_it_is_told_to(estate: Estate) -> None:
    estate.assert_still_sending()
    estate.ours.start()
    estate.tell_broker_both_addresses()
    wait_until(
        lambda: estate.ours.view.broker_groups() == {BROKER: {"0": estate.broker.address}},
        "the broker at ours",
        BROKER_READS_ADDRESSES_S,
    )
    estate.assert_still_sending()


def test_2_the_shadow_finds_no_difference_once_both_know_the_broker(estate: Estate) -> None:
    estate.assert_answers_are_the_same()
    estate.assert_still_sending()


def test_3_the_producer_gets_both_addresses(estate: Estate) -> None:
    """Only now: of two addresses a new client asks one, and gives up a topic that this one does not know."""
    estate.give_producer_both_addresses()
    estate.assert_still_sending()


def test_4_the_producer_goes_on_when_apache_s_server_stops(estate: Estate) -> None:
    estate.apache.stop()
    estate.assert_still_sending()
    estate.assert_routes_come_from(estate.ours)


def test_5_back_again_the_shadow_sees_that_apache_s_server_has_caught_up(estate: Estate) -> None:
    estate.apache.start()
    estate.broker.wait_registered(PERIODS_S)
    topics = estate.ours.view.topics()
    wait_until(lambda: estate.apache.view.topics() >= topics, "all topics at Apache's", PERIODS_S)
    estate.assert_answers_are_the_same()
    estate.assert_still_sending()


def test_6_the_producer_goes_on_when_ours_stops(estate: Estate) -> None:
    estate.ours.stop()
    estate.assert_still_sending()
    estate.assert_routes_come_from(estate.apache)


def test_7_not_one_send_failed(estate: Estate) -> None:
    counts = estate.sender.counts()
    assert counts.failed == 0
    assert counts.sent >= 6 * SENDS
    report = estate.ours.last_report()
    assert report["pending"] == 0
    assert report["reads"] == sum(report[outcome] for outcome in ("same", "different", "dropped", "failed"))
