"""Waiting for something that another process does.

Owns: the only loop in the tests that waits; every wait has a deadline and says what it waited for.
Must not know: what is being waited for.
"""

import time
from collections.abc import Callable
from typing import Final, TypeVar

T = TypeVar("T")

PAUSE_S: Final = 0.05


class NotInTimeError(AssertionError):
    """The awaited thing did not happen before the deadline; the message names it."""


def wait_until(
    probe: Callable[[], T | None],
    what: str,
    within_s: float = 60.0,
    ignoring: tuple[type[Exception], ...] = (),
) -> T:
    """Call `probe` until it returns something true, and return that.

    Args:
        probe: Called at least once, and once more after the deadline has passed.
        what: A claim that completes the sentence "waited for ...".
        within_s: The deadline, in seconds from now.
        ignoring: Errors of `probe` that mean "not yet", such as a refused connection.

    Raises:
        NotInTimeError: The deadline passed. The message holds the last value or error.
    """
    deadline = time.monotonic() + within_s
    while True:
        is_last = time.monotonic() >= deadline
        last_seen: object
        try:
            seen = probe()
            if seen:
                return seen
            last_seen = seen
        except ignoring as error:
            last_seen = error
        if is_last:
            raise NotInTimeError(f"waited {within_s:g} s for {what}; last seen: {last_seen!r:.2000}")
        time.sleep(PAUSE_S)
