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


def test_a_key_that_our_server_does_not_have_is_an_error() -> None:
    with double_cluster(names={318: Reply(remark="unknown, not stored: nokey")}) as cluster:
        loud = cluster("updateNamesrvConfig", "-k", "nokey", "-v", "1")
        quiet = cluster("updateNamesrvConfig", "-k", "nokey", "-v", "1", "-q")

    assert [(run.code, run.out) for run in (loud, quiet)] == [(66, ""), (66, "")]
    assert all("has no key 'nokey'.\n  why: nothing was stored." in run.err for run in (loud, quiet))


def test_a_server_that_says_nothing_of_the_key_is_believed() -> None:
    with double_cluster(names={318: Reply()}) as cluster:
        run = cluster("updateNamesrvConfig", "-k", "nokey", "-v", "1")

    assert run.code == 0
    assert run.out.startswith("update name server config success![")


def test_a_refused_setting_names_the_command_that_explains_it() -> None:
    with double_cluster(names={318: Reply(1, remark="listenPort must be a whole number")}) as cluster:
        run = cluster("updateNamesrvConfig", "-k", "listenPort", "-v", "x")

    assert run.code == 1
    assert "why: code 1: listenPort must be a whole number." in run.err
    assert "do:  see what it may be: cosmodrome config explain listenPort\n" in run.err


def test_a_setting_that_could_not_be_kept_is_not_explained() -> None:
    with double_cluster(
        {25: Reply(1, remark="the disk is full")}, names={318: Reply(1, remark="the disk is full")}
    ) as cluster:
        server = cluster("updateNamesrvConfig", "-k", "listenPort", "-v", "1")
        broker = cluster("updateBrokerConfig", "-c", "C", "-k", "flushDiskType", "-v", "SYNC")

    assert (server.code, broker.code) == (1, 1)
    assert all("do:  the log of that server says more\n" in run.err for run in (server, broker))


def test_a_refused_setting_of_a_broker_names_that_command_too() -> None:
    with double_cluster({25: Reply(1, remark="flushDiskType 'SYNC' is none of these")}) as cluster:
        run = cluster("updateBrokerConfig", "-c", "C", "-k", "flushDiskType", "-v", "SYNC")

    assert run.code == 1
    assert "do:  see what it may be: cosmodrome config explain flushDiskType\n" in run.err


def test_the_name_of_a_broker_is_no_address() -> None:
    with double_cluster({}) as cluster:
        known = cluster("brokerStatus", "-b", "a")
        unknown = cluster("brokerStatus", "-b", "vm")
        address = cluster.brokers[0].address

    assert (known.code, unknown.code) == (2, 2)
    assert "-b 'a' has no port: -b wants HOST:PORT here." in known.err
    assert f"the broker of that name has this one: -b {address}\n" in known.err
    assert "see the addresses: cosmodrome admin clusterList -n " in unknown.err


def test_a_form_of_the_output_behind_another_o_is_told() -> None:
    form = run_admin("resetOffsetByTime", "-g", "G", "-t", "T", "-s", "0", "-o", "json")
    word = run_admin("resetOffsetByTime", "-g", "G", "-t", "T", "-s", "0", "-o", "x")

    assert (form.code, word.code) == (2, 2)
    assert "the form of the output is --output json here" in form.err
    assert "--output" not in word.err
