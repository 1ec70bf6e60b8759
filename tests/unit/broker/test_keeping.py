"""Tables are written one after the other, and marks after what they cover."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from cosmodrome.broker.keeping import Keeper
from cosmodrome.broker.kept_tables import KeptTables
from cosmodrome.errors import StorageError
from cosmodrome.store.config_files import DELAY_OFFSETS, TOPICS, ConfigFiles


class Files(KeptTables):
    """Notes what is written; fails as often as it is told."""

    def __init__(self, folder: Path) -> None:
        super().__init__(ConfigFiles(folder), lambda: 0)
        self.written: list[tuple[str, Any]] = []
        self.failures = 0

    def write(self, name: str, document: Mapping[str, Any]) -> None:
        if self.failures:
            self.failures -= 1
            raise StorageError("the disk of this test is full.")
        self.written.append((name, document["n"]))


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


async def test_a_mark_is_what_it_was_before_the_sync_that_covers_it(files: Files) -> None:
    number, covered = 1, asyncio.Event()
    keeper = Keeper(files, {DELAY_OFFSETS: lambda: {"n": number}, TOPICS: lambda: {"n": number}})

    async def wait() -> None:
        await covered.wait()

    keeper.covered = wait
    keeping = asyncio.create_task(keeper.keep(DELAY_OFFSETS))
    await keeper.keep(TOPICS)
    assert files.written == [(TOPICS, 1)]
    number = 2
    covered.set()
    await keeping
    assert files.written == [(TOPICS, 1), (DELAY_OFFSETS, 1)]


async def test_a_mark_whose_messages_are_not_on_disk_is_not_written(files: Files) -> None:
    async def fail() -> None:
        raise StorageError("the disk of this test is broken.")

    keeper = Keeper(files, {DELAY_OFFSETS: lambda: {"n": 1}})
    keeper.covered = fail
    with pytest.raises(StorageError):
        await keeper.keep(DELAY_OFFSETS)
    with pytest.raises(StorageError):
        await keeper.stop()
    assert files.written == []


async def test_many_changes_are_few_writes_and_the_last_one_is_there(files: Files) -> None:
    count = [0]
    keeper = Keeper(files, {TOPICS: lambda: {"n": count[0]}})
    for _ in range(100):
        count[0] += 1
        keeper.soon(TOPICS)
    async with asyncio.timeout(10):
        while True:
            if files.written and files.written[-1] == (TOPICS, 100):
                break
            await asyncio.sleep(0.01)
    assert len(files.written) <= 2
    await keeper.stop()


async def test_what_could_not_be_written_is_tried_again(files: Files) -> None:
    keeper = Keeper(files, {TOPICS: lambda: {"n": 7}})
    files.failures = 1
    keeper.soon(TOPICS)
    async with asyncio.timeout(10):
        while True:
            if files.written:
                break
            await asyncio.sleep(0.01)
    await keeper.stop()
    assert set(files.written) == {(TOPICS, 7)}
