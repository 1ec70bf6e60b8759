"""The file that keeps changed settings: changed by key, put right when damaged."""

import os
from pathlib import Path

import pytest

from cosmodrome.durable_file import backup_path, stamp_of
from cosmodrome.errors import ConfigError, StorageError
from cosmodrome.namesrv.config_file import ConfigSources, LoadedConfig, Setting, load_config
from cosmodrome.namesrv.config_store import ConfigStore, previous_version

SAVED = b"orderMessageEnable=true\n"
DAMAGED = [b"", b" \n", b"\0" * 4096, b"orderMessageEnable=true\n\0\0\0", b"productEnvName=\\uZZ"]


def load(file: Path | None = None, **flags: str) -> LoadedConfig:
    settings = [Setting(key, text, f"--{key}") for key, text in flags.items()]
    return load_config(ConfigSources(file=None if file is None else str(file), flags=settings))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "namesrv.properties"


class TestStore:
    def test_only_changed_lines_differ(self, file: Path) -> None:
        file.write_bytes("# caf\xe9\r\nlistenPort = 9876\r\norderMessageEnable=false\r\n".encode("iso-8859-1"))

        overridden = load(file).store.save({"orderMessageEnable": "true", "productEnvName": "火"})

        assert overridden == ()
        assert file.read_bytes() == (
            "# caf\xe9\r\nlistenPort = 9876\r\norderMessageEnable=true\r\nproductEnvName=\\u706b\r\n"
        ).encode("iso-8859-1")

    def test_what_came_from_elsewhere_is_not_frozen_into_the_file(self, tmp_path: Path) -> None:
        """Java writes every value, listenPort and paths included."""
        flags = {"listenPort": "1234", "dataDir": str(tmp_path)}
        load(None, **flags).store.save({"orderMessageEnable": "true"})

        assert (tmp_path / "namesrv.properties").read_text() == "orderMessageEnable=true\n"
        again = load(None, **flags | {"listenPort": "4321"})
        assert again.config.order_message_enable
        assert again.config.listen_port == 4321

    def test_keys_that_will_be_overridden_are_told(self, file: Path) -> None:
        file.write_text("")
        environment, flags = {"COSMODROME_LISTEN_PORT": "1"}, [Setting("productEnvName", "a", "--set")]
        loaded = load_config(ConfigSources(file=str(file), environment=environment, flags=flags))

        changes = {"listenPort": "2", "productEnvName": "b", "clusterTest": "true"}
        assert loaded.store.save(changes) == ("listenPort", "productEnvName")

    def test_the_previous_content_stays_beside_it(self, file: Path) -> None:
        file.write_text("listenPort=1\n")

        ConfigStore(file).save({"listenPort": "2"})

        assert file.with_name(f"{file.name}.bak").read_text() == "listenPort=1\n"

    def test_a_link_still_leads_to_the_file(self, tmp_path: Path) -> None:
        real = tmp_path / "real.properties"
        real.write_text("listenPort=1\n")
        link = tmp_path / "link.properties"
        link.symlink_to(real)

        ConfigStore(link).save({"listenPort": "2"})

        assert link.is_symlink()
        assert real.read_text() == "listenPort=2\n"

    def test_a_file_that_someone_broke_is_left_alone(self, file: Path) -> None:
        file.write_text("a=\\uZZZZ\n")

        with pytest.raises(StorageError, match="bad escape"):
            ConfigStore(file).save({"listenPort": "2"})

        assert file.read_text() == "a=\\uZZZZ\n"

    def test_a_folder_in_the_way_is_a_storage_error(self, tmp_path: Path) -> None:
        with pytest.raises(StorageError, match="cannot read"):
            ConfigStore(tmp_path).save({"listenPort": "2"})

    def test_a_folder_that_cannot_be_made_is_a_storage_error(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")

        with pytest.raises(StorageError):
            ConfigStore(tmp_path / "file" / "namesrv.properties").save({"listenPort": "2"})

        assert [entry.name for entry in tmp_path.iterdir()] == ["file"]

    def test_a_file_that_is_gone_is_written_as_it_was(self, file: Path) -> None:
        """What was acknowledged before stays acknowledged."""
        file.write_text("# mine\nlistenPort=1\n")
        store = load(file).store
        store.save({"productEnvName": "a"})
        for each in file.parent.iterdir():
            each.unlink()

        store.save({"orderMessageEnable": "true"})

        assert file.read_text() == "# mine\nlistenPort=1\nproductEnvName=a\norderMessageEnable=true\n"

    def test_what_a_person_changed_meanwhile_stays(self, file: Path) -> None:
        file.write_text("listenPort=1\n")
        store = load(file).store
        file.write_text("listenPort=2\n")

        store.save({"orderMessageEnable": "true"})

        assert file.read_text() == "listenPort=2\norderMessageEnable=true\n"

    def test_a_pipe_is_not_waited_for(self, file: Path) -> None:
        os.mkfifo(file)

        with pytest.raises(StorageError, match="a folder, a device or a pipe"):
            ConfigStore(file).save({"listenPort": "2"})


class TestDamage:
    """Saved settings that no person wrote: what a full disk or a power cut leaves."""

    @pytest.mark.parametrize("data", DAMAGED)
    def test_the_previous_version_is_used_and_one_note_says_so(self, tmp_path: Path, file: Path, data: bytes) -> None:
        file.write_bytes(data)
        backup_path(file).write_bytes(SAVED)

        loaded = load(dataDir=str(tmp_path))

        assert loaded.config.order_message_enable
        [note] = loaded.notes
        assert str(file) in note.text
        assert f"the previous version {backup_path(file)} is used" in note.text
        assert file.read_bytes() == data, "reading changes nothing"

        loaded.store.repair()

        assert (file.read_bytes(), backup_path(file).read_bytes()) == (SAVED, SAVED)
        [aside] = tmp_path.glob("namesrv.properties.damaged-*")
        assert aside.read_bytes() == data
        assert str(aside) in note.text
        again = load(dataDir=str(tmp_path))
        assert again.config.order_message_enable
        assert again.notes == ()

    @pytest.mark.parametrize("data", DAMAGED)
    def test_the_next_change_repairs_what_could_not_be_repaired_before(
        self, tmp_path: Path, file: Path, data: bytes, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        file.write_bytes(data)
        backup_path(file).write_bytes(SAVED)
        store = load(dataDir=str(tmp_path)).store

        def refuse(*_: object) -> None:
            raise OSError(30, "Read-only file system")

        with monkeypatch.context() as disk:
            disk.setattr("os.replace", refuse)
            with pytest.raises(StorageError, match="Read-only file system"):
                store.repair()
            assert file.read_bytes() == data
        store.save({"productEnvName": "a"})

        assert file.read_bytes() == SAVED + b"productEnvName=a\n"
        assert backup_path(file).read_bytes() == SAVED
        [aside] = tmp_path.glob("namesrv.properties.damaged-*")
        assert aside.read_bytes() == data

    @pytest.mark.parametrize("previous", [None, b"", b"\0\0", b"a=\\uZZ"])
    def test_without_a_good_previous_version_the_file_counts(
        self, tmp_path: Path, file: Path, previous: bytes | None
    ) -> None:
        file.write_bytes(b"productEnvName=\\uZZ")
        if previous is not None:
            backup_path(file).write_bytes(previous)

        with pytest.raises(ConfigError, match="bad escape"):
            load(dataDir=str(tmp_path))

    def test_a_file_that_a_person_named_is_never_replaced(self, file: Path) -> None:
        file.write_bytes(b"productEnvName=\\uZZ")
        backup_path(file).write_bytes(SAVED)

        with pytest.raises(ConfigError, match="bad escape"):
            load(file)

    def test_a_deleted_file_means_the_defaults(self, tmp_path: Path, file: Path) -> None:
        """That is how a person goes back to them; no crash of ours leaves no file."""
        backup_path(file).write_bytes(SAVED)

        loaded = load(dataDir=str(tmp_path))

        assert not loaded.config.order_message_enable
        assert loaded.notes == ()

    def test_a_mistake_of_a_person_is_no_damage(self, tmp_path: Path, file: Path) -> None:
        file.write_text("zork=1\n")
        backup_path(file).write_bytes(SAVED)

        assert previous_version(file, file.read_bytes()) is None
        with pytest.raises(ConfigError, match="unknown key"):
            load(dataDir=str(tmp_path))

    def test_toml(self, tmp_path: Path) -> None:
        file = tmp_path / "saved.toml"
        backup_path(file).write_text("orderMessageEnable = true\n")

        assert previous_version(file, b"orderMessageEnable = tr") is not None
        assert previous_version(file, b"orderMessageEnable = false") is None


def test_what_was_written_here_is_told_from_what_others_write(tmp_path: Path) -> None:
    path = tmp_path / "a.properties"
    store = ConfigStore(path)
    assert not store.is_ours(path, stamp_of(path)), "nothing was written"
    store.save({"a": "1"})
    assert store.is_ours(path, stamp_of(path))
    assert not store.is_ours(tmp_path / "b", stamp_of(path))
    path.write_text("a=22\n")

    assert not store.is_ours(path, stamp_of(path))


def test_a_key_that_was_saved_stands_in_the_file(tmp_path: Path) -> None:
    store = ConfigStore(tmp_path / "a.properties")
    store.sources = {"a": "--set", "b": "COSMODROME_B"}
    store.save({"a": "1"})

    assert store.sources == {"a": str(store.path), "b": "COSMODROME_B"}
