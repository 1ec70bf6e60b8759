"""What came in, by topic and kind."""

import pytest

from cosmodrome.broker.arrivals import DELAY, FIFO, NORMAL, TRANSACTION, Arrivals, kind_of
from cosmodrome.store.appending import NewMessage


def message(topic: str, properties: bytes = b"") -> NewMessage:
    return NewMessage(topic, 0, b"x", properties, 0, b"", 0, 0, 0)


def test_sizes_are_told_apart_where_rocketmq_does() -> None:
    arrivals = Arrivals()
    arrivals.add("T", NORMAL, (100, 1024))
    arrivals.add("T", NORMAL, (1025, 4096, 524_288, 5_000_000))
    ((_, arrived),) = arrivals

    assert arrived.counts == [2, 2, 1, 0, 0, 0, 1]
    assert (arrived.messages, arrived.size) == (6, 100 + 1024 + 1025 + 4096 + 524_288 + 5_000_000)


def test_a_topic_that_is_forgotten_leaves_nothing() -> None:
    arrivals = Arrivals()
    for kind in (NORMAL, FIFO):
        arrivals.add("T", kind, (1,))
    arrivals.add("U", NORMAL, (1,))
    arrivals.forget_topic("T")

    assert [key for key, _ in arrivals] == [("U", NORMAL)]


@pytest.mark.parametrize(
    ("topic", "properties", "kind"),
    [
        ("T", b"", NORMAL),
        ("T", b"__SHARDINGKEY\x01k\x02", FIFO),
        ("RMQ_SYS_TRANS_HALF_TOPIC", b"__SHARDINGKEY\x01k\x02", TRANSACTION),
        ("SCHEDULE_TOPIC_XXXX", b"DELAY\x011\x02", DELAY),
        ("rmq_sys_wheel_timer", b"", DELAY),
    ],
)
def test_the_kind_of_a_message(topic: str, properties: bytes, kind: str) -> None:
    assert kind_of(message(topic, properties)) == kind
