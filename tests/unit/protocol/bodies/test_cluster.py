"""Listings."""

from collections.abc import Callable

import pytest
from tests.support import wire
from tests.support.golden import recording

from cosmodrome.errors import MalformedBodyError
from cosmodrome.protocol.bodies.cluster import (
    decode_broker_member_group,
    decode_cluster_info,
    decode_group_list,
    decode_kv_table,
    decode_topic_list,
    encode_broker_member_group,
    encode_cluster_info,
    encode_kv_table,
    encode_topic_list,
)
from cosmodrome.protocol.bodies.route import BrokerData


def test_cluster_info_is_standard_json_for_everyone() -> None:
    data = BrokerData(broker_addrs={0: "10.0.0.1:10911"}, broker_name="broker-a", cluster="C1")

    assert encode_cluster_info([data], {"C1": {"broker-a": None}}) == (
        b'{"brokerAddrTable":{"broker-a":{"brokerAddrs":{"0":"10.0.0.1:10911"},"brokerName":"broker-a","cluster":"C1",'
        b'"enableActingMaster":false}},"clusterAddrTable":{"C1":["broker-a"]}}'
    )
    assert encode_cluster_info([], {}) == b'{"brokerAddrTable":{},"clusterAddrTable":{}}'


def test_a_member_group() -> None:
    assert encode_broker_member_group("C1", "broker-a", {1: "b", 0: "a"}) == (
        b'{"brokerMemberGroup":{"brokerAddrs":{"0":"a","1":"b"},"brokerName":"broker-a","cluster":"C1"}}'
    )
    assert encode_broker_member_group(None, None, {}) == b'{"brokerMemberGroup":{"brokerAddrs":{}}}'


def test_topic_lists() -> None:
    assert encode_topic_list(["A", "B"]) == b'{"topicList":["A","B"]}'
    assert encode_topic_list([], "1.1.1.1:1") == b'{"brokerAddr":"1.1.1.1:1","topicList":[]}'


def test_a_kv_table() -> None:
    assert encode_kv_table({"T1": "broker-a:4"}) == b'{"table":{"T1":"broker-a:4"}}'
    assert encode_kv_table({}) == b'{"table":{}}'


def test_cluster_info_of_any_release_is_read() -> None:
    for keys in (b'{0:"a",-1:"b"}', b'{"0":"a","-1":"b"}'):
        info = decode_cluster_info(
            b'{"brokerAddrTable":{"b":{"brokerAddrs":%b,"brokerName":"b","cluster":"C"}},"clusterAddrTable":{"C":["b"]}}'
            % keys
        )
        assert info.broker_addr_table["b"].broker_addrs == {0: "a", -1: "b"}
        assert not info.broker_addr_table["b"].enable_acting_master
        assert info.cluster_addr_table == {"C": ("b",)}
    assert decode_cluster_info(b"{}").broker_addr_table == {}


def test_what_is_written_is_read() -> None:
    data = BrokerData(broker_addrs={0: "a", 2: "c"}, broker_name="b", cluster="C", zone_name="z")
    info = decode_cluster_info(encode_cluster_info([data], {"C": ["b"]}))
    assert info.broker_addr_table == {"b": data}

    group = decode_broker_member_group(encode_broker_member_group("C", "b", {1: "x"}))
    assert (group.cluster, group.broker_name, group.broker_addrs) == ("C", "b", {1: "x"})
    topics = decode_topic_list(encode_topic_list(["A"], "x:1"))
    assert (topics.topic_list, topics.broker_addr) == (("A",), "x:1")
    assert decode_kv_table(encode_kv_table({"a": "b"})) == {"a": "b"}


def test_listings_with_gaps() -> None:
    assert decode_topic_list(b"{}").topic_list == ()
    assert decode_topic_list(b'{"topicList":["A",null,7]}').topic_list == ("A", "7")
    assert decode_kv_table(b'{"table":{"a":null,"b":1}}') == {"b": "1"}
    assert decode_kv_table(b'{"table":null}') == {}
    assert decode_group_list(b'{"groupList":["g"]}') == ("g",)


@pytest.mark.parametrize(
    "decode", [decode_cluster_info, decode_broker_member_group, decode_topic_list, decode_kv_table, decode_group_list]
)
@pytest.mark.parametrize(
    "body",
    [b"", b"x", b"[]", b"7", b'{"brokerAddrTable":7,"topicList":7,"table":7,"groupList":7}',
     b'{"brokerAddrTable":{"a":7},"brokerMemberGroup":7,"topicList":{"a":1},"table":[7],"groupList":"x"}'],
)  # fmt: skip
def test_what_is_no_listing_is_refused(decode: Callable[[bytes], object], body: bytes) -> None:
    with pytest.raises(MalformedBodyError):
        decode(body)


def test_answers_of_real_servers_are_read() -> None:
    """Of 4.9.7 and 5.5.0, with bare keys; ours are read by all."""
    for name in ("mqadmin-5.5.0-ns-5.5.0", "mqadmin-5.5.0-ns-4.9.7", "pair-5.5.0"):
        for request, answer in recording(name).exchanges():
            if answer is None or answer.command.code != 0:
                continue
            body = answer.command.body
            if request.command.code == 106:
                info = decode_cluster_info(body)
                assert set(info.broker_addr_table) == set(wire.parse_body(body)["brokerAddrTable"])
            elif request.command.code == 206:
                assert list(decode_topic_list(body).topic_list) == wire.parse_body(body)["topicList"]
