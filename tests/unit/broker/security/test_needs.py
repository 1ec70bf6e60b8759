"""What each request needs."""

import json

import pytest

from cosmodrome.broker.security.needs import Action, Kind, Need, needs_of
from cosmodrome.protocol.codes import BrokerRequestCode
from cosmodrome.protocol.command import request

SUB = (Action.SUB,)
PUB = (Action.PUB,)
CLUSTER_UPDATE = (Need(Kind.CLUSTER, "C", (Action.UPDATE,)),)


def needs(code: int, fields: dict[str, str | None] | None = None, body: bytes = b"") -> tuple[Need, ...]:
    """Give what a request needs where the message at 7 is of topic V."""
    return needs_of(request(code, fields or {}, body), "C", lambda offset: "V" if offset == 7 else None)


@pytest.mark.parametrize(
    ("code", "fields"),
    [(10, {"topic": "T"}), (310, {"b": "T"}), (310, {"topic": "T"}), (320, {"b": "T"}), (320, {"topic": "T"})],
)
def test_sends_need_the_topic_under_either_name(code: int, fields: dict[str, str | None]) -> None:
    assert needs(code, fields) == (Need(Kind.TOPIC, "T", PUB),)


@pytest.mark.parametrize("code", [310, 320])
def test_a_send_to_a_retry_topic_needs_that_very_group(code: int) -> None:
    assert needs(code, {"b": "%RETRY%other", "a": "own"}) == (Need(Kind.GROUP, "other", SUB),)


@pytest.mark.parametrize("code", [11, 361, 200_050, 200_051, 200_053])
def test_reading_needs_topic_and_group(code: int) -> None:
    wanted = (Need(Kind.TOPIC, "T", SUB), Need(Kind.GROUP, "g", SUB))
    assert needs(code, {"topic": "T", "consumerGroup": "g"}) == wanted


def test_reading_a_retry_topic_needs_its_group_and_the_readers() -> None:
    wanted = (Need(Kind.GROUP, "other", SUB), Need(Kind.GROUP, "g", SUB))
    assert needs(11, {"topic": "%RETRY%other", "consumerGroup": "g"}) == wanted


def test_a_heartbeat_needs_all_it_names() -> None:
    data = {
        "clientID": "c",
        "producerDataSet": [{"groupName": "p"}],
        "consumerDataSet": [
            {"groupName": "g", "subscriptionDataSet": [{"topic": "T", "subString": "*"}, {"topic": "%RETRY%g"}]}
        ],
    }
    wanted = (Need(Kind.GROUP, "g", SUB), Need(Kind.TOPIC, "T", SUB), Need(Kind.GROUP, "g", SUB))
    assert needs(34, body=json.dumps(data).encode()) == wanted


@pytest.mark.parametrize("code", [41, 42])
def test_locks_need_group_and_topics(code: int) -> None:
    queues = [{"topic": "T", "brokerName": "b", "queueId": each} for each in (0, 1)]
    body = json.dumps({"consumerGroup": "g", "clientId": "c", "mqSet": queues}).encode()
    assert needs(code, body=body) == (Need(Kind.GROUP, "g", SUB), Need(Kind.TOPIC, "T", SUB))


def test_a_message_needs_its_topic() -> None:
    assert needs(33, {"offset": "7"}) == (Need(Kind.TOPIC, "V", (Action.SUB, Action.GET)),)
    for offset in ("8", "-1", "x", "", "٣", "9" * 30):
        assert needs(33, {"offset": offset}) == ()


def test_what_nobody_named_needs_the_whole_broker() -> None:
    assert needs(9999) == needs(25) == needs(329) == needs(306) == needs(316) == CLUSTER_UPDATE


def test_administration_is_told_from_use() -> None:
    use = {10, 310, 320, 11, 361, 12, 14, 15, 33, 34, 35, 36, 37, 38, 41, 42, 46, 324, 325, 370, 400}
    use |= {200_050, 200_051, 200_052, 200_053, 200_054, 200_055, 200_151}
    shown = {29, 30, 31, 32, 202, 203, 204, 208, 223, 300, 303, 307, 308, 321, 343, 345, 351, 352}
    bodies = {
        34: {"clientID": "c"}, 41: {"consumerGroup": "g", "clientId": "c"}, 42: {"consumerGroup": "g", "clientId": "c"},
        400: {"topic": "T", "consumerGroup": "g", "clientId": "c"}, 200: {"groupName": "g"}, 200_151: {"acks": []},
        18: {"topicConfigList": [{"topicName": "T"}]}, 225: {"groupConfigList": [{"groupName": "g"}]},
    }  # fmt: skip
    fields: dict[str, str | None] = dict.fromkeys(("topic", "group", "consumerGroup", "groupName", "b"), "x")
    administration = {
        int(code)
        for code in BrokerRequestCode
        if any(each.is_administrative for each in needs(code, fields, json.dumps(bodies.get(code, {})).encode()))
    }
    assert administration == {int(code) for code in BrokerRequestCode} - use - shown
