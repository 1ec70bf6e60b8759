"""What is read in a broker's runtime information."""

import pytest

from cosmodrome.admin.clusters import BrokerState


def state(**runtime: str) -> BrokerState:
    return BrokerState(cluster="C", broker_name="a", broker_id=0, addr="h:1", runtime=runtime)


@pytest.mark.parametrize(
    ("text", "number"),
    [("1.5 2 3", 1.5), ("7", 7.0), ("", 0.0), ("x", 0.0), ("NaN", 0.0), ("Infinity", 0.0), ("1e300", 0.0)],
)
def test_a_number_that_is_none_counts_as_nothing(text: str, number: float) -> None:
    assert state(putTps=text).number("putTps") == number


def test_releases_spell_some_names_differently() -> None:
    names = ("getTransferredTps", "getTransferedTps")

    assert state(getTransferredTps="1", getTransferedTps="2").number(*names) == 1
    assert state(getTransferedTps="2").text(*names) == "2"
    assert state().text(*names) == ""


def test_totals_grow() -> None:
    assert state(now="30", morning="10").growth("now", "morning") == 20
    assert state().growth("now", "morning") == 0


def test_a_broker_that_does_not_answer_has_no_values() -> None:
    gone = BrokerState(cluster="C", broker_name="a", broker_id=0, addr="h:1", runtime=None)

    assert (gone.text("putTps"), gone.number("putTps")) == ("", 0.0)
