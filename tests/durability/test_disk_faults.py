"""Each call to the system on the way to an answer fails once, or is the last one of the process or of the machine.

Afterwards the old or the new state is read, whole; the new one for certain if success was answered, the old one for
certain if a refusal was; and the next write succeeds once the disk does.
"""

import errno
import functools
import itertools
import logging
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
from tests.support.faulty_disk import FaultyDisk, Killed, after_power_cuts

from cosmodrome.durable_file import backup_path, replace_file
from cosmodrome.errors import ConfigError, StorageDoubtError, StorageError
from cosmodrome.namesrv.config_file import ConfigSources, Setting, load_config
from cosmodrome.namesrv.config_store import ConfigStore
from cosmodrome.namesrv.kv_config import KVConfigStore, encode_kv_file, load_kv_config
from cosmodrome.store.config_files import TOPICS, ConfigFiles

FAULTS: Final[dict[str, BaseException]] = {
    name: OSError(getattr(errno, name), os.strerror(getattr(errno, name)))
    for name in ("ENOSPC", "EIO", "EROFS", "EACCES")
}
FAULTS_AND_KILL: Final = FAULTS | {"SIGKILL": Killed()}
MOST_CALLS: Final = 25


@dataclass(frozen=True)
class Subject:
    """A file that is kept durable: how it is written and read, by a small number that is its whole state."""

    name: str
    write: Callable[[Path, int], object]
    read: Callable[[Path], int]


def write_kv(path: Path, number: int) -> None:
    replace_file(path, encode_kv_file({"N": {"k": str(number)}}))


def read_kv(path: Path) -> int:
    return int(load_kv_config(path, 7).get("N", "k") or 0)


def write_settings(path: Path, number: int) -> None:
    ConfigStore(path).save({"waitSecondsForService": str(number)})


def read_settings(path: Path) -> int:
    flags = [Setting("configStorePath", str(path), "--set")]
    loaded = load_config(ConfigSources(flags=flags))
    loaded.store.repair()
    return loaded.config.wait_seconds_for_service if loaded.path else 0


def tables_in(folder: Path) -> ConfigFiles:
    files = ConfigFiles(folder)
    files.folder = folder
    return files


def write_topics(path: Path, number: int) -> None:
    tables_in(path.parent).save(TOPICS, {"topicConfigTable": {"T": {"topicName": "T", "readQueueNums": number}}})


def read_topics(path: Path) -> int:
    found = tables_in(path.parent).load(TOPICS, 7).value
    return 0 if found is None else int(found["topicConfigTable"]["T"]["readQueueNums"])


SUBJECTS: Final = [
    Subject("kvConfig.json", write_kv, read_kv),
    Subject("namesrv.properties", write_settings, read_settings),
    Subject(TOPICS, write_topics, read_topics),
]


@pytest.fixture(params=SUBJECTS, ids=lambda subject: subject.name)
def subject(request: pytest.FixtureRequest) -> Subject:
    found: Subject = request.param
    return found


@pytest.fixture
def folders(tmp_path: Path) -> Iterator[Path]:
    """Give one new folder after the other."""
    return (tmp_path / str(number) for number in itertools.count())


def prepared(folder: Path, subject: Subject, writes: int) -> Path:
    path = folder / subject.name
    folder.mkdir()
    for number in range(1, writes + 1):
        subject.write(path, number)
    return path


def names(path: Path) -> set[str]:
    return {each.name for each in path.parent.iterdir()}


def hits(step: int, how_long: str) -> Callable[[int], bool]:
    """Give which calls fail: this one, or this one and all after it."""
    return lambda call: call == step or (call > step and how_long != "once")


def outcome_of(action: Callable[[], object]) -> str:
    try:
        action()
    except StorageDoubtError:
        return "doubt"
    except StorageError:
        return "refused"
    except Killed:
        return "killed"
    return "success"


MAY_BE_READ: Final = {
    "success": lambda old: {old + 1},
    "refused": lambda old: {old},
    "doubt": lambda old: {old, old + 1},
    "killed": lambda old: {old, old + 1},
}


@pytest.mark.parametrize("old", [0, 1, 2], ids=["first write", "second write", "third write"])
@pytest.mark.parametrize("how_long", ["once", "from then on"])
@pytest.mark.parametrize("fault", FAULTS_AND_KILL)
def test_any_call_fails(subject: Subject, folders: Iterator[Path], fault: str, how_long: str, old: int) -> None:
    outcomes = []
    for step in range(MOST_CALLS):
        path = prepared(next(folders), subject, old)
        disk = FaultyDisk(FAULTS_AND_KILL[fault], hits(step, how_long))
        with pytest.MonkeyPatch.context() as patches:
            disk.below(patches)
            outcome = outcome_of(functools.partial(subject.write, path, old + 1))
        outcomes.append(outcome)

        read = subject.read(path)
        assert read in MAY_BE_READ[outcome](old), (step, disk.calls)
        assert not any("damaged" in name for name in names(path)), (step, disk.calls)
        subject.write(path, 9)
        assert subject.read(path) == 9
        if outcome != "killed":  # what a killed process leaves is removed at the next start
            assert names(path) <= {subject.name, f"{subject.name}.bak"} or how_long != "once", (step, disk.calls)
        if len(disk.calls) <= step:
            break
    assert outcomes[-1] == "success"
    assert len(set(outcomes)) > 1
    assert len(outcomes) < MOST_CALLS


