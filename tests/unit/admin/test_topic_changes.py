"""Commands that change topics, groups and settings of brokers: what they ask, print, and how they end."""

import json
from pathlib import Path

import pytest
from tests.support.admin_line import double_cluster, run_admin
from tests.support.admin_tool import Reply, closed_port

OK = dict.fromkeys((15, 17, 18, 25, 200, 207, 215, 225, 306, 316, 329, 401), Reply())
REFUSING = dict.fromkeys(OK, Reply(1, remark="disk full"))
DENYING = dict.fromkeys(OK, Reply(16, remark="no permission"))
UNSIGNED = dict.fromkeys(OK, Reply(16, remark="User:x has no permission"))

TOPIC_TEXT = (
    "TopicConfig [topicName=T, readQueueNums=8, writeQueueNums=8, perm=RW-, topicFilterType=SINGLE_TAG, "
    "topicSysFlag=0, order=false, attributes={}]\n"
)


class TestOperatorsGrepStrings:
    """The texts that the operator of RocketMQ looks for, byte for byte."""

    def test_create_topic(self) -> None:
        with double_cluster(OK, OK) as cluster:
            run = cluster("updatetopic", "-c", "C", "-t", "T")
            a, b = (broker.address for broker in cluster.brokers)

        assert run == (0, f"create topic to {a} success.\ncreate topic to {b} success.\n{TOPIC_TEXT}", "")

    def test_delete_topic(self) -> None:
        with double_cluster(OK, OK) as cluster:
            run = cluster("deletetopic", "-c", "C", "-t", "T")

            assert [request.ext for request in cluster.asked(215)] == [{"topic": "T"}] * 2
            assert cluster.name_server.requests[-1].ext == {"topic": "T", "clusterName": "C"}
        lines = ["delete topic [T] from cluster [C] success.", "delete topic [T] from NameServer success."]
        assert run == (0, "\n".join([*lines, ""]), "")

    def test_create_subscription_group(self) -> None:
        with double_cluster(OK) as cluster:
            run = cluster("updateSubGroup", "-c", "C", "-g", "g")

        assert run.out.startswith(f"create subscription group to {cluster.brokers[0].address} success.\n")
        assert "SubscriptionGroupConfig{groupName=g, consumeEnable=true, consumeFromMinEnable=false" in run.out

    def test_delete_subscription_group(self) -> None:
        with double_cluster(OK) as cluster:
            everywhere = cluster("deleteSubGroup", "-c", "C", "-g", "g")
            address = cluster.brokers[0].address
            one = cluster("deleteSubGroup", "-b", address, "-g", "g")

        assert everywhere.out == f"delete subscription group [g] from broker [{address}] in cluster [C] success.\n"
        assert one.out == f"delete subscription group [g] from broker [{address}] success.\n"

    @pytest.mark.parametrize(
        ("words", "heads"),
        [
            (("topicList", "-c"), ("#Cluster Name", "#Topic", "#Consumer Group")),
            (("topiclist", "-c"), ("#Cluster Name", "#Topic", "#Consumer Group")),
            (("statsAll",), ("#Topic", "#Consumer Group")),
            (("consumerprogress",), ("#Group",)),
        ],
    )
    def test_heads(self, words: tuple[str, ...], heads: tuple[str, ...]) -> None:
        with double_cluster({300: Reply(body=b'{"groupList":["g"]}')}) as cluster:
            first = cluster(*words).out.splitlines()[0]

        assert first.startswith(heads[0])
        assert all(head in first for head in heads)

    def test_wipe_write_perm(self) -> None:
        with double_cluster(OK, names={205: Reply(ext={"wipeTopicCount": "7"})}) as cluster:
            run = cluster("wipeWritePerm", "-b", "a")

            at = cluster.name_server.address
        assert run.out == f"wipe write perm of broker[a] in name server[{at}] OK, 7\n"


