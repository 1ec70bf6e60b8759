"""Many histories in a row.

Owns: the pair of sides that a campaign plays on, how many failures it reports, and making them small.
Must not know: which servers there are.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from tests.interop.differential import old_release
from tests.interop.differential.differences import listed_names
from tests.interop.differential.generator import generate
from tests.interop.differential.history import History, Request
from tests.interop.differential.player import Mismatch, Player
from tests.interop.differential.shrinking import smaller
from tests.interop.differential.side import Side
from tests.interop.rig.ports import free_port
from tests.interop.shrinking import shrink
from tests.support.wire import Answer

MOST_REPORTED = 3

Falsify = Callable[[Request, Answer], Answer]


@contextmanager
def player_between(
    theirs: str,
    ours: str,
    plays: Iterator[int],
    falsify: Falsify | None = None,
    *,
    translates: bool = False,
    is_old: bool = False,
) -> Iterator[Player]:
    """Compare a server with Apache's, which is 4.9.7 if it is old; `falsify` changes the former's answers."""
    port = free_port()
    first, second = Side(theirs, 1, broker_port=port, is_old=is_old), Side(ours, 2, broker_port=port)
    if falsify is not None:
        second.falsify = falsify
    names = listed_names() | (listed_names(old_release.HEADING) if is_old else frozenset())
    yield Player(first, second, plays, names, translates=translates, is_old=is_old)
    first.stop()
    second.stop()


def random_histories(seed: int, count: int, *, is_old: bool = False) -> Iterator[History]:
    """Yield the first histories of a seed."""
    return (generate(seed, number, is_old=is_old) for number in range(count))


def differences_in(player: Player, histories: Iterable[History]) -> list[Mismatch]:
    """Play histories until all are done or enough have failed; return the failures, made small."""
    mismatches: list[Mismatch] = []
    for history in histories:
        mismatch = player.play(history)
        if mismatch is not None:
            mismatches.append(shrink(history, smaller, player.play_briskly) or mismatch)
        if len(mismatches) == MOST_REPORTED:
            break
    return mismatches


def report(mismatches: list[Mismatch]) -> str:
    """Write failures for a person."""
    return "\n\n".join(str(each) for each in mismatches)
