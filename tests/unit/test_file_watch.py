"""When a change of a file counts."""

import os
from pathlib import Path

import pytest

from cosmodrome.cli.file_watch import FileWatch
from cosmodrome.durable_file import Stamp, replace_file, stamp_of


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "a"
    path.write_text("1")
    return path


def test_a_file_counts_once_it_rests(path: Path) -> None:
    watch = FileWatch([path], 1)
    assert watch.look() == ()
    path.write_text("22")
    assert watch.look() == (), "it may still be being written"
    path.write_text("333")
    assert watch.look() == ()

    assert watch.look() == (path,)
    assert watch.look() == ()


def test_a_content_of_the_same_length_is_another_one(path: Path) -> None:
    watch = FileWatch([path], 1)
    os.utime(path, ns=(1, 1))

    assert [watch.look(), watch.look()] == [(), (path,)]


def test_one_that_is_not_there_yet(tmp_path: Path) -> None:
    path = tmp_path / "a"
    watch = FileWatch([path], 1)
    assert watch.look() == ()
    path.write_text("1")

    assert [watch.look(), watch.look()] == [(), (path,)]


def test_one_that_goes_is_no_news_and_its_return_is(path: Path) -> None:
    watch = FileWatch([path], 1)
    path.unlink()
    assert [watch.look(), watch.look()] == [(), ()]
    path.write_text("1")

    assert [watch.look(), watch.look()] == [(), (path,)]


def test_what_was_read_meanwhile_is_known(path: Path) -> None:
    watch = FileWatch([path], 1)
    path.write_text("22")
    watch.note()

    assert [watch.look(), watch.look(), watch.look()] == [(), (), ()]


def test_what_we_wrote_ourselves_is_no_news(path: Path) -> None:
    ours: list[Stamp | None] = []
    watch = FileWatch([path], 1, lambda _, stamp: stamp in ours)
    replace_file(path, b"22")
    ours.append(stamp_of(path))
    assert [watch.look(), watch.look()] == [(), ()]
    replace_file(path, b"333")

    assert [watch.look(), watch.look()] == [(), (path,)]


def test_a_link_that_points_elsewhere_is_another_file(path: Path, tmp_path: Path) -> None:
    """As where a container's configuration is mounted."""
    other, link = tmp_path / "b", tmp_path / "link"
    other.write_text("1")
    link.symlink_to(path)
    watch = FileWatch([link], 1)
    link.unlink()
    link.symlink_to(other)

    assert [watch.look(), watch.look()] == [(), (link,)]
