"""The command line without a server: grammar, help, errors, announcements, and the life of a process."""

import asyncio
import dataclasses
import errno
import io
import ipaddress
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from cosmodrome import __version__
from cosmodrome.cli import commands
from cosmodrome.cli.banner import Start, banner, own_address, peer_address
from cosmodrome.cli.bind_errors import explained
from cosmodrome.cli.failures import exit_code_of
from cosmodrome.cli.namesrv import NamesrvOptions, flag_settings
from cosmodrome.cli.namesrv_words import NamesrvWords, Terminal
from cosmodrome.cli.serve import Announcer, serve
from cosmodrome.errors import BindError, ConfigError, StorageError
from cosmodrome.namesrv.config import NamesrvConfig
from cosmodrome.namesrv.config_file import ConfigSources, LoadedConfig, Setting, load_config
from cosmodrome.namesrv.config_keys import AdminPolicy
from cosmodrome.namesrv.config_store import ConfigStore
from cosmodrome.namesrv.events import Event
from cosmodrome.namesrv.live_config import ReadAgain, ReloadOutcome
from cosmodrome.namesrv.logs import LineWriter
from cosmodrome.namesrv.server import StopSummary
from cosmodrome.operating.pid_file import PidFile, outcome_path

JAVA_HELP = """\
usage: mqnamesrv [-c <arg>] [-h] [-n <arg>] [-p]
 -c,--configFile <arg>    Name server config properties file
 -h,--help                Print help
 -n,--namesrvAddr <arg>   Name server address list, eg: '192.168.0.1:9876;192.168.0.2:9876'
 -p,--printConfigItem     Print all config items
"""


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(("COSMODROME_", "ROCKETMQ_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(commands.namesrv, arguments, prog_name="mqnamesrv")


def loaded(config: NamesrvConfig | None = None, path: Path | None = None) -> LoadedConfig:
    config = config or NamesrvConfig()
    store = ConfigStore(path or Path(config.config_store_path))
    return LoadedConfig(config=config, sources={}, path=path, notes=(), store=store)


class TestHelp:
    @pytest.mark.parametrize("flag", ["-h", "--help"])
    def test_it_begins_as_java_s_does(self, flag: str) -> None:
        result = invoke(flag)

        assert result.exit_code == 0
        assert result.stdout.startswith(JAVA_HELP)

    def test_it_goes_on_with_flags_that_java_does_not_have(self) -> None:
        rest = invoke("-h").stdout.removeprefix(JAVA_HELP)

        assert "--listenPort N" in rest
        assert "--check-config" in rest
        assert "-c," not in rest
        assert "IGNORED" not in rest

    def test_it_names_the_keys_of_security_and_the_pages_that_explain_keys(self) -> None:
        rest = invoke("-h").stdout

        for word in (
            "adminPolicy",
            "adminAllow",
            "brokerAllow",
            "brokerAuth",
            "aclFile",
            "auditLog",
            "tls.server.mode",
        ):
            assert word in rest
        assert "docs/configuration.md" in rest
        assert "docs/policy.md" in rest

    def test_the_group_lists_its_commands(self) -> None:
        result = CliRunner().invoke(commands.cosmodrome, ["--help"])

        assert "namesrv" in result.stdout

    @pytest.mark.parametrize("command", [commands.cosmodrome, commands.namesrv])
    def test_the_version(self, command: click.Command) -> None:
        assert CliRunner().invoke(command, ["--version"]).stdout == f"cosmodrome {__version__}\n"

    @pytest.mark.parametrize("arguments", [["--help"], ["namesrv", "--help"], ["--version"]])
    def test_it_loads_neither_server_nor_event_loop(self, arguments: list[str]) -> None:
        source = (
            "import sys\nfrom cosmodrome.cli import commands\n"
            f"commands.cosmodrome({arguments!r}, standalone_mode=False)\n"
            "print(sorted({'asyncio', 'uvloop', 'rich', 'cosmodrome.namesrv'} & set(sys.modules)))\n"
        )

        out = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True).stdout

        assert out.splitlines()[-1] == "[]"


class TestUsage:
    @pytest.mark.parametrize(
        "arguments",
        [
            ["--bogus"],
            ["-c"],
            ["--set", "listenPort"],
            ["--ready-fd", "x"],
            ["--ready-fd", "987"],
            ["--log-level", "loud"],
        ],
    )
    def test_a_wrong_flag_is_exit_code_2(self, arguments: list[str]) -> None:
        result = invoke(*arguments)

        assert result.exit_code == 2
        assert "Error" in result.stderr

    def test_other_arguments_and_the_address_list_are_ignored_as_in_java(self) -> None:
        assert invoke("--check-config", "-n", "10.0.0.1:9876", "more", "words").exit_code == 0

    def test_a_flag_of_its_own_wins_over_set(self) -> None:
        options = NamesrvOptions(listen_port="1", settings=(("listenPort", "2"), ("bindAddress", "::1")))

        assert flag_settings(options) == [
            Setting("listenPort", "2", "--set"),
            Setting("bindAddress", "::1", "--set"),
            Setting("listenPort", "1", "--listenPort"),
        ]


class TestPrinting:
    def test_the_settings_in_force(self, tmp_path: Path) -> None:
        file = tmp_path / "a.properties"
        file.write_text("enableTopicList = FALSE \n")

        result = invoke("-p", "-c", str(file), "--set", "productEnvName=a=b", "--listenPort", "1")

        assert result.exit_code == 0
        printed = result.stdout.splitlines()
        assert printed[0] == f"load config properties file OK, {file}"
        assert printed[1] == "rocketmqHome="
        assert {"enableTopicList=false", "productEnvName=a=b", "listenPort=1"} <= set(printed)


class TestCheck:
    def test_a_good_configuration(self) -> None:
        result = invoke("--check-config")

        assert (result.exit_code, result.stdout) == (0, "configuration OK: built-in defaults\n")

    def test_its_notes_are_shown(self, tmp_path: Path) -> None:
        file = tmp_path / "a.properties"
        file.write_text("useTLS=true\nlistenPort=1\nlistenPort=2\n")

        assert invoke("--check-config", "-c", str(file)).stdout.splitlines() == [
            f"warning: {file}:3: listenPort replaces that of line 2",
            "info: accepted, no effect: useTLS",
            f"configuration OK: {file}",
        ]

    def test_the_files_that_a_start_reads_are_read(self, tmp_path: Path) -> None:
        kv = tmp_path / "kvConfig.json"
        flags = ("--check-config", "--data-dir", str(tmp_path))
        kv.write_text('{"configTable":{"N":{"a":"1","b":"2"}}}')
        assert f"KV file {kv}: 2 entries in 1 namespaces" in invoke(*flags).stdout

        kv.write_text("garbage")
        damaged = invoke(*flags)
        assert (damaged.exit_code, kv.read_text()) == (71, "garbage")

        no_key = ("--set", "tls.test.mode.enable=false", "--set", "tls.server.certPath=/no/such.pem")
        assert invoke("--check-config", *no_key).exit_code == 78

    def test_a_bad_one_is_exit_code_78(self) -> None:
        result = invoke("--check-config", "--listenPort", "70000")

        assert result.exit_code == 78
        assert result.stdout == ""
        assert result.stderr == (
            'error[NS-CONFIG]: --listenPort: listenPort must be between 0 and 65535, not "70000".\n'
        )

    def test_a_trace_is_shown_only_when_asked_for(self) -> None:
        assert "Traceback" not in invoke("--check-config", "--set", "a=1", "-v").stderr
        assert "Traceback" in invoke("--check-config", "--set", "a=1", "-vv").stderr


class TestFailures:
    @staticmethod
    def failing(error: Exception) -> Callable[[], int]:
        def action() -> int:
            raise error

        return action

    @pytest.mark.parametrize(("error", "code"), [(ConfigError("a"), 78), (BindError("a"), 71), (StorageError("a"), 71)])
    def test_errors_have_their_code_and_three_parts(
        self, error: Exception, code: int, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert exit_code_of(self.failing(error), shows_traces=False) == code
        assert capsys.readouterr().err.startswith("error[NS-")

    def test_a_bug_names_a_report(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

        assert exit_code_of(self.failing(KeyError("x\ny")), shows_traces=False) == 70

        (report,) = tmp_path.glob("cosmodrome-report-*.txt")
        lines = capsys.readouterr().err.splitlines()
        assert len(lines) == 3
        assert lines[0].startswith("error[NS-BUG]: KeyError")
        assert str(report) in lines[2]
        assert "Traceback" in report.read_text()

    def test_a_bug_where_no_report_can_be_written(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr("tempfile.tempdir", "/nowhere")

        assert exit_code_of(self.failing(KeyError("x")), shows_traces=True) == 70
        assert "Traceback" in capsys.readouterr().err


class TestBanner:
    def text(self, config: NamesrvConfig, path: Path | None = None) -> str:
        return banner(Start(loaded=loaded(config, path), address="0.0.0.0:9876", took_s=0.184), "192.168.1.20")

    def test_it_says_what_runs_where(self) -> None:
        assert self.text(NamesrvConfig(data_dir="/data")) == (
            "  remoting   0.0.0.0:9876           brokers and clients: namesrvAddr=192.168.1.20:9876\n"
            "  http       off                    (probes, metrics, JSON API: --http 127.0.0.1:19876)\n"
            "  config     built-in defaults      (write one: cosmodrome config init; changes made at run time go to /data/namesrv.properties)\n"
            "  data       /data (KV: /data/kvConfig.json)\n"
            "  log        standard error         (to a file: --set logFile=FILE)\n"
            "  changes    config from loopback only, the rest as in Java, all audited (adminPolicy=compatible)\n"
            "  brokers    from anywhere\n"
            "  WARNING    open to whoever reaches this port: changes of KV, topics and permissions "
            "(100, 102, 104, 205, 216, 217, 327); reading configuration, KV and listings; registering as a broker (103); "
            "talking without TLS\n"
            "             to shut them: adminPolicy=hardened with few addresses in adminAllow, brokerAllow or brokerAuth, "
            "tls.server.mode=enforcing, or bindAddress=127.0.0.1 (docs/policy.md)\n"
            "Ready in 0.18 s. Waiting for brokers. Try: cosmodrome admin clusterList -n 192.168.1.20:9876   or   "
            "start an Apache broker: mqbroker -n 192.168.1.20:9876"
        )

    def test_it_says_where_http_is(self) -> None:
        start = Start(loaded=loaded(), address="127.0.0.1:9876", took_s=0.1, http_address="127.0.0.1:19876")

        assert "  http       http://127.0.0.1:19876 /metrics, /readyz, /api/v1\n" in banner(start, "192.168.1.20")

    def test_it_says_why_there_is_no_http(self) -> None:
        reason = "cannot listen on 127.0.0.1:19876: address already in use."
        start = Start(loaded=loaded(), address="127.0.0.1:9876", took_s=0.1, no_http=reason)

        assert (
            "  http       off: cannot listen on 127.0.0.1:19876: address already in use "
            "(another address: --http 127.0.0.1:PORT)\n"
        ) in banner(start, "192.168.1.20")

    def test_it_names_the_file_in_use(self) -> None:
        assert "  config     /etc/a.toml" in self.text(NamesrvConfig(), Path("/etc/a.toml"))

    @pytest.mark.parametrize(
        ("flags", "line"),
        [
            ({"adminPolicy": "open"}, "from anyone, as in Java, all audited (adminPolicy=open)"),
            ({"adminPolicy": "open"}, "changes of the configuration (318); "),
            ({"adminPolicy": "open", "auditLog": "off"}, "from anyone, as in Java, all logged (adminPolicy=open)"),
            ({"adminPolicy": "hardened"}, "all from loopback only, listings too, all audited (adminPolicy=hardened)"),
            ({"adminPolicy": "hardened", "aclFile": "a.toml"}, "all from loopback only or signed, "),
            ({"brokerAllow": "10.0.0.0/8"}, "  brokers    from 10.0.0.0/8 only\n"),
            (
                {"brokerAuth": "true", "tls.server.mode": "enforcing"},
                "  brokers    from anywhere, signed, by TLS only\n",
            ),
            ({"adminAllow": "10.0.0.0/8"}, "config from 10.0.0.0/8 only, "),
            ({"adminAllow": ""}, "config from nowhere, "),
        ],
    )
    def test_it_says_who_may_change_things(self, flags: dict[str, str], line: str) -> None:
        config = load_config(ConfigSources(flags=[Setting(*item, "--set") for item in flags.items()])).config

        assert line in self.text(config)

    @pytest.mark.parametrize(
        "config",
        [
            NamesrvConfig(bind_address="127.0.0.1"),
            NamesrvConfig(bind_address="::1", admin_policy=AdminPolicy.OPEN),
            NamesrvConfig(
                admin_policy=AdminPolicy.HARDENED,
                broker_allow=(ipaddress.ip_network("10.0.0.0/8"),),
                tls_server_mode="enforcing",
            ),
        ],
    )
    def test_it_warns_of_nothing_that_is_shut(self, config: NamesrvConfig) -> None:
        assert "WARNING" not in self.text(config)

    def test_it_says_that_routes_are_refused_at_first(self) -> None:
        assert "refused for 45 s" in self.text(NamesrvConfig(need_wait_for_service=True))

    def test_every_policy_has_words(self) -> None:
        for policy in AdminPolicy:
            assert policy in self.text(NamesrvConfig(admin_policy=policy))

    @pytest.mark.parametrize(
        ("bound", "address"),
        [
            ("0.0.0.0:1", "192.168.1.20:1"),
            ("[::]:1", "192.168.1.20:1"),
            ("127.0.0.1:1", "127.0.0.1:1"),
            ("[::1]:1", "[::1]:1"),
            ("localhost:1", "localhost:1"),
        ],
    )
    def test_a_broker_gets_an_address_of_this_host(self, bound: str, address: str) -> None:
        assert peer_address(bound, "192.168.1.20") == address

    def test_this_host_has_an_address(self) -> None:
        assert socket.inet_aton(own_address())


class TestBindErrors:
    @staticmethod
    def bind_error(number: int) -> BindError:
        error = BindError("cannot listen on 127.0.0.1:1: reason.")
        error.__cause__ = OSError(number, os.strerror(number))
        return error

    def test_a_taken_port_names_its_owner_and_a_free_one(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            config = NamesrvConfig(bind_address="127.0.0.1", listen_port=port)

            error = explained(self.bind_error(errno.EADDRINUSE), config)

        assert error.why is not None
        if sys.platform == "linux":
            assert error.why.startswith(f"pid {os.getpid()} (")
        assert error.what == "cannot listen on 127.0.0.1:1: reason."
        assert "choose a port: cosmodrome namesrv --listenPort " in str(error.remedy)
        assert f"--listenPort {port}" not in str(error.remedy)

    def test_a_foreign_address(self) -> None:
        error = explained(self.bind_error(errno.EADDRNOTAVAIL), NamesrvConfig(bind_address="192.0.2.1"))

        assert error.why == "192.0.2.1 is not an address of this host."

    def test_an_error_that_says_what_to_do_is_left_as_it_is(self) -> None:
        error = BindError("cannot listen on 127.0.0.1:19876: address already in use.", remedy="--http off")
        error.__cause__ = OSError(errno.EADDRINUSE, "address already in use")

        assert explained(error, NamesrvConfig()) is error

    def test_a_low_port(self) -> None:
        error = explained(self.bind_error(errno.EACCES), NamesrvConfig(listen_port=80))

        assert error.remedy == "choose a port from 1024 on: cosmodrome namesrv --listenPort 9876"

    def test_another_reason_is_left_as_the_server_gave_it(self) -> None:
        error = explained(BindError("a", why="b", remedy="c"), NamesrvConfig())

        assert (error.what, error.why, error.remedy) == ("a", "b", "c")


@dataclass
class FakeServer:
    """A server that does nothing but follow its life cycle; when it runs, `on_running` is called in the loop."""

    on_running: Callable[[], object] = field(default=lambda: None)
    address: str = "127.0.0.1:12345"
    http_address: str = ""
    steps: list[str] = field(default_factory=list)
    refusal: Exception | None = None
    on_stop: Callable[[], object] = field(default=lambda: None)
    loop: str = ""

    async def start(self) -> None:
        if self.refusal:
            raise self.refusal
        self.steps.append("started")
        self.loop = type(asyncio.get_running_loop()).__module__
        asyncio.get_running_loop().call_soon(self.on_running)

    async def reload(self, read: ReadAgain) -> ReloadOutcome:
        self.steps.append(f"reloaded: {read()[0].product_env_name}")
        return ReloadOutcome(applied=("productEnvName",))

    async def stop(self, reason: str) -> StopSummary:
        self.steps.append(f"stopped: {reason}")
        self.on_stop()
        return StopSummary(brokers=1, clients=3, finished_requests=0)


def never_read() -> tuple[NamesrvConfig, ConfigStore]:
    raise AssertionError("there was no hangup")


def words(terminal: Terminal) -> NamesrvWords:
    return NamesrvWords(loaded=loaded(), terminal=terminal, began_s=0.0)


def path_of(announcer: Announcer[StopSummary]) -> Path:
    assert announcer.pid_file is not None
    return announcer.pid_file.path


def with_pid_file(announcer: Announcer[StopSummary], path: Path) -> Announcer[StopSummary]:
    return dataclasses.replace(announcer, pid_file=PidFile(path, is_asked_for=True))


class TestServing:
    @pytest.fixture(autouse=True)
    def _restore_signals(self) -> Iterator[None]:
        handlers = {each: signal.getsignal(each) for each in (signal.SIGTERM, signal.SIGINT)}
        yield
        for each, handler in handlers.items():
            signal.signal(each, handler)

    @pytest.fixture
    def out(self) -> io.StringIO:
        return io.StringIO()

    @pytest.fixture
    def announcer(self, tmp_path: Path, out: io.StringIO) -> Iterator[Announcer[StopSummary]]:
        terminal = Terminal(stdout=LineWriter(out), stderr=LineWriter(out))
        pid_file = PidFile(tmp_path / "pid", is_asked_for=True)
        yield Announcer(words=words(terminal), pid_file=pid_file)
        pid_file.release({})

    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
    def test_a_signal_stops_it_in_good_order(
        self, announcer: Announcer[StopSummary], out: io.StringIO, number: signal.Signals
    ) -> None:
        server = FakeServer(lambda: os.kill(os.getpid(), number))

        assert serve(server, announcer, never_read) == 0

        lines = out.getvalue().splitlines()
        assert server.steps == ["started", f"stopped: {number.name}"]
        assert lines[0] == "The Name Server boot success. serializeType=JSON, address 127.0.0.1:12345"
        assert lines[-1] == ("stopping: 1 broker, 3 clients connected; finished 0 requests in flight; KV saved. Bye.")

    def test_without_the_faster_event_loop_it_runs_on_asyncio_s(
        self, announcer: Announcer[StopSummary], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(sys.modules, "uvloop", None)
        server = FakeServer()

        with pytest.raises(StorageError):
            serve(server, with_pid_file(announcer, Path("/nowhere/pid")), never_read)

        assert server.loop.startswith("asyncio.")

    def test_the_same_signal_twice_at_once_is_one(self, announcer: Announcer[StopSummary]) -> None:
        """As from a terminal or `timeout`, which reach a process and its group."""

        def twice() -> None:
            os.kill(os.getpid(), signal.SIGTERM)
            asyncio.get_running_loop().call_soon(os.kill, os.getpid(), signal.SIGTERM)

        assert serve(FakeServer(twice), announcer, never_read) == 0

    def test_a_refused_start_announces_nothing(self, announcer: Announcer[StopSummary], out: io.StringIO) -> None:
        with pytest.raises(StorageError):
            serve(FakeServer(refusal=StorageError("a")), announcer, never_read)

        assert out.getvalue() == ""
        assert not path_of(announcer).exists()

    def test_a_pid_file_that_cannot_be_written_stops_it(
        self, announcer: Announcer[StopSummary], tmp_path: Path
    ) -> None:
        server = FakeServer()

        with pytest.raises(StorageError, match="pid file"):
            serve(server, with_pid_file(announcer, tmp_path / "none" / "pid"), never_read)

        assert server.steps == ["started", "stopped: failed"]

    def test_a_pid_file_of_another_process_is_left_alone(self, announcer: Announcer[StopSummary]) -> None:
        path_of(announcer).write_text("1\n")

        announcer.gone({})

        assert path_of(announcer).exists()

    def test_a_pid_file_that_was_left_behind_is_told(self, announcer: Announcer[StopSummary]) -> None:
        path_of(announcer).write_text("4711\n")
        events: list[Event] = []

        publishing = dataclasses.replace(
            words(Terminal(stdout=LineWriter(None), stderr=LineWriter(None))), publish=events.append
        )
        dataclasses.replace(announcer, words=publishing).ready("127.0.0.1:12345")

        [event] = events
        assert event.fields() == {"previous_pid": "4711", "pid_file": str(path_of(announcer))}

    def test_a_hangup_reads_the_configuration_again(self, announcer: Announcer[StopSummary]) -> None:
        """And so does one that came before the server was ready, when it is."""
        server = FakeServer(lambda: os.kill(os.getpid(), signal.SIGHUP))

        left: list[str] = []
        server.on_stop = lambda: left.append(outcome_path(path_of(announcer)).read_text())

        def read() -> tuple[NamesrvConfig, ConfigStore]:
            asyncio.get_running_loop().call_soon(os.kill, os.getpid(), signal.SIGTERM)
            return NamesrvConfig(product_env_name="another"), ConfigStore(Path("unused"))

        before_ns = time.monotonic_ns()
        assert serve(server, announcer, read) == 0
        outcome = json.loads(left[0])
        assert before_ns <= outcome.pop("began_ns") <= time.monotonic_ns()
        assert outcome == {"applied": ["productEnvName"], "restart": [], "refused": [], "overridden": {}, "reason": ""}
        assert not outcome_path(path_of(announcer)).exists()
        assert server.steps == ["started", "reloaded: another", "stopped: SIGTERM"]

    def test_a_configuration_that_cannot_be_read_ends_nothing(self, announcer: Announcer[StopSummary]) -> None:
        server = FakeServer(lambda: os.kill(os.getpid(), signal.SIGHUP))

        def read() -> tuple[NamesrvConfig, ConfigStore]:
            asyncio.get_running_loop().call_soon(os.kill, os.getpid(), signal.SIGTERM)
            raise ValueError("a bug")

        assert serve(server, announcer, read) == 0
        assert server.steps == ["started", "stopped: SIGTERM"]

    def test_the_ready_descriptor_gets_the_address_and_is_closed(self, announcer: Announcer[StopSummary]) -> None:
        reader, writer = os.pipe()

        dataclasses.replace(announcer, ready_fd=writer).ready("127.0.0.1:12345")

        with os.fdopen(reader, encoding="ascii") as file:
            assert file.read() == "127.0.0.1:12345\n"
        assert path_of(announcer).read_text() == f"{os.getpid()}\n"

    def test_a_ready_descriptor_that_nobody_reads_is_no_failure(self, announcer: Announcer[StopSummary]) -> None:
        reader, writer = os.pipe()
        os.close(reader)
        try:
            dataclasses.replace(announcer, ready_fd=writer).ready("127.0.0.1:12345")
        finally:
            os.close(writer)


class TestWordsWithoutACommand:
    """`cosmodrome help`, and a group of commands without one."""

    @pytest.mark.parametrize(
        ("words", "text"),
        [
            ((), "Usage: cosmodrome [OPTIONS] COMMAND [ARGS]..."),
            (("stop",), "Usage: cosmodrome stop "),
            (("export", "compose"), "Usage: cosmodrome export compose "),
        ],
    )
    def test_help_is_a_word_too(self, words: tuple[str, ...], text: str, capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(SystemExit) as ended:
            commands.cosmodrome(["help", *words], prog_name="cosmodrome")

        assert ended.value.code == 0
        assert capsys.readouterr().out.startswith(text)

    @pytest.mark.parametrize(("group", "names"), [("export", "alerts, compose,"), ("config", "check, explain,")])
    def test_a_group_without_a_command(self, group: str, names: str, capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(SystemExit) as ended:
            commands.cosmodrome([group], prog_name="cosmodrome")

        said = capsys.readouterr().err.splitlines()
        assert ended.value.code == 2
        assert said[0] == f"error[NS-USAGE]: cosmodrome {group}: a command is missing."
        assert said[1].startswith(f"  why: it is one of {names}")
        assert said[2:] == [f"  do:  cosmodrome {group} -h tells of each"]
