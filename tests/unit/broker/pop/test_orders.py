"""Messages that are popped in order."""

import pytest

from cosmodrome.broker.pop.orders import UNUSED_MS, Batch, Orders
from cosmodrome.protocol.bodies.pop_orders import OrderInfo, OrderInfoTable

QUEUE = ("T", "g", 0)
NOW_MS = 1000


def batch(*offsets: int, pop_time: int = NOW_MS, attempt: str | None = None) -> Batch:
    return Batch(offsets, pop_time, 500, attempt)


def test_a_batch_blocks_its_queue_until_its_time_is_over() -> None:
    orders = Orders()
    assert orders.blocked_until(QUEUE, None, NOW_MS) is None
    assert orders.take(QUEUE, batch(3, 5)) == {}
    assert orders.blocked_until(QUEUE, None, NOW_MS) == 1500
    assert orders.blocked_until(("T", "other", 0), None, NOW_MS) is None
    orders.change_visible(QUEUE, 3, NOW_MS, 1800)
    orders.change_visible(QUEUE, 5, NOW_MS - 1, 9999)
    orders.change_visible(QUEUE, 4, NOW_MS, 9999)
    assert orders.blocked_until(QUEUE, None, NOW_MS) == 1800
    assert orders.acknowledge(QUEUE, 3, NOW_MS) == 5
    assert orders.blocked_until(QUEUE, None, NOW_MS) == 1500
    assert orders.acknowledge(QUEUE, 5, NOW_MS) == 6
    assert orders.blocked_until(QUEUE, None, NOW_MS) is None


def test_the_same_attempt_is_not_blocked_and_does_not_count() -> None:
    orders = Orders()
    orders.take(QUEUE, batch(0, 1, attempt="a"))
    assert orders.blocked_until(QUEUE, "a", NOW_MS) is None
    assert orders.blocked_until(QUEUE, "b", NOW_MS) == 1500
    assert orders.take(QUEUE, batch(0, 1, attempt="a")) == {}
    assert orders.take(QUEUE, batch(0, 1, 2, attempt="b")) == {0: 1, 1: 1}
    assert orders.take(QUEUE, batch(1, 2, 3)) == {1: 2, 2: 1}


def test_an_old_receipt_says_nothing_and_a_wrong_one_is_refused() -> None:
    orders = Orders()
    assert orders.acknowledge(QUEUE, 7, NOW_MS) == 8, "nothing is known of this queue"
    orders.take(QUEUE, batch(0, 1))
    assert orders.acknowledge(QUEUE, 0, NOW_MS - 1) is None
    with pytest.raises(ValueError, match="offset 2"):
        orders.acknowledge(QUEUE, 2, NOW_MS)


def test_the_table_is_what_5_5_0_writes_and_reads() -> None:
    orders = Orders()
    orders.take(QUEUE, batch(10, 12, 15, attempt="a"))
    orders.acknowledge(QUEUE, 12, NOW_MS)
    orders.change_visible(QUEUE, 15, NOW_MS, 1700)
    table = orders.table(NOW_MS)
    info = OrderInfo(
        pop_time=NOW_MS, invisible_time=500, offset_list=(10, 2, 5), next_visible={15: 1700}, last_consumed=NOW_MS,
        commit_bits=0b010, attempt_id="a",
    )  # fmt: skip
    assert table == OrderInfoTable(order_info_count=1, ordered_consumption_level="QUEUE", table={"T@g": {0: info}})
    again = Orders()
    again.load(table)
    assert again.table(NOW_MS) == table
    assert again.blocked_until(QUEUE, None, 1600) == 1700
    assert again.acknowledge(QUEUE, 10, NOW_MS) == 15
    assert again.table(NOW_MS + UNUSED_MS).table == {}


def test_a_table_that_names_no_offsets_blocks_nothing() -> None:
    orders = Orders()
    too_many = OrderInfo(pop_time=NOW_MS, invisible_time=500, offset_list=tuple(range(65)))
    orders.load(OrderInfoTable(table={"T@g": {0: OrderInfo(pop_time=NOW_MS, invisible_time=500), 1: too_many}}))
    assert orders.blocked_until(QUEUE, None, NOW_MS) is None
    assert orders.blocked_until(("T", "g", 1), None, NOW_MS) is None


def test_a_topic_or_group_that_goes_takes_its_batches() -> None:
    orders = Orders()
    for queue in (QUEUE, ("T", "h", 0), ("U", "g", 0)):
        orders.take(queue, batch(0))
    orders.is_changed = False
    orders.forget(topic="X")
    was_changed = orders.is_changed
    orders.forget(topic="T")
    assert (was_changed, orders.is_changed) == (False, True)
    assert list(orders.table(NOW_MS).table) == ["U@g"]
    orders.forget(group="g")
    assert orders.table(NOW_MS).table == {}
