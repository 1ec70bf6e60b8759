"""What an earlier run left is claimed, cleaned, put right and read, in this order."""

from pathlib import Path

import pytest
from tests.support.builders import config_in

from cosmodrome.errors import BindError, StorageError
from cosmodrome.namesrv.config_store import ConfigStore
from cosmodrome.namesrv.kv_config import encode_kv_file
from cosmodrome.namesrv.server import NameServer
from cosmodrome.namesrv.stored_files import StoredFiles

FILE = encode_kv_file({"N": {"k": "v"}})


def stored(folder: Path) -> StoredFiles:
    return StoredFiles(config_in(folder), ConfigStore(folder / "namesrv.properties"))


def test_leftovers_of_both_files_are_removed_before_anything_is_written(tmp_path: Path) -> None:
    (tmp_path / "kvConfig.json").write_bytes(FILE)
    for name in ("kvConfig.json.1.0123abcd.tmp", "kvConfig.json.bak.1.tmp", "namesrv.properties.1.0123abcd.tmp"):
        (tmp_path / name).write_bytes(b"half")

    files = stored(tmp_path)
    assert files.open(7).get("N", "k") == "v"
    files.close()

    assert [each.name for each in tmp_path.iterdir()] == ["kvConfig.json"]


@pytest.mark.parametrize("name", ["kvConfig.json", "namesrv.properties"])
def test_neither_file_may_be_another_servers(tmp_path: Path, name: str) -> None:
    first = stored(tmp_path)
    first.open(7)
    (tmp_path / "other").mkdir()
    link = tmp_path / "other" / name
    link.symlink_to(tmp_path / name)
    second = StoredFiles(config_in(tmp_path / "other"), ConfigStore(tmp_path / "other" / "namesrv.properties"))

    with pytest.raises(StorageError, match=f"{name} is in use by another server"):
        second.open(7)
    first.close()
    second.open(7)
    second.close()


def test_a_configuration_that_a_person_named_may_be_shared(tmp_path: Path) -> None:
    first, second = (
        StoredFiles(config_in(tmp_path / name), ConfigStore(tmp_path / "namesrv.properties", is_given=True))
        for name in ("a", "b")
    )
    first.open(7)
    second.open(7)
    first.close()
    second.close()


def test_without_saved_settings_there_is_the_kv_file(tmp_path: Path) -> None:
    files = StoredFiles(config_in(tmp_path), None)
    files.open(7)
    with pytest.raises(StorageError):
        stored(tmp_path).open(7)
    files.close()


def test_a_start_that_fails_claims_nothing(tmp_path: Path) -> None:
    (tmp_path / "kvConfig.json").write_bytes(b"{")
    with pytest.raises(StorageError, match="damaged"):
        stored(tmp_path).open(7)
    (tmp_path / "kvConfig.json").write_bytes(FILE)

    files = stored(tmp_path)
    assert files.open(7).get("N", "k") == "v"
    files.close()


async def test_a_server_gives_its_files_up_when_it_stops_or_cannot_listen(tmp_path: Path) -> None:
    first = NameServer(config_in(tmp_path))
    await first.start()
    port = int(first.address.rpartition(":")[2])
    other = NameServer(config_in(tmp_path / "other", listen_port=port))
    for _ in range(2):
        with pytest.raises(BindError, match="cannot listen"):
            await other.start()
    with pytest.raises(StorageError, match="in use"):
        await NameServer(config_in(tmp_path)).start()
    await first.stop()
    async with NameServer(config_in(tmp_path)), NameServer(config_in(tmp_path / "other")):
        pass
