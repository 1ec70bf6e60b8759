"""Java producers and consumers exchange the kinds of messages that our broker knows through it.

The claims are those of test_message_kinds.py, which real brokers fulfil, and two of timer messages.
"""

from collections.abc import Iterator
from typing import Any, cast

import pytest
from tests.interop.conftest import StageMaker
from tests.interop.rig.jars import V4_9, V5_5
from tests.interop.rig.message_clients import JavaClientError
from tests.interop.rig.our_broker import OurBroker
from tests.interop.test_message_kinds import (  # noqa: F401 -- tests, with the fixture of this file
    Place,
    test_a_batch,
    test_a_big_body_is_compressed_on_its_way,
    test_a_delay_level,
    test_a_refused_message_comes_again,
    test_a_request_gets_its_reply,
    test_a_wrong_sql_text_is_refused_at_start,
    test_an_orderly_consumer_stays_at_a_refused_message,
    test_broadcasting_reaches_every_member,
    test_lite_pull,
    test_one_key_keeps_its_order,
    test_plain_messages_with_everything_on_them,
    test_pop,
    test_tags_and_sql_choose,
    test_transactions_end_by_decision_or_check,
    test_two_members_share_the_queues,
)


@pytest.fixture(scope="module", params=[V5_5, V4_9])
def place(request: pytest.FixtureRequest, new_stage: StageMaker) -> Iterator[Place]:
    with new_stage(f"our-kinds-{request.param}") as stage:
        name_server = stage.name_server()
        settings = {
            "message_delay_level": " ".join(["1s"] * 18),
            "transaction_time_out": 1000,
            "transaction_check_interval": 1000,
            "enable_property_filter": True,
            "recall_message_enable": True,
        }
        with OurBroker("broker-kinds", name_server.address, **settings) as broker:
            clients = stage.message_clients(request.param)
            clients.producer("producer", name_server.address, "senders")
            clients.producer("transactions", name_server.address, "transactors", kind="transaction")
            yield Place(name_server, cast("Any", broker), clients)


def test_a_timer_message_waits_for_its_time(place: Place) -> None:
    topic = place.topic("Timed")
    place.clients.send("producer", topic, "timed", timerMs=2000)
    (seen,) = place.received(topic, 1)
    assert seen.properties["TIMER_DELAY_MS"] == "2000"
    assert 2000 <= seen.store_ms - seen.born_ms <= 10_000


def test_a_timer_message_is_taken_back(place: Place) -> None:
    """A client of 4.9 knows no recall, and is told so."""
    topic = place.topic("Recalled")
    if place.release == V4_9:
        with pytest.raises(JavaClientError, match="NoSuchMethodException"):
            place.clients.recall("producer", topic, "recalled", timerMs=3000)
        return
    sent, recalled = place.clients.recall("producer", topic, "recalled", timerMs=3000)
    assert recalled == sent
    place.clients.send("producer", topic, "behind", timerMs=4000)
    assert [each.body for each in place.received(topic, 1)] == [b"behind"]
