"""Which events somebody wants."""

import pytest

from cosmodrome.namesrv.event_filter import EventFilter
from cosmodrome.namesrv.event_history import Record
from cosmodrome.namesrv.events import (
    BrokerIdentityMoved,
    BrokerRegistered,
    Event,
    KVDeleted,
    KVPut,
    PermWiped,
    RouteMissed,
    ServerStopped,
    TopicsAdded,
    TopicsRemoved,
)

REGISTERED = BrokerRegistered(cluster="C", broker="broker-a", id=0, addr="a:1", topics=2)
ADDED = TopicsAdded(broker="broker-a", count=3, topics=("order-1", "order-2", "stock"))
MOVED = BrokerIdentityMoved(
    cluster="C", broker="broker-b", id=0, addr="a:1", old_addr="a:2", peer=None, old_peer=None, old_broker="broker-a"
)


def is_wanted(wanted: EventFilter, event: Event, left_out: int = 0) -> bool:
    return wanted.topics_of(Record(1, 0.0, event, left_out)) is not None


def test_nothing_chosen_is_everything() -> None:
    wanted = EventFilter()

    assert wanted.topics_of(Record(1, 0.0, ADDED)) == ADDED.topics
    assert wanted.topics_of(Record(1, 0.0, ServerStopped(reason="r"))) == ()


@pytest.mark.parametrize("types", [["broker.registered"], ["broker"], ["broker.*"], ["kv", "broker.reg*"], ["*"]])
def test_types_are_names_families_and_patterns(types: list[str]) -> None:
    assert is_wanted(EventFilter(types), REGISTERED)


@pytest.mark.parametrize("types", [["broker.changed"], ["brok"], ["topic", "kv.put"], ["BROKER"], ["registered"]])
def test_other_types_are_left_out(types: list[str]) -> None:
    assert not is_wanted(EventFilter(types), REGISTERED)


def test_a_large_change_shows_the_topics_that_are_wanted() -> None:
    wanted = EventFilter(topics=["order-*"])

    assert wanted.topics_of(Record(1, 0.0, ADDED)) == ("order-1", "order-2")
    assert not is_wanted(wanted, TopicsRemoved(count=1, topics=("stock",), reason="r"))
    assert is_wanted(wanted, TopicsRemoved(count=1, topics=("stock",), reason="r"), left_out=5)


def test_what_is_about_a_topic() -> None:
    wanted = EventFilter(topics=["order-?"])

    assert is_wanted(wanted, RouteMissed(topic="order-7", peer=None))
    assert not is_wanted(wanted, RouteMissed(topic="order-77", peer=None))
    assert is_wanted(wanted, KVPut(namespace="ORDER_TOPIC_CONFIG", key="order-1"))
    assert not is_wanted(wanted, KVDeleted(namespace="N", key="order-1"))
    assert not is_wanted(wanted, PermWiped(broker="order-1", topics=5))
    assert not is_wanted(wanted, ServerStopped(reason="order-1"))


def test_what_is_about_a_broker() -> None:
    wanted = EventFilter(brokers=["broker-a"])

    assert all(is_wanted(wanted, event) for event in (REGISTERED, ADDED, MOVED, PermWiped(broker="broker-a", topics=5)))
    assert not is_wanted(wanted, PermWiped(broker="broker-ab", topics=5))
    assert not is_wanted(wanted, ServerStopped(reason="r"))


def test_all_that_is_chosen_must_hold() -> None:
    wanted = EventFilter(["topic.added"], ["order-*"], ["broker-a"])

    assert is_wanted(wanted, ADDED)
    assert not is_wanted(wanted, TopicsAdded(broker="broker-b", count=1, topics=("order-1",)))
