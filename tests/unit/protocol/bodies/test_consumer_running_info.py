"""What a consumer says of itself."""

import pytest

from cosmodrome.protocol.bodies.consumer_running_info import (
    PROP_CONSUME_TYPE,
    ConsumeMessageDirectlyResult,
    ConsumeResult,
    ConsumerRunningInfo,
    ConsumeStatus,
    PopProcessQueueInfo,
    ProcessQueueInfo,
)
from cosmodrome.protocol.bodies.message_queue import MessageQueue
from cosmodrome.protocol.json_keys import parse_keyed
from cosmodrome.protocol.json_structs import decode_body, encode_body
from cosmodrome.protocol.subscription import subscription_to_tags

QUEUE = MessageQueue("T", "b", 1)


def test_everything_is_read_as_it_was_written() -> None:
    info = ConsumerRunningInfo(
        properties={PROP_CONSUME_TYPE: "CONSUME_PASSIVELY"},
        subscription_set=(subscription_to_tags("T", "a || b", 5),),
        mq_table={QUEUE: ProcessQueueInfo(commit_offset=5, cached_msg_size_in_mib=1, locked=True, droped=True)},
        mq_pop_table={QUEUE: PopProcessQueueInfo(wait_ack_count=2)},
        status_table={"T": ConsumeStatus(pull_rt=1.5, consume_ok_tps=2.0)},
        user_consumer_info={"a": "b"},
        jstack="stack",
    )

    assert decode_body(ConsumerRunningInfo, encode_body(info)) == info


def test_names_that_are_no_camel_case() -> None:
    names = parse_keyed(encode_body(ConsumeStatus())).keys() | parse_keyed(encode_body(ProcessQueueInfo())).keys()

    assert {"pullRT", "pullTPS", "consumeRT", "consumeOKTPS", "consumeFailedTPS", "consumeFailedMsgs"} <= names
    assert {"cachedMsgSizeInMiB", "droped", "tryUnlockTimes", "lastLockTimestamp"} <= names


@pytest.mark.parametrize("result", [*ConsumeResult, None])
def test_how_a_message_went(result: ConsumeResult | None) -> None:
    answer = ConsumeMessageDirectlyResult(consume_result=result, spent_time_mills=3)

    assert decode_body(ConsumeMessageDirectlyResult, encode_body(answer)) == answer
