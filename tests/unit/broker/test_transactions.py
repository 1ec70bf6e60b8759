"""Which half messages are open, asked about, given up."""

from dataclasses import replace

from cosmodrome.broker.transactions import CheckRules, Fate, HalfMessage, Transactions, asked_again

NOBODY = ("", 0)
RULES = CheckRules(timeout_ms=6000, most_checks=2, keep_ms=1_000_000)


def half(offset: int = 0, *, checks: int = 0, stored_ms: int = 0, immunity_ms: int | None = None) -> HalfMessage:
    return HalfMessage(
        queue_offset=offset,
        log_offset=100 + offset,
        born_ms=0,
        stored_ms=stored_ms,
        checks=checks,
        immunity_ms=immunity_ms,
    )


def test_b033_an_end_is_claimed_once() -> None:
    transactions = Transactions(RULES)
    transactions.opened(half())
    assert transactions.begin_end(0)
    assert not transactions.begin_end(0)
    transactions.ended(0)
    assert not transactions.begin_end(0)
    assert not transactions.begin_end(7)


def test_an_end_that_was_not_stored_may_be_tried_again() -> None:
    transactions = Transactions(RULES)
    transactions.opened(half())
    transactions.begin_end(0)
    transactions.not_ended(0)
    assert transactions.begin_end(0)


def test_asked_after_the_timeout_and_given_up_after_so_many_times() -> None:
    transactions = Transactions(RULES)
    transactions.opened(half(0))
    transactions.opened(half(1, checks=2))
    transactions.opened(half(2, immunity_ms=60_000))
    assert transactions.to_check(5999) == []
    assert transactions.to_check(6000) == [(half(0), Fate.ASK), (half(1, checks=2), Fate.GIVE_UP)]
    assert len(transactions.to_check(60_000)) == 3


def test_one_that_is_older_than_messages_are_kept_is_asked_about_once() -> None:
    transactions = Transactions(RULES)
    transactions.opened(half(0))
    transactions.opened(half(1, checks=1))
    assert transactions.to_check(1_000_001) == [(half(0), Fate.ASK), (half(1, checks=1), Fate.GIVE_UP)]


def test_one_that_is_ending_is_not_asked() -> None:
    transactions = Transactions(RULES)
    transactions.opened(half())
    transactions.begin_end(0)
    assert transactions.to_check(6000) == []


def test_b032_done_to_is_before_the_first_that_is_open() -> None:
    transactions = Transactions(RULES)
    assert transactions.done_to() == 0
    for offset in range(4):
        transactions.opened(half(offset))
    transactions.ended(0)
    transactions.ended(2)
    assert transactions.done_to() == 1
    for offset in (1, 3):
        transactions.ended(offset)
    assert transactions.done_to() == 4


def test_what_the_store_holds_after_a_start() -> None:
    transactions = Transactions(RULES)
    transactions.load([half(5), half(6), half(7)], [5, 7, 2], 5)
    assert (len(transactions), transactions.done_to()) == (1, 6)


def test_a_copy_counts_on() -> None:
    copy = asked_again(half(3, checks=1), 9, 900, 77)
    assert (copy.queue_offset, copy.log_offset, copy.stored_ms, copy.checks) == (9, 900, 77, 2)


def copied(transactions: Transactions, original: HalfMessage, offset: int) -> HalfMessage:
    """Have a half message asked about, which makes a copy of it."""
    assert transactions.begin_copy(original.queue_offset)
    copy = asked_again(original, offset, 100 + offset, 6000)
    transactions.replaced(original, copy)
    return copy


def test_b032_an_end_of_one_that_was_asked_about_is_of_its_newest_copy() -> None:
    transactions = Transactions(RULES)
    transactions.opened(half(0))
    copied(transactions, copied(transactions, half(0), 5), 8)
    assert [transactions.newest(offset, NOBODY) for offset in (0, 5, 8)] == [8, 8, 8]
    assert transactions.begin_end(8)
    transactions.ended(8)
    assert len(transactions) == 0
    assert not any(transactions.begin_end(transactions.newest(offset, NOBODY)) for offset in (0, 5, 8))


def test_b032_an_end_waits_for_a_copy_that_is_being_made() -> None:
    transactions = Transactions(RULES)
    transactions.opened(half(0))
    heard: list[int] = []
    assert not transactions.wait_for_copy(0, lambda: heard.append(0))
    assert transactions.begin_copy(0)
    assert not transactions.begin_end(0)
    assert transactions.wait_for_copy(0, lambda: heard.append(transactions.newest(0, NOBODY)))
    transactions.replaced(half(0), asked_again(half(0), 5, 105, 6000))
    assert heard == [5]
    assert transactions.begin_copy(5)
    assert transactions.wait_for_copy(5, lambda: heard.append(transactions.newest(0, NOBODY)))
    transactions.not_ended(5)
    assert heard == [5, 5], "the copy could not be stored"


def test_b033_after_a_start_a_copy_stands_for_what_it_is_a_copy_of() -> None:
    """Those that are before the first are known by the sender's id; two messages with one id are two."""
    first = replace(half(0), unique_key="U")
    copies = [replace(half(at, checks=checks), unique_key="U") for at, checks in ((3, 1), (6, 2))]
    other, twin = half(1), replace(half(7), unique_key="U")
    for halves in ((first, other, *copies, twin), (other, copies[1], twin)):
        transactions = Transactions(RULES)
        transactions.load(halves, [], 0)
        assert len(transactions) == 3
        assert transactions.newest(0, ("U", 0)) == 6
        assert transactions.newest(7, ("U", 0)) == 7
    transactions = Transactions(RULES)
    transactions.load((first, *copies), [6], 0)
    assert len(transactions) == 0, "its newest copy has ended"
