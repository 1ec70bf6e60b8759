"""KVConfigStore, and its file in Java's format."""
# ruff: noqa: ASYNC240 -- the files of these tests are small

import asyncio
import json
import os
from pathlib import Path

import pytest

from cosmodrome.durable_file import backup_path
from cosmodrome.errors import MalformedBodyError, StorageError
from cosmodrome.namesrv.kv_config import KVConfigStore, check_kv_file, decode_kv_file, encode_kv_file, load_kv_config

FILE = b'{"configTable":{"ORDER_TOPIC_CONFIG":{"T1":"broker-a:4;broker-b:4"}}}'
TABLES = {"ORDER_TOPIC_CONFIG": {"T1": "broker-a:4;broker-b:4"}}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "kvConfig.json"


def write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def test_the_file_is_javas() -> None:
    assert encode_kv_file(TABLES) == FILE
    assert encode_kv_file({}) == b'{"configTable":{}}'
    assert decode_kv_file(FILE) == TABLES


@pytest.mark.parametrize(
    ("data", "tables"),
    [
        (b"", {}),
        (b" \n", {}),
        (b"{}", {}),
        (b"null", {}),
        (b'{"configTable":null}', {}),
        (b'{"configTable":{"N":null,"M":{}}}', {"M": {}}),
        (
            b'{"configTable":{"N":{"a":1,"b":true,"c":null,"d":{"x":[]}}}}',
            {"N": {"a": "1", "b": "true", "d": '{"x":[]}'}},
        ),
        (b"{configTable:{'N':{a:'1',},},}", {"N": {"a": "1"}}),
    ],
)
def test_what_is_read(data: bytes, tables: dict[str, dict[str, str]]) -> None:
    """Values that are not text become text, as in Java; nulls are left out."""
    assert decode_kv_file(data) == tables


@pytest.mark.parametrize("data", [b"{", b"[]", b"7", b'{"configTable":[1]}', b'{"configTable":{"N":7}}', b"x", b"{}x"])
def test_what_is_refused(data: bytes) -> None:
    with pytest.raises(MalformedBodyError):
        decode_kv_file(data)


async def test_entries_are_on_disk_before_they_are_acknowledged(path: Path) -> None:
    store = KVConfigStore(path)
    await store.put("N", "k", "v")
    assert json.loads(path.read_bytes()) == {"configTable": {"N": {"k": "v"}}}

    assert await store.delete("N", "k")
    assert json.loads(path.read_bytes()) == {"configTable": {"N": {}}}


async def test_reading(path: Path) -> None:
    """An emptied namespace is not one that never was."""
    store = KVConfigStore(path)
    await store.put("N", "k", "v")

    assert store.get("N", "k") == "v"
    assert store.get("N", "?") is store.get("?", "k") is store.get(None, "k") is store.get("N", None) is None
    assert store.table("N") == {"k": "v"}
    assert store.table("?") is store.table(None) is None
    await store.delete("N", "k")
    assert store.table("N") == {}


async def test_deleting_what_is_not_there_writes_nothing(path: Path) -> None:
    store = KVConfigStore(path)

    assert not await store.delete("N", "k")
    assert not path.exists()


async def test_a_table_that_was_read_does_not_change(path: Path) -> None:
    store = KVConfigStore(path)
    await store.put("N", "k", "v")
    table = store.table("N")
    await store.put("N", "k", "w")

    assert table == {"k": "v"}


async def test_what_cannot_be_written_is_not_visible(path: Path) -> None:
    store = KVConfigStore(path)
    await store.put("N", "k", "v")
    path.unlink()
    path.mkdir()

    with pytest.raises(StorageError):
        await store.put("N", "k", "w")
    with pytest.raises(StorageError):
        await store.delete("N", "k")
    assert store.get("N", "k") == "v"
    path.rmdir()
    await store.put("N", "k", "w")
    assert store.get("N", "k") == "w"


