"""SQL92 filters: the same expressions on the same messages, at Apache's 5.5.0 broker and at ours."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

import pytest
from tests.interop.conftest import StageMaker
from tests.interop.rig.brokers import FOR_MESSAGES, BrokerSettings
from tests.interop.rig.jars import V5_5
from tests.support.broker_calls import Caller
from tests.support.sql_expressions import MESSAGES, Expressions

from cosmodrome import Broker
from cosmodrome.protocol.messages.record import decode_records
from cosmodrome.protocol.subscription import SQL92

EXPRESSIONS: Final = 800
AT_ONCE: Final = 50
Outcome = tuple[int, frozenset[bytes]]
"""The code with which an expression is checked, and the messages that it chooses."""


async def filled(caller: Caller, topic: str) -> None:
    """Store the messages; a body is its message's number."""
    for number, properties in enumerate(MESSAGES):
        tag = {"TAGS": "x"} if number % 3 else {}
        text = "".join(f"{name}\x01{value}\x02" for name, value in {**properties, **tag}.items())
        answer = await caller.send(topic, b"%d" % number, i=text)
        assert answer.code == 0, answer


async def outcome(caller: Caller, expression: str) -> Outcome:
    subscription = {"topic": "T", "subString": expression, "subVersion": 1, "expressionType": SQL92}
    body = {"clientId": "c", "group": "g", "subscriptionData": subscription}
    checked = await caller.ask(46, {}, json.dumps(body).encode())
    if checked.code != 0:
        return checked.code, frozenset()
    pulled = await caller.pull("T", subscription=expression, expressionType=SQL92)
    assert pulled.code in (0, 20), pulled
    return 0, frozenset(each.body for each in decode_records(pulled.body))


async def outcomes(caller: Caller, expressions: list[str]) -> dict[str, Outcome]:
    found: dict[str, Outcome] = {}
    for at in range(0, len(expressions), AT_ONCE):
        some = expressions[at : at + AT_ONCE]
        found |= dict(zip(some, await asyncio.gather(*(outcome(caller, each) for each in some)), strict=True))
    return found


@pytest.fixture(scope="module")
def apache(new_stage: StageMaker) -> Iterator[str]:
    with new_stage("sql") as stage:
        settings = BrokerSettings(
            release=V5_5, name="broker-a", name_servers=[stage.name_server().address], config=FOR_MESSAGES
        )
        broker = stage.broker(settings)
        broker.start()
        yield broker.address


@asynccontextmanager
async def both(apache: str, topic: str) -> AsyncIterator[tuple[Caller, Caller]]:
    """Give a caller of Apache's broker and one of ours, with the messages in a topic of each."""
    async with (
        Broker(enable_property_filter=True) as broker, Caller(broker.address) as ours, Caller(apache) as theirs,
    ):  # fmt: skip
        for caller in (theirs, ours):
            await filled(caller, topic)
        yield theirs, ours


@pytest.mark.full
async def test_every_expression_chooses_the_same_or_is_refused_at_both(apache: str) -> None:
    source = Expressions(20_261_130)
    expressions = list(dict.fromkeys(source.next() for _ in range(EXPRESSIONS)))
    async with both(apache, "T") as callers:
        theirs, own = [await outcomes(caller, expressions) for caller in callers]
    different = {each: (theirs[each], own[each]) for each in expressions if theirs[each] != own[each]}
    assert not different
    codes = [code for code, _ in theirs.values()]
    assert codes.count(0) > EXPRESSIONS / 3
    assert codes.count(23) > EXPRESSIONS / 6
    assert len({chosen for _, chosen in theirs.values()}) > 20


def heartbeat(topic: str, expression: str, kind: str) -> bytes:
    subscription: Mapping[str, Any] = {"topic": topic, "subString": expression, "subVersion": 1, "expressionType": kind}
    data = {
        "clientID": "c@1", "producerDataSet": [],
        "consumerDataSet": [
            {
                "groupName": "h", "consumeType": "CONSUME_PASSIVELY", "messageModel": "CLUSTERING",
                "consumeFromWhere": "CONSUME_FROM_FIRST_OFFSET", "subscriptionDataSet": [subscription],
            }
        ],
    }  # fmt: skip
    return json.dumps(data).encode()


@pytest.mark.full
@pytest.mark.parametrize(("expression", "kind"), [("a >", SQL92), ("a = 5", SQL92), ("a = 5", "FOO")])
async def test_what_a_heartbeat_subscribes_to_is_answered_alike(apache: str, expression: str, kind: str) -> None:
    answers = []
    topic = f"H{len(expression)}{kind}"
    async with both(apache, topic) as callers:
        for caller in callers:
            await caller.ok(34, {}, heartbeat(topic, expression, kind))
            answer = await caller.pull(topic, consumerGroup="h", sysFlag="0", subVersion="1")
            bodies = [each.body for each in decode_records(answer.body)] if answer.code == 0 else []
            answers.append((answer.code, answer.remark, bodies))
    assert answers[0] == answers[1]
