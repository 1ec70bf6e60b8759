"""What peers may cost: judgements of pace, and the census of connections."""

import pytest

from cosmodrome.errors import PeerLimitError
from cosmodrome.transport.limits import Census, PeerLimits

LIMITS = PeerLimits(greeting_timeout_s=10, frame_timeout_s=30, write_timeout_s=30, min_bytes_per_s=1000, connections=3)
OFF = PeerLimits(greeting_timeout_s=0, frame_timeout_s=0, write_timeout_s=0)


def cause(error: PeerLimitError | None) -> str | None:
    return None if error is None else error.cause


@pytest.mark.parametrize(("elapsed_s", "expected"), [(0, None), (10, None), (10.1, "greeting_deadline")])
def test_a_greeting_has_so_long_whatever_comes(elapsed_s: float, expected: str | None) -> None:
    assert cause(LIMITS.check_greeting(elapsed_s)) == expected


@pytest.mark.parametrize(
    ("elapsed_s", "received", "expected"),
    [
        (30, 0, None),
        (31, 0, "frame_deadline"),
        (31, 30_999, "frame_deadline"),
        (31, 31_000, None),
        (600, 16 * 1024 * 1024, None),
    ],
)
def test_a_frame_has_so_long_or_comes_at_a_pace(elapsed_s: float, received: int, expected: str | None) -> None:
    assert cause(LIMITS.check_frame(elapsed_s, received)) == expected


def test_a_trickle_is_no_pace() -> None:
    """One byte in ten seconds."""
    assert str(LIMITS.check_frame(40, 4)).startswith("a frame is not complete and only 4 bytes of it came in 40 s")


@pytest.mark.parametrize(
    ("elapsed_s", "taken", "expected"), [(30, 0, None), (31, 30_999, "write_stalled"), (31, 31_000, None)]
)
def test_answers_are_taken_at_the_same_pace(elapsed_s: float, taken: int, expected: str | None) -> None:
    assert cause(LIMITS.check_taking(elapsed_s, taken, 70_000)) == expected


def test_what_the_operator_reads_about_answers() -> None:
    assert str(LIMITS.check_taking(31, 5, 70_000)).startswith(
        "it took only 5 bytes of answers in 31 s and is owed 70000"
    )


def test_0_is_no_limit() -> None:
    assert OFF.check_greeting(1e9) is None
    assert OFF.check_frame(1e9, 0) is None
    assert OFF.check_taking(1e9, 0, 1) is None


def test_the_configured_ceiling() -> None:
    census = Census(LIMITS)
    for number in range(3):
        assert census.refusal() is None
        census.enter(number, "h")
    assert cause(census.refusal()) == "too_many_connections"
    census.leave(1)
    assert census.refusal() is None
    assert len(census) == 2


def test_the_ceiling_of_descriptors() -> None:
    census = Census(PeerLimits())
    census.enter(1, "h")
    assert not census.is_out_of_descriptors
    census.set_descriptor_ceiling(2)
    assert census.refusal() is None
    census.enter(2, "h")
    assert cause(census.refusal()) == "descriptors"
    assert census.is_out_of_descriptors


def test_the_ceiling_of_an_address() -> None:
    census = Census(PeerLimits(connections_per_address=2))
    census.enter(1, "a")
    census.enter(2, "a")
    census.enter(3, "b")
    assert cause(census.refusal_of_host("a")) == "too_many_connections_of_address"
    assert census.refusal_of_host("b") is None
    assert census.refusal_of_host("c") is None
    census.leave(1)
    assert census.refusal_of_host("a") is None
    census.leave(2)
    census.leave(3)
    assert not census._of_host
    assert not census._hosts


def test_addresses_are_not_remembered_without_a_ceiling() -> None:
    census = Census(PeerLimits())
    census.enter(1, "a")
    assert census.refusal_of_host("a") is None
    assert not census._hosts


def test_who_was_silent_for_longest_gives_way() -> None:
    census = Census(LIMITS)
    for number in range(5):
        census.enter(number, "h")
        census.unproven(number)
    census.unproven(0)
    census.proven(1)
    census.leave(2)
    assert [census.give_way() for _ in range(4)] == [3, 4, 0, None]
