"""How far long work is, on a terminal and elsewhere."""

import io

import pytest

from cosmodrome.admin.output import Output, OutputForm, Verbosity
from cosmodrome.admin.progress import Progress

ERASE = "\r\x1b[K"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def test_quick_work_shows_nothing() -> None:
    stream, clock = io.StringIO(), Clock()
    with Progress(stream, "brokers", 2, clock) as progress:
        clock.now_s = 0.9
        progress.step()

    assert stream.getvalue() == ""


def test_long_work_is_drawn_a_few_times_a_second_and_taken_away() -> None:
    stream, clock = io.StringIO(), Clock()
    with Progress(stream, "brokers", 4, clock) as progress:
        for now_s in (1.0, 1.05, 1.2):
            clock.now_s = now_s
            progress.step()

    assert stream.getvalue() == (
        f"{ERASE}[#####...............] 1/4 brokers{ERASE}[###############.....] 3/4 brokers{ERASE}"
    )


def test_a_stream_that_is_gone_ends_it_quietly() -> None:
    stream, clock = io.StringIO(), Clock()
    with Progress(stream, "brokers", 4, clock) as progress:
        clock.now_s = 1.0
        progress.step()
        stream.close()
        clock.now_s = 2.0
        progress.step()


async def test_a_piece_that_fails_counts_too() -> None:
    async def fail() -> None:
        raise KeyError

    stream, clock = io.StringIO(), Clock()
    with Progress(stream, "topics", 1, clock) as progress:
        clock.now_s = 1.0
        with pytest.raises(KeyError):
            await progress.counting(fail())

    assert "1/1 topics" in stream.getvalue()


def test_lines_of_the_output_take_its_place() -> None:
    clock = Clock()
    out, err = io.StringIO(), Terminal()
    output = Output(OutputForm.TEXT, out, err, Verbosity.USUAL)
    with output.progress("brokers", 2, clock) as progress:
        clock.now_s = 1.0
        progress.step()
        output.text("a row")

    assert err.getvalue().endswith(ERASE)
    assert out.getvalue() == "a row\n"


def test_without_a_terminal_or_when_quiet_nothing_is_drawn() -> None:
    for err, verbosity in ((io.StringIO(), Verbosity.USUAL), (Terminal(), Verbosity.QUIET)):
        clock = Clock()
        output = Output(OutputForm.TEXT, io.StringIO(), err, verbosity)
        with output.progress("brokers", 1, clock) as progress:
            clock.now_s = 5.0
            progress.step()
        assert err.getvalue() == ""
