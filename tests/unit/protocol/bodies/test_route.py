"""TopicRouteData and what it is made of. The literal bodies are those of the specification, 6.2."""

import pytest

from cosmodrome.errors import MalformedBodyError
from cosmodrome.protocol.bodies.route import (
    BrokerData,
    QueueData,
    TopicQueueMappingInfo,
    TopicRouteData,
    decode_queue_datas,
    decode_topic_route,
    encode_topic_route,
    mapping_info_from_json,
)
from cosmodrome.protocol.json_dialects import JsonDialect

QUEUE = QueueData(broker_name="broker-a", perm=6, read_queue_nums=8, topic_sys_flag=0, write_queue_nums=8)
BROKER = BrokerData(
    broker_addrs={1: "127.0.0.1:11011", 0: "127.0.0.1:10911"},
    broker_name="broker-a",
    cluster="DefaultCluster",
    zone_name="z1",
)
MAPPING = TopicQueueMappingInfo(
    topic="T", bname="broker-a", curr_id_map={4: 1, 0: 0}, epoch=3, scope="__global__", total_queues=8
)
ROUTE = TopicRouteData(
    broker_datas=(BROKER,),
    queue_datas=(QUEUE,),
    filter_server_table={"127.0.0.1:11011": ("f:1", "f:2")},
    order_topic_conf="broker-a:4;broker-b:4",
    topic_queue_mapping_by_broker={"broker-a": MAPPING},
)
STANDARD = (
    b'{"brokerDatas":[{"brokerAddrs":{"0":"127.0.0.1:10911","1":"127.0.0.1:11011"},"brokerName":"broker-a",'
    b'"cluster":"DefaultCluster","enableActingMaster":false,"zoneName":"z1"}],'
    b'"filterServerTable":{"127.0.0.1:11011":["f:1","f:2"]},"orderTopicConf":"broker-a:4;broker-b:4",'
    b'"queueDatas":[{"brokerName":"broker-a","perm":6,"readQueueNums":8,"topicSysFlag":0,"writeQueueNums":8}],'
    b'"topicQueueMappingByBroker":{"broker-a":{"bname":"broker-a","currIdMap":{"0":0,"4":1},"dirty":false,"epoch":3,'
    b'"scope":"__global__","topic":"T","totalQueues":8}}}'
)
PLAIN = STANDARD.replace(b'"0":"1', b'0:"1').replace(b'"1":"1', b'1:"1').replace(b'{"0":0,"4":1}', b"{0:0,4:1}")


def test_the_literal_bodies() -> None:
    assert encode_topic_route(ROUTE, JsonDialect.STANDARD) == STANDARD
    assert encode_topic_route(ROUTE, JsonDialect.PLAIN) == PLAIN


def test_what_is_not_set_is_left_out() -> None:
    route = TopicRouteData(
        broker_datas=(BrokerData(broker_addrs={}, broker_name="a", cluster="C", enable_acting_master=True),),
        queue_datas=(),
        filter_server_table={},
    )

    assert encode_topic_route(route, JsonDialect.PLAIN) == (
        b'{"brokerDatas":[{"brokerAddrs":{},"brokerName":"a","cluster":"C","enableActingMaster":true}],'
        b'"filterServerTable":{},"queueDatas":[]}'
    )


def test_a_mapping_with_nulls() -> None:
    info = TopicQueueMappingInfo(topic=None, bname=None, curr_id_map=None)
    route = TopicRouteData(
        broker_datas=(), queue_datas=(), filter_server_table={}, topic_queue_mapping_by_broker={"a": info}
    )

    assert b'{"a":{"dirty":false,"epoch":0,"totalQueues":0}}' in encode_topic_route(route, JsonDialect.PLAIN)


def test_the_body_of_217() -> None:
    body = (
        b'{"brokerDatas":[],"filterServerTable":{},"queueDatas":[{"brokerName":"broker-a","perm":6,'
        b'"readQueueNums":8,"topicSysFlag":0,"writeQueueNums":8}]}'
    )

    assert decode_queue_datas(body) == (QUEUE,)


@pytest.mark.parametrize(
    ("body", "flags"),
    [
        (b'{"queueDatas":[{"brokerName":"a","topicSynFlag":1}]}', [1]),
        (b'{"queueDatas":[{"brokerName":"a","topicSynFlag":1,"topicSysFlag":2}]}', [2]),
        (b'{"queueDatas":[{"brokerName":"a"},{"brokerName":7,"topicSysFlag":"3"}]}', [0, 3]),
        (b'{"queueDatas":null}', []),
        (b"{}", []),
        (b"null", []),
    ],
)
def test_forms_that_are_read(body: bytes, flags: list[int]) -> None:
    """4.8.0 and older spell the flag otherwise."""
    assert [data.topic_sys_flag for data in decode_queue_datas(body)] == flags


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"7", b'{"queueDatas":7}', b'{"queueDatas":{"a":1}}', b'{"queueDatas":[7]}', b'{"queueDatas":[{}]}',
     b'{"queueDatas":[{"brokerName":null}]}', b'{"queueDatas":[{"brokerName":"a","perm":"x"}]}'],
)  # fmt: skip
def test_forms_that_are_refused(body: bytes) -> None:
    with pytest.raises(MalformedBodyError):
        decode_queue_datas(body)


def test_a_mapping_is_read() -> None:
    document = {
        "bname": "broker-a",
        "currIdMap": {"0": 0, "4": "1"},
        "dirty": "false",
        "epoch": 3.0,
        "topic": "T",
        "totalQueues": 8,
    }

    assert mapping_info_from_json(document) == MAPPING
    assert mapping_info_from_json(document | {"scope": None}).scope is None
    assert mapping_info_from_json({}) == TopicQueueMappingInfo(
        topic=None, bname=None, curr_id_map=None, scope="__global__"
    )


@pytest.mark.parametrize(
    "document",
    [
        None,
        [],
        7,
        {"currIdMap": []},
        {"currIdMap": {"x": 0}},
        {"currIdMap": {"0": None, "1": {}}},
        {"epoch": "x"},
        {"dirty": "x"},
    ],
)
def test_a_mapping_that_is_refused(document: object) -> None:
    with pytest.raises(MalformedBodyError):
        mapping_info_from_json(document)


@pytest.mark.parametrize("body", [PLAIN, STANDARD])
def test_a_route_is_read_in_both_dialects(body: bytes) -> None:
    assert decode_topic_route(body) == ROUTE


def test_a_route_with_gaps() -> None:
    route = decode_topic_route(b"{}")

    assert (route.broker_datas, route.queue_datas, route.filter_server_table) == ((), (), {})


@pytest.mark.parametrize(
    "body",
    [b"", b"null", b"[]", b'{"brokerDatas":7}', b'{"brokerDatas":[7]}', b'{"brokerDatas":[{"brokerName":"a","brokerAddrs":[1]}]}',
     b'{"brokerDatas":[{"brokerAddrs":{"x":"a"}}]}', b'{"queueDatas":[7]}', b'{"filterServerTable":7}'],
)  # fmt: skip
def test_routes_that_are_refused(body: bytes) -> None:
    with pytest.raises(MalformedBodyError):
        decode_topic_route(body)
