"""Lines that are written in the background: nobody waits, nothing is unbounded, and what is lost is told."""

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.waiting import wait_until

from cosmodrome.namesrv.log_output import QUEUED_CHARACTERS, DescriptorSink, LogOutput, RotatingFile

SOON_S = 10.0


class Memory:
    """A sink that keeps what it gets, can be told to fail, and can be held."""

    def __init__(self) -> None:
        self.data = b""
        self.failure: OSError | None = None
        self.is_free = threading.Event()
        self.is_free.set()

    def write(self, data: bytes) -> None:
        assert self.is_free.wait(SOON_S)
        if self.failure is not None:
            raise self.failure
        self.data += data

    @property
    def lines(self) -> list[str]:
        return self.data.decode().splitlines()


@pytest.fixture
def sink() -> Memory:
    return Memory()


@pytest.fixture
def output(sink: Memory) -> Iterator[LogOutput]:
    output = LogOutput(sink)
    output.tell(lambda lines, reason: output.write(f"dropped {lines}: {reason}\n"), lambda _: None)
    yield output
    sink.is_free.set()
    output.close()


class TestQueue:
    def test_lines_arrive_in_order(self, output: LogOutput, sink: Memory) -> None:
        for number in range(5000):
            output.write(f"line {number}\n")
        output.close()

        assert sink.lines == [f"line {number}" for number in range(5000)]

    def test_several_threads_may_write(self, output: LogOutput, sink: Memory) -> None:
        def write(name: str) -> None:
            for number in range(500):
                output.write(f"{name} {number}\n")

        threads = [threading.Thread(target=write, args=(name,)) for name in "abc"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        output.close()

        for name in "abc":
            assert [line for line in sink.lines if line[0] == name] == [f"{name} {number}" for number in range(500)]

    def test_a_reader_that_does_not_read_costs_no_more_than_the_queue(self, output: LogOutput, sink: Memory) -> None:
        sink.is_free.clear()
        line = "x" * 99 + "\n"
        count = 3 * QUEUED_CHARACTERS // len(line)
        for _ in range(count):
            output.write(line)
        sink.is_free.set()
        wait_until(lambda: "dropped" in sink.data.decode(), "the note", SOON_S)
        output.close()

        kept = sink.lines.count(line.strip())
        told = sum(int(each.split()[1].rstrip(":")) for each in sink.lines if each.startswith("dropped"))
        assert kept + told == count
        assert 0.5 * QUEUED_CHARACTERS < kept * len(line) < 1.5 * QUEUED_CHARACTERS
        assert "nobody reads them fast enough" in sink.data.decode()

    def test_one_line_longer_than_the_queue_is_written(self, output: LogOutput, sink: Memory) -> None:
        output.write("x" * (2 * QUEUED_CHARACTERS) + "\n")
        output.close()

        assert len(sink.data) == 2 * QUEUED_CHARACTERS + 1

    def test_closing_does_not_wait_for_ever(self, output: LogOutput, sink: Memory) -> None:
        sink.is_free.clear()
        output.write("a\n")
        output.close(timeout_s=0.05)

        assert sink.data == b""

    def test_closing_without_a_line_starts_nothing(self, output: LogOutput) -> None:
        before = threading.active_count()
        output.close()

        assert threading.active_count() == before

    def test_without_threads_it_is_written_at_once(
        self, output: LogOutput, sink: Memory, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(_: threading.Thread) -> None:
            raise RuntimeError("can't start new thread")

        monkeypatch.setattr(threading.Thread, "start", refuse)
        output.write("a\n")
        output.write("b\n")

        assert sink.lines == ["a", "b"]

    def test_letters_that_the_encoding_has_not_are_escaped(self, sink: Memory) -> None:
        output = LogOutput(sink, encoding="ascii")
        output.write("中\n")
        output.close()

        assert sink.data == rb"\u4e2d" + b"\n"


class TestFailures:
    def test_a_disk_that_was_full_is_told_when_it_is_not(self, output: LogOutput, sink: Memory) -> None:
        sink.failure = OSError(28, "No space left on device")
        for number in range(3):
            output.write(f"{number}\n")
            wait_until(lambda: not output._queue, "it to be tried", SOON_S)
        sink.failure = None

        def is_told() -> bool:
            output.write("again\n")
            return "dropped" in sink.data.decode()

        wait_until(is_told, "the note", SOON_S)
        output.close()
        [note] = [line for line in sink.lines if line.startswith("dropped")]
        assert note.endswith(": No space left on device")
        assert int(note.split()[1].rstrip(":")) >= 3

    def test_what_a_file_cannot_take_goes_to_the_fallback(self, sink: Memory) -> None:
        fallback = Memory()
        told: list[str] = []
        output = LogOutput(sink, fallback)
        output.tell(lambda _lines, _reason: None, told.append)
        sink.failure = OSError(30, "Read-only file system")
        output.write("a\n")
        output.write("b\n")
        wait_until(lambda: fallback.lines == ["a", "b"], "the lines elsewhere", SOON_S)
        sink.failure = None
        output.write("c\n")
        wait_until(lambda: sink.lines == ["c"], "the line where it belongs", SOON_S)
        sink.failure = OSError(30, "Read-only file system")
        output.write("d\n")
        output.close()

        assert fallback.lines == ["a", "b", "d"]
        assert told == ["Read-only file system"] * 2, "once each time"

    def test_what_neither_can_take_is_counted(self, sink: Memory) -> None:
        fallback = Memory()
        output = LogOutput(sink, fallback)
        told: list[int] = []
        output.tell(lambda lines, _: told.append(lines), lambda _: None)
        sink.failure = fallback.failure = OSError(5, "Input/output error")
        output.write("a\n")
        wait_until(lambda: not output._queue, "it to be tried", SOON_S)
        sink.failure = None

        def is_told() -> bool:
            output.write("b\n")
            return bool(told)

        wait_until(is_told, "the count", SOON_S)
        output.close()
        assert told[0] >= 1

    def test_a_line_that_broke_off_is_not_continued(self, tmp_path: Path) -> None:
        """As on a disk that takes a part and is full then."""
        path = tmp_path / "log"
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT)
        sink = DescriptorSink(descriptor)
        sink.write(b"part of a li")
        sink.write(b"next\n")
        os.close(descriptor)

        assert path.read_bytes() == b"part of a li\nnext\n"

    def test_a_descriptor_that_somebody_made_non_blocking_is_waited_for(self) -> None:
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        data = b"x" * 1_000_000 + b"\n"
        writing = threading.Thread(target=DescriptorSink(writer).write, args=(data,))
        writing.start()
        received = b""
        while len(received) < len(data):
            received += os.read(reader, 65536)
        writing.join(SOON_S)
        os.close(reader)
        os.close(writer)

        assert received == data


class TestRotatingFile:
    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        return tmp_path / "logs" / "namesrv.log"

    def test_it_makes_the_folder_and_appends(self, path: Path) -> None:
        for data in (b"a\n", b"b\n"):
            RotatingFile(path, 1000, 2).write(data)

        assert path.read_bytes() == b"a\nb\n"

    def test_it_is_bounded(self, path: Path) -> None:
        file = RotatingFile(path, 100, 2)
        for number in range(100):
            file.write(b"%09d\n" % number)

        assert sorted(each.name for each in path.parent.iterdir()) == [
            "namesrv.log",
            "namesrv.log.1",
            "namesrv.log.2",
        ]
        assert all(each.stat().st_size <= 100 for each in path.parent.iterdir())
        assert path.read_bytes().endswith(b"%09d\n" % 99)
        kept = b"".join(each.read_bytes() for each in sorted(path.parent.iterdir(), reverse=True))
        assert kept.splitlines() == [b"%09d" % number for number in range(70, 100)]

    def test_without_former_files_there_is_only_one(self, path: Path) -> None:
        file = RotatingFile(path, 100, 0)
        for number in range(100):
            file.write(b"%09d\n" % number)

        assert [each.name for each in path.parent.iterdir()] == ["namesrv.log"]
        assert path.read_bytes().splitlines()[-1] == b"%09d" % 99

    def test_where_renaming_is_impossible_it_is_emptied(self, path: Path) -> None:
        """As in a container that is given a single file; here a folder stands where the former file should be."""
        (path.parent / "namesrv.log.1").mkdir(parents=True)
        (path.parent / "namesrv.log.1" / "x").touch()
        file = RotatingFile(path, 100, 1)
        for number in range(100):
            file.write(b"%09d\n" % number)

        assert path.stat().st_size <= 100
        assert path.read_bytes().splitlines()[-1] == b"%09d" % 99

    @pytest.mark.parametrize("how", [Path.unlink, lambda path: path.rename(path.with_name("moved"))])
    def test_one_that_was_taken_away_is_begun_anew(self, path: Path, how: object) -> None:
        assert callable(how)
        file = RotatingFile(path, 1000, 2)
        file.write(b"a\n")
        how(path)
        file.write(b"b\n")

        assert path.read_bytes() == b"b\n"

    def test_a_folder_that_was_taken_away_is_made_again(self, path: Path) -> None:
        file = RotatingFile(path, 1000, 2)
        file.write(b"a\n")
        path.unlink()
        path.parent.rmdir()
        file.write(b"b\n")

        assert path.read_bytes() == b"b\n"

    def test_a_device_is_not_rotated(self) -> None:
        file = RotatingFile(Path(os.devnull), 1, 3)
        for _ in range(3):
            file.write(b"abc\n")

        assert not Path(f"{os.devnull}.1").exists()

    def test_a_path_that_cannot_be_opened_is_tried_again(self, path: Path) -> None:
        path.mkdir(parents=True)
        file = RotatingFile(path, 1000, 2)
        with pytest.raises(IsADirectoryError):
            file.write(b"a\n")
        path.rmdir()
        file.write(b"b\n")

        assert path.read_bytes() == b"b\n"
