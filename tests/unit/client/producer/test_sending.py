"""The tries of one send."""

import asyncio
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosmodrome.client.config import ClientConfig
from cosmodrome.client.message import MessageQueue, SendResult
from cosmodrome.client.producer.deadlines import Deadlines
from cosmodrome.client.producer.outgoing import Outgoing
from cosmodrome.client.producer.publishing import Plan
from cosmodrome.client.producer.sending import Job, Sender
from cosmodrome.client.producer.settings import ProducerSettings
from cosmodrome.client.session import ClientSession
from cosmodrome.errors import RocketMQError, UnreadableAnswerError
from cosmodrome.protocol.command import encode_command, response_to
from cosmodrome.protocol.command import request as request_command
from cosmodrome.protocol.send_answer import SendAnswer, read_send_answers
from cosmodrome.transport.channel import Answer

NAMES = ("queueId", "queueOffset", "msgId", "transactionId", "recallHandle", "batchUniqId", "MSG_REGION", "TRACE_ON")
QUEUE = MessageQueue("T", "b", 3)
WHERE = {"queueId": "3", "queueOffset": "17", "msgId": "ABC"}

texts = st.sampled_from(["", "3", "4", "17", "-1", "0x1", " 5 ", "true", "false", "٣", "9" * 30]) | st.text(max_size=5)


def answered(fields: Mapping[str, str]) -> SendAnswer:
    """Give an answer as it is read the quick way."""
    frame = encode_command(response_to(request_command(310, opaque=7), 0, ext_fields=fields))
    [answer], _ = read_send_answers(frame, 0)
    return answer


async def outcome(answer: Answer) -> SendResult | str:
    """Give what becomes of a send whose first try has this answer: the result, or the error."""
    settings = ProducerSettings(group="g", namesrv="127.0.0.1:1")
    session = ClientSession(ClientConfig(namesrv="127.0.0.1:1"))
    sender = Sender(settings, session, Deadlines())
    now_s = asyncio.get_running_loop().time()
    job = Job(Outgoing(b"x", "", 0, 0, "T", "ID"), now_s + 5, 5)
    job.plan, job.target, job.brokers = Plan((QUEUE,), {"b": "127.0.0.1:1"}, is_borrowed=False), QUEUE, ("b",)
    waiter: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
    waiter.set_result(answer)
    try:
        return await sender.send(job, waiter)
    except RocketMQError as error:
        return f"{type(error).__name__}: {error}"


@given(st.dictionaries(st.sampled_from(NAMES), texts))
def test_an_answer_read_the_quick_way_means_the_same(changed: dict[str, str]) -> None:
    """Result or error."""
    answer = answered({**WHERE, **changed})
    assert asyncio.run(outcome(answer)) == asyncio.run(outcome(answer.command()))


@pytest.mark.parametrize("name", ["queueId", "queueOffset"])
async def test_an_answer_that_does_not_say_where(name: str) -> None:
    assert str(await outcome(answered({**WHERE, name: "here"}))).startswith(UnreadableAnswerError.__name__)


async def test_a_broker_may_choose_another_queue() -> None:
    result = await outcome(answered({**WHERE, "queueId": "4"}))
    assert isinstance(result, SendResult)
    assert (result.queue, result.queue_offset) == (MessageQueue("T", "b", 4), 17)
