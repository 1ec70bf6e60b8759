"""Heartbeats of clients in several languages."""

import json

import pytest

from cosmodrome.errors import MalformedBodyError
from cosmodrome.protocol.bodies.heartbeat import (
    ConsumeFromWhere,
    ConsumerData,
    ConsumeType,
    HeartbeatData,
    MessageModel,
    ProducerData,
)
from cosmodrome.protocol.json_structs import decode_body, encode_body
from cosmodrome.protocol.subscription import subscription_to_tags


def test_what_java_sends() -> None:
    data = HeartbeatData(
        client_id="10.0.0.5@1",
        producer_data_set=(ProducerData(group_name="pg"),),
        consumer_data_set=(
            ConsumerData(
                group_name="cg",
                consume_type=ConsumeType.CONSUME_PASSIVELY,
                message_model=MessageModel.BROADCASTING,
                consume_from_where=ConsumeFromWhere.CONSUME_FROM_TIMESTAMP,
                subscription_data_set=(subscription_to_tags("T", "*", 5),),
            ),
        ),
    )

    assert json.loads(encode_body(data)) == {
        "clientID": "10.0.0.5@1",
        "producerDataSet": [{"groupName": "pg"}],
        "consumerDataSet": [
            {
                "groupName": "cg",
                "consumeType": "CONSUME_PASSIVELY",
                "messageModel": "BROADCASTING",
                "consumeFromWhere": "CONSUME_FROM_TIMESTAMP",
                "unitMode": False,
                "subscriptionDataSet": [
                    {
                        "topic": "T", "subString": "*", "subVersion": 5, "expressionType": "TAG", "classFilterMode": False,
                        "tagsSet": [], "codeSet": [],
                    }
                ],
            }
        ],
        "heartbeatFingerprint": 0,
        "withoutSub": False,
    }  # fmt: skip
    assert decode_body(HeartbeatData, encode_body(data)) == data


def test_what_cpp_sends() -> None:
    """Ordinals, a version as text, most members left out."""
    body = (
        b'{"clientID":"c","consumerDataSet":[{"consumeFromWhere":4,"consumeType":1,"groupName":"g","messageModel":1,'
        b'"subscriptionDataSet":[{"codeSet":["2598919"],"subString":"TagA","subVersion":"5","tagsSet":["TagA"],"topic":"T"}]}]}'
    )

    data = decode_body(HeartbeatData, body)

    assert data.producer_data_set == ()
    assert data.consumer_data_set == (
        ConsumerData(
            group_name="g",
            consume_type=ConsumeType.CONSUME_PASSIVELY,
            message_model=MessageModel.CLUSTERING,
            consume_from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET,
            subscription_data_set=(subscription_to_tags("T", "TagA", 5),),
        ),
    )


@pytest.mark.parametrize(
    ("kind", "ordinals"),
    [
        (ConsumeType, {"CONSUME_ACTIVELY": 0, "CONSUME_PASSIVELY": 1, "CONSUME_POP": 2}),
        (MessageModel, {"BROADCASTING": 0, "CLUSTERING": 1}),
        (
            ConsumeFromWhere,
            {"CONSUME_FROM_LAST_OFFSET": 0, "CONSUME_FROM_FIRST_OFFSET": 4, "CONSUME_FROM_TIMESTAMP": 5},
        ),
    ],
)
def test_ordinals_are_on_the_wire(
    kind: type[ConsumeType | MessageModel | ConsumeFromWhere], ordinals: dict[str, int]
) -> None:
    names = list(kind.__members__)

    assert {name: names.index(name) for name in ordinals} == ordinals


@pytest.mark.parametrize(
    "body",
    [b"", b"{}", b'{"clientID":"c","consumerDataSet":[{}]}', b'{"clientID":"c","consumerDataSet":{"groupName":"g"}}'],
)
def test_what_is_no_heartbeat(body: bytes) -> None:
    with pytest.raises(MalformedBodyError):
        decode_body(HeartbeatData, body)
