"""Receipts: as 5.5.0 writes them, and none of anything else."""

import pytest
from tests.unit.client.consumer.stored import stored

from cosmodrome.client.consumer.pop_handle import delay_s, order_counts, receipt_of, start_offsets
from cosmodrome.errors import MalformedBodyError
from cosmodrome.protocol.headers.pop import PopMessageResponseHeader

ANSWER = PopMessageResponseHeader(
    pop_time=1795973768840,
    invisible_time=60000,
    revive_qid=7,
    start_offset_info="0 0 3;0 2 40",
    msg_offset_info="0 0 3,4",
)
CARRIED = "0 1795973768840 60000 7 1 bk55 0 9"


def test_a_handle_is_made_of_the_answer() -> None:
    receipt = receipt_of(stored(4), ANSWER, "bk55", "G")

    assert receipt.handle == "3 1795973768840 60000 7 0 bk55 0 4"
    assert (receipt.topic, receipt.queue_id, receipt.offset) == ("T", 0, 4)


@pytest.mark.parametrize(
    ("flag", "topic"), [("0", "T"), ("1", "%RETRY%G_T"), ("2", "%RETRY%G+T")], ids=["own", "retry", "retry v2"]
)
def test_a_message_that_comes_again_carries_its_handle(flag: str, topic: str) -> None:
    handle = CARRIED.replace(" 7 1 ", f" 7 {flag} ")

    receipt = receipt_of(stored(4, properties={"POP_CK": handle}), ANSWER, "other", "G")

    assert (receipt.handle, receipt.topic, receipt.queue_id, receipt.offset) == (handle, topic, 0, 9)


@pytest.mark.parametrize("handle", ["x", "1 2 3", "0 a 60000 7 1 bk55 0 9", CARRIED[:-2], f"{CARRIED}\n"])
def test_what_is_no_handle_is_refused(handle: str) -> None:
    with pytest.raises(MalformedBodyError, match="no receipt handle"):
        receipt_of(stored(4, properties={"POP_CK": handle}), ANSWER, "bk55", "G")


@pytest.mark.parametrize(
    "answer", [PopMessageResponseHeader(), PopMessageResponseHeader(pop_time=1, start_offset_info="0 0 3")]
)
def test_an_answer_without_a_receipt_is_refused(answer: PopMessageResponseHeader) -> None:
    with pytest.raises(MalformedBodyError, match="no receipt"):
        receipt_of(stored(4), answer, "bk55", "G")


def test_start_offsets() -> None:
    assert start_offsets("0 0 3;1 2 40;") == {("0", 0): 3, ("1", 2): 40}
    assert start_offsets(None) == start_offsets("") == {}


@pytest.mark.parametrize("text", ["0 0", "0 0 x", "0 0 1 2", ";;x"])
def test_what_is_no_list_of_start_offsets_is_refused(text: str) -> None:
    with pytest.raises(MalformedBodyError, match="start offsets"):
        start_offsets(text)


def test_failures_hide_a_message_longer_and_longer() -> None:
    assert [delay_s(times, None) for times in (0, 1, 2, 15, 99)] == [10, 30, 60, 7200, 7200]
    assert [delay_s(5, level) for level in (1, 2, 3, 18)] == [1, 5, 10, 7200]


def test_how_often_messages_of_an_orderly_pop_failed() -> None:
    assert order_counts("0 3 1;0 qo3%17 2") == {(3, None): 1, (3, 17): 2}
    assert order_counts(None) == order_counts("") == order_counts("nonsense;0 x 1;0 qo%1 1;0 1") == {}
