"""Where configuration comes from, what is wrong in it and where."""

import logging
from pathlib import Path

import pytest

from cosmodrome.errors import ConfigError
from cosmodrome.namesrv.config_file import ConfigSources, LoadedConfig, Setting, load_config, load_usable


def load(file: Path | None = None, *, lenient: bool = False, **more: object) -> LoadedConfig:
    environment = more.get("environment", {})
    flags = more.get("flags", {})
    assert isinstance(environment, dict)
    assert isinstance(flags, dict)
    return load_config(
        ConfigSources(
            file=None if file is None else str(file),
            environment=environment,
            flags=[Setting(key, text, f"--{key}") for key, text in flags.items()],
            lenient=lenient,
        )
    )


def refusal(file: Path | None = None, **more: object) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        load(file, **more)  # type: ignore[arg-type]  # passed on as given
    return caught.value


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "namesrv.properties"


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


class TestPrecedence:
    def test_without_anything_there_are_defaults(self) -> None:
        loaded = load()

        assert loaded.config.listen_port == 9876
        assert loaded.sources == {}
        assert loaded.path is None
        assert loaded.notes == ()

    def test_a_flag_wins_over_the_environment_and_that_over_the_file(self, file: Path) -> None:
        file.write_text("listenPort=1\nwaitSecondsForService=1\nproductEnvName=file\n")
        environment = {"COSMODROME_LISTEN_PORT": "2", "COSMODROME_WAIT_SECONDS_FOR_SERVICE": "2"}

        loaded = load(file, environment=environment, flags={"listenPort": "3"})

        config = loaded.config
        assert (config.listen_port, config.wait_seconds_for_service, config.product_env_name) == (3, 2, "file")
        assert loaded.sources == {
            "listenPort": "--listenPort",
            "waitSecondsForService": "COSMODROME_WAIT_SECONDS_FOR_SERVICE",
            "productEnvName": f"{file}:3",
        }

    def test_what_the_file_says_in_vain_is_known(self, file: Path) -> None:
        """The same value twice is not in vain, however it is written."""
        file.write_text("listenPort=1\nlistenPort=2\nbindAddress=127.0.0.1\norderMessageEnable=TRUE\nhttp=off\n")
        found = load(
            file,
            flags={"listenPort": "3", "orderMessageEnable": "true"},
            environment={"COSMODROME_BIND_ADDRESS": "::1", "COSMODROME_CLUSTER_TEST": "true"},
        )

        assert found.store.outdone == {"listenPort": "--listenPort", "bindAddress": "COSMODROME_BIND_ADDRESS"}

    def test_the_file_given_is_where_changes_are_kept_whatever_it_says(self, file: Path) -> None:
        """As in Java, where -c replaces configStorePath."""
        file.write_text("configStorePath=/elsewhere\n")

        loaded = load(file)

        assert loaded.config.config_store_path == str(file)
        assert loaded.store.path == file
        assert [note.level for note in loaded.notes] == [logging.WARNING]
        assert "configStorePath has no effect" in loaded.notes[0].text

    def test_without_a_file_given_the_kept_changes_are_read(self, tmp_path: Path) -> None:
        kept = tmp_path / "data" / "namesrv.properties"
        kept.parent.mkdir()
        kept.write_text("orderMessageEnable=true\n")

        loaded = load(flags={"dataDir": str(kept.parent)})

        assert loaded.config.order_message_enable
        assert loaded.path == kept

    def test_the_path_of_kept_changes_can_be_set(self, tmp_path: Path) -> None:
        kept = tmp_path / "kept.toml"
        kept.write_text("orderMessageEnable = true\n")

        assert load(environment={"COSMODROME_CONFIG_STORE_PATH": str(kept)}).config.order_message_enable

    def test_java_s_variables_are_read_and_the_file_wins_over_them(self, file: Path) -> None:
        environment = {"ROCKETMQ_HOME": "/opt/rocketmq", "ROCKETMQ_SERIALIZE_TYPE": "ROCKETMQ"}
        file.write_text("rocketmqHome=/srv/rocketmq\n")

        loaded = load(file, environment=environment)

        assert loaded.config.rocketmq_home == "/srv/rocketmq"
        assert loaded.config.serialize_type.name == "ROCKETMQ"

    def test_java_s_variables_count_as_not_set_when_they_are_blank(self) -> None:
        assert load(environment={"ROCKETMQ_HOME": " ", "ROCKETMQ_SERIALIZE_TYPE": ""}).sources == {}

    def test_paths_follow_the_data_folder_of_any_source(self, file: Path) -> None:
        file.write_text("dataDir=/data\n")

        assert load(file).config.kv_config_path == "/data/kvConfig.json"