class TestUpdateTopic:
    def test_what_a_broker_gets(self) -> None:
        flags = ["-r", "3", "-w", "4", "-p", "4", "-u", "true", "-s", "TRUE", "-a", "+message.type=FIFO,-x"]
        with double_cluster(OK) as cluster:
            run = cluster("updateTopic", "-b", cluster.brokers[0].address, "-t", "T", *flags)

            (request,) = cluster.asked(17)
            assert not cluster.name_server.requests
        assert request.ext == {
            "topic": "T", "defaultTopic": "TBW102", "readQueueNums": "3", "writeQueueNums": "4", "perm": "4",
            "topicFilterType": "SINGLE_TAG", "topicSysFlag": "3", "order": "false",
            "attributes": "+message.type=FIFO,-x",
        }  # fmt: skip
        assert run.code == 0
        assert "perm=R--" in run.out
        assert "attributes={+message.type=FIFO, -x=}" in run.out

    def test_an_ordered_topic_is_written_down_in_name_servers(self) -> None:
        with double_cluster(OK, OK) as cluster:
            run = cluster("updateTopic", "-c", "C", "-t", "T", "-w", "4", "-o", "true")
            put = next(request for request in cluster.name_server.requests if request.code == 100)

        assert put.ext == {"namespace": "ORDER_TOPIC_CONFIG", "key": "T", "value": "a:4;b:4"}
        assert "set cluster orderConf. isOrder=true, orderConf=[a:4;b:4]\n" in run.out

    def test_an_ordered_topic_of_one_broker_goes_beside_the_others(self) -> None:
        with double_cluster(OK, OK, names={101: Reply(ext={"value": "a:8;z:2"})}) as cluster:
            run = cluster("updateTopic", "-b", cluster.brokers[0].address, "-t", "T", "-w", "4", "-o", "true")
            put = next(request for request in cluster.name_server.requests if request.code == 100)

        assert put.ext is not None
        assert put.ext["value"] == "a:4;z:2"
        assert run.out.splitlines()[0] == "set broker orderConf. isOrder=true, orderConf=[a:4]"

    def test_an_ordered_topic_of_one_broker_may_be_the_first(self) -> None:
        with double_cluster(OK) as cluster:
            run = cluster("updateTopic", "-b", cluster.brokers[0].address, "-t", "T", "-w", "4", "-o", "true")
            put = next(request for request in cluster.name_server.requests if request.code == 100)

        assert put.ext is not None
        assert (run.code, put.ext["value"]) == (0, "a:4")

    def test_an_ordered_topic_of_a_broker_that_no_name_server_knows(self) -> None:
        with double_cluster(OK) as cluster, double_cluster(OK) as other:
            run = cluster("updateTopic", "-b", other.brokers[0].address, "-t", "T", "-o", "true")

        assert run.code == 66
        assert "its order cannot be written down" in run.err

    def test_one_of_several_brokers_fails(self) -> None:
        with double_cluster(OK, REFUSING) as cluster:
            good, bad = (broker.address for broker in cluster.brokers)
            run = cluster("updateTopic", "-c", "C", "-t", "T", "-o", "true")
            told = cluster("updateTopic", "-c", "C", "-t", "T", "--output", "json")

        assert (run.code, run.out) == (1, f"create topic to {good} success.\n")
        assert f"error[NS-ADMIN]: {bad} refused.\n  why: code 1: disk full." in run.err
        assert f"error[NS-ADMIN]: 1 of 2 brokers failed: {bad}. The others have done it.\n" in run.err
        assert f"-b {bad}" in run.err.splitlines()[-1]
        assert [each["ok"] for each in told.json["brokers"]] == [True, False]
        assert told.json["brokers"][1]["error"]["code"] == 1
        assert not [request for request in cluster.name_server.requests if request.code == 100]

    @pytest.mark.parametrize(
        ("answers", "code", "text"),
        [
            (REFUSING, 1, "refused"),
            (DENYING, 77, "does not allow it"),
            (UNSIGNED, 77, "--credentials FILE"),
            ({}, 69, "does not offer this"),
        ],
    )
    def test_all_brokers_fail(self, answers: dict[int, Reply], code: int, text: str) -> None:
        with double_cluster(answers, answers) as cluster:
            run = cluster("updateTopic", "-c", "C", "-t", "T")

        assert (run.code, run.out) == (code, "")
        assert run.err.count(text) == 2

    def test_a_broker_that_is_not_there(self) -> None:
        with closed_port() as address:
            run = run_admin("updateTopic", "-b", address, "-t", "T", "-n", "127.0.0.1:1")

        assert (run.code, run.out) == (69, "")
        assert "the broker runs" in run.err

    def test_an_unknown_cluster(self) -> None:
        with double_cluster(OK) as cluster:
            run = cluster("updateTopic", "-c", "X", "-t", "T")

        assert run.code == 66
        assert "there is no cluster 'X'" in run.err

    @pytest.mark.parametrize(
        ("words", "text"),
        [
            (("-t", "T"), "Missing option: one of -b / --brokerAddr or -c / --clusterName"),
            (("-t", "T", "-b", "h:1", "-c", "C"), "only one of -b / --brokerAddr or -c / --clusterName"),
            (("-c", "C", "-t", "T", "-r", "0"), "a topic has at least one queue"),
            (("-c", "C", "-t", "T", "-r", "x"), "'x' is no whole number"),
            (("-c", "C", "-t", "T", "-w", "2147483648"), "is not between 0 and 2147483647"),
            (("-c", "C", "-t", "T", "-p", "8"), "8 is no permission"),
            (("-c", "C", "-t", "T", "-o", "yes"), "'yes' is neither true nor false"),
            (("-c", "C", "-t", "T", "-a", "a=b"), "is neither +name=value nor -name"),
            (("-c", "C", "-t", "T", "-a", "+a=1,+a=2"), "+a is there twice"),
            (("-c", "C", "-t", "bad topic"), "bad topic"),
        ],
    )
    def test_wrong_usage(self, words: tuple[str, ...], text: str) -> None:
        with double_cluster(OK) as cluster:
            run = cluster("updateTopic", *words)

            assert not cluster.asked(17)
        assert (run.code, run.out) == (2, "")
        assert text in run.err