async def test_writes_at_the_same_time_are_all_kept(path: Path) -> None:
    store = KVConfigStore(path)

    await asyncio.gather(*(store.put("N", str(number), "v") for number in range(20)))

    table = store.table("N")
    assert table is not None
    assert len(table) == 20
    assert decode_kv_file(path.read_bytes()) == {"N": dict(table)}


async def test_loading(path: Path) -> None:
    write(path, FILE)
    store = load_kv_config(path, 7)

    assert store.get("ORDER_TOPIC_CONFIG", "T1") == "broker-a:4;broker-b:4"
    await store.put("N", "k", "v")
    assert decode_kv_file(path.read_bytes()) == TABLES | {"N": {"k": "v"}}
    assert backup_path(path).read_bytes() == FILE


async def test_no_file_is_no_entries(path: Path) -> None:
    assert load_kv_config(path, 7).table("N") is None
    write(path, b"")
    assert load_kv_config(path, 7).table("N") is None


async def test_a_damaged_file_is_set_aside_and_the_previous_version_used(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write(path, b'{"configTable":{"N"')
    write(backup_path(path), FILE)

    store = load_kv_config(path, 7)

    assert store.get("ORDER_TOPIC_CONFIG", "T1") is not None
    assert path.with_name("kvConfig.json.damaged-7").read_bytes() == b'{"configTable":{"N"'
    assert "was damaged" in caplog.text


@pytest.mark.parametrize("content", [b'{"configTable":{"N"', b"", b"  \n", None])
async def test_what_was_recovered_survives_the_next_restarts_and_writes(path: Path, content: bytes | None) -> None:
    """A file of no bytes is what a full disk or a power cut leaves most often."""
    write(backup_path(path), FILE)
    if content is not None:
        write(path, content)

    load_kv_config(path, 7)
    again = load_kv_config(path, 8)
    await again.put("N", "k", "v")

    for store in (again, load_kv_config(path, 9)):
        assert store.get("ORDER_TOPIC_CONFIG", "T1") is not None
        assert store.get("N", "k") == "v"


@pytest.mark.parametrize("backup", [None, b"", b"damaged too"])
async def test_a_damaged_file_without_previous_version_stops_the_start(path: Path, backup: bytes | None) -> None:
    write(path, b"damaged")
    if backup is not None:
        write(backup_path(path), backup)

    with pytest.raises(StorageError, match="is damaged") as caught:
        load_kv_config(path, 7)

    assert "repair it" in (caught.value.remedy or "")
    assert path.read_bytes() == b"damaged"


async def test_a_folder_in_its_place(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path.mkdir(parents=True)

    store = load_kv_config(path, 7)

    assert "is a folder" in caplog.text
    with pytest.raises(StorageError):
        await store.put("N", "k", "v")


async def test_a_pipe_in_its_place_is_not_waited_for(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path.parent.mkdir(parents=True)
    os.mkfifo(path)

    store = load_kv_config(path, 7)

    assert "is a device or a pipe" in caplog.text
    assert check_kv_file(path) == {}
    with pytest.raises(StorageError, match="a device or a pipe"):
        await store.put("N", "k", "v")


async def test_a_folder_in_the_place_of_the_previous_version(path: Path) -> None:
    backup_path(path).mkdir(parents=True)

    assert load_kv_config(path, 7).table("N") is None


async def test_what_a_link_leads_to_is_repaired(path: Path, tmp_path: Path) -> None:
    real = tmp_path / "volume" / "kv.json"
    write(real, b"{")
    write(real.with_name("kv.json.bak"), FILE)
    path.parent.mkdir()
    path.symlink_to(real)

    store = load_kv_config(path, 7)

    assert store.get("ORDER_TOPIC_CONFIG", "T1") is not None
    assert path.is_symlink()
    assert real.read_bytes() == FILE
    assert real.with_name("kv.json.damaged-7").read_bytes() == b"{"


async def test_a_file_that_cannot_be_read_stops_the_start(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Starting without its entries would lose them at the next write."""

    def refuse(_: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    write(path, FILE)
    monkeypatch.setattr(Path, "read_bytes", refuse)

    with pytest.raises(StorageError, match="Permission denied"):
        load_kv_config(path, 7)
