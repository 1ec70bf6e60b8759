"""Commands that ask brokers: what they print, in each form, and how they end."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.admin_line import DoubleCluster, double_cluster
from tests.support.admin_tool import Reply, closed_port
from tests.support.wire import Answer, dump

QUEUE = '{"brokerName":"a","queueId":0,"topic":"T"}'
CONNECTION = {"clientId": "c@1", "clientAddr": "10.0.0.9:5", "language": "GO", "version": 513}
CONSUMERS = {
    "connectionSet": [CONNECTION], "subscriptionTable": {"T": {"topic": "T", "subString": "a || b"}},
    "consumeType": "CONSUME_PASSIVELY", "messageModel": "CLUSTERING", "consumeFromWhere": "CONSUME_FROM_LAST_OFFSET",
}  # fmt: skip
SETTINGS = b"brokerName=a\nfileReservedTime=72\nclientCallbackExecutorThreads=8\n"
RUNTIME = {
    "table": {
        "putTps": "1.5 2 3", "getTransferredTps": "2.5 0 0", "msgPutTotalTodayMorning": "9",
        "msgPutTotalYesterdayMorning": "4", "totalMemKBytes": "1000", "commitLogDiskRatio": "0.5",
    }
}  # fmt: skip
TOPICS = {
    "topicConfigTable": {
        name: {"topicName": name, "readQueueNums": 2, "writeQueueNums": 2, "perm": 6}
        for name in ("T", "TBW102", "%RETRY%g", "a", "rmq_sys_X", "CHECKPOINT_TOPIC")
    }
}
GROUPS = {
    "subscriptionGroupTable": {
        name: {"groupName": name, "retryQueueNums": 1} for name in ("g", "CID_RMQ_SYS_TRANS", "TOOLS_CONSUMER")
    }
}


def stats(day: int) -> Reply:
    def item(total: int) -> dict[str, float]:
        return {"sum": total, "tps": total / 60, "avgpt": 1.0}

    return Reply(body=dump({"statsMinute": item(60), "statsHour": item(0), "statsDay": item(day)}))


def running_info(client: str = "c@1", **members: Any) -> bytes:
    properties = {
        "PROP_CONSUME_TYPE": "CONSUME_PASSIVELY", "PROP_CONSUMEORDERLY": "false",
        "PROP_CONSUMER_START_TIMESTAMP": "1700000000000",
    }  # fmt: skip
    queue = {"commitOffset": 7, "cachedMsgCount": 1, "lastConsumeTimestamp": 1700000000000, "locked": False}
    document = {
        "properties": properties | members.pop("properties", {}),
        "subscriptionSet": [{"topic": "T", "subString": members.pop("expression", "*")}],
        "statusTable": {"T": {"pullRT": 1.005, "consumeOKTPS": 2.0}},
        "jstack": f"stack of {client}",
        **members,
    }
    text = dump(document).decode()
    queues = f'"mqTable":{{{QUEUE}:{json.dumps(queue)}}},"mqPopTable":{{{QUEUE}:{{"waitAckCount":3}}}}'
    return f"{text[:-1]},{queues}}}".encode()


READS = {
    26: Reply(body=SETTINGS),
    28: Reply(body=dump(RUNTIME)),
    21: Reply(body=dump(TOPICS)),
    201: Reply(body=dump(GROUPS)),
    202: Reply(
        body=f'{{"offsetTable":{{{QUEUE}:{{"minOffset":1,"maxOffset":7,"lastUpdateTimestamp":1700000000123}}}},"topicPutTps":0.5}}'.encode()
    ),
    203: Reply(body=dump(CONSUMERS)),
    204: Reply(body=dump({"connectionSet": [CONNECTION]})),
    208: Reply(
        body=f'{{"offsetTable":{{{QUEUE}:{{"brokerOffset":9,"consumerOffset":4,"lastTimestamp":1700000000123}}}}}}'.encode()
    ),
    300: Reply(body=dump({"groupList": ["g"]})),
    305: Reply(body=dump({"topicList": ["a", "TBW102"]})),
    307: Reply(body=running_info()),
    315: stats(100),
    317: Reply(
        body=(
            f'{{"consumeStatsList":[{{"g":[{{"offsetTable":{{{QUEUE}:{{"brokerOffset":9,"consumerOffset":4,'
            '"lastTimestamp":1700000000123}}}]}],"totalDiff":5}'
        ).encode()
    ),
    321: Reply(body=dump({"maxQueueIndex": 9, "minQueueIndex": 2, "queueData": [{"physicOffset": 5}]})),
    328: Reply(body=dump({"data": {"p": [{"clientId": "c@1", "remoteIP": "/10.0.0.9:5"}], "q": []}})),
    907: Reply(body=dump({"master": True, "masterCommitLogMaxOffset": 7, "haConnectionInfo": [{"addr": "h:1"}]})),
}  # fmt: skip
SILENT: dict[int, Reply] = {}


def at_broker(cluster: DoubleCluster, line: str) -> list[str]:
    return line.replace("{a}", cluster.brokers[0].address).split(" ")


# Every command, and what its text and its JSON have.
COMMANDS: list[tuple[str, str, list[str]]] = [
    ("topicStatus -t T", "a                                 0     1                     7", ["topic", "put_tps", "queues"]),
    ("statsAll -t T", "           100", ["topics"]),
    ("queryCq -t T -q 0 -i 2", "idx: 2\nConsumeQueueData{physicOffset=5", ["topic", "broker_addr", "queue_data"]),
    ("getConsumerConfig -g g", "=============================C:a====", ["group", "brokers"]),
    ("producer -b {a}", "producer group (q) instances are empty\n", ["broker_addr", "producers"]),
    ("producerConnection -g p -t T", "0001  c@1 ", ["group", "topic", "connections"]),
    ("consumerConnection -g g", "ConsumeType: CONSUME_PASSIVELY\n", ["group", "connections", "subscriptions"]),
    ("consumerConnection -g g -b {a}", "MessageModel: CLUSTERING\n", ["consume_from_where"]),
    ("consumerStatus -g g -i c@1", "#Consumer Offset#", ["group", "client_id", "queues", "pop_queues", "rates"]),
    ("brokerConsumeStats -b {a}", "\nDiff Total: 5\n", ["diff_total", "queues"]),
    ("getBrokerConfig -b {a}", "fileReservedTime                                  =  72\n", ["brokers"]),
    ("brokerStatus -c C", "putTps                          : 1.5 2 3\n", ["brokers"]),
    ("haStatus -c C", "#SlaveNum\t1\n", ["brokers"]),
    ("exportMetadata -c C", '"topicConfigTable":{', ["export_time", "topic_config_table", "subscription_group_table"]),
    ("exportConfigs -c C", '"namesrvSize":1', ["broker_configs", "cluster_scale"]),
    ("exportMetrics -c C", '"normalOneDayInNum":5', ["evaluate_report", "total_data"]),
]  # fmt: skip


@pytest.mark.parametrize(("line", "text", "keys"), COMMANDS, ids=[line for line, _, _ in COMMANDS])
def test_a_read_in_each_form(line: str, text: str, keys: list[str]) -> None:
    with double_cluster(READS) as cluster:
        words = at_broker(cluster, line)
        plain = cluster(*words)
        document = cluster(*words, "--output", "json")
        rows = cluster(*words, "--output", "ndjson")

    assert (plain.code, plain.err, document.code, rows.code) == (0, "", 0, 0)
    assert text in plain.out
    assert set(keys) <= set(document.json)
    assert all(isinstance(row, dict) for row in rows.rows)
    assert rows.rows


@pytest.mark.parametrize("line", [line for line, _, _ in COMMANDS])
def test_a_broker_that_cannot_answer_is_no_success(line: str) -> None:
    with double_cluster(SILENT) as cluster:
        run = cluster(*at_broker(cluster, line))

    if line.startswith("statsAll"):
        assert (run.code, run.err) == (0, "")  # a broker without counters has nothing to add up
        assert "NO_CONSUMER" in run.out
    else:
        assert run.code == 69
        assert "error[NS-NOT-AVAILABLE]: " in run.err


def test_one_broker_of_two_is_missing_in_the_result() -> None:
    with double_cluster(READS, SILENT) as cluster:
        status = cluster("topicStatus", "-t", "T")
        config = cluster("getConsumerConfig", "-g", "g", "-o", "json")

    assert (status.code, config.code) == (1, 1)
    assert "a       " in status.out
    assert "1 of 2 brokers failed" in status.err
    assert "What the others say is shown" in status.err
    assert [each["ok"] for each in config.json["brokers"]] == [True, False]


def test_what_is_not_there_is_not_found() -> None:
    offline = {203: Reply(206, remark="the consumer group[x] not online"), 204: Reply(1, remark="not exist")}
    unknown = {202: Reply(body=b'{"offsetTable":{}}')}
    with double_cluster({**READS, **offline, **unknown}) as cluster:
        runs = [
            cluster(*line.split(" "))
            for line in (
                "getConsumerConfig -g unknown", "consumerConnection -g g", "producerConnection -g p -t T",
                "consumerStatus -g g", "topicStatus -t T", "statsAll -t Unknown", "haStatus -c X", "exportConfigs -c X",
            )
        ]  # fmt: skip

    assert [run.code for run in runs] == [66] * len(runs)
    assert all(run.err.startswith("error[NS-NOT-FOUND]: ") for run in runs)


def test_without_a_master_there_is_no_queue_to_look_at() -> None:
    body = dump({"brokerDatas": [{"brokerAddrs": {"1": "h:1"}, "brokerName": "a", "cluster": "C"}], "queueDatas": []})
    with double_cluster(READS, names={105: Reply(body=body)}) as cluster:
        assert cluster("queryCq", "-t", "T", "-q", "0", "-i", "0").code == 66


def test_settings_of_slaves_are_below_their_master() -> None:
    with double_cluster(READS, READS, with_slave=True) as cluster:
        run = cluster("getBrokerConfig", "-c", "C")
        master, slave = (broker.address for broker in cluster.brokers)

    heads = [line for line in run.out.splitlines() if line.startswith("====")]
    assert heads == [
        f"============Master: {master}============",
        f"============My Master: {master}=====Slave: {slave}============",
    ]


def test_a_group_of_slaves_without_a_master() -> None:
    info = {"C": ["a"]}
    with double_cluster(READS) as cluster:
        address = cluster.brokers[0].address
        data = {"a": {"brokerAddrs": {"1": address}, "brokerName": "a", "cluster": "C"}}
        body = dump({"brokerAddrTable": data, "clusterAddrTable": info})
        with double_cluster(names={106: Reply(body=body)}) as headless:
            run = headless("getBrokerConfig", "-c", "C")

    assert run.out.splitlines()[:2] == [
        "============Master: NO_MASTER============",
        f"============My Master: NO_MASTER=====Slave: {address}============",
    ]


def test_replication_of_a_slave() -> None:
    client = {"masterAddr": "10.0.0.1:10912", "maxOffset": 5, "transferredByteInSecond": 2048}
    slave = {907: Reply(body=dump({"master": False, "haClientRuntimeInfo": client}))}
    with double_cluster(slave, {907: Reply(body=b'{"master":false}')}) as cluster:
        run, told = cluster("haStatus", "-c", "C"), cluster("haStatus", "-c", "C", "-o", "json")

    assert run.out.splitlines()[:4] == [
        "", "#MasterAddr\t10.0.0.1:10912", "#CommitLogMaxOffset\t5", "#TransferSpeed(KB/s)\t2.00",
    ]  # fmt: skip
    assert [each["is_master"] for each in told.json["brokers"]] == [False, False]


class TestStatsAll:
    def test_only_what_is_active(self) -> None:
        idle = {**READS, 315: stats(0), 300: Reply(body=b'{"groupList":[]}')}
        idle[315] = Reply(1, remark="<TOPIC_PUT_NUMS> <T> not exist")
        with double_cluster(idle) as cluster:
            everything, active = cluster("statsAll"), cluster("statsAll", "-a")

        assert [line.split()[0] for line in everything.out.splitlines()[1:]] == ["T", "U"]
        assert len(active.out.splitlines()) == 1

    def test_a_broker_that_is_gone_is_told_and_asked_once(self, unreachable: str) -> None:
        route = dump(
            {
                "brokerDatas": [{"brokerAddrs": {"0": unreachable}, "brokerName": "a", "cluster": "C"}],
                "queueDatas": [],
            }
        )
        with double_cluster(names={105: Reply(body=route)}) as cluster:
            run = cluster("statsAll")

        assert run.code == 1
        assert run.err.count("error[NS-UNREACHABLE]") == 1
        assert f"the figures of broker {unreachable} are missing" in run.err

    def test_a_topic_that_goes_meanwhile_is_left_out(self) -> None:
        with double_cluster(READS, names={105: Reply(17, remark="No topic route info")}) as cluster:
            run = cluster("statsAll")

        assert (run.code, len(run.out.splitlines())) == (0, 1)


@pytest.fixture
def unreachable() -> Iterator[str]:
    with closed_port() as address:
        yield address


class TestConsumerStatus:
    def test_a_file_for_each_member(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        members = [CONNECTION | {"clientId": name} for name in ("c@1", "../../etc/x")]
        answers = {**READS, 203: Reply(body=dump(CONSUMERS | {"connectionSet": members}))}
        with double_cluster(answers) as cluster:
            run = cluster("consumerStatus", "-g", "g")

        (folder,) = tmp_path.iterdir()
        files = sorted(path.name for path in folder.iterdir())
        assert files == ["__.._etc_x", "c@1"]
        assert (folder / "c@1").read_text(encoding="utf-8").startswith("#Consumer Properties#\n")
        lines = run.out.splitlines()
        assert lines[1].split() == ["1", "c@1", "V5_5_0", f"{folder.name}/c@1"]
        assert "Same subscription in the same group of consumer" in lines
        assert "Rebalance OK" in lines
        assert "can't consume for a while, maybe blocked" in lines[-1]

    def test_members_that_differ(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        members = [CONNECTION | {"clientId": name} for name in ("c1", "c2")]

        def info(request: Answer) -> Reply:
            client = (request.ext or {})["clientId"]
            return Reply(body=running_info(client, expression=client))

        answers = {**READS, 203: Reply(body=dump(CONSUMERS | {"connectionSet": members})), 307: info}
        with double_cluster(answers) as cluster:
            run = cluster("consumerStatus", "-g", "g")

        assert "WARN: Different subscription in the same group of consumer!!!" in run.out

    @pytest.mark.parametrize(
        ("members", "text"),
        [
            ({"PROP_CONSUMEORDERLY": "true"}, "can't lock for a while"),
            ({"PROP_CONSUME_TYPE": "CONSUME_ACTIVELY"}, "Rebalance OK"),
        ],
    )
    def test_complaints(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, members: dict[str, str], text: str
    ) -> None:
        monkeypatch.chdir(tmp_path)
        with double_cluster({**READS, 307: Reply(body=running_info(properties=members))}) as cluster:
            run = cluster("consumerStatus", "-g", "g")

        assert text in run.out.splitlines()[-1]

    def test_a_queue_that_is_dropped_and_stays_locked(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        body = running_info(properties={"PROP_CONSUMEORDERLY": "true"}, userConsumerInfo={"key": "value"})
        body = body.replace(b'"locked": false', b'"locked": true, "droped": true, "tryUnlockTimes": 3')
        with double_cluster({**READS, 307: Reply(body=body)}) as cluster:
            run = cluster("consumerStatus", "-g", "g")
            one = cluster("consumerStatus", "-g", "g", "-i", "c@1")

        assert run.out.splitlines()[-1].endswith("unlock 3 times, still failed")
        assert "#User Consume Info#\nkey                                     : value\n" in one.out

    def test_a_member_that_does_not_answer(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        with double_cluster({**READS, 307: Reply(207, remark="timeout")}) as cluster:
            run = cluster("consumerStatus", "-g", "g")

        assert run.code != 0
        assert "207" in run.err
        assert not [*tmp_path.iterdir()]

    def test_stacks_when_they_are_asked_for(self) -> None:
        with double_cluster(READS) as cluster:
            run = cluster("consumerStatus", "-g", "g", "-i", "c@1", "-s")

            (request,) = cluster.asked(307)
        assert request.ext == {"consumerGroup": "g", "clientId": "c@1", "jstackEnable": "true"}
        assert run.out.endswith("#Consumer jstack#\nstack of c@1\n")
        assert "           1.01 " in run.out


def test_little_that_is_behind_is_left_out() -> None:
    with double_cluster(READS) as cluster:
        address = cluster.brokers[0].address
        shown, hidden = (cluster("brokerConsumeStats", "-b", address, "-l", level).out for level in ("5", "6"))

    assert (len(shown.splitlines()), len(hidden.splitlines())) == (4, 3)


def test_a_queue_with_a_group_s_filter() -> None:
    subscription = {"topic": "T", "subString": "a", "tagsSet": ["a"], "codeSet": [97], "subVersion": 5}
    body = dump({"subscriptionData": subscription, "filterData": "null", "queueData": []})
    with double_cluster({321: Reply(body=body)}) as cluster:
        run = cluster("queryCq", "-t", "T", "-q", "0", "-i", "0", "-g", "g", "-b", cluster.brokers[0].address)

        (request,) = cluster.asked(321)
    assert request.ext is not None
    assert (request.ext["consumerGroup"], request.ext["count"]) == ("g", "10")
    assert run.out.startswith('Subscription data: \n{\n\t"classFilterMode":false,')
    assert "Filter data: \nnull\n" in run.out


def test_replication_is_shown_again_and_again() -> None:
    asked: list[Answer] = []
    with double_cluster(READS) as cluster:
        info = dump(
            {
                "brokerAddrTable": {
                    "a": {"brokerAddrs": {"0": cluster.brokers[0].address}, "brokerName": "a", "cluster": "C"}
                },
                "clusterAddrTable": {"C": ["a"]},
            }
        )

        def answers(request: Answer) -> Reply:
            asked.append(request)
            return Reply(17, remark="gone") if len(asked) > 2 else Reply(body=info)

        with double_cluster(names={106: answers}) as server:
            run = server("haStatus", "-c", "C", "-i", "0.001")

    assert run.code == 66
    assert run.out.count("#MasterAddr") == 2


def test_metrics_of_a_broker_that_counts_nothing_and_says_odd_things() -> None:
    odd = {
        **READS,
        28: Reply(body=dump({"table": {"putTps": "many", "msgPutTotalTodayMorning": "1e300"}})),
        203: Reply(206, remark="not online"),
        315: Reply(1, remark="<TOPIC_PUT_NUMS> <X> not exist"),
    }
    with double_cluster(odd) as cluster:
        report = cluster("exportMetrics", "-c", "C", "-o", "json").json["evaluate_report"]["a"]

    assert report["runtime_version"] == {"client_info": [], "rocketmq_version": "V5_5_0"}
    assert report["runtime_quota"]["tps"] == {
        "normal_in_tps": 0.0, "normal_out_tps": 0.0, "schedule_in_tps": 0.0, "trans_in_tps": 0.0,
    }  # fmt: skip
    assert report["runtime_quota"]["one_day_num"]["normal_one_day_in_num"] == 0


def keys_of(document: Any) -> set[str]:
    if isinstance(document, list):
        return set().union(*map(keys_of, document))
    return set(document).union(*map(keys_of, document.values())) if isinstance(document, dict) else set()


@pytest.mark.parametrize("line", [line for line, _, _ in COMMANDS])
def test_keys_are_in_snake_case(line: str) -> None:
    """But those that are names of topics, groups, brokers, settings, or what a broker calls its figures."""
    with double_cluster(READS) as cluster:
        document = cluster(*at_broker(cluster, line), "--output", "json").json

    settings = {*json.loads(dump(RUNTIME))["table"], "brokerName", "fileReservedTime", "clientCallbackExecutorThreads"}
    strange = {key for key in keys_of(document) - settings if not re.fullmatch(r"[a-z][a-z0-9_]*", key)}
    assert not {key for key in strange if not key.startswith(("PROP_", "T", "%"))}


class TestCloneGroupOffset:
    def test_offsets_are_committed_at_their_brokers(self) -> None:
        with double_cluster({**READS, 15: Reply()}) as cluster:
            run = cluster("cloneGroupOffset", "-s", "g", "-d", "h", "-t", "T", "-o", "true")

            (request,) = cluster.asked(15)
        assert request.ext == {"consumerGroup": "h", "topic": "T", "queueId": "0", "commitOffset": "4"}
        assert run.out == "clone group offset success. srcGroup[g], destGroup=[h], topic[T]\n"

    def test_without_offsets_there_is_a_note(self) -> None:
        with double_cluster({208: Reply(body=b'{"offsetTable":{}}')}) as cluster:
            run = cluster("cloneGroupOffset", "-s", "g", "-d", "h", "-t", "T")

        assert run.code == 0
        assert "there was nothing to clone" in run.err


class TestExports:
    def test_what_is_of_users(self) -> None:
        with double_cluster(READS, READS) as cluster:
            whole = cluster("exportMetadata", "-c", "C", "-o", "json").json
            special = cluster("exportMetadata", "-c", "C", "-s", "-o", "json").json

        assert list(whole["topic_config_table"]) == ["T"]
        assert whole["topic_config_table"]["T"]["read_queue_nums"] == 4
        assert list(whole["subscription_group_table"]) == ["g"]
        assert whole["subscription_group_table"]["g"]["retry_queue_nums"] == 2
        assert list(special["topic_config_table"]) == ["%RETRY%g", "T"]

    @pytest.mark.parametrize(
        ("line", "name"),
        [
            ("exportMetadata -c C", "metadata.json"),
            ("exportMetadata -b {a} -t", "topic.json"),
            ("exportMetadata -b {a} -g", "subscriptionGroup.json"),
            ("exportConfigs -c C", "configs.json"),
            ("exportMetrics -c C", "metrics.json"),
        ],
    )
    def test_into_a_file(self, tmp_path: Path, line: str, name: str) -> None:
        folder = tmp_path / "new"
        with double_cluster(READS) as cluster:
            run = cluster(*at_broker(cluster, line), "-f", str(folder))

        assert run.out == f"export {folder}/{name} success\n"
        assert isinstance(json.loads((folder / name).read_text(encoding="utf-8")), dict)

    def test_a_folder_that_cannot_be_written(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        with double_cluster(READS) as cluster:
            run = cluster("exportConfigs", "-c", "C", "-f", str(tmp_path / "file"))

        assert run.code == 71
        assert "error[NS-STORAGE]" in run.err

    def test_nothing_is_written_when_a_broker_is_missing(self, tmp_path: Path) -> None:
        with double_cluster(READS, SILENT) as cluster:
            codes = [
                cluster(name, "-c", "C", "-f", str(tmp_path)).code
                for name in ("exportMetadata", "exportConfigs", "exportMetrics")
            ]

        assert codes == [1, 1, 1]
        assert not [*tmp_path.iterdir()]


class TestNameServers:
    """What mqadmin cannot ask."""

    def test_topics(self) -> None:
        lists = {code: Reply(body=dump({"topicList": [f"of{code}", "A"]})) for code in (224, 304, 311, 312, 313)}
        with double_cluster(READS, names=lists) as cluster:
            outs = [
                cluster(*line.split(" ")).out
                for line in (
                    "listTopicsOfCluster -c C", "listSystemTopics", "listUnitTopics", "listUnitSubTopics",
                    "listUnitSubUnunitTopics",
                )
            ]  # fmt: skip
            rows = cluster("listUnitTopics", "-o", "ndjson").rows

        assert outs == [f"A\nof{code}\n" for code in (224, 304, 311, 312, 313)]
        assert rows == [{"topic": "A"}, {"topic": "of311"}]

    def test_an_unknown_cluster(self) -> None:
        with double_cluster(names={224: Reply(body=b'{"topicList":[]}')}) as cluster:
            empty, unknown = (cluster("listTopicsOfCluster", "-c", name) for name in ("C", "X"))

        assert (empty.code, unknown.code) == (0, 66)

    def test_switched_off(self) -> None:
        with double_cluster(names={311: Reply(1, remark="disable")}) as cluster:
            assert cluster("listUnitTopics").code == 69

    def test_members_of_a_broker(self) -> None:
        body = b'{"brokerMemberGroup":{"brokerAddrs":{0:"h:1",1:"h:2"},"brokerName":"a","cluster":"C"}}'
        empty = b'{"brokerMemberGroup":{"brokerAddrs":{},"brokerName":"x","cluster":"C"}}'
        with double_cluster(names={901: Reply(body=body)}) as cluster:
            run = cluster("getBrokerMembers", "-c", "C", "-b", "a")
            at = cluster.name_server.address
        with double_cluster(names={901: Reply(body=empty)}) as cluster:
            none = cluster("getBrokerMembers", "-c", "C", "-b", "x")

        assert run.out.splitlines()[1:] == [f"{at:<24}  0     h:1", f"{at:<24}  1     h:2"]
        assert none.code == 66

    def test_versions_of_a_broker(self) -> None:
        version = b'{"counter":5,"stateVersion":0,"timestamp":1700000000000}'
        with double_cluster(READS, names={322: Reply(body=version)}) as cluster:
            run = cluster("getDataVersions", "-b", "a")
            question = next(request for request in cluster.name_server.requests if request.code == 322)
            unknown = cluster("getDataVersions", "-b", "x")
        with double_cluster(READS, names={322: Reply()}) as cluster:
            none = cluster("getDataVersions", "-b", "a")

        assert run.out.splitlines()[1].split()[-2:] == ["5", "2023-11-14T22:13:20.000Z"]
        assert json.loads(question.body)["counter"] == -1
        assert unknown.code == 66
        assert none.out.splitlines()[1].split()[-2:] == ["-", "-"]
