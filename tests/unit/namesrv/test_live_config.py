"""The configuration in force, and how it is replaced."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path

import pytest

from cosmodrome.errors import ConfigError, StorageError
from cosmodrome.namesrv.config import NamesrvConfig
from cosmodrome.namesrv.config_store import ConfigStore
from cosmodrome.namesrv.live_config import LiveConfig


@pytest.fixture
def config(tmp_path: Path) -> NamesrvConfig:
    return NamesrvConfig(data_dir=str(tmp_path))


async def test_a_change_is_in_force_and_told(config: NamesrvConfig) -> None:
    live = LiveConfig(config, None)
    told: list[NamesrvConfig] = []
    live.subscribe(told.append)

    change, overridden = await live.change({"supportActingMaster": "true"})

    assert live.current.support_acting_master
    assert not live.started_with.support_acting_master
    assert told == [live.current]
    assert (change.applied, overridden) == (("supportActingMaster",), ())


async def test_a_bad_change_changes_nothing(config: NamesrvConfig) -> None:
    live = LiveConfig(config, None)
    told: list[NamesrvConfig] = []
    live.subscribe(told.append)

    with pytest.raises(ConfigError):
        await live.change({"supportActingMaster": "true", "listenPort": "x"})
    assert live.current == config
    assert told == []


async def test_changes_are_saved(config: NamesrvConfig, tmp_path: Path) -> None:
    path = tmp_path / "namesrv.properties"
    live = LiveConfig(config, ConfigStore(path, {"supportActingMaster": "flag"}))

    _, overridden = await live.change({"supportActingMaster": "true", "noSuchKey": "1"})

    assert path.read_text() == "supportActingMaster=true\n"
    assert overridden == ("supportActingMaster",)
    await live.change({"noSuchKey": "2"})
    assert path.read_text() == "supportActingMaster=true\n"


async def test_what_cannot_be_saved_is_not_in_force(config: NamesrvConfig, tmp_path: Path) -> None:
    path = tmp_path / "namesrv.properties"
    path.mkdir()
    live = LiveConfig(config, ConfigStore(path, {}))
    texts: Mapping[str, str] = {"supportActingMaster": "true"}

    with pytest.raises(StorageError):
        await live.change(texts)
    assert live.current == config
    path.rmdir()
    await live.change(texts)
    assert live.current.support_acting_master


async def test_the_port_that_was_taken_is_shown_and_not_saved(config: NamesrvConfig, tmp_path: Path) -> None:
    live = LiveConfig(config, ConfigStore(tmp_path / "f.properties", {}))
    live.port_bound(4711)
    await live.change({"supportActingMaster": "true"})

    assert live.current.listen_port == 4711
    assert "4711" not in (tmp_path / "f.properties").read_text()


class TestReload:
    """`read` stands for files, environment and flags, read again."""

    async def test_what_can_change_does_and_the_rest_is_named(self, config: NamesrvConfig, tmp_path: Path) -> None:
        live = LiveConfig(config, None)
        told: list[NamesrvConfig] = []
        live.subscribe(told.append)
        read = dataclasses.replace(
            config,
            support_acting_master=True,
            server_socket_backlog=7,
            log_file="/x",
            client_request_thread_pool_nums=1,
        )

        applied, restart = await live.reload(lambda: (read, ConfigStore(tmp_path / "f")))

        assert applied == ("supportActingMaster",)
        assert restart == ("serverSocketBacklog", "logFile")
        assert told == [live.current]
        assert live.current.support_acting_master
        assert live.current.server_socket_backlog == 7, "shown already, as after a request"
        assert live.current.log_file == "", "of our own keys each shows what is in force"

    async def test_one_that_cannot_be_read_changes_nothing(self, config: NamesrvConfig) -> None:
        def refuse() -> tuple[NamesrvConfig, ConfigStore]:
            raise ConfigError("bad", keys=("listenPort",))

        live = LiveConfig(config, None)
        with pytest.raises(ConfigError):
            await live.reload(refuse)

        assert live.current == config

    @pytest.mark.parametrize(("configured", "shown"), [(0, 4711), (9876, 9876)])
    async def test_the_port_that_was_taken_stays_unless_another_is_asked_for(
        self, config: NamesrvConfig, tmp_path: Path, configured: int, shown: int
    ) -> None:
        live = LiveConfig(dataclasses.replace(config, listen_port=0), None)
        live.port_bound(4711)
        read = dataclasses.replace(config, listen_port=configured)

        _, restart = await live.reload(lambda: (read, ConfigStore(tmp_path / "f")))

        assert live.current.listen_port == shown
        assert restart == (("listenPort",) if configured else ())

    async def test_going_back_needs_no_restart(self, config: NamesrvConfig, tmp_path: Path) -> None:
        live = LiveConfig(config, None)
        store = ConfigStore(tmp_path / "f")
        await live.reload(lambda: (dataclasses.replace(config, server_socket_backlog=7), store))

        assert await live.reload(lambda: (config, store)) == ((), ())
        assert live.current == config

    async def test_a_file_that_was_taken_away_does_not_come_back_with_the_next_change(
        self, config: NamesrvConfig, tmp_path: Path
    ) -> None:
        path = tmp_path / "namesrv.properties"
        live = LiveConfig(config, ConfigStore(path))
        await live.change({"supportActingMaster": "true"})
        path.unlink()
        await live.reload(lambda: (config, ConfigStore(path)))
        await live.change({"orderMessageEnable": "true"})

        assert path.read_text() == "orderMessageEnable=true\n"
        assert not live.current.support_acting_master


async def test_where_a_value_stands(config: NamesrvConfig, tmp_path: Path) -> None:
    store = ConfigStore(tmp_path / "f")
    store.sources = {"listenPort": "f:3"}
    live = LiveConfig(config, store)
    await live.change({"enableTopicList": "false"})

    assert live.source("listenPort") == "f:3"
    assert live.source("enableTopicList") == str(tmp_path / "f")
    assert live.source("supportActingMaster") == "default"
    assert LiveConfig(config, None).source("listenPort") == "default"
