"""Questions to the tables."""

from tests.support import wire
from tests.support.builders import identity, queue_data, registration, topics

from cosmodrome.namesrv.routing.listings import Listing, ListingKind
from cosmodrome.namesrv.routing.reader import FLAG_UNIT, FLAG_UNIT_SUB, TableOptions
from cosmodrome.namesrv.routing.tables import RouteTables
from cosmodrome.protocol.json_dialects import JsonDialect


def filled() -> RouteTables:
    tables = RouteTables()
    tables.register_broker(registration(identity("a"), topics("T1", "T2"), filter_servers=("f:1",)), 0)
    tables.register_broker(registration(identity("a", 1), topics("T1", "T2")), 0)
    tables.register_broker(registration(identity("b", cluster="D"), topics("T1", "T3", sys_flag=3)), 0)
    return tables


def test_a_route() -> None:
    route = filled().read.topic_route("T1", "a:4")

    assert route is not None
    assert [data.broker_name for data in route.broker_datas] == ["a", "b"]
    assert route.queue_datas == (queue_data("a"), queue_data("b", sys_flag=3))
    assert route.filter_server_table == {"a-0:10911": ("f:1",)}
    assert route.order_topic_conf == "a:4"
    assert route.topic_queue_mapping_by_broker is None


def test_no_route() -> None:
    assert filled().read.topic_route("?") is None
    assert filled().read.encoded_route("?", JsonDialect.PLAIN) is None


def test_an_encoded_route_is_made_once() -> None:
    read = filled().read
    first = read.encoded_route("T1", JsonDialect.PLAIN)

    assert first is not None
    assert read.encoded_route("T1", JsonDialect.PLAIN) is first
    assert read.encoded_route("T1", JsonDialect.PLAIN, "a:4") != first
    assert read.encoded_route("T1", JsonDialect.STANDARD) != first


def test_cluster_info() -> None:
    info = wire.parse_body(filled().read.listing(Listing(ListingKind.CLUSTER_INFO)))

    assert info["clusterAddrTable"] == {"C": ["a"], "D": ["b"]}
    assert info["brokerAddrTable"]["a"]["brokerAddrs"] == {"0": "a-0:10911", "1": "a-1:10911"}


def test_addresses_of_a_group() -> None:
    read = filled().read

    assert read.broker_addrs("a") == {0: "a-0:10911", 1: "a-1:10911"}
    assert read.broker_addrs("?") == read.broker_addrs(None) == {}


def test_topic_lists() -> None:
    read = filled().read

    assert sorted(read.all_topics()) == ["T1", "T2", "T3"]
    assert sorted(read.topics_of_cluster("C")) == ["T1", "T2"]
    assert read.topics_of_cluster("?") == []
    assert read.topics_with_flags(wanted=FLAG_UNIT) == ["T3"]
    assert read.topics_with_flags(wanted=FLAG_UNIT_SUB, unwanted=FLAG_UNIT) == []


def test_system_topics_are_names_of_clusters_and_brokers() -> None:
    """Once each, though a cluster and a broker share one."""
    tables = filled()
    tables.register_broker(registration(identity("C")), 0)

    names, addr = tables.read.system_topics()
    assert sorted(names) == ["C", "D", "a", "b"]
    assert addr == "a-0:10911"
    assert RouteTables().read.system_topics() == ([], None)


def test_acting_masters_are_shown_when_that_is_on() -> None:
    tables = RouteTables(TableOptions(support_acting_master=True))
    tables.register_broker(registration(identity("a", 1, acting=True)), 0)

    def shown() -> list[int]:
        route = tables.read.topic_route("T1")
        return [] if route is None else list(route.broker_datas[0].broker_addrs)

    assert shown() == [0]
    assert tables.read.broker_addrs("a") == {1: "a-1:10911"}
    tables.set_options(TableOptions())
    assert shown() == [1]
