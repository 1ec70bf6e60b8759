"""The administration command line in processes of its own: how it starts, parses, prints and ends."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.admin_tool import Double, Reply, Tool, silent_port
from tests.support.peer import Peer, topics_named
from tests.support.server_process import COMMAND, ServerProcess, server_environment
from tests.support.waiting import wait_until
from tests.support.wire import Broker, dump

NOT_WANTED = (
    "cosmodrome.namesrv",
    "cosmodrome.broker",
    "cosmodrome.store",
    "cosmodrome.http",
    "cosmodrome.admin.clusters",
    "cosmodrome.admin.diagnosis",
    "cosmodrome.admin.peers",
    "cosmodrome.cli.failures",
    "cosmodrome.transport.server",
    "cosmodrome.transport.tls",
    "cryptography",
    "javaproperties",
    "tempfile",
    "tomlkit",
    "uvloop",
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server with one broker and two topics."""
    with ServerProcess(tmp_path_factory.mktemp("e2e")) as running, Peer(running.address) as peer:
        peer.registered(Broker(addr="127.0.0.1:1"), topics_named("T", "U"))
        yield running


@pytest.fixture
def tool(tmp_path: Path, server: ServerProcess) -> Tool:
    return Tool(tmp_path, {"NAMESRV_ADDR": server.address})


def python(folder: Path, code: str, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *words],
        cwd=folder,
        env=server_environment(folder),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def modules_after(folder: Path, *words: str) -> set[str]:
    """Run `cosmodrome` and give the modules that it has loaded at its end."""
    code = (
        "import atexit, sys\n"
        "atexit.register(lambda: print('\\n'.join(sys.modules), file=sys.stderr))\n"
        "from cosmodrome.cli import main\n"
        "main()\n"
    )
    done = python(folder, code, *words)
    assert done.returncode == 0, done.stderr
    return set(done.stderr.split())


def cpu_s(folder: Path, *command: str) -> float:
    """Give the least of a few measurements of a command's processor time."""

    def once() -> float:
        before = os.times()
        subprocess.run(command, cwd=folder, env=server_environment(folder), capture_output=True, check=True)
        after = os.times()
        return after.children_user + after.children_system - before.children_user - before.children_system

    return min(once() for _ in range(5))


