"""How much the tables may hold. That the running sum is right is in tests/property/test_routing_model.py."""

from collections.abc import Callable

import pytest
from tests.support.builders import identity, mapping, queue_data, registration, topics, version

from cosmodrome.errors import RequestRefusedError
from cosmodrome.namesrv.routing.broker_live import BrokerKey
from cosmodrome.namesrv.routing.registration import BrokerRegistration
from cosmodrome.namesrv.routing.room import ENTRY_BYTES, TableLimits, topic_bytes, topics_bytes
from cosmodrome.namesrv.routing.tables import RouteTables
from cosmodrome.protocol.slices import at_once

A, B, C = identity("a"), identity("b"), identity("c")
TWO_TOPICS = 2 * (ENTRY_BYTES + topic_bytes("T1"))


def tables_with(*said: BrokerRegistration, **limits: int) -> RouteTables:
    tables = RouteTables(limits=TableLimits(**limits))
    for each in said:
        tables.register_broker(each, 1)
    return tables


def state_of(tables: RouteTables) -> str:
    return repr([vars(part) for part in (tables._queues, tables._brokers, tables._live)]) + repr(tables._revisions)


def assert_full(tables: RouteTables, change: Callable[[], object], remark: str) -> None:
    before = state_of(tables)
    with pytest.raises(RequestRefusedError, match=f"the tables are full: .*{remark}") as raised:
        change()
    assert (raised.value.code, raised.value.cause, raised.value.is_fault) == (1, "tables_full", True)
    assert state_of(tables) == before


def test_what_is_at_the_ceiling_is_accepted() -> None:
    tables = tables_with(registration(A), size_bytes=TWO_TOPICS)

    assert tables.held_bytes == TWO_TOPICS
    assert_full(tables, lambda: tables.register_topic("T3", (queue_data("a"),)), f"{TWO_TOPICS} bytes")


@pytest.mark.parametrize(
    "more",
    [
        registration(A, topics("T1", "T2", "T3"), data_version=version(counter=9)),
        registration(B),
        registration(A, filter_servers=("f:1",)),
        registration(A, data_version=version(counter=9), mappings={"T1": mapping("T1", "a")}),
        registration(A, topics("é" * 100, "U"), data_version=version(counter=9)),
    ],
    ids=["a topic", "a broker", "a filter server", "a mapping", "another table"],
)
def test_what_adds_something_is_refused_and_leaves_no_trace(more: BrokerRegistration) -> None:
    tables = tables_with(registration(A), size_bytes=TWO_TOPICS)

    assert_full(tables, lambda: tables.register_broker(more, 2), "bytes")


@pytest.mark.parametrize(
    "said",
    [
        registration(A),
        registration(A, topics("T1", "T2", perm=4), data_version=version(counter=9)),
        registration(A, topics("T1"), data_version=version(counter=9)),
        registration(A, {}),
        registration(A, filter_servers=("f:1",)),
        registration(A, filter_servers=("f",)),
        registration(A, mappings={"T1": mapping("T1", "b", dict.fromkeys(range(100), 0))}),
        registration(identity("a", 1), {}),
    ],
    ids=["a repeat", "permissions", "one", "none", "the servers", "a shorter one", "a mapping of another", "a slave"],
)
def test_what_adds_nothing_is_taken(said: BrokerRegistration) -> None:
    full = tables_with(registration(A, filter_servers=("f:1",)))
    tables = tables_with(registration(A, filter_servers=("f:1",)), size_bytes=full.held_bytes)

    tables.register_broker(said, 2)
    assert tables.held_bytes <= full.held_bytes


def test_a_topic_of_others_costs_its_entry_only_and_217_counts_a_broker_once() -> None:
    tables = tables_with(registration(A), registration(B, topics("U", "V")), size_bytes=2 * TWO_TOPICS)
    tables.delete_topic("V", None)
    tables.register_topic("T1", (queue_data("b"), queue_data("b", perm=4)))

    assert tables.read.topic_route("T1") is not None
    assert tables.held_bytes == 2 * TWO_TOPICS - topic_bytes("T1") - topic_bytes("T2") + topic_bytes("U")


def test_what_leaves_makes_room() -> None:
    tables = tables_with(registration(A, filter_servers=("f:1",)), size_bytes=TWO_TOPICS + 100)
    assert_full(tables, lambda: tables.register_broker(registration(B, topics("U", "V")), 2), "bytes")

    tables.unregister_broker("a", BrokerKey("C", A.addr), 3)
    assert tables.held_bytes == 0
    tables.register_broker(registration(B, topics("U", "V")), 4)
    assert tables.held_bytes == TWO_TOPICS - 2 * topic_bytes("T1") + 2 * topic_bytes("U")


@pytest.mark.parametrize("is_joining", [True, False])
def test_what_others_do_meanwhile_is_counted(*, is_joining: bool) -> None:
    """A topic that came, or went, between the comparison and the change."""
    tables = RouteTables()
    tables.register_broker(registration(B) if not is_joining else registration(B, topics("U", "V")), 1)
    prepared = at_once(tables.prepare(registration(A)))
    if is_joining:
        tables.register_topic("T1", (queue_data("b"),))
    else:
        tables.delete_topic("T1", None)
    tables.register_broker(registration(A), 2, prepared)
    queues = tables._queues
    entries = sum(len(queues.of_topic(topic)) for topic in queues)

    assert tables.held_bytes == entries * ENTRY_BYTES + sum(map(topic_bytes, queues))


def test_brokers_are_counted_by_address() -> None:
    tables = tables_with(registration(A), registration(identity("a", 1)), brokers=2)

    assert_full(tables, lambda: tables.register_broker(registration(B), 2), "2 brokers")
    assert_full(tables, lambda: tables.register_broker(registration(identity("a", cluster="D")), 2), "2 brokers")
    tables.register_broker(registration(A, topics("T1", "T2", "T3"), data_version=version(counter=9)), 2)
    tables.register_broker(registration(identity("a", 1, addr="elsewhere:1")), 3)
    assert {info.key.addr for info in tables.live_brokers()} == {A.addr, "elsewhere:1"}
    tables.unregister_broker("a", A.key, 4)
    tables.register_broker(registration(B), 5)


def test_clusters_that_one_broker_wanders_through_are_bounded() -> None:
    """Each has one live address, replaced by that of the next; a cluster stays until the broker's name leaves."""
    tables = tables_with(brokers=3)
    for number in range(3):
        tables.register_broker(registration(identity("a", cluster=f"C{number}", addr=f"a:{number}")), 1)
    assert len(list(tables.live_brokers())) == 1

    wanderer = registration(identity("a", cluster="C3", addr="a:3"))
    assert_full(tables, lambda: tables.register_broker(wanderer, 2), "3 brokers")


def test_equal_names_are_one_text() -> None:
    """Else each topic that came by 217 would keep a name of its broker of its own."""
    tables = tables_with(registration(identity("broker-a")))
    for number in range(200):
        tables.register_topic(f"U{number}", (queue_data(b"broker-a".decode(), perm=number),))

    held = tables._queues.of_broker("broker-a").values()
    assert len({id(data.broker_name) for data in held}) == 1


@pytest.mark.parametrize("names", [(), ("T1",), ("T1", "T22"), ("T1", "主題", "T" * 50)])
def test_many_topics_cost_what_each_costs(names: tuple[str, ...]) -> None:
    assert topics_bytes(names) == sum(map(topic_bytes, names))