class TestUpdateTopicPerm:
    def test_at_all_masters(self) -> None:
        with double_cluster(OK, OK) as cluster:
            run = cluster("updateTopicPerm", "-c", "C", "-t", "T", "-p", "4")

            assert {request.ext["perm"] for request in cluster.asked(17) if request.ext} == {"4"}
            a, b = (broker.address for broker in cluster.brokers)
        line = "update topic perm from 6 to 4 in {} success.\n"
        assert run == (0, line.format(a) + line.format(b), "")

    def test_at_one_master(self) -> None:
        with double_cluster(OK) as cluster:
            address = cluster.brokers[0].address
            run = cluster("updateTopicPerm", "-b", address, "-t", "T", "-p", "4")
            same = cluster("updateTopicPerm", "-b", address, "-t", "T", "-p", "6")

            assert len(cluster.asked(17)) == 1
        assert run.out.splitlines()[0] == f"update topic perm from 6 to 4 in {address} success."
        assert run.out.splitlines()[1].startswith(
            "TopicConfig [topicName=T, readQueueNums=3, writeQueueNums=4, perm=R--"
        )
        assert same == (0, "new perm equals to the old one!\n", "")

    def test_a_broker_without_the_topic_and_a_topic_without_queues(self) -> None:
        empty = {105: Reply(body=b'{"brokerDatas":[],"queueDatas":[]}')}
        with double_cluster(OK) as cluster, double_cluster(OK, names=empty) as hollow:
            other = cluster("updateTopicPerm", "-b", "127.0.0.1:1", "-t", "T", "-p", "4")
            none = hollow("updateTopicPerm", "-c", "C", "-t", "T", "-p", "4")

        assert (other.code, none.code) == (66, 66)
        assert "is no master with this topic" in other.err
        assert "has no queues" in none.err


class TestDeleteTopic:
    def test_name_servers_keep_what_a_broker_keeps(self) -> None:
        with double_cluster(OK, REFUSING) as cluster:
            run = cluster("deleteTopic", "-c", "C", "-t", "T")

            assert 216 not in cluster.name_server.asked()
        assert (run.code, run.out) == (1, "")
        assert "NameServers still have it" in run.err

    def test_only_from_name_servers(self) -> None:
        with double_cluster(OK) as cluster:
            run = cluster("deleteTopic", "-c", "C", "-t", "T", "--nameServersOnly")

            assert not cluster.asked(215)
        assert run.out == "delete topic [T] from NameServer success.\n"

    def test_slaves_are_not_asked(self) -> None:
        with double_cluster(OK, REFUSING, with_slave=True) as cluster:
            run = cluster("deleteTopic", "-c", "C", "-t", "T", "-o", "json")

            assert not cluster.brokers[1].requests
        assert [each["address"] for each in run.json["servers"]] == [
            cluster.brokers[0].address, cluster.name_server.address,
        ]  # fmt: skip

    def test_a_name_server_fails(self) -> None:
        with double_cluster(OK, names={216: Reply(16, remark="only from 127.0.0.0/8")}) as cluster:
            run = cluster("deleteTopic", "-c", "C", "-t", "T")

        assert (run.code, run.out) == (77, "delete topic [T] from cluster [C] success.\n")


