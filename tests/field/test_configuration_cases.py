"""Configuration: what went wrong in the field with NameServers, each case under its number.

Owns: cases F052, F053, F057, F090, F093, F099 and F136, against the real command line and over the wire.
Must not know: the package under test.
"""

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path

import javaproperties
import pytest
from tests.support.server_process import ServerProcess, run_command
from tests.support.wire import Answer, Broker, Wire, register, topic_config

PUT_KV_CONFIG = 100
GET_ROUTEINFO_BY_TOPIC = 105
GET_ALL_TOPIC_LIST = 206
UPDATE_NAMESRV_CONFIG = 318
GET_NAMESRV_CONFIG = 319
CONTROLLER_CODES = range(1001, 1019)

SUCCESS = 0
SYSTEM_ERROR = 1
REQUEST_CODE_NOT_SUPPORTED = 3
NO_PERMISSION = 16

TOPICS = (topic_config("T"), topic_config("U"))

OURS = {"kvConfig.json", "namesrv.pid", "namesrv.pid.addresses", "audit.jsonl"}
"""What may be in the data folder when no setting was changed."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerProcess]:
    with ServerProcess(tmp_path) as process:
        yield process


def update(server: ServerProcess, body: str | bytes) -> Answer:
    with Wire(server.address) as wire:
        return wire.request(UPDATE_NAMESRV_CONFIG, None, body.encode() if isinstance(body, str) else body)


def listing_text(server: ServerProcess) -> str:
    with Wire(server.address) as wire:
        answer = wire.request(GET_NAMESRV_CONFIG)
    assert answer.code == SUCCESS
    return answer.body.decode("utf-8")


def listing(server: ServerProcess) -> dict[str, str]:
    """Return the settings as a reader of properties that knows only ISO-8859-1 sees them."""
    return javaproperties.loads(listing_text(server).encode("utf-8"))


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


class TestF052:
    """A trailing blank after `true` silently meant false, and the start-up line still said OK."""

    @staticmethod
    def printed(folder: Path, text: str, *, encoding: str = "utf-8") -> dict[str, str]:
        file = folder / "namesrv.properties"
        file.write_bytes(text.encode(encoding))
        result = run_command("namesrv", "-p", "-c", str(file), folder=folder)
        assert result.returncode == 0, result.stderr
        return dict(line.split("=", 1) for line in result.stdout.splitlines()[1:])

    def test_f052_blanks_do_not_count_and_case_does_not_matter(self, tmp_path: Path) -> None:
        text = "orderMessageEnable = true \nclusterTest=TRUE\t\nwaitSecondsForService=12 \nproductEnvName=center  \n"

        printed = self.printed(tmp_path, text)

        assert printed["orderMessageEnable"] == "true"
        assert printed["clusterTest"] == "true"
        assert printed["waitSecondsForService"] == "12"
        assert printed["productEnvName"] == "center"

    @pytest.mark.parametrize(
        ("line", "said"),
        [
            ("orderMessageEnable=yes", 'orderMessageEnable must be true or false, not "yes"'),
            ("waitSecondsForService=12abc", 'waitSecondsForService must be a whole number of seconds, not "12abc"'),
            ("orderMessageEnabled=true", 'unknown key "orderMessageEnabled"'),
        ],
    )
    def test_f052_what_cannot_be_meant_is_named_with_its_line_and_nothing_starts(
        self, tmp_path: Path, line: str, said: str
    ) -> None:
        file = tmp_path / "namesrv.properties"
        file.write_text(f"# comment\n\n{line}\n")

        result = run_command("namesrv", "-c", str(file), folder=tmp_path)

        assert result.returncode == 78
        assert result.stdout == ""
        assert f"{file}:3: {said}" in result.stderr

    def test_f052_all_that_a_properties_file_may_hold(self, tmp_path: Path) -> None:
        text = (
            "\ufeff# comment\r\n! another\r\nlistenPort 9886\r\nproductEnvName:ein \\\r\n    Umf\u00e4ld\r\n"
            "waitSecondsForService=1\r\nwaitSecondsForService=2\r\n"
        )

        printed = self.printed(tmp_path, text)

        assert printed["listenPort"] == "9886"
        assert printed["productEnvName"] == "ein Umfäld"
        assert printed["waitSecondsForService"] == "2"

    def test_f052_files_as_java_reads_them(self, tmp_path: Path) -> None:
        assert self.printed(tmp_path, "productEnvName=caf\xe9\n", encoding="iso-8859-1")["productEnvName"] == "café"

    def test_f052_the_printed_settings_are_those_in_force(self, tmp_path: Path) -> None:
        config = {"orderMessageEnable": "true ", "waitSecondsForService": "12 ", "productEnvName": "a=b:c"}
        with ServerProcess(tmp_path, config=config) as server:
            in_force = listing(server)
        flags = ("--listenPort", "0", "--bindAddress", "127.0.0.1", "--data-dir", str(tmp_path / "data"))
        result = run_command("namesrv", "-p", "-c", str(tmp_path / "start.properties"), *flags, folder=tmp_path)
        printed = dict(line.split("=", 1) for line in result.stdout.splitlines()[1:])

        chosen_at_start = {"listenPort"}
        assert {key: printed[key] for key in in_force.keys() - chosen_at_start} == {
            key: value for key, value in in_force.items() if key not in chosen_at_start
        }


class TestF053:
    """Backslashes were eaten by the properties format, so the admin tool showed wrong values."""

    VALUES = (
        "C:\\rocketmq\\conf",
        "\\",
        "a:b=c#d!e",
        "# no comment",
        " leading blank",
        "tab\tinside",
        "火箭",
        "🚀",
        "\\u0041",
        "=",
        "",
    )

    @pytest.mark.parametrize("value", VALUES)
    def test_f053_a_value_reads_back_identical_and_a_loop_is_a_fixed_point(self, tmp_path: Path, value: str) -> None:
        with ServerProcess(tmp_path) as server:
            assert update(server, javaproperties.dumps({"productEnvName": value}, timestamp=False)).code == SUCCESS
            first = listing(server)
            assert first["productEnvName"] == value

            black_list = ("configBlackList", "configStorePath", "kvConfigPath", "rocketmqHome")
            kept = [line for line in listing_text(server).splitlines() if not line.startswith(black_list)]
            assert update(server, "\n".join(kept)).code == SUCCESS
            assert listing(server) == first
        with ServerProcess(tmp_path) as again:
            assert listing(again)["productEnvName"] == value

    def test_f053_raw_utf_8_in_a_request_is_utf_8(self, server: ServerProcess) -> None:
        """Java reads it as ISO-8859-1."""
        assert update(server, "productEnvName=café 火箭").code == SUCCESS
        assert listing(server)["productEnvName"] == "café 火箭"

    def test_f053_ordinary_values_are_listed_exactly_as_java_does(self, server: ServerProcess) -> None:
        lines = listing_text(server).splitlines()

        assert lines == sorted(lines)
        assert "configBlackList=configBlackList;configStorePath;kvConfigPath" in lines
        assert f"kvConfigPath={server.folder / 'data' / 'kvConfig.json'}" in lines

    def test_f053_a_text_that_is_no_properties_text_is_refused_in_java_s_words(self, server: ServerProcess) -> None:
        answer = update(server, "productEnvName=\\uZZZZ")

        assert (answer.code, answer.remark) == (SYSTEM_ERROR, "string2Properties error")


class TestF057:
    """The server accepted impossible capacities, and said success for keys that changed nothing."""

    def test_f057_a_live_key_takes_effect_now_and_survives_a_restart(self, tmp_path: Path) -> None:
        with ServerProcess(tmp_path) as server:
            answer = update(server, "enableAllTopicList=false")
            assert answer.code == SUCCESS
            with Wire(server.address) as wire:
                assert wire.request(GET_ALL_TOPIC_LIST).code == SYSTEM_ERROR
        with ServerProcess(tmp_path) as again, Wire(again.address) as wire:
            assert wire.request(GET_ALL_TOPIC_LIST).code == SYSTEM_ERROR
            assert listing(again)["enableAllTopicList"] == "false"

    def test_f057_a_key_that_needs_a_restart_is_named(self, server: ServerProcess) -> None:
        answer = update(server, "clusterTest=true\nenableTopicList=false")

        assert answer.code == SUCCESS
        assert "clusterTest" in (answer.remark or "")
        assert "enableTopicList" not in (answer.remark or "")

    def test_f057_a_key_that_a_flag_will_override_is_named(self, server: ServerProcess) -> None:
        answer = update(server, "listenPort=9999")

        assert answer.code == SUCCESS
        assert "override" in (answer.remark or "")
        assert "listenPort" in (answer.remark or "")

    @pytest.mark.parametrize(
        "bad",
        [
            "defaultThreadPoolNums=0",
            "clientRequestThreadPoolQueueCapacity=-1",
            "unRegisterBrokerQueueCapacity=0",
            "scanNotActiveBrokerInterval=0",
            "serverChannelMaxIdleTimeSeconds=-1",
            "listenPort=70000",
            "waitSecondsForService=soon",
            "enableTopicList=maybe",
        ],
    )
    def test_f057_one_bad_value_refuses_the_whole_request_and_is_named(self, server: ServerProcess, bad: str) -> None:
        before = listing(server)

        answer = update(server, f"orderMessageEnable=true\n{bad}\n")

        assert answer.code == SYSTEM_ERROR
        assert bad.partition("=")[0] in (answer.remark or "")
        assert "orderMessageEnable" not in (answer.remark or "")
        assert listing(server) == before
        assert files(server.folder / "data") <= OURS

    def test_f057_unknown_keys_are_not_saved(self, server: ServerProcess) -> None:
        assert update(server, "zork=1\nproductEnvName=a").code == SUCCESS

        assert (server.folder / "data" / "namesrv.properties").read_text() == "productEnvName=a\n"
        assert "zork" not in listing(server)

    @pytest.mark.parametrize("body", [b"", b"\n# only a comment\n", b"zork=1"])
    def test_f057_nothing_to_do_is_done_without_a_file(self, server: ServerProcess, body: bytes) -> None:
        assert update(server, body).code == SUCCESS
        assert files(server.folder / "data") <= OURS

    def test_f057_only_changed_keys_are_kept_so_that_a_restart_may_use_another_port(self, tmp_path: Path) -> None:
        with ServerProcess(tmp_path) as server:
            assert update(server, "orderMessageEnable=true").code == SUCCESS
        assert (tmp_path / "data" / "namesrv.properties").read_text() == "orderMessageEnable=true\n"

        with ServerProcess(tmp_path) as another:
            assert listing(another)["orderMessageEnable"] == "true"
            assert listing(another)["listenPort"] == str(another.port)

    def test_f057_comments_of_the_file_in_use_stay(self, tmp_path: Path) -> None:
        folder = tmp_path / "run"
        folder.mkdir()
        file = folder / "mine.properties"
        file.write_text("# why: see ticket 7\norderMessageEnable = false\n\n# names\nproductEnvName=center\n")
        with ServerProcess(folder, "-c", str(file)) as server:
            assert update(server, "orderMessageEnable=true\nenableTopicList=false").code == SUCCESS

        assert file.read_text() == (
            "# why: see ticket 7\norderMessageEnable=true\n\n# names\nproductEnvName=center\nenableTopicList=false\n"
        )


class TestF090:
    """Anyone who reached the port could move the file of settings, and so write a text of choice anywhere."""

    @pytest.mark.parametrize("key", ["configStorePath", "kvConfigPath", "rocketmqHome", "configBlackList", "dataDir"])
    def test_f090_paths_cannot_be_moved_and_nothing_of_the_request_is_applied(
        self, server: ServerProcess, tmp_path: Path, key: str
    ) -> None:
        target = tmp_path / "elsewhere" / "cron"
        before = listing(server)

        answer = update(server, f"productEnvName=* * * * * evil\n{key}={target}\n")

        assert (answer.code, answer.remark) == (NO_PERMISSION, "Can not update config in black list.")
        assert listing(server) == before
        assert not target.parent.exists()
        server.wait_for_stderr("request.denied")
        assert key in server.stderr

    def test_f090_two_requests_in_a_row_write_nothing_outside(self, server: ServerProcess, tmp_path: Path) -> None:
        target = tmp_path / "elsewhere"
        update(server, f"configStorePath={target}")
        update(server, "productEnvName=payload")
        update(server, f"kvConfigPath={target}")
        with Wire(server.address) as wire:
            wire.request(PUT_KV_CONFIG, {"namespace": "n", "key": "k", "value": "payload"})
        server.stop()

        assert not target.exists()
        assert files(tmp_path / "data") <= OURS | {
            f"{name}{end}" for name in ("kvConfig.json", "namesrv.properties") for end in ("", ".bak")
        }
        assert all(path.startswith("data/") for path in files(tmp_path))

    def test_f090_case_and_escapes_are_no_way_around(self, server: ServerProcess, tmp_path: Path) -> None:
        target = tmp_path / "elsewhere"
        assert update(server, f"\\u0063onfigStorePath={target}").code == NO_PERMISSION
        assert update(server, f"configstorepath={target}").code == SUCCESS  # an unknown key, dropped as in Java
        assert listing(server)["configStorePath"] == str(tmp_path / "data" / "namesrv.properties")


class TestF093:
    """The remaining keys could still be set by anybody to cripple the service."""

    def test_f093_strangers_are_refused_by_default(self, tmp_path: Path) -> None:
        with ServerProcess(tmp_path, "--set", "adminAllow=192.0.2.0/24") as server:
            before = listing(server)

            answer = update(server, "enableTopicList=false")

            assert answer.code == NO_PERMISSION
            assert "adminAllow" in (answer.remark or "")
            assert listing(server) == before

    @pytest.mark.parametrize("key", ["adminPolicy", "adminAllow"])
    def test_f093_who_may_ask_cannot_be_changed_by_asking(self, server: ServerProcess, key: str) -> None:
        assert update(server, f"{key}=open").code == NO_PERMISSION

    @pytest.mark.parametrize(
        "body",
        [
            "scanNotActiveBrokerInterval=31536000000",
            "scanNotActiveBrokerInterval=0",
            "waitSecondsForService=2147483647",
            "shutdownWaitTimeSeconds=2147483647",
            "serverWorkerThreads=0",
        ],
    )
    def test_f093_values_that_would_cripple_it_are_refused(self, server: ServerProcess, body: str) -> None:
        assert update(server, body).code == SYSTEM_ERROR

    def test_f093_service_is_as_good_after_any_accepted_change(self, server: ServerProcess) -> None:
        changes = (
            "defaultThreadPoolNums=1\nclientRequestThreadPoolNums=1",
            "defaultThreadPoolQueueCapacity=1\nclientRequestThreadPoolQueueCapacity=1",
            "unRegisterBrokerQueueCapacity=1\nserverWorkerThreads=1\nserverSelectorThreads=1",
            "scanNotActiveBrokerInterval=1",
            "listenPort=1\nbindAddress=192.0.2.1",
        )
        with Wire(server.address) as wire:
            assert register(wire, Broker(), TOPICS).code == SUCCESS
            for body in changes:
                assert update(server, body).code == SUCCESS
                began = time.monotonic()
                for _ in range(200):
                    assert wire.request(GET_ROUTEINFO_BY_TOPIC, {"topic": "T"}).code == SUCCESS
                assert time.monotonic() - began < 5.0, body


class TestF099:
    """Values kept their line breaks and landed in the file as lines of their own."""

    @pytest.mark.parametrize("value", ["a#b", "back\\slash at the end\\", "#", "a\\nlistenPort=1", "a !b:c"])
    def test_f099_after_a_restart_only_that_key_differs_and_its_value_is_identical(
        self, tmp_path: Path, value: str
    ) -> None:
        port = ("listenPort", "configStorePath")
        with ServerProcess(tmp_path) as server:
            before = listing(server)
            assert update(server, javaproperties.dumps({"productEnvName": value}, timestamp=False)).code == SUCCESS
        with ServerProcess(tmp_path) as again:
            after = listing(again)

        changed = {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)} - set(port)
        assert changed == {"productEnvName"}
        assert after["productEnvName"] == value
        saved = javaproperties.loads((tmp_path / "data" / "namesrv.properties").read_bytes())
        assert saved == {"productEnvName": value}

    @pytest.mark.parametrize("escape", ["\\n", "\\r", "\\u000a", "\\u0000", "\\u2028", "\\u001b"])
    def test_f099_control_characters_are_refused(self, server: ServerProcess, escape: str) -> None:
        answer = update(server, f"productEnvName=a{escape}listenPort=1")

        assert answer.code == SYSTEM_ERROR
        assert "control character" in (answer.remark or "")
        assert listing(server)["productEnvName"] == "center"
        assert files(server.folder / "data") <= OURS


class TestF136:
    """A Java file may ask for the embedded controller; ignoring it would leave a cluster without failover."""

    CONTROLLER = "controllerDLegerGroup=g\ncontrollerDLegerPeers=n0-127.0.0.1:9878\ncontrollerDLegerSelfId=n0\n"

    def test_f136_asking_for_it_ends_the_start(self, tmp_path: Path) -> None:
        file = tmp_path / "namesrv.properties"
        file.write_text(f"{self.CONTROLLER}enableControllerInNamesrv=true\n")

        result = run_command("namesrv", "-c", str(file), folder=tmp_path)

        assert result.returncode == 78
        assert f"{file}:4: enableControllerInNamesrv must be false" in result.stderr
        assert "no embedded controller" in result.stderr

    def test_f136_its_other_keys_are_accepted_and_named_as_without_effect(self, tmp_path: Path) -> None:
        file = tmp_path / "namesrv.properties"
        file.write_text(f"{self.CONTROLLER}enableControllerInNamesrv=false\n")

        result = run_command("namesrv", "--check-config", "-c", str(file), folder=tmp_path)

        assert result.returncode == 0
        assert "accepted, no effect: controllerDLegerGroup" in result.stdout

    def test_f136_it_cannot_be_asked_for_later(self, server: ServerProcess) -> None:
        answer = update(server, "enableControllerInNamesrv=true")

        assert answer.code == SYSTEM_ERROR
        assert "no embedded controller" in (answer.remark or "")

    def test_f136_its_requests_are_not_supported(self, server: ServerProcess) -> None:
        with contextlib.closing(Wire(server.address)) as wire:
            assert {wire.request(code).code for code in CONTROLLER_CODES} == {REQUEST_CODE_NOT_SUPPORTED}
