"""What events mean for a topic or a broker."""

from collections.abc import Iterable

import pytest

from cosmodrome.namesrv.event_history import Record
from cosmodrome.namesrv.events import (
    BrokerRefused,
    BrokerRegistered,
    BrokerUnregistered,
    Event,
    KVPut,
    PermRestored,
    PermWiped,
    TopicsAdded,
    TopicsRemoved,
)
from cosmodrome.namesrv.past import MOST, broker_past, topic_past
from cosmodrome.protocol.slices import at_once
from cosmodrome.why.facts import Happening, Past

WHO = {"cluster": "C", "broker": "a", "id": 0, "addr": "10.0.0.5:10911"}
CAME = BrokerRegistered(**WHO, topics=2, peer="10.0.0.5:1")  # type: ignore[arg-type]
ADDED = TopicsAdded(broker="a", count=2, topics=("T", "U"))


def went(reason: str) -> BrokerUnregistered:
    return BrokerUnregistered(**WHO, reason=reason, last_heartbeat_s=120.0)  # type: ignore[arg-type]


def records(events: Iterable[Event]) -> list[Record]:
    return [Record(number, float(number), event) for number, event in enumerate(events)]


def of_topic(*events: Event) -> list[Past]:
    return [each.what for each in at_once(topic_past(records(events), "T"))]


def of_broker(*events: Event) -> tuple[Happening, ...]:
    return at_once(broker_past(records(events), "a"))


@pytest.mark.parametrize(
    ("reason", "what"),
    [
        ("heartbeat_expired", Past.EXPIRED),
        ("connection_closed", Past.CLOSED),
        ("connection_idle", Past.CLOSED),
        ("unregistered", Past.UNREGISTERED),
        ("registered as b", Past.SUPERSEDED),
    ],
)
def test_how_a_broker_went(reason: str, what: Past) -> None:
    lost = TopicsRemoved(count=1, topics=("T",), reason="a left")
    assert [each.what for each in of_broker(CAME, went(reason))] == [what, Past.APPEARED]
    assert of_topic(CAME, ADDED, went(reason), lost) == [what, Past.TOPIC_ADDED, Past.APPEARED]


def test_a_broker_is_blamed_although_its_coming_is_forgotten() -> None:
    lost = TopicsRemoved(count=1, topics=("T",), reason="a left")
    assert of_topic(went("heartbeat_expired"), lost) == [Past.EXPIRED]


@pytest.mark.parametrize(
    ("reason", "what"),
    [("deleted by request", Past.TOPIC_DELETED), ("omitted from the broker's registration", Past.TOPIC_DROPPED)],
)
def test_how_a_topic_went_while_its_broker_stayed(reason: str, what: Past) -> None:
    removed = TopicsRemoved(count=1, topics=("T",), reason=reason)
    assert of_topic(CAME, ADDED, removed) == [what, Past.TOPIC_ADDED, Past.APPEARED]


def test_who_changed_permissions_is_known() -> None:
    wiped, restored = PermWiped(broker="a", topics=2, peer="10.9.9.9:1"), PermRestored(broker="a", topics=2)
    assert [(each.what, each.by) for each in of_broker(wiped, restored)] == [
        (Past.PERM_RESTORED, None),
        (Past.PERM_WIPED, "10.9.9.9:1"),
    ]
    assert of_topic(ADDED, wiped) == [Past.PERM_WIPED, Past.TOPIC_ADDED]


def test_a_refusal_says_why() -> None:
    refused = BrokerRefused(**WHO, cause="conflict", reason="its id is taken")  # type: ignore[arg-type]
    assert [(each.what, each.text) for each in of_broker(refused)] == [(Past.REFUSED, "its id is taken")]


def test_what_concerns_others_is_left_out() -> None:
    other = BrokerRegistered(**WHO | {"broker": "b"}, topics=1)  # type: ignore[arg-type]
    put = KVPut(namespace="n", key="T", peer="p")
    assert of_broker(other, put, TopicsAdded(broker="b", count=1, topics=("U",))) == ()
    assert of_topic(other, put, TopicsAdded(broker="b", count=1, topics=("U",)), went("unregistered")) == []


def test_the_latest_are_kept_and_the_work_is_cut() -> None:
    events = records([CAME, went("unregistered")] * 1000)
    work = broker_past(events, "a")
    assert sum(1 for _ in work) == 4
    found = at_once(broker_past(events, "a"))
    assert (len(found), found[0].what, found[0].time_s) == (MOST, Past.UNREGISTERED, 1999.0)
