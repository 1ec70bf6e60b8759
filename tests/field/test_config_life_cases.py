"""The life of a configuration in real processes: written, taken over from Java, shown, changed, read again."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from tests.support.admin_tool import Tool
from tests.support.broker_process import BrokerProcess
from tests.support.peer import SUCCESS, TOPICS, Peer
from tests.support.server_process import ServerProcess
from tests.support.waiting import wait_until

WITHIN_S: Final = 20.0


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ServerProcess, ServerProcess]]:
    """Two NameServers, the first with HTTP."""
    folder = tmp_path_factory.mktemp("config-life")
    config = {"http": "127.0.0.1:0", "scanNotActiveBrokerInterval": 6000}
    environment = {"COSMODROME_WAIT_SECONDS_FOR_SERVICE": "44"}
    with (
        ServerProcess(folder / "a", config=config, environment=environment) as first,
        ServerProcess(folder / "b") as second,
    ):
        yield first, second


@pytest.fixture
def tool(tmp_path: Path) -> Tool:
    return Tool(tmp_path)


class TestSetOnServers:
    """`config set KEY VALUE -n ...`: at every server, and each is told."""

    def test_at_all_of_them(self, servers: tuple[ServerProcess, ServerProcess], tool: Tool) -> None:
        addresses = [server.address for server in servers]

        done = tool.cosmodrome("config", "set", "enableAllTopicList", "false", "-n", ",".join(addresses))

        assert (done.code, done.err) == (0, "")
        assert done.out.splitlines() == [f"{address}: enableAllTopicList=false: in force" for address in addresses]
        for address in addresses:
            with Peer(address) as peer:
                assert peer.request(TOPICS).remark == "disable"
        assert "enableAllTopicList=false\n" in (servers[0].folder / "start.properties").read_text()
        assert tool.cosmodrome("config", "set", "enableAllTopicList", "true", "-n", ",".join(addresses)).code == 0

    def test_one_of_them_is_away(self, servers: tuple[ServerProcess, ServerProcess], tool: Tool) -> None:
        with ServerProcess(servers[0].folder.parent / "c") as other:
            gone = other.address
        here = servers[1].address

        done = tool.cosmodrome("config", "set", "listenPort", "9999", "-n", f"{here};{gone}", "-o", "json")

        assert done.code == 1
        assert [(each["address"], each["ok"]) for each in done.json["servers"]] == [(here, True), (gone, False)]
        assert "in effect after a restart: listenPort" in done.json["servers"][0]["remark"]
        assert f"-n {gone}" in done.err

    @pytest.mark.parametrize(
        ("words", "code", "said"),
        [
            (("enableAllTopicLis", "true"), 66, "did you mean enableAllTopicList?"),
            (("enableAllTopicList", "maybe"), 78, "must be true or false"),
            (("kvConfigPath", "/x"), 77, "Can not update config in black list"),
        ],
    )
    def test_what_cannot_be_set(
        self, servers: tuple[ServerProcess, ServerProcess], tool: Tool, words: tuple[str, ...], code: int, said: str
    ) -> None:
        done = tool.cosmodrome("config", "set", *words, "-n", servers[0].address)

        assert done.code == code
        assert said in done.err


class TestShowRunning:
    """`config show` of a server that runs."""

    def test_by_http_with_sources(self, servers: tuple[ServerProcess, ServerProcess], tool: Tool) -> None:
        server = servers[0]
        http = wait_until(lambda: [line for line in server.stderr.splitlines() if "http.listening" in line], "HTTP", 10)
        address = http[0].rpartition("127.0.0.1:")[2].partition('"')[0]

        done = tool.cosmodrome("config", "show", "--http", f"127.0.0.1:{address}", "-o", "json")

        assert done.code == 0, done.err
        shown = {each["key"]: (each["value"], each["source"]) for each in done.json["settings"]}
        assert shown["scanNotActiveBrokerInterval"] == ("6000", f"{server.folder / 'start.properties'}:2")
        assert shown["waitSecondsForService"] == ("44", "COSMODROME_WAIT_SECONDS_FOR_SERVICE")
        assert shown["enableTopicList"] == ("true", "default")

    def test_by_request_319(self, servers: tuple[ServerProcess, ServerProcess], tool: Tool) -> None:
        done = tool.cosmodrome("config", "show", "-n", servers[0].address)

        assert done.code == 0
        rows = [line.split() for line in done.out.splitlines()]
        assert ["scanNotActiveBrokerInterval", "6000", "set"] in rows
        assert ["enableTopicList", "true", "default"] in rows

    def test_nobody_there(self, servers: tuple[ServerProcess, ServerProcess], tool: Tool) -> None:
        done = tool.cosmodrome("config", "show", "--http", servers[1].address)

        assert done.code in (1, 69), "that port answers HTTP with a page about itself, or not at all"
        assert done.err.startswith("error[NS-")


def test_an_imported_file_starts_a_server(tmp_path: Path, tool: Tool) -> None:
    (tmp_path / "java.properties").write_text("enableAllTopicList=no\nuseEpollNativeSelector=true\nbogus=1\n")
    assert tool.cosmodrome("config", "import", "java.properties", "-O", "start.properties").code == 0

    with ServerProcess(tmp_path, config={"x": 1}) as server, Peer(server.address) as peer:
        assert peer.request(TOPICS).remark == "disable"


class TestBrokerFile:
    """The same for a broker, whose file is read again on SIGHUP and when it was changed."""

    def test_it_is_read_again_and_a_bad_one_is_not(self, tmp_path: Path) -> None:
        with BrokerProcess(tmp_path, configWatchSeconds=1, brokerIP1="127.0.0.1") as broker:
            conf = tmp_path / "broker.conf"
            good = conf.read_text()
            conf.write_text(f"{good}fileReservedTime=48\n")
            wait_until(lambda: "in force: fileReservedTime" in broker.errors, "the change", WITHIN_S)
            assert "broker.conf changed: reading the configuration again" in broker.errors
            conf.write_text(f"{good}fileReservedTime=24\nbrokerIp1=1.2.3.4\nmaxMessageSize=4M\n")
            wait_until(lambda: "the settings stay as they are" in broker.errors, "the refusal", WITHIN_S)
            lines, told = good.count("\n"), broker.errors.replace('\\"', '"')
            assert f'broker.conf:{lines + 2}: unknown key "brokerIp1" (did you mean brokerIP1?)' in told
            assert f"broker.conf:{lines + 3}: maxMessageSize" in told
            assert broker.stop() == 0

    def test_it_waits_for_a_signal_when_told_so(self, tmp_path: Path, tool: Tool) -> None:
        with BrokerProcess(tmp_path, configWatchSeconds=0, brokerIP1="127.0.0.1") as broker:
            assert tool.cosmodrome("config", "set", "fileReservedTime", "48", "--file", "broker.conf").code == SUCCESS
            broker.hang_up()
            wait_until(lambda: "in force: fileReservedTime" in broker.errors, "the change", WITHIN_S)
            assert "broker.conf changed" not in broker.errors
            self._is_shown_and_changed_while_it_runs(tool, broker)
            assert broker.stop() == 0

    @staticmethod
    def _is_shown_and_changed_while_it_runs(tool: Tool, broker: BrokerProcess) -> None:
        """By requests 25 and 26."""
        done = tool.cosmodrome("config", "set", "fileReservedTime", "24", "-b", broker.address)
        assert (done.code, done.out) == (0, f"{broker.address}: fileReservedTime=24: in force\n"), done.err
        rows = [line.split() for line in tool.cosmodrome("config", "show", "-b", broker.address).out.splitlines()]
        assert ["fileReservedTime", "24", "set"] in rows
        assert ["deleteWhen", "04", "default"] in rows
        assert "fileReservedTime=24\n" in (broker.folder / "broker.conf").read_text()
