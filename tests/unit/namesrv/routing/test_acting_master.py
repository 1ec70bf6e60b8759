"""A slave shown as master while its group has none."""

import pytest
from tests.support.builders import queue_data

from cosmodrome.namesrv.routing.acting_master import with_acting_masters
from cosmodrome.protocol.bodies.route import BrokerData, TopicRouteData


def route(addrs: dict[int, str], *, perm: int = 4, acting: bool = True) -> TopicRouteData:
    return TopicRouteData(
        broker_datas=(
            BrokerData(broker_addrs=addrs, broker_name="a", cluster="C", enable_acting_master=acting),
            BrokerData(broker_addrs={0: "m"}, broker_name="b", cluster="C", enable_acting_master=True),
        ),
        queue_datas=(queue_data("a", perm), queue_data("b")),
        filter_server_table={},
    )


def test_the_smallest_slave_has_id_0() -> None:
    """Its true id is not shown."""
    shown = with_acting_masters("T", route({3: "s3", 2: "s2"}))

    assert shown.broker_datas[0].broker_addrs == {0: "s2", 3: "s3"}
    assert shown.broker_datas[1] == route({}).broker_datas[1]


@pytest.mark.parametrize(
    ("topic", "given"),
    [
        ("T", route({0: "m", 1: "s"})),
        ("T", route({1: "s"}, perm=6)),
        ("T", route({1: "s"}, acting=False)),
        ("T", route({})),
        ("rmq_sys_SYNC_BROKER_MEMBER_a", route({1: "s"})),
    ],
)
def test_what_is_left_alone(topic: str, given: TopicRouteData) -> None:
    """A master, queues that are writable, other groups, and the topic by which brokers ask for true ids."""
    assert with_acting_masters(topic, given) is given
