"""Requests that wait for their answer."""

import math

from cosmodrome.protocol import exchange
from cosmodrome.protocol.exchange import Exchange


def test_an_answer_finds_who_waits_once() -> None:
    one: Exchange[str] = Exchange()
    opaque = one.next_opaque()
    one.expect(opaque, "me")

    assert len(one) == 1
    assert one.settle(opaque) == "me"
    assert one.settle(opaque) is None
    assert len(one) == 0


def test_numbers_are_counted() -> None:
    one: Exchange[str] = Exchange()

    assert [one.next_opaque() for _ in range(3)] == [0, 1, 2]


def test_a_number_that_waits_is_not_given_again() -> None:
    """The counter wraps at int32."""
    one: Exchange[str] = Exchange()
    one.expect(0, "old")
    one._next = exchange._OPAQUE_LIMIT - 1

    assert [one.next_opaque() for _ in range(3)] == [2**31 - 1, 1, 2]


def test_who_waits_when_the_connection_is_gone() -> None:
    one: Exchange[str] = Exchange()
    one.expect(1, "a")
    one.expect(2, "b")

    assert one.abandon() == ["a", "b"]
    assert one.abandon() == []
    assert one.settle(1) is None


def test_deadlines_end_waiters_once_and_not_too_early() -> None:
    one: Exchange[str] = Exchange()
    for opaque, deadline_s in ((1, 10.0), (2, 10.04), (3, 12.0), (4, math.inf)):
        one.expect(opaque, f"waiter {opaque}", deadline_s)
    assert one.overdue(9.99) == []
    assert one.overdue(10.0) == []
    assert one.settle(2) == "waiter 2"
    assert one.overdue(10.2) == ["waiter 1"]
    assert one.overdue(10.2) == []
    assert one.overdue(1000) == ["waiter 3"]
    assert len(one) == 1
    assert one.abandon() == ["waiter 4"]


def test_deadlines_in_any_order() -> None:
    one: Exchange[int] = Exchange()
    for opaque, deadline_s in ((1, 30.0), (2, 10.0), (3, 20.0), (4, 40.0)):
        one.expect(opaque, opaque, deadline_s)
    assert one.overdue(15.0) == [2]
    one.expect(5, 5, 16.0)
    assert one.overdue(17.0) == [5]
    one.settle(3)
    assert one.overdue(35.0) == [1]
    assert one.overdue(100.0) == [4]
    assert one.overdue(1000.0) == []


def test_one_owner_gives_up() -> None:
    one: Exchange[str] = Exchange()
    mine, other = object(), object()
    one.expect(1, "a", owner=mine)
    one.expect(2, "b", owner=other)
    one.expect(3, "c")
    one.expect(4, "d", owner=mine)

    assert one.abandon(mine) == ["a", "d"]
    assert one.abandon(mine) == []
    assert len(one) == 2
    assert one.abandon() == ["b", "c"]
