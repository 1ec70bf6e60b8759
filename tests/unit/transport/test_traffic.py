"""What was asked and answered is counted by code; nothing grows with what peers send."""

import asyncio
from collections.abc import Awaitable

import pytest
from tests.support.builders import PEER

from cosmodrome.errors import RequestRefusedError
from cosmodrome.protocol.codes import FLAG_ONEWAY
from cosmodrome.protocol.command import RemotingCommand, request, response_to
from cosmodrome.transport.dispatch import LATER, Answer, Dispatcher, Peer
from cosmodrome.transport.traffic import BOUNDS_S, NO_ANSWER, UNSERVED, Durations, Traffic


def counted(traffic: Traffic) -> dict[int, dict[int, int]]:
    return {code: counts.responses for code, counts in traffic}


def echo(asked: RemotingCommand, _: Peer) -> Answer:
    return response_to(asked, 0, None, None, asked.body * 2)


def refuse(asked: RemotingCommand, _: Peer) -> Answer:
    raise RequestRefusedError(17, "no")


def later(asked: RemotingCommand, _: Peer) -> Answer:
    return LATER


def in_turn(asked: RemotingCommand, _: Peer) -> Answer:
    async def answer() -> RemotingCommand:
        await asyncio.sleep(0)
        return response_to(asked, 2)

    return answer()


async def test_each_answer_is_counted_once_by_its_code() -> None:
    dispatcher = Dispatcher({1: echo, 2: refuse, 3: in_turn, 4: later})
    for code in (1, 1, 2, 3, 4):
        answer = dispatcher.dispatch(request(code, body=b"abc"), PEER)
        if isinstance(answer, Awaitable):
            await answer

    assert counted(dispatcher.traffic) == {1: {0: 2}, 2: {17: 1}, 3: {2: 1}}
    ones = dispatcher.traffic.of(1)
    assert (ones.request_bytes, ones.response_bytes, ones.durations.count) == (6, 12, 2)


async def test_a_oneway_request_is_counted_without_an_answer() -> None:
    dispatcher = Dispatcher({1: echo})
    dispatcher.dispatch(RemotingCommand(1, 1, FLAG_ONEWAY), PEER)

    assert counted(dispatcher.traffic) == {1: {NO_ANSWER: 1}}


async def test_codes_that_nobody_serves_are_one() -> None:
    dispatcher = Dispatcher({})
    for code in range(1000, 2000):
        dispatcher.dispatch(request(code), PEER)

    assert counted(dispatcher.traffic) == {UNSERVED: {3: 1000}}


@pytest.mark.parametrize(("took_s", "bucket"), [(0.0, 0), (0.0001, 0), (0.00011, 1), (1.0, 12), (1.1, 13), (99.0, 13)])
def test_a_time_is_in_the_bucket_whose_bound_it_does_not_exceed(took_s: float, bucket: int) -> None:
    durations = Durations()
    durations.add(took_s, 64)

    assert [index for index, count in enumerate(durations.counts) if count] == [bucket]
    assert (durations.count, durations.sum_s) == (64, 64 * took_s)
    assert len(durations.counts) == len(BOUNDS_S) + 1
