"""Events are counted under few words."""

import pytest

from cosmodrome.namesrv import events
from cosmodrome.namesrv.metrics.tally import EventTally

BROKER = {"cluster": "C", "broker": "a", "id": 0, "addr": "a:1"}


def left(reason: str) -> events.Event:
    return events.BrokerUnregistered(**BROKER, reason=reason)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("event", "table", "word", "count"),
    [
        (events.BrokerRegistered(**BROKER, topics=3), "registrations", "new", 1),  # type: ignore[arg-type]
        (events.BrokerRegistered(**BROKER, topics=3), "route_changes", "broker_added", 1),  # type: ignore[arg-type]
        (events.BrokerChanged(**BROKER, what="it"), "registrations", "changed", 1),  # type: ignore[arg-type]
        (events.BrokerRefused(**BROKER, cause="c", reason="r"), "registrations", "rejected", 1),  # type: ignore[arg-type]
        (left("unregistered"), "unregistrations", "requested", 1),
        (left("heartbeat_expired"), "unregistrations", "heartbeat_expired", 1),
        (left("connection_closed"), "unregistrations", "channel_closed", 1),
        (left("connection_idle"), "unregistrations", "channel_idle", 1),
        (left("came back as b"), "unregistrations", "superseded", 1),
        (left("unregistered"), "route_changes", "broker_removed", 1),
        (events.TopicsAdded(broker="a", count=7, topics=("T",)), "route_changes", "topic_added", 7),
        (events.TopicsRemoved(count=7, topics=("T",), reason="r"), "route_changes", "topic_removed", 7),
        (events.PermWiped(broker="a", topics=7, peer=None), "route_changes", "perm_changed", 1),
        (events.PermRestored(broker="a", topics=7, peer=None), "route_changes", "perm_changed", 1),
        (
            events.MasterChanged(cluster="C", broker="a", old_addr=None, new_addr="a:1"),
            "route_changes",
            "master_changed",
            1,
        ),
        (events.ConfigChanged(applied=(), restart=()), "reloads", "applied", 1),
        (events.ConfigReloadFailed(refused=None, reason="r"), "reloads", "refused", 1),
        (events.RequestDenied(code=318, peer="p", reason="r", cause="cidr"), "denials", "cidr", 1),
    ],
)
def test_an_event_is_counted(event: events.Event, table: str, word: str, count: int) -> None:
    tally = EventTally()
    before = dict(getattr(tally, table))
    tally.count(event)

    after = dict(getattr(tally, table))
    assert {key: value for key, value in after.items() if value != before.get(key, 0)} == {word: count}


def test_what_a_disk_could_not_serve_is_counted() -> None:
    tally = EventTally()
    tally.count(events.StorageFailed(code=100, peer="p", opaque=1, cause="storage", reason="disk full"))
    tally.count(events.RouteMissed(topic="T", peer="p"))

    assert tally.storage_failures == 1


def test_every_event_is_counted_by_its_name() -> None:
    tally = EventTally()
    for _ in range(3):
        tally.count(events.UnknownHeartbeat(cluster="C", addr="a:1", peer=None))
    tally.count(events.ServerStopped(reason="r"))

    assert tally.events == {"heartbeat.unknown": 3, "server.stopped": 1}
