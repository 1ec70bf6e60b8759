"""Every situation that a topic or a broker can be in, and what is said of it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from cosmodrome.why.broker_rules import diagnose_broker
from cosmodrome.why.diagnosis import Diagnosis, lines_of
from cosmodrome.why.facts import BrokerFacts, Happening, Member, Missed, Past, Peer, Queues, Server, TopicFacts
from cosmodrome.why.topic_rules import diagnose_topic

NOW = 1_800_000_000.0
HERE = "10.0.0.1:9876"
THERE = "10.0.0.2:9876"


def server(**facts: Any) -> Server:
    usual: dict[str, Any] = {
        "address": HERE,
        "now_s": NOW,
        "is_ours": True,
        "up_since_s": NOW - 11_520,
        "known_since_s": NOW - 11_520,
        "is_history_whole": True,
        "brokers": 2,
    }
    return Server(**(usual | facts))


def queues(broker: str = "broker-a", addresses: Mapping[int, str] | None = None, **facts: Any) -> Queues:
    where = addresses or {0: "10.0.0.5:10911"}
    usual: dict[str, Any] = {"broker": broker, "cluster": "C", "read": 8, "write": 8, "perm": 6}
    return Queues(**(usual | facts), addresses=where)


def happened(what: Past, ago_s: float = 60, broker: str | None = "broker-a", **facts: Any) -> Happening:
    return Happening(time_s=NOW - ago_s, what=what, broker=broker, **facts)


def topic(**facts: Any) -> Diagnosis:
    usual: dict[str, Any] = {"topic": "order-event", "server": server(), "default_topic": ()}
    return diagnose_topic(TopicFacts(**(usual | facts)))


def broker(**facts: Any) -> Diagnosis:
    usual: dict[str, Any] = {"broker": "broker-b", "server": server()}
    return diagnose_broker(BrokerFacts(**(usual | facts)))


def member(**facts: Any) -> Member:
    usual: dict[str, Any] = {"cluster": "C", "broker": "broker-b", "broker_id": 0, "addr": "10.0.0.6:10911"}
    return Member(**(usual | {"silent_s": 5.0} | facts))


WIPED = (happened(Past.PERM_WIPED, by="10.9.9.9"),)
PEER_HAS_IT = (Peer(address=THERE, knows=True),)

TOPICS: dict[str, dict[str, Any]] = {
    "refused_name": {"refused": "the name has 400 characters, of at most 255"},
    "draining": {"server": server(is_draining=True)},
    "not_ready": {"server": server(unready="waiting for brokers, 30 s left")},
    "deleted": {"past": (happened(Past.TOPIC_DELETED, by="10.9.9.9"), happened(Past.TOPIC_ADDED, 600))},
    "dropped_by_broker": {"past": (happened(Past.TOPIC_DROPPED), happened(Past.TOPIC_ADDED, 600))},
    "brokers_expired": {"past": (happened(Past.EXPIRED), happened(Past.APPEARED, 600))},
    "brokers_closed": {"past": (happened(Past.CLOSED), happened(Past.APPEARED, 600))},
    "brokers_unregistered": {"past": (happened(Past.UNREGISTERED),)},
    "brokers_superseded": {"past": (happened(Past.SUPERSEDED),)},
    "elsewhere": {"peers": PEER_HAS_IT},
    "overloaded": {"server": server(is_braking=True)},
    "no_brokers": {"server": server(brokers=0)},
    "all_brokers_gone": {"server": server(brokers=0, came=("broker-a", "broker-b"))},
    "just_started": {"server": server(up_since_s=NOW - 5)},
    "retry_topic": {"topic": "%RETRY%billing"},
    "dead_letter_topic": {"topic": "%DLQ%billing"},
    "misspelt": {"near": ("order-events",)},
    "auto_creation": {"default_topic": (queues(),)},
    "never_registered": {},
    "unknown": {"server": server(is_history_whole=False, known_since_s=NOW - 600)},
    "routed": {"queues": (queues(),)},
    "no_queues": {"queues": (queues(write=0),)},
    "perm_wiped": {"queues": (queues(perm=4),), "past": WIPED},
    "not_writable": {"queues": (queues(perm=4),)},
    "not_readable": {"queues": (queues(perm=2),)},
    "no_master": {"queues": (queues(addresses={1: "10.0.0.6:10911"}),)},
    "odd_address": {"queues": (queues(addresses={0: "172.17.0.2:10911"}),)},
}

BROKERS: dict[str, dict[str, Any]] = {
    "refused": {"past": (happened(Past.REFUSED, broker="broker-b", text="its id is taken"),)},
    "gone_expired": {"past": (happened(Past.EXPIRED, broker="broker-b"),)},
    "gone_closed": {"past": (happened(Past.CLOSED, broker="broker-b"),)},
    "gone_unregistered": {"past": (happened(Past.UNREGISTERED, broker="broker-b"),)},
    "gone_superseded": {"past": (happened(Past.SUPERSEDED, broker="broker-b"),)},
    "elsewhere": {"peers": PEER_HAS_IT},
    "overloaded": {"server": server(is_braking=True)},
    "cluster_name": {"clusters": ("broker-b",)},
    "misspelt": {"near": ("broker-bb",)},
    "just_started": {"server": server(up_since_s=NOW - 5)},
    "never_seen": {},
    "unknown": {"server": server(is_history_whole=False)},
    "alive": {"members": (member(),)},
    "expiring": {"members": (member(silent_s=100.0, expires_in_s=20.0),)},
    "two_clusters": {"members": (member(), member(cluster="D", addr="10.0.0.7:10911"))},
    "no_master": {"members": (member(broker_id=1),)},
    "perm_wiped": {"members": (member(),), "past": (happened(Past.PERM_WIPED, broker="broker-b"),)},
    "odd_address": {"members": (member(addr="127.0.0.1:10911", peer="10.0.0.6"),)},
}


@pytest.mark.parametrize("situation", TOPICS)
def test_what_is_the_matter_with_a_topic(situation: str) -> None:
    found = topic(**TOPICS[situation])
    assert found.situation == situation
    assert found.is_well == (situation == "routed")
    assert_is_told(found)


@pytest.mark.parametrize("situation", BROKERS)
def test_what_is_the_matter_with_a_broker(situation: str) -> None:
    found = broker(**BROKERS[situation])
    assert found.situation == situation
    assert found.is_well == (situation == "alive")
    assert_is_told(found)


def assert_is_told(found: Diagnosis) -> None:
    """Each verdict is a sentence with a cause before it, and something to do after it."""
    assert found.verdict.endswith(".")
    assert found.advice
    assert found.is_well or found.evidence[0].mark == "cause"
    assert found.is_well or found.evidence[0].text
    assert all(line.isprintable() for line in lines_of(found))
    assert all(command.startswith("cosmodrome ") for command in found.commands)


def test_a_misspelt_topic_reads_as_the_documentation_shows_it() -> None:
    missed = Missed(count=1204, first_s=NOW - 600, last_s=NOW - 1, askers=("192.168.1.77", "192.168.1.78"))
    found = topic(near=("order-events",), missed=missed)
    assert list(lines_of(found)) == [
        "order-event has no route on 10.0.0.1:9876.",
        "  x never registered by any broker since the start 3 h 12 min ago",
        "  ? similar: order-events",
        "  ! asked for 1204 times in the last 10 min by 192.168.1.77, 192.168.1.78",
        "  - auto-creation: TBW102 is not registered, so brokers run with autoCreateTopicEnable=false",
        "Most likely: a misspelt topic. Next: fix the client, or create it:",
        "  cosmodrome admin updateTopic -n 10.0.0.1:9876 -c DefaultCluster -t order-event",
    ]


def test_what_was_wiped_and_given_back_is_not_blamed() -> None:
    past = (happened(Past.PERM_RESTORED, 30), happened(Past.PERM_WIPED, 60))
    assert topic(queues=(queues(),), past=past).is_well
    assert topic(queues=(queues(perm=4),), past=past).situation == "not_writable"


def test_one_wiped_broker_of_two_is_a_part_of_the_queues() -> None:
    found = topic(queues=(queues(perm=4), queues("broker-b")), past=WIPED)
    assert (found.situation, "a part of its queues" in found.verdict) == ("perm_wiped", True)
    assert "by 10.9.9.9" in found.evidence[0].text
    assert found.commands == (
        "cosmodrome audit -n 10.0.0.1:9876 --request WIPE_WRITE_PERM_OF_BROKER",
        "cosmodrome admin addWritePerm -n 10.0.0.1:9876 -b broker-a",
    )


def test_a_topic_that_came_back_is_not_called_deleted() -> None:
    past = (happened(Past.TOPIC_ADDED, 10), happened(Past.TOPIC_DELETED, 60))
    assert topic(past=past).situation == "never_registered"


def test_a_broker_that_came_back_without_the_topic_is_not_called_gone() -> None:
    assert topic(past=(happened(Past.APPEARED, 10), happened(Past.EXPIRED, 60))).situation == "never_registered"


@pytest.mark.parametrize(
    ("knows", "said"), [(True, "the network between it and this server"), (False, "the broker or its network")]
)
def test_other_servers_say_whose_fault_it_is(knows: bool, said: str) -> None:  # noqa: FBT001
    past = (happened(Past.EXPIRED, broker="broker-b"),)
    assert said in broker(past=past, peers=(Peer(address=THERE, knows=knows),)).verdict


def test_what_is_missing_at_another_server_is_a_warning() -> None:
    found = topic(
        queues=(queues(),), peers=(Peer(address=THERE, knows=False), Peer(address="x:1", knows=None, fault="off"))
    )
    assert [(each.situation, each.mark) for each in found.evidence] == [
        ("not_everywhere", "warning"),
        ("peer_silent", "note"),
    ]


def test_a_server_that_says_only_the_present_is_told_to() -> None:
    bare = Server(address=HERE, now_s=NOW, brokers=1)
    for found in (topic(server=bare), broker(server=bare)):
        assert found.situation == "unknown"
        assert "says nothing about the past" in found.evidence[-1].text


def test_a_loopback_server_does_not_complain_of_loopback_brokers() -> None:
    found = topic(server=server(address="127.0.0.1:9876"), queues=(queues(addresses={0: "127.0.0.1:10911"}),))
    assert found.is_well


def test_the_documentation_names_every_situation() -> None:
    text = (Path(__file__).resolve().parents[3] / "docs" / "why.md").read_text(encoding="utf-8")
    assert [each for each in (*TOPICS, *BROKERS) if f"`{each}`" not in text] == []


def test_without_brokers_nothing_is_said_of_their_settings() -> None:
    assert [each.situation for each in topic(server=server(brokers=0)).evidence] == ["no_brokers"]
