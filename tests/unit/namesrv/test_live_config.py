"""The configuration in force, and how it is replaced."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from cosmodrome.errors import ConfigError, StorageError
from cosmodrome.namesrv.config import NamesrvConfig
from cosmodrome.namesrv.config_file import ConfigStore
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