class TestLists:
    def test_topics_of_a_file(self, tmp_path: Path) -> None:
        file = tmp_path / "topics.json"
        file.write_text(json.dumps([{"topicName": "L1", "readQueueNums": 2}, {"topicName": "L2"}]), encoding="utf-8")
        with double_cluster(OK) as cluster:
            run = cluster("updateTopicList", "-c", "C", "-f", str(file))
            (request,) = cluster.asked(18)

            address = cluster.brokers[0].address
        sent = json.loads(request.body)["topicConfigList"]
        assert [each["topicName"] for each in sent] == ["L1", "L2"]
        assert sent[0]["readQueueNums"] == 2
        assert run.out == f"submit batch of topic config to {address} success, please check the result later.\n"

    def test_groups_of_a_file(self, tmp_path: Path) -> None:
        file = tmp_path / "groups.json"
        file.write_text('[{"groupName":"g1"}]', encoding="utf-8")
        with double_cluster(OK) as cluster:
            address = cluster.brokers[0].address
            one = cluster("updateSubGroupList", "-b", address, "-f", str(file))
            all_of_them = cluster("updateSubGroupList", "-c", "C", "-f", str(file))
            (first, _) = cluster.asked(225)

        assert json.loads(first.body)["groupConfigList"][0]["groupName"] == "g1"
        assert one.out == f"submit batch of group config to {address} success, please check the result later.\n"
        assert all_of_them.out.startswith("submit batch of subscription group config to ")

    def test_a_file_that_is_too_large(self, tmp_path: Path) -> None:
        file = tmp_path / "topics.json"
        with file.open("wb") as empty:
            empty.truncate((64 << 20) + 1)
        with double_cluster(OK) as cluster:
            run = cluster("updateTopicList", "-c", "C", "-f", str(file))

        assert run.code == 2
        assert "larger than 64 MiB" in run.err

    @pytest.mark.parametrize(
        ("content", "text"),
        [
            (None, "cannot read"),
            ("{}", "it is no list"),
            ("[]", "is an empty list"),
            ("[[]]", "is not an object"),
            ("[{}]", "has no topicName"),
            ("[", "is no JSON list"),
            ('[{"topicName":"bad topic"}]', "bad topic"),
        ],
    )
    def test_a_file_that_cannot_be_used(self, tmp_path: Path, content: str | None, text: str) -> None:
        file = tmp_path / "topics.json"
        if content is not None:
            file.write_text(content, encoding="utf-8")
        with double_cluster(OK) as cluster:
            run = cluster("updateTopicList", "-c", "C", "-f", str(file))

            assert not cluster.asked(18)
        assert run.code == 2
        assert text in run.err


