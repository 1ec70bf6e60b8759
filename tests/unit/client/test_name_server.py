"""What a NameServer can be asked: what goes out, what comes back, and what a refusal means."""

from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
from tests.support.admin_tool import Answers, Double, Reply, closed_port, silent_port
from tests.support.wire import dump

from cosmodrome.client.broker import BrokerClient
from cosmodrome.client.name_server import NameServerClient
from cosmodrome.errors import (
    ConnectError,
    NotFoundError,
    NotPermittedError,
    NotReadyError,
    NotSupportedError,
    RefusedError,
    RequestTimeoutError,
    UnreadableAnswerError,
)
from cosmodrome.protocol.bodies.route import BrokerData
from cosmodrome.transport.client import RemotingClient

LIMIT_S = 10.0

Ask = Callable[[NameServerClient], Awaitable[object]]


@pytest.fixture
async def remoting() -> AsyncIterator[RemotingClient]:
    client = RemotingClient()
    yield client
    await client.close()


async def asked(remoting: RemotingClient, answers: Answers, ask: Ask) -> tuple[object, Double]:
    """Give what a question brings, and the server that was asked."""
    with Double(answers) as server:
        return await ask(NameServerClient(remoting, server.address, LIMIT_S)), server


ROUTE_5 = (
    b'{"brokerDatas":[{"brokerAddrs":{"0":"h:1","1":"h:2"},"brokerName":"a","cluster":"C","enableActingMaster":true,'
    b'"zoneName":"z"}],"filterServerTable":{"h:1":["f:1"]},"orderTopicConf":"a:4","queueDatas":[{"brokerName":"a",'
    b'"perm":6,"readQueueNums":8,"topicSysFlag":1,"writeQueueNums":4}],"topicQueueMappingByBroker":{"a":{"bname":"a",'
    b'"currIdMap":{"0":0,"4":1},"dirty":false,"epoch":3,"scope":"__global__","topic":"T","totalQueues":8}}}'
)
ROUTE_4 = (
    b'{"brokerDatas":[{"brokerAddrs":{1:"h:2",0:"h:1"},"brokerName":"a","cluster":"C"}],"filterServerTable":{},'
    b'"queueDatas":[{"brokerName":"a","perm":6,"readQueueNums":8,"topicSynFlag":1,"writeQueueNums":4}]}'
)


@pytest.mark.parametrize(("body", "acting"), [(ROUTE_5, True), (ROUTE_4, False)], ids=["standard", "plain"])
async def test_a_route_is_read_in_both_dialects(remoting: RemotingClient, body: bytes, *, acting: bool) -> None:
    with Double({105: Reply(body=body)}) as server:
        route = await NameServerClient(remoting, server.address, LIMIT_S).topic_route("T")

    (broker,), (queue,) = route.broker_datas, route.queue_datas
    assert dict(broker.broker_addrs) == {0: "h:1", 1: "h:2"}
    assert list(broker.broker_addrs) == [0, 1]
    assert (broker.broker_name, broker.cluster, broker.enable_acting_master) == ("a", "C", acting)
    assert (queue.perm, queue.read_queue_nums, queue.write_queue_nums, queue.topic_sys_flag) == (6, 8, 4, 1)
    if acting:
        assert (broker.zone_name, route.order_topic_conf, route.filter_server_table) == ("z", "a:4", {"h:1": ("f:1",)})
        assert route.topic_queue_mapping_by_broker is not None
        assert route.topic_queue_mapping_by_broker["a"].curr_id_map == {0: 0, 4: 1}
    assert server.requests[0].ext == {"topic": "T", "acceptStandardJsonOnly": "true"}


async def test_cluster_info_with_bare_keys_may_have_any_size(remoting: RemotingClient) -> None:
    brokers = b",".join(
        b'"b{0:%d":{"brokerAddrs":{0:"10.0.0.1:10911",1:"{2:"},"brokerName":"b","cluster":"C"}' % number
        for number in range(2000)
    )
    body = b'{"brokerAddrTable":{' + brokers + b'},"clusterAddrTable":{"C":["b{0:1"]}}'
    with Double({106: Reply(body=body)}) as server:
        info = await NameServerClient(remoting, server.address, LIMIT_S).cluster_info()

    assert len(body) > 64 * 1024
    assert len(info.broker_addr_table) == 2000
    assert info.broker_addr_table["b{0:7"] == BrokerData(
        broker_addrs={0: "10.0.0.1:10911", 1: "{2:"}, broker_name="b", cluster="C"
    )
    assert info.cluster_addr_table == {"C": ("b{0:1",)}


