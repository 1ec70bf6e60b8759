"""Offsets by queue, in the forms for Java and for C++."""

import json

import pytest

from cosmodrome.errors import MalformedBodyError
from cosmodrome.protocol.bodies.locks import LockBatchResponseBody
from cosmodrome.protocol.bodies.message_queue import MessageQueue
from cosmodrome.protocol.bodies.offsets import (
    GetConsumerStatusBody,
    ResetOffsetBody,
    decode_reset_offset_body,
    encode_reset_offset_list,
)
from cosmodrome.protocol.json_structs import decode_body, encode_body

OFFSETS = {MessageQueue("T", "b", 1): 5, MessageQueue("T", "a", 0): -1}


def test_queues_are_keys_and_in_order_as_in_java() -> None:
    queues = [
        MessageQueue("T", "b", 1),
        MessageQueue("T", "a", 10),
        MessageQueue("S", "z", 9),
        MessageQueue("T", "a", 2),
    ]

    assert sorted(queues) == [queues[2], queues[3], queues[1], queues[0]]
    assert {MessageQueue("T", "b", 1): 1}[MessageQueue("T", "b", 1)] == 1


def test_a_reset_as_java_writes_it() -> None:
    body = encode_body(ResetOffsetBody(offset_table=OFFSETS))

    assert body == (
        b'{"offsetTable":{{"brokerName":"b","queueId":1,"topic":"T"}:5,{"brokerName":"a","queueId":0,"topic":"T"}:-1}}'
    )
    assert decode_reset_offset_body(body).offset_table == OFFSETS


def test_a_reset_for_cpp_clients() -> None:
    body = encode_reset_offset_list(OFFSETS)

    assert json.loads(body) == {
        "offsetTable": [
            {"topic": "T", "brokerName": "b", "queueId": 1, "offset": 5},
            {"topic": "T", "brokerName": "a", "queueId": 0, "offset": -1},
        ]
    }
    assert decode_reset_offset_body(body).offset_table == OFFSETS


@pytest.mark.parametrize(
    "body",
    [
        b"", b"[]", b'{"offsetTable":[5]}', b'{"offsetTable":[{"topic":"T","brokerName":"b","queueId":1}]}',
        b'{"offsetTable":[{"topic":"T","offset":1}]}', b'{"offsetTable":5}',
        b'{"offsetTable":[{"topic":"T","brokerName":"b","queueId":1,"offset":"x"}]}',
    ],
)  # fmt: skip
def test_what_is_no_reset(body: bytes) -> None:
    with pytest.raises(MalformedBodyError):
        decode_reset_offset_body(body)


def test_offsets_of_each_client() -> None:
    body = GetConsumerStatusBody(consumer_table={"c@1": OFFSETS, "c@2": {}})

    assert decode_body(GetConsumerStatusBody, encode_body(body)) == body


def test_locks_that_are_held() -> None:
    body = LockBatchResponseBody(lock_ok_mq_set=(MessageQueue("T", "b", 1),))

    assert encode_body(body) == b'{"lockOKMQSet":[{"brokerName":"b","queueId":1,"topic":"T"}]}'
    assert decode_body(LockBatchResponseBody, b"{}").lock_ok_mq_set == ()
