"""Field cases about the administration command line where brokers are asked, too."""

# ruff: noqa: N802  # case ids are written in capitals

import pytest
from tests.support.admin_line import double_cluster, name_server_answers, run_admin
from tests.support.admin_tool import Double, Reply, closed_port, silent_port
from tests.support.wire import dump

PARTLY = 1
NOT_FOUND = 66
UNREACHABLE = 69
NOT_READY = 75
DENIED = 77

LONGEST = "long-" + "x" * 122
"""127 characters: the longest that a broker takes."""
OK = dict.fromkeys((15, 17, 25, 200, 207, 215, 306, 316, 329, 401), Reply())
CHANGES = [
    "updateTopic -c C -t T",
    "updateTopicPerm -c C -t T -p 4",
    "deleteTopic -c C -t T",
    "updateSubGroup -c C -g g",
    "deleteSubGroup -c C -g g",
    "setConsumeMode -c C -t T -g g -m PULL",
    "updateBrokerConfig -c C -k k -v v",
    "cleanExpiredCQ -c C",
    "cleanUnusedTopic -c C",
    "deleteExpiredCommitLog -c C",
]


@pytest.mark.parametrize("line", CHANGES)
def test_F102_a_dead_server_of_the_list_does_not_keep_a_change_from_brokers(line: str) -> None:
    """Where the NameServers are changed too, the dead one is told, with the way to repeat it for it alone."""
    with double_cluster(OK) as cluster, closed_port() as dead:
        run = run_admin(*line.split(" "), "-n", f"{dead},{cluster.name_server.address}")

        asked = {request.code for request in cluster.brokers[0].requests}
        changes_servers = 216 in cluster.name_server.asked()
    assert asked
    assert asked <= set(OK)
    assert run.code == (PARTLY if changes_servers else 0), run.err
    assert (f"-n {dead}" in run.err) is changes_servers


def test_F102_the_order_of_a_topic_is_reported_server_by_server() -> None:
    with double_cluster(OK) as cluster, closed_port() as dead:
        words = ("updateTopic", "-c", "C", "-t", "T", "-o", "true")
        run = run_admin(*words, "-n", f"{cluster.name_server.address},{dead}")

    assert run.code == PARTLY
    assert f"create topic to {cluster.brokers[0].address} success.\n" in run.out
    assert "1 of 2 NameServers failed" in run.err


@pytest.mark.parametrize("line", CHANGES)
def test_F103_a_broker_that_cannot_be_reached_and_a_cluster_without_brokers_look_different(line: str) -> None:
    empty = {106: Reply(body=dump({"brokerAddrTable": {}, "clusterAddrTable": {}}))}
    with double_cluster(names=empty) as nobody, closed_port() as dead, Double(name_server_answers([dead])) as server:
        without = nobody(*line.split(" "))
        gone = run_admin(*line.split(" "), "-n", server.address)

    assert (without.code, gone.code) == (NOT_FOUND, UNREACHABLE)
    assert "no broker is registered" in without.err
    assert f"nothing listens on {dead}" in gone.err
    assert "brokerIP1" in gone.err


@pytest.mark.parametrize("line", ["brokerStatus -b {}", "getBrokerConfig -b {}", "producer -b {}", "haStatus -b {}"])
def test_F103_a_broker_that_stays_silent_is_worth_another_try(line: str) -> None:
    with silent_port() as silent:
        run = run_admin(*line.format(silent).split(" "), "-n", silent, "--timeout", "0.2")

    assert run.code == NOT_READY
    assert "accepts connections and does not answer" in run.err


@pytest.mark.parametrize("line", CHANGES)
def test_F105_what_one_broker_refuses_is_told_and_can_be_repeated(line: str) -> None:
    refusing = dict.fromkeys(OK, Reply(16, remark="no permission"))
    with double_cluster(OK, refusing) as cluster:
        good, bad = (broker.address for broker in cluster.brokers)
        run = cluster(*line.split(" "))
        alone = cluster(*line.replace("-c C", f"-b {bad}").split(" ")) if not line.startswith("deleteTopic") else run

    assert run.code == PARTLY
    assert f"{bad} does not allow it" in run.err
    assert f"-b {bad}" in run.err.splitlines()[-1] or line.startswith("deleteTopic")
    assert f"{good} does not allow it" not in run.err
    assert alone.code == (PARTLY if line.startswith("deleteTopic") else DENIED)


def test_F106_changes_of_a_topic_go_to_every_server() -> None:
    with double_cluster(OK) as cluster, Double(name_server_answers([cluster.brokers[0].address])) as second:
        both = ("-n", f"{cluster.name_server.address},{second.address}")
        ordered = run_admin("updateTopic", "-c", "C", "-t", "T", "-o", "true", *both)
        deleted = run_admin("deleteTopic", "-c", "C", "-t", "T", *both, "-o", "json")

        for server in (cluster.name_server, second):
            assert [code for code in server.asked() if code in (100, 216)] == [100, 216]
    assert (ordered.code, deleted.code) == (0, 0)
    assert [each["address"] for each in deleted.json["servers"]][1:] == [cluster.name_server.address, second.address]


@pytest.mark.parametrize("line", ["statsAll", "topicStatus -t {}", "topicList", "exportMetadata -c C"])
def test_F107_names_are_whole(line: str) -> None:
    queue = f'{{"brokerName":"{LONGEST}","queueId":0,"topic":"{LONGEST}"}}'
    answers = {
        21: Reply(body=dump({"topicConfigTable": {LONGEST: {"topicName": LONGEST}}})),
        201: Reply(body=b'{"subscriptionGroupTable":{}}'),
        202: Reply(body=f'{{"offsetTable":{{{queue}:{{"minOffset":0,"maxOffset":1}}}}}}'.encode()),
        300: Reply(body=dump({"groupList": [LONGEST]})),
        305: Reply(body=b'{"topicList":[]}'),
    }
    with double_cluster(answers, names={206: Reply(body=dump({"topicList": [LONGEST]}))}) as cluster:
        run = cluster(*line.format(LONGEST).split(" "))

    assert run.code == 0
    assert LONGEST in run.out
