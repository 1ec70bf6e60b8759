"""Our producer and our broker: the claims of test_producer.py, which Apache's brokers fulfil (C008, C009 among them)."""

from collections.abc import Iterator
from typing import Any, cast

import pytest
from tests.interop.conftest import StageMaker
from tests.interop.rig.jars import V5_5
from tests.interop.rig.our_broker import OurBroker
from tests.interop.test_producer import (  # noqa: F401 -- tests and fixtures, with the place of this file
    Place,
    session,
    test_a_broker_asks_about_a_transaction_whose_end_is_unknown,
    test_a_message_is_stored_as_it_was_sent,
    test_a_namespace_is_put_before_the_topic_and_taken_off_the_result,
    test_a_oneway_is_stored,
    test_a_timed_message_is_taken_back,
    test_a_topic_is_made_by_sending_to_it,
    test_a_topic_that_is_closed_is_refused_by_both_sides,
    test_a_transaction_is_committed_or_rolled_back,
    test_batches,
    test_c008_every_piece_of_a_split_batch_is_accepted,
    test_c009_the_largest_properties_round_trip_and_larger_ones_are_refused,
    test_delay_levels,
    test_large_bodies_are_compressed,
    test_many_sends_at_once,
    test_queues_take_turns_and_keys_keep_theirs,
    test_request_and_reply,
    test_timed_messages,
)


@pytest.fixture(scope="module")
def place(new_stage: StageMaker) -> Iterator[Place]:
    with new_stage("our-producer") as stage:
        name_server = stage.name_server()
        settings = {
            "transaction_check_interval": 1000,
            "transaction_time_out": 1000,
            "recall_message_enable": True,
        }
        with OurBroker("broker-a", name_server.address, **settings) as broker:
            broker.create_topic("T", 4)
            yield Place(V5_5, name_server, cast("Any", broker))
