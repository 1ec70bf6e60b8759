"""Our consumer, Java's clients and our broker: the claims of test_consumer.py, which Apache's brokers fulfil (C035 among them)."""

from collections.abc import Iterator
from typing import Any, cast

import pytest
from tests.interop.conftest import StageMaker
from tests.interop.rig.jars import V5_5
from tests.interop.rig.our_broker import OurBroker
from tests.interop.test_consumer import (  # noqa: F401 -- tests, with the place of this file
    Place,
    test_a_group_of_java_and_ours_shares_the_queues_as_all_of_it_computes,
    test_a_new_group_begins_at_a_time,
    test_a_tool_resets_the_offsets_of_a_running_consumer,
    test_a_tool_sees_a_running_consumer_through_the_broker,
    test_broadcasting_members_get_everything_and_go_on_where_they_were,
    test_c035_a_member_that_subscribes_to_something_else_can_be_refused,
    test_failed_messages_come_again_and_end_in_the_dead_letters,
    test_handlers_get_every_message_once,
    test_in_order_a_message_that_always_fails_becomes_a_dead_letter,
    test_in_order_each_queue_comes_in_order_and_members_hand_locks_over,
    test_polling,
    test_queues_are_handed_over_between_java_and_ours_both_ways,
    test_sql_that_does_not_parse_makes_the_start_raise,
    test_tags_and_sql_choose,
    test_what_java_sends_is_iterated_over_and_its_offsets_are_javas,
    test_what_our_producer_sends_both_kinds_of_consumer_get,
)

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def place(new_stage: StageMaker) -> Iterator[Place]:
    with new_stage("our-consumer") as stage:
        name_server = stage.name_server()
        settings = {
            "message_delay_level": " ".join(["1s"] * 18),
            "enable_property_filter": True,
            "transaction_time_out": 1000,
            "transaction_check_interval": 1000,
        }
        with OurBroker("broker-consumer", name_server.address, **settings) as broker:
            clients = stage.message_clients(V5_5)
            clients.producer("producer", name_server.address, "senders")
            yield Place(name_server, cast("Any", broker), clients)
