"""What a registration changes in the topics of its broker: found in slices, applied in one step."""

import pytest
from tests.support.builders import identity, queue_data, registration, topics, version

from cosmodrome.namesrv.routing.reader import TableOptions
from cosmodrome.namesrv.routing.registration import BrokerRegistration, PreparedTopics
from cosmodrome.namesrv.routing.tables import RouteTables
from cosmodrome.namesrv.routing.topic_changes import SLICE_TOPICS, JoinedBrokers
from cosmodrome.protocol.slices import Slices, at_once

MANY = [f"T{number}" for number in range(3 * SLICE_TOPICS + 7)]
NOW_MS = 1000


def of(name: str, counter: int = 1, *, read: int = 4, names: list[str] = MANY) -> BrokerRegistration:
    return registration(identity(name), topics(*names, read=read), data_version=version(counter))


def begun(tables: RouteTables, sent: BrokerRegistration) -> Slices[PreparedTopics]:
    """Compare one slice."""
    work = tables.prepare(sent)
    next(work)
    return work


def state(tables: RouteTables) -> dict[str, dict[str, int]]:
    return {
        topic: {data.broker_name: data.read_queue_nums for data in route.queue_datas}
        for topic in tables.read.all_topics()
        if (route := tables.read.topic_route(topic)) is not None
    }


def test_each_slice_is_short_and_changes_nothing() -> None:
    tables = RouteTables()
    tables.register_broker(of("a"), NOW_MS)
    before = state(tables)

    slices = sum(1 for _ in tables.prepare(of("a", 2, read=8)))

    assert slices >= len(MANY) / SLICE_TOPICS
    assert state(tables) == before


def test_what_was_prepared_is_applied_as_if_it_were_found_at_once() -> None:
    in_slices, at_one_go = RouteTables(), RouteTables()
    for sent in (of("a"), of("b", read=2), of("a", 2, read=8), of("a", 3, read=8, names=[*MANY, "new"])):
        prepared = at_once(in_slices.prepare(sent))
        assert in_slices.register_broker(sent, NOW_MS, prepared) == at_one_go.register_broker(sent, NOW_MS)

        assert state(in_slices) == state(at_one_go)
        assert in_slices.dropped_count == at_one_go.dropped_count
    assert state(in_slices)["T0"] == {"a": 8, "b": 2}
    assert state(in_slices)["new"] == {"a": 8}


def test_other_brokers_may_come_and_go_between_two_slices() -> None:
    tables = RouteTables()
    tables.register_broker(of("b"), NOW_MS)
    work = begun(tables, of("a"))
    tables.unregister_broker("b", identity("b").key, NOW_MS)
    tables.register_broker(of("c", read=2, names=MANY[-5:]), NOW_MS)

    _, effects = tables.register_broker(of("a"), NOW_MS, at_once(work))

    assert state(tables) == {topic: {"a": 4} if topic in MANY[:-5] else {"c": 2, "a": 4} for topic in MANY}
    (added,) = [event for event in effects.events if event.NAME == "topic.added"]
    assert dict(added.fields())["count"] == len(MANY) - 5, "those that nobody had by then"


@pytest.mark.parametrize("what", ["left", "deleted", "wiped", "omission deletes", "changed"])
def test_what_is_not_true_any_more_is_found_again(what: str) -> None:
    """The broker's own table changed between two slices."""
    tables = RouteTables()
    tables.register_broker(of("a"), NOW_MS)
    sent = of("a", 2, names=MANY[:-1])
    work = begun(tables, sent)
    match what:
        case "left":
            tables.unregister_broker("a", identity("a").key, NOW_MS)
        case "deleted":
            tables.delete_topic("T0", None)
        case "wiped":
            tables.wipe_write_perm("a")
        case "omission deletes":
            tables.set_options(TableOptions(delete_topic_with_broker_registration=True))
        case "changed":
            tables.register_topic("T0", (queue_data("a", queues=1),))

    tables.register_broker(sent, NOW_MS, at_once(work))

    kept = {"left": MANY[:-1], "omission deletes": MANY[:-1]}.get(what, MANY)
    assert {topic: queues["a"] for topic, queues in state(tables).items()} == dict.fromkeys(kept, 4)
    route = tables.read.topic_route("T0")
    assert route is not None
    assert route.queue_datas[0].perm == 6


def test_the_last_of_topics_sent_twice_counts() -> None:
    tables = RouteTables()
    configs = {"k1": topics("T", read=1)["T"], "k2": topics("T", read=2)["T"], "U": topics("U")["U"]}

    tables.register_broker(registration(identity("a"), configs), NOW_MS)

    assert state(tables) == {"T": {"a": 2}, "U": {"a": 4}}


def test_topics_with_the_same_brokers_share_their_names() -> None:
    joined, ab = JoinedBrokers("c"), ("a", "b")

    assert joined.with_broker(ab) == ("a", "b", "c")
    assert joined.with_broker(ab) is joined.with_broker(ab)
    assert joined.with_broker(("c", "a")) == ("c", "a")
    assert joined.with_broker(None) == ("c",)
