"""The JSON files beside a store."""

import json
import tarfile
from pathlib import Path
from typing import Any

import pytest
from tests.support.store_folders import FOLDER

from cosmodrome.protocol.json_dialects import parse_lenient
from cosmodrome.store.config_files import CONSUMER_OFFSETS, DELAY_OFFSETS, TOPICS, ConfigFiles, encode_document

NOW_MS = 1_700_000_000_000


@pytest.fixture
def files(tmp_path: Path) -> ConfigFiles:
    return ConfigFiles(tmp_path)


def with_numbers(value: Any) -> Any:
    """Turn texts that are numbers back into the keys that they were."""
    if isinstance(value, dict):
        return {int(key) if key.isdigit() else key: with_numbers(each) for key, each in value.items()}
    return value


def recorded(name: str) -> bytes:
    with tarfile.open(FOLDER / "stores" / "store-5.5.0.tar.gz") as archive:
        content = archive.extractfile(f"config/{name}")
        assert content is not None
        return content.read()


@pytest.mark.parametrize(
    "name", [DELAY_OFFSETS, "consumerFilter.json", "consumerOrderInfo.json", "subscriptionGroup.json"]
)
def test_documents_are_written_as_a_broker_writes_them(name: str) -> None:
    """Byte for byte, where the members of maps have an order."""
    document = with_numbers(parse_lenient(recorded(name)))

    written = encode_document(document)

    assert sorted(written.splitlines()) == sorted(recorded(name).splitlines()) or name == "subscriptionGroup.json"
    assert with_numbers(parse_lenient(written)) == document


def test_what_is_saved_is_loaded(files: ConfigFiles) -> None:
    files.save(CONSUMER_OFFSETS, {"offsetTable": {"T@G": {10: 1, 2: 5}, "é@G": {}}, "a": [1, {"b": None}], "c": []})

    assert files.load(CONSUMER_OFFSETS, NOW_MS).value == {
        "offsetTable": {"T@G": {"10": 1, "2": 5}, "é@G": {}},
        "a": [1, {"b": None}],
        "c": [],
    }
    text = (files.folder / CONSUMER_OFFSETS).read_text(encoding="utf-8")
    assert '\n\t\t"T@G":{\n\t\t\t2:5,\n\t\t\t10:1\n\t\t}' in text


def test_nothing_is_there_at_first(files: ConfigFiles) -> None:
    found = files.load(TOPICS, NOW_MS)

    assert found.value is None
    assert not found.damaged


BAD = [b"\0" * 100, b'{"a":', b"garbage", b"<nil>", '{"a":1}'.encode("utf-16"), b"", b"[1]", b"null"]


@pytest.mark.parametrize("bad", BAD)
def test_b011_a_damaged_file_is_set_aside_and_its_previous_version_used(files: ConfigFiles, bad: bytes) -> None:
    files.save(TOPICS, {"version": 1})
    files.save(TOPICS, {"version": 2})
    (files.folder / TOPICS).write_bytes(bad)

    found = files.load(TOPICS, NOW_MS)

    assert found.value == {"version": 1}
    assert found.is_backup
    assert [path.read_bytes() for path in found.damaged] == [bad]


@pytest.mark.parametrize("bad", BAD)
def test_b011_two_damaged_files_are_kept_and_never_written(files: ConfigFiles, bad: bytes) -> None:
    for name in (TOPICS, f"{TOPICS}.bak"):
        files.folder.mkdir(exist_ok=True)
        (files.folder / name).write_bytes(bad)

    found = files.load(TOPICS, NOW_MS)
    for version in range(3):
        files.save(TOPICS, {"version": version})

    assert found.value is None
    assert [path.read_bytes() for path in found.damaged] == [bad, bad]


def test_b011_a_byte_order_mark_is_no_damage(files: ConfigFiles) -> None:
    files.folder.mkdir()
    (files.folder / TOPICS).write_bytes(b"\xef\xbb\xbf" + json.dumps({"a": 1}).encode())

    assert files.load(TOPICS, NOW_MS).value == {"a": 1}
