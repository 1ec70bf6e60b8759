"""What counts messages and shows how fast they go."""

import io

from tests.support.messaging_bench import Terminal

from cosmodrome.admin.output import Output, OutputForm, Verbosity
from cosmodrome.admin.progress import Rates


class Clock:
    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def test_the_rate_is_the_mean_since_the_beginning() -> None:
    clock = Clock()
    rates = Rates(None, "sent", clock)
    for _ in range(30):
        clock.now_s += 0.1
        rates.count(1000)

    assert (rates.done, rates.bytes) == (30, 30_000)
    assert rates.line() == "sent 30 messages (30.0 kB) in 3.0 s: 10.0/s"


def test_a_single_message_and_no_time_at_all() -> None:
    rates = Rates(None, "received", Clock())
    rates.count(999)
    assert rates.line() == "received 1 message (999 B) in 0.0 s: 0.0/s"


def test_large_sizes_have_larger_units() -> None:
    for size, text in ((12_300_000, "12.3 MB"), (4_500_000_000, "4.5 GB")):
        rates = Rates(None, "sent", Clock())
        rates.count(size)
        assert text in rates.line()


def test_it_is_drawn_on_a_terminal_after_a_second() -> None:
    clock, terminal = Clock(), Terminal()
    rates = Rates(terminal, "sent", clock)
    rates.count(1)
    assert terminal.getvalue() == ""
    clock.now_s += 2
    rates.count(1)
    assert "sent 2 messages" in terminal.getvalue()


def test_nothing_is_drawn_where_nobody_looks() -> None:
    for stream, verbosity in ((io.StringIO(), Verbosity.USUAL), (Terminal(), Verbosity.QUIET)):
        output = Output(OutputForm.TEXT, io.StringIO(), stream, verbosity)
        rates = output.rates("sent")
        rates._next_s = 0  # as if a second had gone by
        rates.count(1)
        assert stream.getvalue() == ""
