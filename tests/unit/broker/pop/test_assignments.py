"""Which queues a member gets from the broker."""

import pytest

from cosmodrome.broker.pop.assignments import assigned
from cosmodrome.protocol.bodies.message_queue import MessageQueue
from cosmodrome.protocol.bodies.pop import MessageRequestMode, SetMessageRequestModeRequestBody

QUEUES = tuple(MessageQueue(topic="T", broker_name="b", queue_id=each) for each in range(4))


def given(
    member: str, members: list[str], mode: str = "POP", share: int = 0, strategy: str = "AVG"
) -> list[int] | None:
    body = SetMessageRequestModeRequestBody(
        topic="T", consumer_group="g", mode=MessageRequestMode(mode), pop_share_queue_num=share
    )
    queues = assigned(body, strategy, member, members, QUEUES)
    return None if queues is None else [each.queue_id for each in queues]


def test_pulled_queues_are_shared_out() -> None:
    assert given("a", ["a", "b"], "PULL") == [0, 1]
    assert given("b", ["a", "b"], "PULL", strategy="AVG_BY_CIRCLE") == [1, 3]
    assert given("c", ["a", "b"], "PULL") == []
    assert given("a", ["a", "b"], "PULL", strategy="XX") is None


@pytest.mark.parametrize(("share", "members"), [(0, "abc"), (-1, "abc"), (1, "a"), (1, "ab"), (2, "abc"), (9, "abc")])
def test_everybody_pops_everything_unless_less_is_shared(share: int, members: str) -> None:
    """5.5.0 was seen to do so also where the share makes no difference, and for who is no member."""
    for member in (*members, "nobody"):
        assert given(member, list(members), share=share) == [-1]


def test_a_share_is_that_of_the_members_behind_too() -> None:
    members = list("abcd")
    assert given("a", members, share=1) == [0, 1]
    assert given("d", members, share=1) == [3, 0]
    assert given("c", members, share=2) == [2, 3, 0]
    assert given("nobody", members, share=1) == []


def test_with_more_members_than_queues_each_has_one() -> None:
    members = list("abcdef")
    assert [given(member, members, share=1) for member in members] == [[0], [1], [2], [3], [0], [1]]
