"""Routes of one zone."""

from tests.support.builders import queue_data

from cosmodrome.namesrv.routing.zone_filter import in_zone
from cosmodrome.protocol.bodies.route import BrokerData, TopicRouteData


def broker(name: str, zone: str | None, id_: int = 0) -> BrokerData:
    return BrokerData(broker_addrs={id_: f"{name}:1"}, broker_name=name, cluster="C", zone_name=zone)


ROUTE = TopicRouteData(
    broker_datas=(broker("near", "Z1"), broker("far", "z2"), broker("nowhere", None), broker("masterless", "z2", 1)),
    queue_datas=tuple(queue_data(name) for name in ("near", "far", "nowhere", "masterless")),
    filter_server_table={"near:1": ("f",), "far:1": ("g",)},
    order_topic_conf="x",
)


def test_brokers_of_other_zones_are_left_out() -> None:
    """Names are compared without regard to case; a group without master stays, so that it can be read."""
    filtered = in_zone(ROUTE, "z1")

    assert [data.broker_name for data in filtered.broker_datas] == ["near", "masterless"]
    assert [data.broker_name for data in filtered.queue_datas] == ["near", "masterless"]
    assert filtered.filter_server_table == {"near:1": ("f",)}
    assert filtered.order_topic_conf == "x"


def test_a_route_of_which_nothing_goes_is_the_very_same() -> None:
    route = TopicRouteData(broker_datas=(broker("near", "z1"),), queue_datas=(), filter_server_table={})

    assert in_zone(route, "Z1") is route


def test_a_zone_without_brokers() -> None:
    assert [data.broker_name for data in in_zone(ROUTE, "z9").broker_datas] == ["masterless"]
