"""Each command against a server that answers as told: what it asks, what it prints, how it ends."""

import contextlib
import io
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from tests.support.admin_tool import Answers, Double, Reply, closed_port
from tests.support.wire import Answer, dump

from cosmodrome.admin import clusters, kv_config, namesrv_config, peers, permissions, routes, topics
from cosmodrome.admin.name_servers import NameServers
from cosmodrome.admin.output import Output, OutputForm, Verbosity
from cosmodrome.client.addresses import Servers, parse_addresses
from cosmodrome.errors import MissingError, UsageError
from cosmodrome.transport.client import RemotingClient

Command = Callable[[NameServers, Output], Awaitable[int]]


class Ran:
    """How a command ended."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code = code
        self.out = out
        self.err = err

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
async def remoting() -> AsyncIterator[RemotingClient]:
    client = RemotingClient()
    yield client
    await client.close()


class Bench:
    """Runs commands, in one form after the other."""

    def __init__(self, remoting: RemotingClient) -> None:
        self._remoting = remoting

    async def run(self, command: Command, *addresses: str, form: OutputForm = OutputForm.TEXT) -> Ran:
        out, err = io.StringIO(), io.StringIO()
        servers = NameServers(self._remoting, Servers(parse_addresses(",".join(addresses)), {}), 10)
        code = await command(servers, Output(form, out, err, Verbosity.USUAL))
        return Ran(code, out.getvalue(), err.getvalue())


@pytest.fixture
def bench(remoting: RemotingClient) -> Bench:
    return Bench(remoting)


def route(*brokers: tuple[str, str, str]) -> bytes:
    """Give a route over (cluster, broker, address)."""
    return dump(
        {
            "brokerDatas": [
                {"brokerAddrs": {"0": addr}, "brokerName": name, "cluster": cluster} for cluster, name, addr in brokers
            ],
            "filterServerTable": {},
            "queueDatas": [
                {"brokerName": name, "perm": 6, "readQueueNums": 1, "topicSysFlag": 0, "writeQueueNums": 2}
                for _, name, _ in brokers
            ],
        }
    )


def cluster_info(**brokers: str) -> bytes:
    """Give a cluster `C` with these broker addresses."""
    table = {name: {"brokerAddrs": {"0": addr}, "brokerName": name, "cluster": "C"} for name, addr in brokers.items()}
    return dump({"brokerAddrTable": table, "clusterAddrTable": {"C": [*brokers, "unregistered"]} if brokers else {}})


async def test_topic_route(bench: Bench) -> None:
    body = route(("C", "b", "h:2"), ("C", "a", "h:1"))
    with Double({105: Reply(body=body)}) as server:
        table = await bench.run(lambda s, o: routes.topic_route(s, o, "T", as_table=True), server.address)
        java = await bench.run(lambda s, o: routes.topic_route(s, o, "T", as_table=False), server.address)

    lines = table.out.splitlines()
    assert [line.split()[1] for line in lines[1:3]] == ["a", "b"]
    assert lines[3] == "-" * 158
    assert lines[4].split() == ["Total:", "2", "2", "4"]
    assert java.out.startswith('{\n\t"brokerDatas":[\n')


async def test_a_broker_of_a_route_without_queues_is_listed(bench: Bench) -> None:
    body = b'{"brokerDatas":[{"brokerAddrs":{},"brokerName":"a","cluster":"C"}],"queueDatas":[]}'
    with Double({105: Reply(body=body)}) as server:
        table = await bench.run(lambda s, o: routes.topic_route(s, o, "T", as_table=True), server.address)

    assert table.out.splitlines()[1].split() == ["C", "a", "{}"]


async def test_topic_cluster_list(bench: Bench) -> None:
    body = route(("C2", "b", "h:2"), ("C1", "a", "h:1"), ("C2", "c", "h:3"))
    with Double({105: Reply(body=body)}) as server:
        found = await bench.run(lambda s, o: routes.topic_cluster_list(s, o, "T"), server.address)

    assert found.out == "C1\nC2\n"


async def test_allocate_mq(bench: Bench) -> None:
    with Double({105: Reply(body=route(("C", "a", "h:1"), ("C", "b", "h:2")))}) as server:
        found = await bench.run(lambda s, o: routes.allocate_mq(s, o, "T", ["x", "y"]), server.address)

    assert found.json == {
        "result": {
            "x": [{"brokerName": "a", "queueId": 0, "topic": "T"}],
            "y": [{"brokerName": "b", "queueId": 0, "topic": "T"}],
        }
    }


TOPICS = {206: Reply(body=dump({"topicList": ["U", "%DLQ%g", "C"]})), 304: Reply(body=dump({"topicList": ["C"]}))}


async def test_topic_list(bench: Bench) -> None:
    with Double(TOPICS) as server:
        everything = await bench.run(lambda s, o: topics.topic_list(s, o, ()), server.address)
        asked = server.asked()
        user = await bench.run(lambda s, o: topics.topic_list(s, o, {topics.TopicKind.USER}), server.address)
        rows = await bench.run(lambda s, o: topics.topic_list(s, o, ()), server.address, form=OutputForm.JSON)

    assert (everything.out, asked) == ("%DLQ%g\nC\nU\n", [206])
    assert user.out == "U\n"
    assert [each["kind"] for each in rows.json["topics"]] == ["dlq", "system", "user"]


async def test_topic_list_by_cluster_asks_a_silent_broker_once(bench: Bench) -> None:
    def of(request: Answer) -> Reply:
        topic = (request.ext or {})["topic"]
        if topic == "gone":
            return Reply(17, remark="none")
        address = {"good": good.address, "refused": refusing.address}.get(topic, dead)
        return Reply(body=route(("C2", "a", address), ("C1", "b", address)))

    names = ["good", "refused", "dead", "deader", "gone", "%RETRY%g"]
    listing: Answers = {**TOPICS, 206: Reply(body=dump({"topicList": names})), 105: of}
    with (
        Double({300: Reply(body=dump({"groupList": ["g2", "g1"]}))}) as good,
        Double({}) as refusing,
        closed_port() as dead,
        Double(listing) as server,
    ):
        found = await bench.run(lambda s, o: topics.topic_list_by_cluster(s, o, ()), server.address)
        retry = await bench.run(
            lambda s, o: topics.topic_list_by_cluster(s, o, {topics.TopicKind.RETRY}), server.address
        )

    rows = [line.split() for line in found.out.splitlines()[1:]]
    assert [row for row in rows if "good" in row] == [
        [cluster, "good", group] for cluster in ("C1", "C2") for group in ("g1", "g2")
    ]
    assert ["gone"] in rows
    assert ["C1", "refused"] in rows
    assert found.err == f"note: broker {dead} did not answer: consumer groups of its topics are missing\n"
    assert [line.split()[1] for line in retry.out.splitlines()[1:]] == ["%RETRY%g", "%RETRY%g"]


@pytest.mark.parametrize(
    ("command", "text", "code"),
    [
        (lambda s, o: kv_config.update_kv_config(s, o, "N", "K", "V"), "create or update kv config", 100),
        (lambda s, o: kv_config.delete_kv_config(s, o, "N", "K"), "delete kv config from namespace success.", 102),
        (lambda s, o: kv_config.put_order_conf(s, o, "T", "a:4"), "orderConf success. topic=[T], orderConf=[a:4]", 100),
        (lambda s, o: kv_config.delete_order_conf(s, o, "T"), "delete orderConf success. topic=[T]", 102),
        (lambda s, o: permissions.wipe_write_perm(s, o, "a"), "wipe write perm of broker[a] in name server[", 205),
        (lambda s, o: permissions.add_write_perm(s, o, "a"), "OK, 2", 327),
        (lambda s, o: namesrv_config.update_namesrv_config(s, o, "k", "v"), "k : v", 318),
    ],
)
async def test_changes(bench: Bench, command: Command, text: str, code: int) -> None:
    counts = {205: Reply(ext={"wipeTopicCount": "2"}), 327: Reply(ext={"addTopicCount": "2"})}
    answers: Answers = {**dict.fromkeys((100, 102, 318), Reply()), **counts}
    with Double(answers) as server, closed_port() as dead:
        good = await bench.run(command, server.address)
        partly = await bench.run(command, server.address, dead)
        rows = await bench.run(command, server.address, dead, form=OutputForm.JSON)

        assert server.asked() == [code] * 3
    assert (good.code, good.err) == (0, "")
    assert text in good.out
    assert (partly.code, rows.code) == (1, 1)
    assert [each["ok"] for each in rows.json["servers"]] == [True, False]


async def test_a_permission_that_touches_nothing_is_not_found(bench: Bench) -> None:
    with Double({205: Reply(ext={"wipeTopicCount": "0"})}) as server, pytest.raises(MissingError, match="'a'"):
        await bench.run(lambda s, o: permissions.wipe_write_perm(s, o, "a"), server.address)


async def test_reading_kv_config(bench: Bench) -> None:
    table = {"b": "2\n", "a": "1"}
    with Double({101: Reply(ext={"value": "V\n"}), 219: Reply(body=dump({"table": table}))}) as server:
        value = await bench.run(lambda s, o: kv_config.get_kv_config(s, o, "N", "K"), server.address)
        listed = await bench.run(lambda s, o: kv_config.list_kv_config(s, o, "N"), server.address)
        order = await bench.run(lambda s, o: kv_config.get_order_conf(s, o, "T"), server.address)

    assert value.out == "V\n\n"
    assert [line.split() for line in listed.out.splitlines()] == [["#Key", "#Value"], ["a", "1"], ["b", "2\\n"]]
    assert order.out == "get orderConf success. topic=[T], orderConf=[V\\n] \n"


async def test_configuration(bench: Bench) -> None:
    answers = {319: Reply(body=b"listenPort=1\nz=\n"), 318: Reply(remark="in effect after a restart: k")}
    with Double(answers) as server, closed_port() as dead:
        listed = await bench.run(namesrv_config.get_namesrv_config, dead, server.address)
        changed = await bench.run(lambda s, o: namesrv_config.update_namesrv_config(s, o, "k", "v"), server.address)
        failed = await bench.run(lambda s, o: namesrv_config.update_namesrv_config(s, o, "k", "v"), dead)

    assert listed.code == 1
    assert listed.out.splitlines() == [
        f"============{server.address}============",
        f"{'listenPort':<50}=  1",
        f"{'z':<50}=  ",
    ]
    assert changed.out == f"update name server config success![{server.address}]\nk : v\n"
    assert changed.err == f"note: {server.address}: in effect after a restart: k\n"
    assert (failed.code, failed.out) == (69, "")


RUNTIME = {
    "brokerVersionDesc": "V4_9_7",
    "putTps": "1.25 2",
    "getTransferedTps": "2.345",
    "timerEnqueueTps": "1.25",
    "earliestMessageTimeStamp": "1700000000000",
    "msgPutTotalTodayNow": "7",
    "msgPutTotalTodayMorning": "2",
    "msgPutTotalYesterdayMorning": "2",
}


async def test_cluster_list(bench: Bench) -> None:
    with contextlib.ExitStack() as stack:
        broker = stack.enter_context(Double({28: Reply(body=dump({"table": RUNTIME}))}))
        dead = stack.enter_context(closed_port())
        server = stack.enter_context(Double({106: Reply(body=cluster_info(a=broker.address, b=dead))}))
        usual = await bench.run(lambda s, o: clusters.cluster_list(s, o, None, is_more=False), server.address)
        more = await bench.run(lambda s, o: clusters.cluster_list(s, o, "C", is_more=True), server.address)
        rows = await bench.run(
            lambda s, o: clusters.cluster_list(s, o, None, is_more=False), server.address, form=OutputForm.JSON
        )
        with pytest.raises(MissingError, match="there is no cluster 'X'"):
            await bench.run(lambda s, o: clusters.cluster_list(s, o, "X", is_more=False), server.address)

    head, first, second = usual.out.splitlines()
    assert head.split()[:4] == ["#Cluster", "Name", "#Broker", "Name"]
    assert first.split()[:6] == ["C", "a", "0", broker.address, "V4_9_7", "1.25(,ms)"]
    assert "2.35(,ms|N,Nms)  0-0(0.0w, 1.3, 0.0) " in first
    assert second.split()[:5] == ["C", "b", "0", dead, "unreachable"]
    assert [line.split() for line in more.out.splitlines()[1:]] == [
        ["C", "a", "0", "0", "5", "0"],
        ["C", "b", "0", "0", "0", "0"],
    ]
    assert [each["is_reachable"] for each in rows.json["brokers"]] == [True, False]
    assert rows.json["brokers"][0]["in_total_today"] == 5


async def test_cluster_list_of_an_empty_cluster(bench: Bench) -> None:
    with Double({106: Reply(body=cluster_info())}) as server:
        found = await bench.run(lambda s, o: clusters.cluster_list(s, o, None, is_more=True), server.address)

    assert (found.code, len(found.out.splitlines()), found.err) == (0, 1, "note: no broker is registered\n")


async def test_cluster_list_for_ever(bench: Bench) -> None:
    """It ends only with its task, here at the third question."""
    questions: list[Answer] = []

    def third_fails(request: Answer) -> Reply:
        questions.append(request)
        return Reply(17 if len(questions) > 2 else 0, cluster_info())

    with Double({106: third_fails}) as server, pytest.raises(MissingError):
        await bench.run(lambda s, o: clusters.cluster_list(s, o, None, is_more=False, interval_s=0.001), server.address)

    assert len(questions) == 3


async def test_peers_diff(bench: Bench) -> None:
    def name_server(topics_: list[str], **brokers: str) -> Double:
        def of(request: Answer) -> Reply:
            is_ghost = (request.ext or {})["topic"] == "ghost"
            return Reply(17, remark="none") if is_ghost else Reply(body=route(("C", "a", "h:1")))

        return Double(
            {106: Reply(body=cluster_info(**brokers)), 206: Reply(body=dump({"topicList": topics_})), 105: of}
        )

    with name_server(["T", "ghost"], a="h:1") as one, name_server(["ghost", "T"], a="h:1", b="h:2") as two:
        same = await bench.run(peers.peers_diff, one.address, one.address.replace("127.0.0.1", "[::ffff:127.0.0.1]"))
        differ = await bench.run(peers.peers_diff, one.address, two.address)
        with closed_port() as dead:
            partly = await bench.run(peers.peers_diff, one.address, dead, form=OutputForm.JSON)
        with pytest.raises(UsageError, match="nothing to be compared"):
            await bench.run(peers.peers_diff, one.address)

    assert (same.code, same.out.splitlines()[-1]) == (0, "no difference")
    assert differ.code == 1
    assert differ.out.splitlines()[-2:] == ["1 difference", f"  broker C/b id 0: missing at {one.address}"]
    assert (partly.code, partly.json["is_equal"]) == (1, None)
    assert partly.json["servers"][0]["topics"] == 2
