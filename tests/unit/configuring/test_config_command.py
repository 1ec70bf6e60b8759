"""`cosmodrome config` and `cosmodrome lint` as they are typed: what is printed, and how they end."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import click
import pytest

from cosmodrome.cli.admin import run
from cosmodrome.cli.config import config, lint
from cosmodrome.configuring.checking import check_file
from cosmodrome.configuring.described import Program, broker_keys, keys_of, namesrv_keys
from cosmodrome.configuring.initial import initial_text
from cosmodrome.namesrv import properties


class Ended(NamedTuple):
    """How a command ended, and what it said."""

    code: int
    out: str
    err: str


Cli = Callable[..., Ended]


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    """Give what runs `cosmodrome config WORDS`, or `lint`, in an empty folder and a clean environment."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    for name in ("NAMESRV_ADDR", "ROCKETMQ_NAMESRV_ADDR", "ROCKETMQ_HOME", "ROCKETMQ_SERIALIZE_TYPE"):
        monkeypatch.delenv(name, raising=False)

    def typed(*words: str, command: click.Command = config) -> Ended:
        with pytest.raises(SystemExit) as ended:
            run(command, words, f"cosmodrome {command.name}")
        said = capsys.readouterr()
        return Ended(int(ended.value.code or 0), said.out, said.err)

    return typed


