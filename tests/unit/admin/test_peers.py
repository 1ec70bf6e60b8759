"""Digests and differences of NameServers."""

import pytest

from cosmodrome.admin.peers import Difference, PeerView, differences
from cosmodrome.protocol.bodies.route import BrokerData, QueueData, TopicQueueMappingInfo, TopicRouteData
from cosmodrome.protocol.route_digest import route_digest

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


def view(address: str, routes: dict[str, str], addr: str = "h:1") -> PeerView:
    return PeerView(address=address, brokers={("C", "a", 0): addr}, routes=routes)


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


def test_a_view_s_digest_depends_on_its_content_alone() -> None:
    one = PeerView(address="1", brokers={("C", "a", 0): "x", ("C", "b", 0): "y"}, routes={"T": "d", "U": "e"})
    two = PeerView(address="2", brokers={("C", "b", 0): "y", ("C", "a", 0): "x"}, routes={"U": "e", "T": "d"})

    assert one.digest == two.digest
    assert one.digest != view("1", {"T": "d", "U": "e"}).digest


def test_differences_name_who_says_what() -> None:
    found = list(
        differences(
            [
                view("1", {"same": "d", "one": "d", "both": "d"}),
                view("2", {"same": "d", "both": "e"}, "h:9"),
                view("3", {"same": "d", "one": "d", "both": "d"}),
            ]
        )
    )

    assert [(each.kind, each.name) for each in found] == [("broker", "C/a id 0"), ("route", "both"), ("topic", "one")]
    assert found[0].values == {"1": "h:1", "2": "h:9", "3": "h:1"}
    assert str(found[0]) == "broker C/a id 0: h:1 at 1, h:9 at 2, h:1 at 3"
    assert found[2].missing_at == ("2",)
    assert str(found[2]) == "topic one: missing at 2"


def test_equal_views_have_no_difference() -> None:
    assert list(differences([view("1", {"T": "d"}), view("2", {"T": "d"})])) == []


def test_names_cannot_break_the_lines_of_a_listing() -> None:
    assert "\n" not in str(Difference(kind="topic", name="a\nb", values={"1": "x\n", "2": "y"}))