def test_a_power_cut_after_any_call(subject: Subject, folders: Iterator[Path]) -> None:
    """Without the sync of the file, or that of the folder before the answer, this fails."""
    for old in (0, 1, 2):
        path = prepared(next(folders), subject, old)
        before = {name: (path.parent / name).read_bytes() for name in names(path)}
        disk = FaultyDisk()
        with pytest.MonkeyPatch.context() as patches:
            disk.below(patches)
            subject.write(path, old + 1)

        seen = set()
        for count, state in after_power_cuts(path.parent, before, disk.calls):
            folder = next(folders)
            folder.mkdir()
            for name, data in state.items():
                (folder / name).write_bytes(data)
            read = subject.read(folder / subject.name)
            seen.add(read)
            assert read in ({old + 1} if count == len(disk.calls) else {old, old + 1}), (count, state, disk.calls)
            assert not list(folder.glob("*damaged*")), (count, state)
        assert seen == {old, old + 1}


def test_folders_that_were_made_are_synced_too(tmp_path: Path) -> None:
    disk = FaultyDisk()
    with pytest.MonkeyPatch.context() as patches:
        disk.below(patches)
        replace_file(tmp_path / "a" / "b" / "kvConfig.json", b"one")

    opened: dict[int, Path] = {}
    synced_after: dict[Path, set[Path]] = {}
    for name, arguments, result in disk.calls:
        if name == "mkdir":
            synced_after[Path(arguments[0])] = set()
        elif name == "open":
            opened[result] = Path(arguments[0])
        elif name == "fsync":
            for each in synced_after.values():
                each.add(opened[arguments[0]])
    assert set(synced_after) == {tmp_path / "a", tmp_path / "a" / "b"}
    assert all(folder.parent in synced for folder, synced in synced_after.items())


@pytest.mark.parametrize("how_long", ["once", "from then on"])
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("damaged", [b'{"configTable":{"N', b"", b"\0" * 100])
def test_a_damaged_file_on_a_failing_disk(
    folders: Iterator[Path], caplog: pytest.LogCaptureFixture, damaged: bytes, fault: str, how_long: str
) -> None:
    """The previous version is used whatever the disk does, one line says so, and nothing is lost."""
    for step in range(MOST_CALLS):
        path = next(folders) / "kvConfig.json"
        path.parent.mkdir()
        path.write_bytes(damaged)
        backup_path(path).write_bytes(encode_kv_file({"N": {"k": "1"}}))
        caplog.clear()
        disk = FaultyDisk(FAULTS[fault], hits(step, how_long))
        with pytest.MonkeyPatch.context() as patches:
            disk.below(patches)
            store = load_kv_config(path, 7)

        assert store.get("N", "k") == "1"
        [line] = [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR]
        assert f"KV file {path} was damaged" in line
        again = load_kv_config(path, 8)
        assert again.get("N", "k") == "1"
        store.repair()
        assert read_kv(path) == 1
        assert backup_path(path).read_bytes() == encode_kv_file({"N": {"k": "1"}})
        assert damaged in [each.read_bytes() for each in path.parent.glob("*.damaged-*")]
        if len(disk.calls) <= step:
            return
    pytest.fail("it never came to an end")


@pytest.mark.parametrize("step", range(MOST_CALLS))
def test_a_kill_while_a_damaged_file_is_put_right(tmp_path: Path, step: int) -> None:
    path = tmp_path / "kvConfig.json"
    path.write_bytes(b"{")
    backup_path(path).write_bytes(encode_kv_file({"N": {"k": "1"}}))
    with pytest.MonkeyPatch.context() as patches:
        FaultyDisk(Killed(), lambda call: call == step).below(patches)
        outcome_of(lambda: load_kv_config(path, 7))

    assert read_kv(path) == 1
    assert [each.read_bytes() for each in tmp_path.glob("*.damaged-*")] == [b"{"]


async def test_what_was_refused_is_not_visible_and_what_was_accepted_is(tmp_path: Path) -> None:
    """The same through the store, where memory and disk must agree. It writes in a thread of its own."""
    path = tmp_path / "kvConfig.json"
    store = KVConfigStore(path)
    value = 0
    for step in range(MOST_CALLS):
        with pytest.MonkeyPatch.context() as patches:
            _fail_in_all_threads(patches, step)
            try:
                await store.put("N", "k", str(value + 1))
                value += 1
            except StorageError:
                pass
        assert store.get("N", "k") == (str(value) if value else None)
        assert read_kv(path) == value
    assert value > 1


def _fail_in_all_threads(patches: pytest.MonkeyPatch, step: int) -> None:
    counter = itertools.count()
    for name in ("fsync", "link", "replace"):
        real = getattr(os, name)

        def call(*arguments: Any, real: Callable[..., Any] = real) -> Any:
            if next(counter) == step:
                raise FAULTS["EIO"]
            return real(*arguments)

        patches.setattr(os, name, call)


def test_settings_and_previous_version_both_damaged(tmp_path: Path) -> None:
    path = tmp_path / "namesrv.properties"
    path.write_bytes(b"a=\\uZZ")
    backup_path(path).write_bytes(b"\0\0")

    with pytest.raises(ConfigError, match="bad escape"):
        read_settings(path)