def test_what_can_be_used_of_a_wrong_configuration(file: Path) -> None:
    file.write_text("listenPort=many\nbindAddress=::1\nzork=1\nserverWorkerThreads=x\n")
    found = load_usable(ConfigSources(file=str(file), flags=[Setting("dataDir", "/d", "--data-dir")]))

    assert (found.config.bind_address, found.config.data_dir, found.config.listen_port) == ("::1", "/d", 9876)
    with pytest.raises(ConfigError, match="cannot read"):
        load_usable(ConfigSources(file=str(file.parent)))


class TestRefusals:
    def test_a_file_that_is_not_there(self, file: Path) -> None:
        error = refusal(file)

        assert error.what == f"cannot read {file}: No such file or directory."
        assert error.exit_code == 78

    def test_an_unknown_key_is_named_with_its_line_and_the_nearest_one(self, file: Path) -> None:
        file.write_text("\nscanNotActiveBrokerIntervall=1\n")

        assert refusal(file).render() == (
            f'error[NS-CONFIG]: {file}:2: unknown key "scanNotActiveBrokerIntervall".\n'
            "  do:  did you mean scanNotActiveBrokerInterval? To ignore unknown keys: --lenient"
        )

    def test_a_key_in_another_case_is_unknown(self, file: Path) -> None:
        file.write_text("LISTENPORT=1\n")

        assert "did you mean listenPort?" in str(refusal(file).remedy)

    def test_lenient_makes_unknown_keys_a_warning(self, file: Path) -> None:
        file.write_text("zork=1\nlistenport=2\n")

        loaded = load(file, lenient=True)

        assert loaded.config.listen_port == 9876
        assert [(note.level, note.text) for note in loaded.notes] == [
            (logging.WARNING, f'{file}:1: unknown key "zork" is ignored'),
            (logging.WARNING, f'{file}:2: unknown key "listenport" is ignored; did you mean listenPort?'),
        ]

    def test_lenient_does_not_excuse_a_bad_value(self, file: Path) -> None:
        file.write_text("listenPort=x\n")

        assert refusal(file, lenient=True).keys == ("listenPort",)

    def test_everything_that_is_wrong_is_named_at_once(self, file: Path) -> None:
        file.write_text("listenPort=12abc\nzork=1\nenableTopicList=yes\n")

        error = refusal(file, environment={"COSMODROME_LISTEN_PORT": "x"}, flags={"listenPort": "70000"})

        assert error.what.splitlines() == [
            "5 settings cannot be used:",
            '  COSMODROME_LISTEN_PORT: listenPort must be a whole number, not "x"',
            '  --listenPort: listenPort must be between 0 and 65535, not "70000"',
            f'  {file}:1: listenPort must be a whole number, not "12abc"',
            f'  {file}:2: unknown key "zork"',
            f'  {file}:3: enableTopicList must be true or false, not "yes"',
        ]

    def test_a_text_that_is_no_properties_text(self, file: Path) -> None:
        file.write_text("a=1\nb=\\uZZZZ\n")

        assert refusal(file).what == f"{file}: line 2: bad escape \\uZZZZ"

    def test_the_embedded_controller(self, file: Path) -> None:
        file.write_text("enableControllerInNamesrv=true\n")

        assert "there is no embedded controller here" in refusal(file).what

    def test_two_files_in_one(self, file: Path) -> None:
        file.write_text(f"kvConfigPath={file}\n")

        assert "are the same file" in refusal(file).what

    @pytest.mark.parametrize(
        ("flags", "said"),
        [
            ({"auditLog": "{}/kvConfig.json"}, "kvConfigPath and auditLog are the same file"),
            ({"auditLog": "{}/x", "logFile": "{}/x"}, "logFile and auditLog are the same file"),
            ({"pidFile": "{}/audit.jsonl"}, "pidFile and auditLog are the same file"),
            ({"auditLog": "{}/x", "aclFile": "{}/x"}, "auditLog and aclFile are the same file"),
            ({"logFile": "{}/x", "aclFile": "{}/x"}, "logFile and aclFile are the same file"),
            ({"kvConfigPath": "{}/audit.jsonl.3"}, "kvConfigPath is where a full file of auditLog is put"),
            ({"aclFile": "{}/audit.jsonl.10"}, "aclFile is where a full file of auditLog is put"),
            ({"logFile": "{}/x", "auditLog": "{}/x.2"}, "auditLog is where a full file of logFile is put"),
        ],
    )
    def test_a_file_that_another_would_destroy(self, tmp_path: Path, flags: dict[str, str], said: str) -> None:
        settings = {name: path.format(tmp_path) for name, path in flags.items()}

        assert said in refusal(flags={"dataDir": str(tmp_path)} | settings).what

    @pytest.mark.parametrize(
        "flags",
        [
            {"auditLog": "OFF", "logFile": "OFF"},
            {"kvConfigPath": "{}/audit.jsonl.11"},
            {"auditLog": "{}/x", "logFile": "{}/y", "aclFile": "{}/z"},
        ],
    )
    def test_files_that_have_nothing_to_do_with_each_other(self, tmp_path: Path, flags: dict[str, str]) -> None:
        settings = {name: path.format(tmp_path) for name, path in flags.items()}

        assert load(flags={"dataDir": str(tmp_path)} | settings).config.data_dir == str(tmp_path)


