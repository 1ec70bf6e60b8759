"""What a slave may say, and what it is sent."""

import pytest

from cosmodrome.broker.replication.slave import SlaveRefusedError, SlaveState

LOG = (1000, 5000)


def state() -> SlaveState:
    return SlaveState("10.0.0.9:1234", 0)


def following(at: int = 2000) -> SlaveState:
    one = state()
    one.report(at, LOG, 0)
    return one


def test_an_empty_slave_gets_everything_that_there_is() -> None:
    one = following(0)
    assert (one.sent_to, one.acknowledged, one.reported) == (1000, 0, 0)


@pytest.mark.parametrize("at", [1000, 1001, 5000])
def test_a_slave_goes_on_where_it_ends(at: int) -> None:
    assert following(at).sent_to == at


@pytest.mark.parametrize(
    ("offset", "cause"),
    [
        (-1, "no_report"),
        (-(2**63), "no_report"),
        (int.from_bytes(b"GET / HT", "big"), "no_report"),
        (2**63 - 1, "no_report"),
        (5001, "ahead"),
        (999, "too_old"),
        (1, "too_old"),
    ],
)
def test_b043_b044_a_first_report_that_cannot_be_served_is_refused(offset: int, cause: str) -> None:
    with pytest.raises(SlaveRefusedError) as error:
        state().report(offset, LOG, 0)
    assert error.value.cause == cause
    assert str(offset) in error.value.reason


@pytest.mark.parametrize("offset", [-1, 3001, 5000, 2**62])
def test_b043_nobody_acknowledges_what_he_was_not_sent(offset: int) -> None:
    one = following()
    one.sent(1000, 0)
    with pytest.raises(SlaveRefusedError, match="counts for nothing"):
        one.report(offset, LOG, 0)
    assert one.acknowledged == 0


def test_b043_what_is_said_before_anything_was_sent_acknowledges_nothing() -> None:
    one = following()
    one.report(2000, LOG, 0)
    assert (one.acknowledged, one.is_current) == (0, False)
    one.sent(0, 0)
    one.report(2000, LOG, 0)
    assert (one.acknowledged, one.is_current) == (2000, True)


def test_an_older_report_takes_nothing_back() -> None:
    one = following()
    one.sent(1000, 0)
    for offset in (3000, 2500):
        one.report(offset, LOG, 7)
    assert (one.acknowledged, one.reported_ms) == (3000, 7)


def test_how_far_it_is_behind() -> None:
    one = state()
    assert one.behind(5000) is None
    one = following()
    assert one.behind(5000) == 3000
    one.sent(2500, 0)
    one.report(4500, LOG, 0)
    assert one.behind(6000) == 1500


def test_the_rate_is_that_of_the_last_second_and_ends() -> None:
    one = following()
    for now_ms in range(0, 3000, 100):
        one.sent(10, now_ms)
    assert one.sent_per_second(2900) == 100
    assert one.sent_per_second(60_000) == 0