GROUP = b'{"brokerMemberGroup":{"brokerAddrs":{0:"h:1"},"brokerName":"a","cluster":"C"}}'


@pytest.mark.parametrize(
    ("answers", "ask", "expected", "sent"),
    [
        ({206: Reply(body=b'{"topicList":["A","B"]}')}, lambda s: s.all_topics(), ("A", "B"), None),
        ({206: Reply(body=b"{}")}, lambda s: s.all_topics(), (), None),
        ({224: Reply(body=b'{"topicList":["A"]}')}, lambda s: s.topics_of_cluster("C"), ("A",), {"cluster": "C"}),
        ({101: Reply(ext={"value": "V"})}, lambda s: s.kv_get("N", "K"), "V", {"namespace": "N", "key": "K"}),
        ({101: Reply(ext={})}, lambda s: s.kv_get("N", "K"), "", {"namespace": "N", "key": "K"}),
        ({100: Reply()}, lambda s: s.kv_put("N", "K", ""), None, {"namespace": "N", "key": "K", "value": ""}),
        ({102: Reply()}, lambda s: s.kv_delete("N", "K"), None, {"namespace": "N", "key": "K"}),
        ({219: Reply(body=b'{"table":{"K":"V","n":null}}')}, lambda s: s.kv_list("N"), {"K": "V"}, {"namespace": "N"}),
        ({205: Reply(ext={"wipeTopicCount": "3"})}, lambda s: s.wipe_write_perm("b"), 3, {"brokerName": "b"}),
        ({327: Reply(ext={"addTopicCount": "3"})}, lambda s: s.add_write_perm("b"), 3, {"brokerName": "b"}),
        ({205: Reply()}, lambda s: s.wipe_write_perm("b"), 0, {"brokerName": "b"}),
        ({216: Reply()}, lambda s: s.delete_topic("T"), None, {"topic": "T"}),
        ({216: Reply()}, lambda s: s.delete_topic("T", "C"), None, {"topic": "T", "clusterName": "C"}),
    ],
)
async def test_questions_and_answers(
    remoting: RemotingClient, answers: Answers, ask: Ask, expected: object, sent: dict[str, str] | None
) -> None:
    found, server = await asked(remoting, answers, ask)

    assert found == expected
    assert server.asked() == list(answers)
    assert server.requests[0].ext == sent


async def test_system_topics_come_with_a_broker_s_address(remoting: RemotingClient) -> None:
    with Double({304: Reply(body=b'{"brokerAddr":"h:1","topicList":["C","a"]}')}) as server:
        found = await NameServerClient(remoting, server.address, LIMIT_S).system_topics()

    assert (found.topic_list, found.broker_addr) == (("C", "a"), "h:1")


async def test_a_member_group(remoting: RemotingClient) -> None:
    with Double({901: Reply(body=GROUP, remark="not set any response code")}) as server:
        found = await NameServerClient(remoting, server.address, LIMIT_S).member_group("C", "a")

    assert (found.cluster, found.broker_name, found.broker_addrs) == ("C", "a", {0: "h:1"})
    assert server.requests[0].ext == {"clusterName": "C", "brokerName": "a"}


async def test_configuration_is_read_as_properties(remoting: RemotingClient) -> None:
    body = b"listenPort=9876\nempty=\npath=C\\:\\\\data\nother=\\u00e9\n"
    found, _ = await asked(remoting, {319: Reply(body=body)}, lambda server: server.get_config())

    assert found == {"listenPort": "9876", "empty": "", "path": "C:\\data", "other": "é"}


async def test_configuration_that_is_no_properties_text_is_taken_as_it_is(remoting: RemotingClient) -> None:
    body = b"path=C:\\users\\x\nno equals sign\nport = 1\n"
    found, _ = await asked(remoting, {319: Reply(body=body)}, lambda server: server.get_config())

    assert found == {"path": "C:\\users\\x", "port": "1"}


