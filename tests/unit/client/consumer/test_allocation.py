"""What Java's results (tests/golden/test_allocation.py) do not show of the allocation strategies."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosmodrome.client.consumer.allocation import AllocationStrategy, Averagely, ByCircle, ConsistentHash, FixedQueues
from cosmodrome.client.message import MessageQueue

STRATEGIES: list[AllocationStrategy] = [Averagely(), ByCircle(), ConsistentHash()]


def queues_of(count: int) -> list[MessageQueue]:
    return [MessageQueue("T", "broker-a", number) for number in range(count)]


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda strategy: strategy.name)
@settings(deadline=None)  # the machine may be busy
@given(members=st.lists(st.text(min_size=1), min_size=1, max_size=12, unique=True), count=st.integers(0, 64))
def test_every_queue_is_exactly_one_members(strategy: AllocationStrategy, members: list[str], count: int) -> None:
    queues = queues_of(count)

    given_out = [queue for member in members for queue in strategy.allocate(member, members, queues)]

    assert sorted(given_out) == queues


@settings(deadline=None)
@given(members=st.integers(1, 12), count=st.integers(0, 64))
def test_shares_differ_by_one_at_most(members: int, count: int) -> None:
    names = [f"m{number:02}" for number in range(members)]

    for strategy in (Averagely(), ByCircle()):
        shares = [len(strategy.allocate(name, names, queues_of(count))) for name in names]
        assert max(shares) - min(shares) <= 1


def test_a_fixed_queue_that_the_topic_has_not_is_left_out() -> None:
    strategy = FixedQueues([MessageQueue("T", "broker-a", 1), MessageQueue("T", "broker-a", 9)])

    assert strategy.allocate("m", ["m"], queues_of(4)) == [MessageQueue("T", "broker-a", 1)]


def test_a_ring_without_places_is_refused() -> None:
    with pytest.raises(ValueError, match="at least once"):
        ConsistentHash(0)