class TestInit:
    """A first file says what there is, and changes nothing."""

    @pytest.mark.parametrize("name", ["a.properties", "a.toml"])
    def test_it_is_all_comments_and_good_when_they_are_taken_away(self, cli: Cli, tmp_path: Path, name: str) -> None:
        assert cli("init", name).code == 0
        text = (tmp_path / name).read_text()

        assert all(not line or line.startswith("#") for line in text.splitlines())
        assert check_file(name).faults == ()
        lines = [line[1:] for line in text.splitlines() if line.startswith("#") and not line.startswith(("# ", "#--"))]
        chosen = [line for line in lines if not line.endswith(("=", '= ""'))]
        (tmp_path / f"chosen-{name}").write_text("\n".join(chosen))
        assert len(chosen) > 15
        assert check_file(f"chosen-{name}", Program.NAMESRV).faults == ()

    def test_of_a_broker(self, cli: Cli, tmp_path: Path) -> None:
        ended = cli("init", "--broker")

        assert (ended.code, ended.out.splitlines()[0]) == (0, "written: broker.conf")
        keys = {
            each.lstrip("#").partition("=")[0]
            for each in (tmp_path / "broker.conf").read_text().splitlines()
            if "=" in each and not each.startswith("# ")
        }
        assert keys <= broker_keys().keys()
        assert {"brokerIP1", "flushDiskType", "configWatchSeconds"} <= keys
        assert cli("init", "x.toml", "--broker").code == 2

    def test_without_a_name_it_is_where_the_server_finds_it(self, cli: Cli, tmp_path: Path) -> None:
        ended = cli("init")

        path = tmp_path / "data" / "cosmodrome" / "namesrv" / "namesrv.properties"
        assert path.is_file()
        assert ended.out == f"written: {path}\n  use it   cosmodrome namesrv\n"

    def test_the_environment_tells_where_that_is(
        self, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("COSMODROME_DATA_DIR", str(tmp_path / "there"))

        assert cli("init").code == 0
        assert (tmp_path / "there" / "namesrv.properties").is_file()

    def test_it_replaces_nothing_unless_forced(self, cli: Cli, tmp_path: Path) -> None:
        (tmp_path / "a.properties").write_text("mine=1\n")

        refused = cli("init", "a.properties")
        assert (refused.code, refused.err.partition(":")[0]) == (71, "error[NS-STORAGE]")
        assert (tmp_path / "a.properties").read_text() == "mine=1\n"
        assert cli("init", "a.properties", "--force").code == 0
        assert (tmp_path / "a.properties.bak").read_text() == "mine=1\n"

    @pytest.mark.parametrize("program", Program)
    def test_keys_exist(self, program: Program) -> None:
        named = [each.key for each in properties.parse(initial_text(program, is_toml=False).replace("\n#", "\n"))]

        assert set(named) & keys_of(program).keys()


class TestExplain:
    """All that is known of a key."""

    def test_a_key_of_both_programs(self, cli: Cli) -> None:
        out = cli("explain", "listenPort").out

        assert "listenPort (NameServer)\n  value     9876\n  source    default\n" in out
        assert "listenPort (broker)\n  value     10911\n" in out
        assert "variable  COSMODROME_LISTEN_PORT" in out

    def test_the_value_and_its_source(self, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "a.properties").write_text("\nlistenPort=1\norderMessageEnable=true\n")
        monkeypatch.setenv("COSMODROME_LISTEN_PORT", "2")

        port = json.loads(cli("explain", "listenPort", "-c", "a.properties", "-o", "json").out)["keys"][0]
        order = json.loads(cli("explain", "orderMessageEnable", "-c", "a.properties", "-o", "json").out)["keys"][0]

        assert (port["value"], port["source"]) == ("2", "COSMODROME_LISTEN_PORT")
        assert (order["value"], order["source"], order["is_live"]) == ("true", "a.properties:3", True)

    def test_of_a_broker_file(self, cli: Cli, tmp_path: Path) -> None:
        (tmp_path / "broker.conf").write_text("brokerName=a\ninSyncReplicas=2\n")

        assert "value     2\n  source    broker.conf:2" in cli("explain", "inSyncReplicas", "-c", "broker.conf").out

    @pytest.mark.parametrize(
        ("key", "said"),
        [
            ("scanNotActiveBrokerIntervall", "did you mean scanNotActiveBrokerInterval?"),
            ("brokerip1", "did you mean brokerIP1?"),
            ("useTLS", "without effect here"),
            ("popConsumerKVServiceEnable", "it is a boolean, in 5.5.0"),
            ("zzz", "config show has all of them"),
        ],
    )
    def test_a_key_that_is_not_here(self, cli: Cli, key: str, said: str) -> None:
        ended = cli("explain", key)

        assert ended.code == 66
        assert said in ended.err

    def test_every_key_can_be_explained(self) -> None:
        for key in (*namesrv_keys().values(), *broker_keys().values()):
            assert key.meaning, key.name
            assert key.type, key.name


class TestShow:
    """What a start would use."""

    def test_of_files_environment_and_flags(self, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "a.properties").write_text("listenPort=1\nscanNotActiveBrokerInterval=6000\n")
        monkeypatch.setenv("COSMODROME_SCAN_NOT_ACTIVE_BROKER_INTERVAL", "7000")

        ended = cli("show", "-c", "a.properties", "--set", "bindAddress=127.0.0.1", "-o", "json")

        shown = {each["key"]: (each["value"], each["source"]) for each in json.loads(ended.out)["settings"]}
        assert shown["listenPort"] == ("1", "a.properties:1")
        assert shown["scanNotActiveBrokerInterval"] == ("7000", "COSMODROME_SCAN_NOT_ACTIVE_BROKER_INTERVAL")
        assert shown["bindAddress"] == ("127.0.0.1", "--set")
        assert shown["enableTopicList"] == ("true", "default")
        assert shown["configStorePath"] == ("a.properties", "-c")

    def test_columns_are_aligned(self, cli: Cli) -> None:
        lines = cli("show").out.splitlines()

        column = lines[0].index("#Source")
        assert all(line[column - 1] == " " and line[column] != " " for line in lines)

    def test_of_a_broker(self, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "broker.conf").write_text('brokerName=a\ninitAuthenticationUser={"secret":1}\n')
        monkeypatch.setenv("NAMESRV_ADDR", "10.0.0.1:9876")

        ended = cli("show", "-c", "broker.conf", "-o", "ndjson")

        shown = {each["key"]: each for each in map(json.loads, ended.out.splitlines())}
        assert shown["namesrvAddr"]["source"] == "NAMESRV_ADDR"
        assert shown["brokerName"]["source"] == "broker.conf:1"
        assert shown["storePathRootDir"]["value"] == "~/store"
        assert "secret" not in ended.out

    def test_what_cannot_be_started_with_is_told_by_line(self, cli: Cli, tmp_path: Path) -> None:
        (tmp_path / "broker.conf").write_text("brokerName=a\nbrokerIp1=x\nmaxMessageSize=4M\n")

        ended = cli("show", "-c", "broker.conf")

        assert ended.code == 78
        assert 'broker.conf:2: unknown key "brokerIp1" (did you mean brokerIP1?)' in ended.err
        assert "broker.conf:3: maxMessageSize" in ended.err

    @pytest.mark.parametrize("words", [("--set", "x"), ("--nonsense",)])
    def test_wrong_usage(self, cli: Cli, words: tuple[str, ...]) -> None:
        assert cli("show", *words).code == 2


class TestCheck:
    """Files, line by line."""

    def test_good_and_bad_ones(self, cli: Cli, tmp_path: Path) -> None:
        (tmp_path / "a.properties").write_text("listenPort=1\nlistenPort=2\n")
        (tmp_path / "broker.conf").write_text("brokerName=a\nbrokerIp1=x\n")

        ended = cli("check", "a.properties", "broker.conf")

        assert ended.code == 1
        assert ended.out.splitlines() == [
            "a.properties:2: listenPort replaces that of line 1",
            "a.properties: configuration OK (fits both; checked as NameServer: --kind broker for the other)",
            'broker.conf:2: error unknown key "brokerIp1" (did you mean brokerIP1?)',
            "broker.conf: 1 wrong (broker)",
        ]
        assert cli("check", "a.properties").code == 0

    def test_as_json(self, cli: Cli, tmp_path: Path) -> None:
        (tmp_path / "broker.conf").write_text("brokerName=a\nbrokerIp1=x\n")

        (file,) = json.loads(cli("check", "broker.conf", "-o", "json").out)["files"]

        assert (file["ok"], file["program"]) == (False, "broker")
        assert file["faults"] == [
            {"line": 2, "key": "brokerIp1", "text": 'unknown key "brokerIp1"', "did_you_mean": "brokerIP1"}
        ]

    def test_a_file_is_what_it_is_said_to_be(self, cli: Cli, tmp_path: Path) -> None:
        (tmp_path / "x").write_text("listenPort=1\nbrokerName=a\n")

        assert cli("check", "x").code == 0
        assert cli("check", "x", "--kind", "namesrv").code == 1


class TestSetInAFile:
    """Only that line is touched."""

    @pytest.mark.parametrize(
        "case",
        [
            (
                "a.properties",
                "# c\r\nlistenPort = 1\r\nx\\ y=1\r\n",
                "listenPort",
                "2",
                "# c\r\nlistenPort=2\r\nx\\ y=1\r\n",
            ),
            ("a.properties", "kvConfigPath=/a", "listenPort", "2", "kvConfigPath=/a\nlistenPort=2\n"),
            ("a.toml", "listenPort = 1  # c\n", "listenPort", "2", "listenPort = 2 # c\n"),
            (
                "broker.conf",
                "brokerName=a\n# c\nfileReservedTime=1\n",
                "fileReservedTime",
                "48",
                "brokerName=a\n# c\nfileReservedTime=48\n",
            ),
        ],
    )
    def test_one_setting(self, cli: Cli, tmp_path: Path, case: tuple[str, str, str, str, str]) -> None:
        name, text, key, value, after = case
        path = tmp_path / name
        path.write_bytes(text.encode())

        assert cli("set", key, value, "--file", name).code == 0

        assert path.read_bytes().decode().replace("  #", " #") == after
        assert (tmp_path / f"{name}.bak").read_bytes().decode() == text

    @pytest.mark.parametrize(
        "case",
        [
            ("listenPrt", "1", 66, "did you mean listenPort?"),
            ("listenPort", "x", 78, "listenPort must be a whole number"),
            ("listenPort", "65536", 78, "between 0 and 65535"),
            ("enableControllerInNamesrv", "true", 78, "must be false"),
        ],
    )
    def test_a_bad_one_changes_nothing(self, cli: Cli, tmp_path: Path, case: tuple[str, str, int, str]) -> None:
        key, value, code, said = case
        path = tmp_path / "a.properties"
        path.write_text("listenPort=1\n")

        ended = cli("set", key, value, "--file", "a.properties")

        assert ended.code == code
        assert said in ended.err
        assert path.read_text() == "listenPort=1\n"
        assert [each.name for each in tmp_path.iterdir()] == ["a.properties"]

    def test_one_that_is_there_already_is_not_written(self, cli: Cli, tmp_path: Path) -> None:
        (tmp_path / "a.properties").write_text("listenPort=1\n")

        ended = cli("set", "listenPort", "1", "--file", "a.properties", "-o", "json")

        assert not json.loads(ended.out)["is_changed"]
        assert not (tmp_path / "a.properties.bak").exists()

    def test_a_file_that_is_not_there(self, cli: Cli) -> None:
        assert cli("set", "listenPort", "1", "--file", "a.properties").code == 78


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("fileReservedTim", "24", "-b", "127.0.0.1:1"), 66, "did you mean fileReservedTime?"),
        (("listenPrt", "24", "-n", "127.0.0.1:1"), 66, "did you mean listenPort?"),
        (("listenPort", "x", "-n", "127.0.0.1:1"), 78, "must be a whole number"),
        (("listenPort", "1", "-n", "127.0.0.1:1", "--timeout", "0"), 2, "--timeout"),
    ],
)
def test_what_cannot_be_set_is_asked_of_nobody(cli: Cli, words: tuple[str, ...], code: int, said: str) -> None:
    ended = cli("set", *words)

    assert ended.code == code
    assert said in ended.err