class TestEnvironment:
    def test_an_unknown_variable_is_named_with_the_nearest_one(self) -> None:
        error = refusal(environment={"COSMODROME_LISTENPORT": "1"})

        assert error.what == "unknown environment variable COSMODROME_LISTENPORT."
        assert "did you mean COSMODROME_LISTEN_PORT?" in str(error.remedy)

    def test_the_prefix_does_not_make_names_similar(self) -> None:
        assert "did you mean" not in str(refusal(environment={"COSMODROME_X": "1"}).remedy)

    @pytest.mark.parametrize(
        ("name", "text"),
        [
            ("COSMODROME_LOG_LEVEL", "debug"),
            ("COSMODROME_SERVICE_HOST", "10.96.0.10"),
            ("COSMODROME_SERVICE_PORT", "9876"),
            ("COSMODROME_NAMESRV_SERVICE_PORT_REMOTING", "9876"),
            ("COSMODROME_PORT", "tcp://10.96.0.10:9876"),
            ("COSMODROME_PORT_9876_TCP", "tcp://10.96.0.10:9876"),
            ("COSMODROME_PORT_9876_TCP_ADDR", "10.96.0.10"),
            ("NAMESRV_ADDR", "10.0.0.1:9876"),
        ],
    )
    def test_variables_that_are_not_about_keys_are_left_alone(self, name: str, text: str) -> None:
        """Kubernetes gives every pod variables named after the services of its namespace."""
        assert load(environment={name: text}).sources == {}


