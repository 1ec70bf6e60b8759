"""Requests that wait for their answer."""

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