class TestImport:
    """Files made for Java."""

    def test_the_report_and_the_new_file(self, cli: Cli, tmp_path: Path) -> None:
        (tmp_path / "old.properties").write_text("listenPort=9999\norderMessageEnable=yes\nbogus=1\n")

        ended = cli("import", "old.properties", "-O", "new.properties")

        assert ended.code == 0
        assert ended.out.splitlines()[0] == "old.properties: 1 honoured, 1 changed, 1 ignored"
        assert "     2 orderMessageEnable=yes  ->  orderMessageEnable=false" in ended.out
        assert "note: kvConfigPath: Java keeps KV entries in ~/namesrv/kvConfig.json" in ended.out
        assert cli("check", "new.properties").code == 0
        assert cli("import", "old.properties", "-O", "new.properties").code == 71

    def test_into_toml(self, cli: Cli, tmp_path: Path) -> None:
        (tmp_path / "old.properties").write_text("listenPort=9999\nbogus=1\nenableTopicList=false\n")

        assert cli("import", "old.properties", "-O", "new.toml").code == 0
        assert (tmp_path / "new.toml").read_text() == "listenPort = 9999\nenableTopicList = false\n"

    def test_a_slave_cannot_be_had(self, cli: Cli, tmp_path: Path) -> None:
        (tmp_path / "broker.conf").write_text("brokerName=a\nbrokerId=1\nbrokerRole=SLAVE\n")

        ended = cli("import", "broker.conf", "-O", "new.conf", "-o", "json")

        report = json.loads(ended.out)
        assert (ended.code, report["written"]) == (1, None)
        assert [each["fate"] for each in report["keys"]] == ["honoured", "refused", "refused"]
        assert not (tmp_path / "new.conf").exists()


