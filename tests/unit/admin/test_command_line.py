"""The grammar and the end of a command line, in this process."""

import pytest
from tests.support.admin_line import double_cluster, run_admin
from tests.support.admin_tool import Reply


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ((), "The most commonly used mqadmin commands are:\n"),
        (("help",), "   updateTopic          Update or create topic.\n"),
        (("help", "TOPICSTATUS"), "-t, --topic TOPIC"),
        (("updateTopic", "-h"), "Exactly one of -b and -c."),
        (("help", "updateSubGroup"), "At least one of -b and -c."),
        (("help", "cleanExpiredCQ"), "Without both: on all brokers."),
    ],
)
def test_help(words: tuple[str, ...], text: str) -> None:
    run = run_admin(*words)

    assert (run.code, run.err) == (0, "")
    assert text in run.out


@pytest.mark.parametrize(
    ("words", "code"),
    [(("help", "nonsense"), 2), (("nonsense",), 2), (("help", "electMaster"), 69), (("electmaster",), 69)],
)
def test_a_name_that_is_not_here(words: tuple[str, ...], code: int) -> None:
    run = run_admin(*words)

    assert (run.code, run.out) == (code, "")
    assert run.err.startswith("error[NS-")


def test_order_configuration() -> None:
    with double_cluster(names={101: Reply(ext={"value": "a:4"})}) as cluster:
        put = cluster("updateOrderConf", "-m", "PUT", "-t", "T", "-v", "a:4")
        got = cluster("updateOrderConf", "-m", "get", "-t", "T")
        deleted = cluster("updateOrderConf", "-m", "delete", "-t", "T")
        nothing = cluster("updateOrderConf", "-m", "put", "-t", "T")

        assert [code for code in cluster.name_server.asked() if code in (100, 101, 102)] == [100, 101, 102]
    assert [run.code for run in (put, got, deleted, nothing)] == [0, 0, 0, 2]
    assert got.out == "get orderConf success. topic=[T], orderConf=[a:4] \n"


@pytest.mark.parametrize("ips", ["10.0.0.1", "10.0.0.1, 10.0.0.1"])
def test_consumers_count_once(ips: str) -> None:
    with double_cluster({}) as cluster:
        run = cluster("allocateMQ", "-t", "T", "-i", ips, "-o", "json")

    assert [each["client"] for each in run.json["allocation"]] == ["10.0.0.1"]


def test_no_consumer() -> None:
    assert run_admin("allocateMQ", "-t", "T", "-i", " , ", "-n", "h:1").code == 2


def test_a_trace_when_it_is_asked_for() -> None:
    with double_cluster({}) as cluster:
        run = cluster("topicStatus", "-t", "T", "-vv")

    assert run.code == 69
    assert "1 of" not in run.err
