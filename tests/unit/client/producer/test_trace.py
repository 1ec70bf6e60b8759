"""What traces of a producer say."""

import pytest

from cosmodrome.client.message import Message, MessageQueue, SendResult, SendStatus
from cosmodrome.client.producer.trace import DELAYED, NORMAL, Sent, ended_trace, sent_traces
from cosmodrome.client.producer.transactions import Ended, TransactionState

RESULT = SendResult(
    SendStatus.OK, "ID", "0A00000900002A9F0000000000001000", MessageQueue("T", "a", 0), 5, region="DefaultRegion"
)
MESSAGE = Message(topic="T", body=b"12345", tag="tag", keys=["k1", "k2"])


def test_a_send_that_was_accepted() -> None:
    (trace,) = sent_traces("g", Sent((MESSAGE,), "ID", RESULT, NORMAL, 1700, 12))
    assert trace.keys == ("ID", "k1", "k2")
    assert trace.text.split("\x01") == [
        "Pub", "1700", "DefaultRegion", "g", "T", "ID", "tag", "k1 k2", "10.0.0.9:10911", "5", "12", "0",
        "0A00000900002A9F0000000000001000", "true\x02",
    ]  # fmt: skip


def test_a_send_that_failed() -> None:
    (trace,) = sent_traces("g", Sent((MESSAGE,), "ID", None, DELAYED, 1700, 12))
    fields = trace.text.split("\x01")
    assert (fields[5], fields[8], fields[11], fields[12], fields[13]) == ("ID", "", "3", "", "false\x02")


@pytest.mark.parametrize(("offset_msg_id", "places"), [("A,B", ["A", "B"]), ("A", ["", ""])])
def test_a_batch_has_a_trace_of_each_message(offset_msg_id: str, places: list[str]) -> None:
    result = SendResult(SendStatus.OK, "ID1,ID2", offset_msg_id, MessageQueue("T", "a", 0), 5)
    traces = list(sent_traces("g", Sent((MESSAGE, MESSAGE), "ID1,ID2", result, NORMAL, 1700, 12)))
    assert [trace.text.split("\x01")[5] for trace in traces] == ["ID1", "ID2"]
    assert [trace.text.split("\x01")[12] for trace in traces] == places


def test_an_end_of_a_transaction() -> None:
    ended = Ended("b:1", "T", "ID", "TID", TransactionState.COMMIT, is_checked=True, tag="tag", keys=("k",))
    trace = ended_trace("g", ended, 1700)
    assert trace.keys == ("ID", "k")
    assert trace.text.split("\x01") == [
        "EndTransaction", "1700", "", "g", "T", "ID", "tag", "k", "b:1", "2", "TID", "COMMIT_MESSAGE", "true\x02",
    ]  # fmt: skip
