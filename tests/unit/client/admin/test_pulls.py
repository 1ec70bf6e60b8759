"""One pull of a queue, as a tool does it, against a broker of ours."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from tests.support.messaging_bench import BROKER, MessagingBench, messaging_bench

from cosmodrome import MessageQueue, NoRouteError
from cosmodrome.client.admin.messages import IndexQuery
from cosmodrome.client.admin.pulls import PullStatus, Wanted

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def bench() -> AsyncIterator[MessagingBench]:
    async with messaging_bench() as made:
        await made.new_topic()
        await made.filled(6, lambda number: "TagA" if number < 4 else "TagB")
        yield made


def queue(bench: MessagingBench) -> MessageQueue:
    return MessageQueue(bench.topic, BROKER, 0)


async def test_a_pull_gives_messages_and_where_to_go_on(bench: MessagingBench) -> None:
    found = await bench.admin.messages.pull(queue(bench), 1, Wanted(limit=2))

    assert [each.body for each in found.messages] == [b"body1", b"body2"]
    assert (found.status, found.next_offset, found.min_offset, found.max_offset) == (PullStatus.FOUND, 3, 0, 6)


async def test_an_expression_leaves_messages_out(bench: MessagingBench) -> None:
    found = await bench.admin.messages.pull(queue(bench), 0, Wanted(expression="TagB"))
    none = await bench.admin.messages.pull(queue(bench), 0, Wanted(expression="TagC"))

    assert [each.queue_offset for each in found.messages] == [4, 5]
    assert (none.status, none.messages, none.next_offset) == (PullStatus.NO_MATCHED_MSG, (), 6)
    with pytest.raises(ValueError, match="no tag"):
        await bench.admin.messages.pull(queue(bench), 0, Wanted(expression="a > 3"))


async def test_the_ends_of_a_queue(bench: MessagingBench) -> None:
    at_end = await bench.admin.messages.pull(queue(bench), 6, Wanted(suspend_s=0.05))
    beyond = await bench.admin.messages.pull(queue(bench), 60)

    assert (at_end.status, at_end.next_offset) == (PullStatus.NO_NEW_MSG, 6)
    assert (beyond.status, beyond.next_offset) == (PullStatus.OFFSET_ILLEGAL, 6)


async def test_a_topic_that_is_not_there_has_no_route(bench: MessagingBench) -> None:
    with pytest.raises(NoRouteError):
        await bench.admin.messages.pull(MessageQueue("Nowhere", BROKER, 0), 0)


async def test_an_index_is_asked_within_a_span_of_time(bench: MessagingBench) -> None:
    sent = await bench.sent("keyed", keys=["k"])
    found = await bench.admin.messages.by_index(IndexQuery(bench.topic, "k"))
    unique = await bench.admin.messages.by_index(IndexQuery(bench.topic, sent.msg_id, is_unique=True))
    early = await bench.admin.messages.by_index(IndexQuery(bench.topic, "k", end_ms=1000))

    assert [each.msg_id for each in found.messages] == [each.msg_id for each in unique.messages] == [sent.msg_id]
    assert early.messages == ()
