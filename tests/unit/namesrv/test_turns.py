"""Which requests take their turn."""

from collections.abc import Awaitable

import pytest
from tests.support import wire
from tests.support.builders import PEER

from cosmodrome.errors import RequestRefusedError
from cosmodrome.namesrv.turns import LISTINGS, Turns, is_long_registration
from cosmodrome.protocol.codes import RequestCode
from cosmodrome.protocol.command import RemotingCommand, response_to
from cosmodrome.transport.dispatch import Answer, Peer, Processor
from cosmodrome.transport.work_queue import WorkQueue


def answered(request: RemotingCommand, _: Peer) -> Answer:
    return response_to(request, 0)


def waiting(topics: int, body: bytes = b"") -> set[RequestCode]:
    """Give the codes whose processors are not asked at once."""
    processors: dict[RequestCode, Processor] = dict.fromkeys(RequestCode, answered)
    table = Turns(WorkQueue(), lambda: topics).taking(processors)
    answers = {code: processor(RemotingCommand(code, body=body), PEER) for code, processor in table.items()}
    for answer in answers.values():
        if not isinstance(answer, RemotingCommand):
            answer.close()  # type: ignore[attr-defined]  # a coroutine that nobody awaits
    return {code for code, answer in answers.items() if isinstance(answer, Awaitable)}


def test_only_long_work_waits() -> None:
    assert waiting(topics=0) == set()
    assert waiting(topics=1_000_000) == set(LISTINGS)
    assert waiting(topics=0, body=b"{" * 5000) == {RequestCode.REGISTER_BROKER}


def test_a_small_stream_may_hold_a_large_table() -> None:
    large = wire.compressed_register_body([wire.topic_config(f"Topic{number}") for number in range(2000)])
    plain = wire.register_body([wire.topic_config("T1"), wire.topic_config("T2")])

    assert len(large) < 20_000
    assert is_long_registration(RemotingCommand(103, body=large))
    assert not is_long_registration(RemotingCommand(103, body=plain))
    assert not is_long_registration(RemotingCommand(103))


async def test_what_waited_is_answered_or_refused_as_ever() -> None:
    def refused(_: RemotingCommand, __: Peer) -> Answer:
        raise RequestRefusedError(1, "no")

    async def later(request: RemotingCommand) -> RemotingCommand:
        return response_to(request, 0, "later")

    turns = Turns(WorkQueue(), lambda: 10**6)
    request = RemotingCommand(206)
    for processor, remark in ((answered, None), (lambda request, _: later(request), "later")):
        table = turns.taking({RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER: processor})
        answer = table[RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER](request, PEER)
        assert isinstance(answer, Awaitable)
        assert (await answer).remark == remark
    answer = turns.taking({RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER: refused})[
        RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER
    ](request, PEER)
    assert isinstance(answer, Awaitable)
    with pytest.raises(RequestRefusedError):
        await answer