class TestGroups:
    def test_what_a_broker_gets(self) -> None:
        flags = "-s false -m true -d true -o true -q 2 -r -1 -i 1 -w 0 -a false --attributes +a=b"
        policy = '{"type":"EXPONENTIAL","exponentialRetryPolicy":{"initial":5,"max":6,"multiplier":7}}'
        with double_cluster(OK) as cluster:
            run = cluster("updateSubGroup", "-c", "C", "-g", "g", "-p", policy, *flags.split(" "))
            sent = json.loads(cluster.asked(200)[0].body)

        assert run.code == 0
        assert sent == {
            "groupName": "g", "consumeEnable": False, "consumeFromMinEnable": True, "consumeBroadcastEnable": True,
            "consumeMessageOrderly": True, "retryQueueNums": 2, "retryMaxTimes": -1, "brokerId": 1,
            "whichBrokerWhenConsumeSlowly": 0, "notifyConsumerIdsChangedEnable": False, "groupSysFlag": 0,
            "attributes": {"+a": "b"}, "groupRetryPolicy": json.loads(policy),
        }  # fmt: skip
        assert (
            "groupRetryPolicy=GroupRetryPolicy{type=EXPONENTIAL, exponentialRetryPolicy=ExponentialRetryPolicy"
            in run.out
        )

    @pytest.mark.parametrize("words", [("-g", "bad group"), ("-g", "g", "-p", "{"), ("-g", "g", "-p", '{"type":"X"}')])
    def test_wrong_usage(self, words: tuple[str, ...]) -> None:
        with double_cluster(OK) as cluster:
            assert cluster("updateSubGroup", "-c", "C", *words).code == 2
            assert not cluster.asked(200)

    def test_a_group_goes_with_its_topics(self) -> None:
        with double_cluster(OK, OK, with_slave=True) as cluster:
            run = cluster("deleteSubGroup", "-c", "C", "-g", "g", "-r", "true")

            assert [request.ext for request in cluster.asked(207)] == [
                {"groupName": "g", "cleanOffset": "true", "removeOffset": "true"}
            ]
            assert {request.ext["topic"] for request in cluster.asked(215) if request.ext} == {"%RETRY%g", "%DLQ%g"}
            assert len(cluster.asked(215)) == 4
            names = [request.ext for request in cluster.name_server.requests if request.code == 216]
            assert names == [{"topic": "%RETRY%g"}, {"topic": "%DLQ%g"}]
        assert run.code == 0

    def test_topics_that_do_not_go_are_told(self) -> None:
        with double_cluster({**OK, 215: Reply(1, remark="no")}) as cluster:
            run = cluster("deleteSubGroup", "-c", "C", "-g", "g")

        assert run.code == 1
        assert "refused" in run.err

    def test_consume_mode(self) -> None:
        with double_cluster(OK) as cluster:
            run = cluster("setConsumeMode", "-c", "C", "-t", "T", "-g", "g", "-m", "pop", "-q", "2")
            sent = json.loads(cluster.asked(401)[0].body)

            address = cluster.brokers[0].address
        assert sent == {"topic": "T", "consumerGroup": "g", "mode": "POP", "popShareQueueNum": 2}
        assert run.out == (
            f"set consume mode to {address} success.\ntopic[T] group[g] consume mode[POP] popShareQueueNum[2]\n"
        )


class TestSettings:
    def test_of_masters_and_of_all(self) -> None:
        with double_cluster(OK, OK, with_slave=True) as cluster:
            masters = cluster("updateBrokerConfig", "-c", "C", "-k", "fileReservedTime", "-v", "48")
            everyone = cluster("updateBrokerConfig", "-c", "C", "-a", "true", "-k", "k", "-v", "a b=c")

            a, slave = (broker.address for broker in cluster.brokers)
            assert [request.body for request in cluster.brokers[1].requests] == [b"k=a b\\=c\n"]
        line = "update broker config success, {}\n"
        assert masters.out == line.format(a)
        assert everyone.out == line.format(a) + line.format(slave)

    @pytest.mark.parametrize(
        ("name", "code"), [("cleanExpiredCQ", 306), ("cleanUnusedTopic", 316), ("deleteExpiredCommitLog", 329)]
    )
    def test_cleaning(self, name: str, code: int) -> None:
        with double_cluster(OK, OK, with_slave=True) as cluster:
            everywhere, one = cluster(name), cluster(name, "-b", cluster.brokers[0].address)

            assert len(cluster.asked(code)) == 3
        with double_cluster(OK, REFUSING) as cluster:
            partly = cluster(name, "-c", "C")

        assert (everywhere.out, one.out) == ("success\n", "success\n")
        assert (partly.code, partly.out) == (1, "false\n")

    def test_no_broker_is_registered(self) -> None:
        with double_cluster() as cluster:
            run = cluster("cleanExpiredCQ")

        assert run.code == 66
        assert "no broker is registered" in run.err

    def test_an_address_that_is_none(self) -> None:
        with double_cluster(OK) as cluster:
            assert cluster("cleanExpiredCQ", "-b", "h:x").code == 2
