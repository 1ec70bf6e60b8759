"""Digests of routes and of tables."""

import itertools

import pytest

from cosmodrome.protocol.bodies.route import BrokerData, QueueData, TopicQueueMappingInfo, TopicRouteData
from cosmodrome.protocol.route_digest import TableDigest, route_digest

A = BrokerData(broker_addrs={0: "h:1", 1: "h:2"}, broker_name="a", cluster="C")
B = BrokerData(broker_addrs={0: "h:3"}, broker_name="b", cluster="C")


def queue(name: str, perm: int = 6) -> QueueData:
    return QueueData(broker_name=name, perm=perm, read_queue_nums=4, topic_sys_flag=0, write_queue_nums=4)


def route(**changes: object) -> TopicRouteData:
    members: dict[str, object] = {
        "broker_datas": (A, B),
        "queue_datas": (queue("a"), queue("b")),
        "filter_server_table": {"h:1": ("f:1", "f:2"), "h:3": ("f:3",)},
    }
    return TopicRouteData(**(members | changes))  # type: ignore[arg-type]  # a case changes one member


def test_the_order_of_a_route_s_parts_does_not_count() -> None:
    turned = route(
        broker_datas=(B, BrokerData(broker_addrs={1: "h:2", 0: "h:1"}, broker_name="a", cluster="C")),
        queue_datas=(queue("b"), queue("a")),
        filter_server_table={"h:3": ("f:3",), "h:1": ("f:2", "f:1")},
    )

    assert route_digest(turned) == route_digest(route())


def test_what_releases_add_to_brokers_does_not_count() -> None:
    newer = BrokerData(broker_addrs=A.broker_addrs, broker_name="a", cluster="C", zone_name=None)

    assert route_digest(route(broker_datas=(newer, B))) == route_digest(route())


@pytest.mark.parametrize(
    "changes",
    [
        {"broker_datas": (A,)},
        {"broker_datas": (A, BrokerData(broker_addrs={0: "h:4"}, broker_name="b", cluster="C"))},
        {"queue_datas": (queue("a"), queue("b", perm=4))},
        {"filter_server_table": {}},
        {"order_topic_conf": "a:4"},
        {
            "topic_queue_mapping_by_broker": {
                "a": TopicQueueMappingInfo(topic="T", bname="a", curr_id_map={0: 0}, total_queues=1)
            }
        },
    ],
    ids=["broker", "address", "permission", "filters", "order", "mapping"],
)
def test_every_part_of_a_route_counts(changes: dict[str, object]) -> None:
    assert route_digest(route(**changes)) != route_digest(route())


def table_digest(*topics: tuple[str, str]) -> str:
    digest = TableDigest()
    digest.add_broker(("C", "a", 0), "h:1")
    for topic, route_ in topics:
        digest.add_route(topic, route_)
    return digest.text


def test_a_table_s_digest_is_equal_whatever_the_order() -> None:
    topics = [("T", "1"), ("U", "2"), ("V", "3")]

    assert len({table_digest(*each) for each in itertools.permutations(topics)}) == 1


def test_everything_in_a_table_counts() -> None:
    tables = [(), (("T", "1"),), (("T", "2"),), (("U", "1"),), (("T", "1"), ("U", "1")), (("1", "T"),)]
    digests = {table_digest(*each) for each in tables}
    other = TableDigest()
    other.add_broker(("C", "a", 1), "h:1")

    assert len(digests | {other.text, TableDigest().text}) == len(tables) + 2