class TestLint:
    """The command."""

    def test_it_ends_with_1_for_errors_only(self, cli: Cli, tmp_path: Path) -> None:
        (tmp_path / "good.conf").write_text(
            "brokerName=a\nnamesrvAddr=10.0.0.1:9876,10.0.0.2:9876\nbrokerIP1=10.0.0.3\n"
        )
        (tmp_path / "bad.conf").write_text("brokerName=b\nbrokerIP1=172.17.0.2\n")

        good, bad = cli("good.conf", command=lint), cli("good.conf", "bad.conf", "-o", "json", command=lint)

        assert good.code == 0
        assert "good.conf:2: warning namesrvAddr uses ','" in good.out
        assert bad.code == 1
        found = [each for each in json.loads(bad.out)["findings"] if each["severity"] == "error"]
        assert [(each["file"], each["line"], each["key"]) for each in found] == [("bad.conf", 2, "brokerIP1")]


class TestWhoseFile:
    """`config check` says whose settings it looked at, and that it could not know."""

    @pytest.mark.parametrize(
        ("words", "text", "said"),
        [
            (("init", "x.properties", "--broker"), None, "configuration OK (broker)"),
            (("init", "x.properties"), None, "configuration OK (NameServer)"),
            (
                (),
                "bindAddress=127.0.0.1\nlistenPort=9876\n",
                "configuration OK (fits both; checked as NameServer: --kind broker for the other)",
            ),
        ],
    )
    def test_a_file_with_the_keys_of_both(
        self, cli: Cli, tmp_path: Path, words: tuple[str, ...], text: str | None, said: str
    ) -> None:
        if text is None:
            assert cli(*words).code == 0
        else:
            (tmp_path / "x.properties").write_text(text)

        assert cli("check", "x.properties").out == f"x.properties: {said}\n"
        assert json.loads(cli("check", "x.properties", "-o", "json").out)["files"][0]["fits_both"] is (text is not None)
        assert cli("check", "x.properties", "--kind", "broker").out == "x.properties: configuration OK (broker)\n"

    def test_a_note_of_all_files_is_one_line(self, cli: Cli, tmp_path: Path) -> None:
        for name in "abc":
            text = f"brokerName={name}\nlistenPort=1{ord(name)}00\nstorePathRootDir={tmp_path}/{name}\n"
            (tmp_path / f"{name}.conf").write_text(f"{text}rocketmq.namesrv.domain=x\n")

        out = cli("a.conf", "b.conf", "c.conf", command=lint).out
        rows = json.loads(cli("a.conf", "b.conf", "c.conf", "-o", "json", command=lint).out)["findings"]

        assert out.count("rocketmq.namesrv.domain is a Java system property") == 1
        assert "all 3 files: note rocketmq.namesrv.domain" in out
        assert [each["file"] for each in rows if each["key"] == "rocketmq.namesrv.domain"] == [
            "a.conf",
            "b.conf",
            "c.conf",
        ]