class TestNotes:
    def test_java_keys_without_effect_are_listed_once(self, file: Path) -> None:
        file.write_text("serverWorkerThreads=4\nuseTLS=false\ncontrollerStorePath=/c\nserverWorkerThreads=5\n")

        notes = load(file).notes

        assert notes[-1].text == "accepted, no effect: serverWorkerThreads, useTLS, controllerStorePath"
        assert notes[-1].level == logging.INFO

    def test_a_duplicate_is_told_with_both_lines(self, file: Path) -> None:
        file.write_text("listenPort=1\n\nlistenPort=2\n")

        loaded = load(file)

        assert loaded.config.listen_port == 2
        assert [note.text for note in loaded.notes] == [f"{file}:3: listenPort replaces that of line 1"]

    def test_kv_entries_of_a_java_name_server_are_not_left_behind_silently(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        java = tmp_path / "namesrv" / "kvConfig.json"
        java.parent.mkdir()
        java.write_text("{}")
        monkeypatch.setenv("HOME", str(tmp_path))

        assert [note.text for note in load().notes] == [
            f"KV entries of a Java NameServer in {java} are not read; to use them: --set kvConfigPath={java}"
        ]
        assert load(flags={"kvConfigPath": str(java)}).notes == ()


class TestToml:
    TEXT = """\
# ports
listenPort = 9886   # not the usual one
orderMessageEnable = true
adminAllow = ["10.0.0.0/8", "::1/128"]
"rocketmq.serialize.type" = "ROCKETMQ"

[com.rocketmq.remoting]
frameMaxLength = 1048576
"""

    @pytest.fixture
    def toml(self, tmp_path: Path) -> Path:
        file = tmp_path / "namesrv.toml"
        file.write_text(self.TEXT, encoding="utf-8")
        return file

    def test_keys_are_those_of_a_properties_file(self, toml: Path) -> None:
        config = load(toml).config

        assert config.listen_port == 9886
        assert config.order_message_enable
        assert list(map(str, config.admin_allow)) == ["10.0.0.0/8", "::1/128"]
        assert config.serialize_type.name == "ROCKETMQ"
        assert config.frame_max_length == 1_048_576

    @pytest.mark.parametrize(
        "line", ['adminPolicy = ["hardened"]', "listenPort = [9876]", 'auditLog = ["a"]', "brokerAuth = [true]"]
    )
    def test_a_list_is_no_single_value(self, tmp_path: Path, line: str) -> None:
        file = tmp_path / "bad.toml"
        file.write_text(f"\n{line}\n")

        key = line.partition(" ")[0]
        assert refusal(file).what == f"{file}:2: {key} must be one value, not a list."

    def test_places_have_lines(self, toml: Path) -> None:
        assert load(toml).sources["com.rocketmq.remoting.frameMaxLength"] == f"{toml}:8"

    def test_comments_and_other_lines_stay_when_a_change_is_kept(self, toml: Path) -> None:
        load(toml).store.save(
            {"listenPort": "9876", "com.rocketmq.remoting.frameMaxLength": "2048", "productEnvName": "007"}
        )

        text = toml.read_text()
        assert "listenPort = 9876   # not the usual one\n" in text
        assert "frameMaxLength = 2048\n" in text
        config = load(toml).config
        assert (config.listen_port, config.frame_max_length, config.product_env_name) == (9876, 2048, "007")
        kept = [line for line in self.TEXT.splitlines() if "Length" not in line and "Port" not in line]
        assert [line for line in kept if line not in text.splitlines()] == []

    def test_a_new_key_goes_above_the_tables_whatever_dots_it_has(self, toml: Path) -> None:
        load(toml).store.save({"clusterTest": "true", "rocketmq.namesrv.domain": "a.b", "com.x": "1"})

        head, _, _ = toml.read_text().partition("[com.rocketmq.remoting]")
        assert "clusterTest = true\n" in head
        assert '"rocketmq.namesrv.domain" = "a.b"\n' in head

    def test_a_byte_order_mark_is_no_fault(self, toml: Path) -> None:
        toml.write_bytes(b"\xef\xbb\xbf" + toml.read_bytes())
        load(toml).store.save({"listenPort": "1"})

        assert load(toml).config.listen_port == 1

    @pytest.mark.parametrize(("data", "what"), [(b"a = ", "not TOML"), (b"a = '\xe9'", "not UTF-8")])
    def test_what_is_not_toml_is_refused(self, tmp_path: Path, data: bytes, what: str) -> None:
        file = tmp_path / "bad.toml"
        file.write_bytes(data)

        assert what in refusal(file).what

    def test_an_unknown_key_is_named_with_its_line(self, tmp_path: Path) -> None:
        file = tmp_path / "bad.toml"
        file.write_text("\nzork = 1.5\n")

        assert refusal(file).what == f'{file}:2: unknown key "zork".'
