"""The real command line in a process of its own: what it prints, how it starts, and how it ends."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.support.server_process import COMMAND, ServerProcess, run_command, server_environment
from tests.support.waiting import wait_until
from tests.support.wire import Broker, Wire, register, topic_config

PUT_KV_CONFIG = 100
GET_KV_CONFIG = 101
GET_ROUTEINFO_BY_TOPIC = 105
SUCCESS = 0
TOPICS = (topic_config("T"), topic_config("U"))
SOON_S = 10.0
"""Generous for a busy machine; a good start or end takes a tenth of it."""


def put(server: ServerProcess, key: str, value: str) -> int:
    with Wire(server.address) as wire:
        return wire.request(PUT_KV_CONFIG, {"namespace": "e2e", "key": key, "value": value}).code


def get(server: ServerProcess, key: str) -> str | None:
    with Wire(server.address) as wire:
        answer = wire.request(GET_KV_CONFIG, {"namespace": "e2e", "key": key})
    return (answer.ext or {}).get("value")


def failed_start(folder: Path, *flags: str) -> tuple[int, str]:
    """Start a server that must not come up, and return its exit code and what it said."""
    server = ServerProcess(folder, *flags)
    began = time.monotonic()
    server.start()
    code = server.wait_ended(SOON_S)
    assert server.stdout_lines == []
    assert time.monotonic() - began < SOON_S
    return code, server.stderr


class TestStart:
    def test_the_first_line_is_java_s_and_names_the_chosen_port(self, tmp_path: Path) -> None:
        with ServerProcess(tmp_path) as server:
            assert server.stdout_lines == [
                f"The Name Server boot success. serializeType=JSON, address 127.0.0.1:{server.port}"
            ]
            assert server.port != 0
            with Wire(server.address) as wire:
                assert register(wire, Broker(), TOPICS).code == SUCCESS
                assert wire.request(GET_ROUTEINFO_BY_TOPIC, {"topic": "T"}).code == SUCCESS

    def test_a_file_is_announced_as_it_was_given(self, tmp_path: Path) -> None:
        with ServerProcess(tmp_path, config={"orderMessageEnable": True}) as server:
            assert server.stdout_lines[0] == f"load config properties file OK, {tmp_path / 'start.properties'}"

    def test_log_lines_are_json_for_programs(self, tmp_path: Path) -> None:
        with ServerProcess(tmp_path) as server:
            server.wait_for_stderr("server.ready")
        lines = [json.loads(line) for line in server.stderr.splitlines()]

        assert {line["event"]: line.get("address") for line in lines}["server.started"] == server.address

    def test_the_banner_names_an_address_for_brokers_the_files_and_the_policy(self, tmp_path: Path) -> None:
        with ServerProcess(tmp_path, "--banner", "--log-format", "text") as server:
            text = server.wait_for_stderr("Try: ")

        assert f"namesrvAddr={server.address}" in text
        assert "built-in defaults" in text
        assert str(tmp_path / "data") in text
        assert "adminPolicy=compatible" in text

    def test_the_address_in_the_banner_is_one_that_others_can_use(self, tmp_path: Path) -> None:
        with ServerProcess(tmp_path, "--banner", "--bindAddress", "0.0.0.0") as server:  # noqa: S104  # as by default
            text = server.wait_for_stderr("Try: ")
            assert server.stdout_lines[0].endswith(f"address 0.0.0.0:{server.port}")
            host = re.findall(r"namesrvAddr=(.*):\d+", text)[0]

            assert host != "0.0.0.0"  # noqa: S104
            with Wire(f"{host}:{server.port}") as wire:
                assert wire.request(GET_ROUTEINFO_BY_TOPIC, {"topic": "T"}).code != SUCCESS

    @pytest.mark.skipif(sys.platform == "win32", reason="passes a descriptor")
    def test_a_supervisor_gets_the_address_and_the_process_id(self, tmp_path: Path) -> None:
        reader, writer = os.pipe()
        command = [*COMMAND, "namesrv", "--bindAddress", "127.0.0.1", "--listenPort", "0"]
        child = subprocess.Popen(
            [*command, "--ready-fd", str(writer), "--pid-file", "pid", "--data-dir", "data"],
            cwd=tmp_path,
            env=server_environment(tmp_path),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[writer],
        )
        os.close(writer)
        try:
            with os.fdopen(reader, encoding="ascii") as ready:
                address = ready.read()
            assert re.fullmatch(r"127\.0\.0\.1:\d+\n", address)
            assert (tmp_path / "pid").read_text() == f"{child.pid}\n"
            Wire(address.strip()).close()
        finally:
            child.terminate()
            code = child.wait(SOON_S)

        assert code == 0
        assert not (tmp_path / "pid").exists()

    def test_paths_may_hold_blanks_and_any_letters(self, tmp_path: Path) -> None:
        folder = tmp_path / "ein Ordner 火箭 'quoted'"
        with ServerProcess(folder, config={"orderMessageEnable": True}) as server:
            assert put(server, "a", "1") == SUCCESS

        assert (folder / "data" / "kvConfig.json").exists()

    def test_settings_may_all_come_from_the_environment(self, tmp_path: Path) -> None:
        environment = {"COSMODROME_PRODUCT_ENV_NAME": "a b", "COSMODROME_LOG_FORMAT": "text"}
        with ServerProcess(tmp_path, environment=environment) as server:
            server.wait_for_stderr(" INFO server.started ")


class TestPrintingAndChecking:
    def test_help_begins_as_java_s_does(self, tmp_path: Path) -> None:
        result = run_command("namesrv", "-h", folder=tmp_path)

        assert result.returncode == 0
        assert result.stdout.startswith("usage: cosmodrome namesrv [-c <arg>] [-h] [-n <arg>] [-p]\n")
        assert " -c,--configFile <arg>    Name server config properties file\n" in result.stdout

    def test_p_prints_the_settings_in_force(self, tmp_path: Path) -> None:
        result = run_command("namesrv", "-p", "--set", "waitSecondsForService= 7 ", folder=tmp_path)

        assert result.returncode == 0
        assert "waitSecondsForService=7\n" in result.stdout
        assert result.stdout.startswith("rocketmqHome=\nkvConfigPath=")
        assert result.stderr == ""

    def test_check_config(self, tmp_path: Path) -> None:
        good = run_command("namesrv", "--check-config", folder=tmp_path)
        bad = run_command("namesrv", "--check-config", "-c", "none.properties", folder=tmp_path)

        assert (good.returncode, good.stdout) == (0, "configuration OK: built-in defaults\n")
        assert (bad.returncode, bad.stdout) == (78, "")
        assert bad.stderr.startswith("error[NS-CONFIG]: cannot read none.properties: ")

    def test_wrong_usage(self, tmp_path: Path) -> None:
        assert run_command("namesrv", "--bogus", folder=tmp_path).returncode == 2


class TestRefusedStartF133:
    """F133: a start that cannot succeed ends at once, with one line that names address and cause."""

    def test_f133_a_taken_port_names_who_has_it_and_another_one(self, tmp_path: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            code, text = failed_start(tmp_path, "--listenPort", str(port))

        assert code == 71
        lines = text.splitlines()
        assert lines[0] == f"error[NS-BIND]: cannot listen on 127.0.0.1:{port}: address already in use."
        if sys.platform == "linux":
            assert lines[1].startswith(f"  why: pid {os.getpid()} (")
        assert re.fullmatch(r"  do:  stop it, or choose a port: cosmodrome namesrv --listenPort \d+", lines[2])
        assert len(lines) == 3

    def test_f133_a_port_that_does_not_exist(self, tmp_path: Path) -> None:
        code, text = failed_start(tmp_path, "--listenPort", "70000")

        assert code == 78
        assert text == 'error[NS-CONFIG]: --listenPort: listenPort must be between 0 and 65535, not "70000".\n'

    def test_f133_an_address_of_another_host(self, tmp_path: Path) -> None:
        code, text = failed_start(tmp_path, "--bindAddress", "192.0.2.1")

        assert code == 71
        assert text.startswith("error[NS-BIND]: cannot listen on 192.0.2.1:0: ")
        assert "192.0.2.1 is not an address of this host" in text

    def test_f133_a_name_that_does_not_resolve(self, tmp_path: Path) -> None:
        code, text = failed_start(tmp_path, "--bindAddress", "no-such-host.invalid")

        assert code == 71
        assert text.startswith("error[NS-BIND]: cannot listen on no-such-host.invalid:0: ")

    def test_f133_a_second_instance_does_not_damage_the_data_of_the_first(self, tmp_path: Path) -> None:
        with ServerProcess(tmp_path) as first:
            assert put(first, "a", "1") == SUCCESS
            code, _ = failed_start(tmp_path, "--listenPort", str(first.port))
            assert code == 71
            assert put(first, "b", "2") == SUCCESS
        with ServerProcess(tmp_path) as again:
            assert (get(again, "a"), get(again, "b")) == ("1", "2")

    def test_f133_a_second_instance_on_the_same_file_does_not_start(self, tmp_path: Path) -> None:
        """Whatever its port is, and whether the file is there yet or not."""
        with ServerProcess(tmp_path) as first:
            for _ in ("fresh", "written"):
                code, text = failed_start(tmp_path)
                assert code == 71
                lines = text.splitlines()
                file = tmp_path / "data" / "kvConfig.json"
                assert lines[0] == f"error[NS-STORAGE]: the KV file {file} is in use by another server."
                if sys.platform == "linux":
                    assert lines[1].startswith(f"  why: pid {first.pid} (")
                assert "--data-dir" in lines[2]
                assert len(lines) == 3
                assert put(first, "a", "1") == SUCCESS
        with ServerProcess(tmp_path) as again:
            assert get(again, "a") == "1"

    def test_f133_what_a_killed_instance_claimed_is_free(self, tmp_path: Path) -> None:
        first = ServerProcess(tmp_path)
        with first:
            first.kill()
            with ServerProcess(tmp_path) as again:
                assert put(again, "a", "1") == SUCCESS

    def test_f133_instances_with_files_of_their_own_may_share_a_folder_and_a_configuration(
        self, tmp_path: Path
    ) -> None:
        config = {"orderMessageEnable": True}
        own = [("--set", f"kvConfigPath={tmp_path / f'kv-{number}.json'}") for number in (1, 2)]
        with ServerProcess(tmp_path, *own[0], config=config) as first:
            with ServerProcess(tmp_path, *own[1], config=config) as second:
                assert [put(each, "a", "1") for each in (first, second)] == [SUCCESS, SUCCESS]
            with ServerProcess(tmp_path, *own[1], config=config) as second:
                assert get(second, "a") == "1"


class TestEnd:
    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
    def test_a_signal_ends_it_in_good_order(self, tmp_path: Path, number: signal.Signals) -> None:
        with ServerProcess(tmp_path, "--banner") as server, Wire(server.address) as wire, Wire(server.address):
            register(wire, Broker(), TOPICS)
            server.signal(number)
            assert server.wait_ended(SOON_S) == 0

        lines = server.stderr.splitlines()
        assert lines[-1] == ("stopping: 1 broker, 1 client connected; finished 0 requests in flight; KV saved. Bye.")
        assert f'"reason": "{number.name}"' in lines[-2]

    def test_a_second_signal_ends_it_at_once(self, tmp_path: Path) -> None:
        config = {"enableShutdownGracefully": True, "shutdownWaitTimeSeconds": 3600}
        with ServerProcess(tmp_path, config=config) as server:
            server.signal(signal.SIGTERM)
            server.wait_for_stderr("server.draining")
            assert server.is_alive

            def ends_when_told_again() -> bool:
                server.signal(signal.SIGTERM)
                return not server.is_alive

            wait_until(ends_when_told_again, "its end", SOON_S)
            assert server.wait_ended(SOON_S) == -signal.SIGTERM

    def test_a_hangup_is_noted_and_does_not_end_it(self, tmp_path: Path) -> None:
        with ServerProcess(tmp_path) as server:
            server.signal(signal.SIGHUP)
            server.wait_for_stderr("SIGHUP")

            assert get(server, "a") is None
            assert server.stop() == 0

    def test_a_lost_output_does_not_end_it(self, tmp_path: Path) -> None:
        command = [*COMMAND, "namesrv", "--bindAddress", "127.0.0.1", "--listenPort", "0", "--pid-file", "pid"]
        child = subprocess.Popen(
            [*command, "--data-dir", "data", "--log-level", "debug"],
            cwd=tmp_path,
            env=server_environment(tmp_path),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert child.stdout is not None
        assert child.stderr is not None
        try:
            address = child.stdout.readline().rpartition("address ")[2].strip()
            child.stdout.close()
            child.stderr.close()
            for _ in range(5):
                with Wire(address) as wire:
                    wire.request(GET_ROUTEINFO_BY_TOPIC, {"topic": "T"})
        finally:
            child.terminate()
            code = child.wait(SOON_S)

        assert code == 0

    def test_no_output_at_all_is_no_obstacle(self, tmp_path: Path) -> None:
        """As under a daemon that closes all three descriptors."""
        script = 'exec "$@" <&- >&- 2>&-'
        command = [*COMMAND, "namesrv", "--bindAddress", "127.0.0.1", "--listenPort", "0", "--pid-file", "pid"]
        child = subprocess.Popen(
            ["/bin/sh", "-c", script, "sh", *command, "--data-dir", "data"],
            cwd=tmp_path,
            env=server_environment(tmp_path),
        )
        try:
            wait_until((tmp_path / "pid").exists, "the pid file", SOON_S)
        finally:
            child.terminate()
            code = child.wait(SOON_S)

        assert code == 0