async def test_changed_values_are_escaped_so_that_they_arrive_as_they_are(remoting: RemotingClient) -> None:
    values = {"a key": "C:\\new\n é", "b": " x"}
    remark, server = await asked(
        remoting, {318: Reply(remark="in effect after a restart: b")}, lambda server: server.update_config(values)
    )

    assert remark == "in effect after a restart: b"
    assert server.requests[0].body == b"a\\ key=C\\:\\\\new\\n \\u00e9\nb=\\ x\n"
    nothing, _ = await asked(remoting, {318: Reply()}, lambda server: server.update_config({"a": "b"}))
    assert nothing is None


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (Reply(17, remark="No topic route\nSee"), NotFoundError),
        (Reply(22, remark="No config item"), NotFoundError),
        (Reply(16, remark="no"), NotPermittedError),
        (Reply(2, remark="busy"), NotReadyError),
        (Reply(1500), NotReadyError),
        (Reply(1, remark="name server not ready"), NotReadyError),
        (Reply(1, remark="disable"), NotSupportedError),
        (Reply(3, remark=" request type 206 not supported"), NotSupportedError),
        (Reply(1, remark="java.lang.NullPointerException"), RefusedError),
        (Reply(999), RefusedError),
    ],
)
async def test_a_refusal_has_a_type_and_names_address_code_and_remark(
    remoting: RemotingClient, reply: Reply, kind: type[RefusedError]
) -> None:
    with Double({206: reply}) as server:
        with pytest.raises(RefusedError) as caught:
            await NameServerClient(remoting, server.address, LIMIT_S).all_topics()

        assert type(caught.value) is kind
        assert (caught.value.address, caught.value.code) == (server.address, reply.code)
        assert caught.value.remark == (reply.remark or "").strip()
        assert f"{server.address}: code {reply.code}" in str(caught.value)


@pytest.mark.parametrize(
    ("code", "body", "ask"),
    [
        (206, b"[1]", lambda server: server.all_topics()),
        (206, b'{"topicList":{}}', lambda server: server.all_topics()),
        (106, b'{"brokerAddrTable":{"a":7}}', lambda server: server.cluster_info()),
        (106, b'{"clusterAddrTable":{"C":"b"}}', lambda server: server.cluster_info()),
        (106, b'{"brokerAddrTable":{"a":{"brokerAddrs":{"x":"h"}}}}', lambda server: server.cluster_info()),
        (105, b"", lambda server: server.topic_route("T")),
        (105, b'{"brokerDatas":{"a":1}}', lambda server: server.topic_route("T")),
        (105, b'{"topicQueueMappingByBroker":[]}', lambda server: server.topic_route("T")),
        (219, b'{"table":[1]}', lambda server: server.kv_list("N")),
        (901, b"{}", lambda server: server.member_group("C", "b")),
    ],
)
async def test_a_body_that_cannot_be_read_is_the_peer_s_fault(
    remoting: RemotingClient, code: int, body: bytes, ask: Ask
) -> None:
    with Double({code: Reply(body=body)}) as server:
        with pytest.raises(UnreadableAnswerError, match="cannot read its answer") as caught:
            await ask(NameServerClient(remoting, server.address, LIMIT_S))

        assert caught.value.address == server.address


async def test_no_connection_and_no_answer_are_told_apart(remoting: RemotingClient) -> None:
    with closed_port() as dead, pytest.raises(ConnectError, match=dead):
        await NameServerClient(remoting, dead, LIMIT_S).all_topics()
    with silent_port() as silent, pytest.raises(RequestTimeoutError, match=silent):
        await NameServerClient(remoting, silent, 0.05).all_topics()


async def test_a_broker_tells_its_state_and_its_groups(remoting: RemotingClient) -> None:
    answers = {28: Reply(body=dump({"table": {"putTps": "1"}})), 300: Reply(body=dump({"groupList": ["g"]}))}
    with Double(answers) as server:
        broker = BrokerClient(remoting, server.address, LIMIT_S)
        assert await broker.runtime_info() == {"putTps": "1"}
        assert await broker.consumer_groups("T") == ("g",)
        assert server.requests[1].ext == {"topic": "T"}


async def test_a_broker_s_bad_answers_are_errors(remoting: RemotingClient) -> None:
    with Double({28: Reply(body=b"[]"), 300: Reply(body=b"7")}) as server:
        broker = BrokerClient(remoting, server.address, LIMIT_S)
        with pytest.raises(UnreadableAnswerError):
            await broker.runtime_info()
        with pytest.raises(UnreadableAnswerError):
            await broker.consumer_groups("T")
    with Double({}) as server, pytest.raises(NotSupportedError):
        await BrokerClient(remoting, server.address, LIMIT_S).runtime_info()
