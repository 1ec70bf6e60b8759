"""What a killed server of ours leaves on disk, Apache's NameServer reads at its start.

Twenty kills in `./interop`; the full scale: `./interop tests/interop/test_durability.py --kills 200 -rP`.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.interop.conftest import DEFAULT_KILLS
from tests.interop.rig.jars import V4_9, V5_5
from tests.interop.rig.java import Console, JavaProgram
from tests.support.killing import KV_FILE, LONG_LIVED, KillCampaign, read_kv_file
from tests.support.peer import SUCCESS, Peer
from tests.support.server_process import ServerProcess

DIFFICULT = {"é 火 🚀": 'a"b\\c', "\t\n\u0001": "\u2028</script>", "${x}": "", "'": "=#!:", " ": " x "}


@dataclass(frozen=True)
class Survivors:
    """Copies of the files that each kill left, and how many kills that were."""

    folder: Path
    kills: int


@pytest.fixture(scope="module", params=[V5_5, V4_9])
def apache(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    """Apache's own classes of a release, reading files."""
    program = JavaProgram(release=request.param, main_class="StoredFiles", properties={"file.encoding": "UTF-8"})
    console = Console(program, tmp_path_factory.mktemp(f"stored-files-{request.param}"))
    console.start()
    yield console
    console.stop()


@pytest.fixture(scope="module")
def survivors(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Survivors:
    folder = tmp_path_factory.mktemp("killed")
    kills = int(pytestconfig.getoption("--kills", None) or DEFAULT_KILLS)
    print(KillCampaign(folder, survivors=folder / "survivors", seed=kills).run(kills))  # noqa: T201  # for -rP
    return Survivors(folder / "survivors", kills)


def read_by(apache: Console, kind: str, path: Path) -> Any:
    result = path.with_name(f"{path.name}.read-by-apache")
    result.unlink(missing_ok=True)
    output = apache.run(kind, str(path), str(result))
    assert result.exists(), f"{path} cannot be read:\n{output}"
    return json.loads(result.read_bytes())


def test_every_file_that_a_kill_left_is_read_alike(apache: Console, survivors: Survivors) -> None:
    files = sorted(path for path in survivors.folder.rglob("*") if path.name in LONG_LIVED)
    entries = 0
    for path in files:
        if path.name.startswith(KV_FILE):
            table = read_by(apache, "kv", path)
            assert table == read_kv_file(path), path
            entries += sum(map(len, table.values()))
        else:
            settings = read_by(apache, "settings", path)
            assert settings | properties_of(path) == settings, path
    print(f"{len(files)} files of {survivors.kills} kills read, {entries} entries in them, all alike")  # noqa: T201
    assert len(files) > survivors.kills
    assert entries > survivors.kills


def properties_of(path: Path) -> dict[str, str]:
    return dict(line.split("=", 1) for line in path.read_text(encoding="ascii").splitlines())


def test_apache_finds_a_damaged_file_when_there_is_one(apache: Console, tmp_path: Path) -> None:
    """Else the test above would show nothing."""
    (tmp_path / KV_FILE).write_text('{"configTable":{"N":{"k"')

    with pytest.raises(AssertionError, match="cannot be read"):
        read_by(apache, "kv", tmp_path / KV_FILE)


def test_difficult_texts_are_read_alike(apache: Console, tmp_path: Path) -> None:
    with ServerProcess(tmp_path) as server, Peer(server.address) as peer:
        for key, value in DIFFICULT.items():
            assert peer.put_kv("N 火", key, value).code == SUCCESS

    assert read_by(apache, "kv", tmp_path / "data" / KV_FILE) == {"N 火": DIFFICULT}