class TestStart:
    @pytest.mark.parametrize("words", [("--help",), ("namesrv", "--help"), ("--version",)])
    def test_help_and_servers_do_not_load_it(self, tmp_path: Path, words: tuple[str, ...]) -> None:
        loaded = modules_after(tmp_path, *words)

        assert not {name for name in loaded if name.startswith(("cosmodrome.admin", "cosmodrome.client"))}
        assert "cosmodrome.cli.admin" not in loaded
        assert "asyncio" not in loaded

    def test_a_command_loads_only_what_it_needs(self, tmp_path: Path, server: ServerProcess) -> None:
        loaded = modules_after(tmp_path, "admin", "topicRoute", "-t", "T", "-n", server.address)

        assert "cosmodrome.admin.routes" in loaded
        assert not {name for name in loaded if name.startswith(NOT_WANTED)}

    def test_its_own_start_costs_less_than_that_of_what_it_is_made_of(
        self, tmp_path: Path, server: ServerProcess
    ) -> None:
        """The budget is 250 ms of wall time on an idle machine; a ratio holds on a busy one, too."""
        parts = cpu_s(tmp_path, sys.executable, "-c", "import asyncio, click, msgspec, dataclasses, logging, ssl")
        whole = cpu_s(tmp_path, *COMMAND, "admin", "topicRoute", "-t", "T", "-n", server.address)

        assert whole < 2 * parts

    def test_the_alias(self, tmp_path: Path, server: ServerProcess) -> None:
        code = "from cosmodrome.cli import mqadmin; mqadmin()"
        good = python(tmp_path, code, "topicList", "-n", server.address)
        bad = python(tmp_path, code, "topicRoute", "-n", server.address)
        pyproject = (Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8")

        assert (good.returncode, good.stdout) == (0, "T\nU\n")
        assert bad.returncode == 2
        assert "mqadmin topicRoute -h shows the options" in bad.stderr
        assert 'mqadmin = "cosmodrome.cli:mqadmin"' in pyproject


class TestGrammar:
    @pytest.mark.parametrize(
        "words",
        [
            ("topicRoute", "-t", "T"),
            ("TOPICROUTE", "--topic", "T"),
            ("topicroute", "-topic", "T"),
            ("topicRoute", "-tT"),
            ("topicRoute", "-t", " T "),
            ("topicRoute", "--topic=T"),
        ],
    )
    def test_flags_as_mqadmin_takes_them(self, tool: Tool, words: tuple[str, ...]) -> None:
        run = tool(*words)

        assert (run.code, run.err) == (0, "")
        assert json.loads(run.out.replace("0:", '"0":', 1))["queueDatas"][0]["readQueueNums"] == 8

    def test_the_address_may_be_given_by_its_long_names(self, tmp_path: Path, server: ServerProcess) -> None:
        for flag in ("-n", "--namesrvAddr", "-namesrvAddr"):
            assert Tool(tmp_path)("topicList", flag, server.address).out == "T\nU\n"

    @pytest.mark.parametrize(
        ("words", "text"),
        [
            (("topicRoute",), "Missing option -t / --topic"),
            (("topicRoute", "-t", "T", "--nope"), "No such option"),
            (("topicRoute", "-t", "T", "more"), "unexpected extra argument"),
            (("topicList", "-o", "xml"), "'xml' is not one of"),
            (("topicList", "--timeout", "0"), "it must be above 0"),
            (("updateOrderConf", "-m", "put", "-t", "T"), "please set orderConf with option -v"),
            (("updateOrderConf", "-m", "swap", "-t", "T"), "'swap' is not one of"),
            (("allocateMQ", "-t", "T", "-i", " , "), "there is no consumer in -i"),
            (("nonsense",), "there is no command 'nonsense'"),
            (("help", "nonsense"), "there is no command 'nonsense'"),
        ],
    )
    def test_wrong_usage_is_explained(self, tool: Tool, words: tuple[str, ...], text: str) -> None:
        run = tool(*words)

        assert (run.code, run.out) == (2, "")
        assert run.err.startswith("error[NS-USAGE]: ")
        assert text in run.err
        assert "  do:  " in run.err

    def test_a_command_of_mqadmin_that_is_not_here(self, tool: Tool) -> None:
        for words in (("updatestatictopic", "-t", "T", "-c", "C"), ("help", "UpdateStaticTopic")):
            run = tool(*words)

            assert (run.code, run.out) == (69, "")
            assert "error[NS-NOT-AVAILABLE]: updateStaticTopic is not available yet." in run.err
            assert "topicRoute" in run.err

    def test_help(self, tool: Tool) -> None:
        lists = {tool(*words).out for words in ((), ("help",), ("-h",), ("--help",))}
        explained = {tool(*words).out for words in (("help", "topicroute"), ("topicRoute", "-h"))}

        assert len(lists) == 1
        assert "The most commonly used mqadmin commands are:\n" in lists.pop()
        assert len(explained) == 1
        text = explained.pop()
        assert "-t, --topic TOPIC" in text
        assert "-topic" not in text.replace("--topic", "")

    def test_v_is_a_value_where_mqadmin_has_one(self, tool: Tool) -> None:
        assert tool("updateKvConfig", "-s", "N", "-k", "K", "-v", " kept ").code == 0
        assert tool("getKvConfig", "-s", "N", "-k", "K").out == " kept \n"
        text = tool("help", "updateKvConfig").out
        assert "-v, --value" in text
        assert "--verbose" in text


class TestOutput:
    def test_the_three_forms(self, tool: Tool) -> None:
        assert tool("topicList").out == "T\nU\n"
        assert [each["topic"] for each in tool("topicList", "-o", "JSON").json["topics"]] == ["T", "U"]
        assert [each["topic"] for each in tool("topicList", "-o", "ndjson").rows] == ["T", "U"]

    def test_a_route_as_json(self, tool: Tool) -> None:
        document = tool("topicRoute", "-t", "T", "-o", "json").json

        assert document["topic"] == "T"
        assert document["broker_datas"][0]["broker_addrs"] == {"0": "127.0.0.1:1"}
        assert document["queue_datas"][0]["perm"] == 6

    def test_consumers_and_their_queues_as_json(self, tool: Tool) -> None:
        document = tool("allocateMQ", "-t", "T", "-i", "a, b", "-o", "json").json

        assert [len(each["queues"]) for each in document["allocation"]] == [4, 4]
        assert document["allocation"][0]["queues"][0] == {"broker_name": "broker-a", "queue_id": 0}

    def test_brokers_with_their_load_as_json(self, tmp_path: Path) -> None:
        runtime = {"putTps": "1.5", "brokerVersionDesc": "V5_5_0", "earliestMessageTimeStamp": "1700000000000"}
        with Double({28: Reply(body=dump({"table": runtime}))}) as broker:
            data = b'{"brokerAddrs":{0:"%b"},"brokerName":"a","cluster":"C"}' % broker.address.encode()
            info = b'{"brokerAddrTable":{"a":' + data + b'},"clusterAddrTable":{"C":["a"]}}'
            with Double({106: Reply(body=info)}) as name_server:
                (row,) = Tool(tmp_path)("clusterList", "-n", name_server.address, "-o", "ndjson").rows

        assert (row["broker_name"], row["broker_id"], row["is_reachable"]) == ("a", 0, True)
        assert (row["version"], row["in_tps"]) == ("V5_5_0", 1.5)
        assert row["earliest_message_time"] == "2023-11-14T22:13:20Z"

    def test_quiet_says_nothing_but_results(self, tool: Tool, server: ServerProcess) -> None:
        assert tool("updateKvConfig", "-s", "N", "-k", "Q", "-v", "V", "-q") == (0, "", "")
        assert tool("getKvConfig", "-s", "N", "-k", "Q", "-q").out == "V\n"

    def test_verbose_names_the_servers(self, tool: Tool, server: ServerProcess) -> None:
        assert tool("topicList", "-v").err == f"detail: NameServers: {server.address}\n"

    def test_a_trace_only_when_asked_for_twice(self, tool: Tool) -> None:
        assert "Traceback" not in tool("topicRoute", "-t", "X", "-v").err
        twice = tool("topicRoute", "-t", "X", "-vv")
        assert twice.code == 66
        assert "Traceback" in twice.err

    def test_a_reader_that_goes_away_is_no_error(self, tmp_path: Path) -> None:
        many = dump({"topicList": [f"topic-{number:06d}" for number in range(20_000)]})
        with Double({206: Reply(body=many)}) as server:
            child = subprocess.Popen(
                [*COMMAND, "admin", "topicList", "-n", server.address],
                cwd=tmp_path,
                env=server_environment(tmp_path),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
            assert child.stdout is not None
            assert child.stderr is not None
            assert child.stdout.readline() == b"topic-000000\n"
            child.stdout.close()
            with child.stderr:
                assert child.stderr.read() == b""
            assert child.wait(60) == 0

    def test_values_are_utf_8_whatever_the_locale(self, tmp_path: Path, server: ServerProcess) -> None:
        plain = Tool(
            tmp_path, {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}
        )
        with Peer(server.address) as peer:
            peer.put_kv("N", "Z", "消息")

        assert plain("getKvConfig", "-s", "N", "-k", "Z", "-n", server.address).out == "消息\n"

    def test_it_can_be_interrupted(self, tmp_path: Path) -> None:
        with silent_port() as address, (tmp_path / "err").open("wb") as err:
            child = subprocess.Popen(
                [*COMMAND, "admin", "topicList", "-v", "-n", address, "--timeout", "600"],
                cwd=tmp_path,
                env=server_environment(tmp_path),
                stdout=subprocess.PIPE,
                stderr=err,
            )
            wait_until(lambda: address in (tmp_path / "err").read_text(encoding="utf-8"), "the start of the request")
            child.send_signal(signal.SIGINT)
            out, _ = child.communicate(timeout=60)

        assert (child.returncode, out) == (130, b"")
        assert "Traceback" not in (tmp_path / "err").read_text(encoding="utf-8")

    def test_a_list_repeats_until_it_is_interrupted(self, tmp_path: Path, server: ServerProcess) -> None:
        child = subprocess.Popen(
            [*COMMAND, "admin", "clusterList", "-i", "0.05", "-n", server.address],
            cwd=tmp_path,
            env=server_environment(tmp_path),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert child.stdout is not None
        heads = [line for line in (child.stdout.readline() for _ in range(5)) if line.startswith("#Cluster Name")]
        child.send_signal(signal.SIGINT)
        child.communicate(timeout=60)

        assert len(heads) == 3
        assert child.returncode == 130


class TestPeers:
    def test_help_and_usage(self, tool: Tool) -> None:
        assert "diff" in tool.cosmodrome("peers").out
        assert tool.cosmodrome("peers", "diff").code == 2
        assert tool.cosmodrome("peers", "nonsense").code == 2

    def test_long_lists_of_topics_are_cut_unless_all_are_wanted(self, tmp_path: Path) -> None:
        def answers(count: int) -> dict[int, Reply]:
            names = [f"T{number:03d}" for number in range(count)]
            return {106: Reply(body=b"{}"), 206: Reply(body=dump({"topicList": names})), 105: Reply(17, remark="none")}

        with Double(answers(50)) as one, Double(answers(0)) as other:
            words = ("peers", "diff", "-n", f"{one.address},{other.address}")
            short = Tool(tmp_path).cosmodrome(*words)
            whole = Tool(tmp_path).cosmodrome(*words, "-v")

        assert "and 30 more topics (-v shows them)" in short.out
        assert "50 differences" in short.out
        assert whole.out.count(f"missing at {other.address}") == 50
