"""The same random histories to the Apache NameServer 4.9.7 and to ours, up to what the generations do differently.

What differs by generation stands in docs/compatibility.md and in differential/old_release.py, once and
by name; the rest is equal.
"""

import itertools
from collections.abc import Iterator

import pytest
from tests.interop.conftest import StageMaker
from tests.interop.differential import old_release
from tests.interop.differential.campaign import differences_in, player_between, random_histories, report
from tests.interop.differential.differences import listed_names
from tests.interop.differential.generator import generate
from tests.interop.differential.history import Request
from tests.interop.differential.matrix import odd_histories
from tests.interop.differential.options import DEFAULT_OLD_HISTORIES
from tests.interop.differential.player import Player
from tests.interop.rig.jars import V4_9
from tests.interop.rig.stage import OURS, Stage
from tests.support.wire import Answer

LONGEST_RUN_S = 7200
TRIES_TO_FIND = 40
SEED_OF_SELF_CHECKS = 7


@pytest.fixture(scope="module")
def stage(new_stage: StageMaker) -> Iterator[Stage]:
    with new_stage("differential-old") as stage:
        yield stage


@pytest.fixture(scope="module")
def apache(stage: Stage) -> str:
    """The address of an Apache NameServer 4.9.7."""
    return stage.started_name_server(V4_9).address


@pytest.fixture(scope="module")
def tested(stage: Stage) -> str:
    """The address of the NameServer under test."""
    return stage.name_server().address


@pytest.fixture(scope="module")
def plays() -> Iterator[int]:
    return itertools.count(1)


@pytest.fixture
def player(apache: str, tested: str, plays: Iterator[int], request: pytest.FixtureRequest) -> Iterator[Player]:
    is_ours = request.config.getoption("--name-server") == OURS
    with player_between(apache, tested, plays, translates=is_ours, is_old=True) as player:
        yield player


def test_document_lists_what_differs_by_generation() -> None:
    """A rule without a line in the document, or a line without a rule, would go unnoticed."""
    names = old_release.FORMS | old_release.TABLE_RULES | set(old_release.RULES)
    assert listed_names(old_release.HEADING) == names


@pytest.mark.timeout(LONGEST_RUN_S)
def test_histories_are_answered_as_apache_answers(player: Player, request: pytest.FixtureRequest) -> None:
    """Whatever the history: the same but for the generation."""
    count = request.config.getoption("--histories") or DEFAULT_OLD_HISTORIES
    seed = request.config.getoption("--differential-seed")
    mismatches = differences_in(player, random_histories(seed, count, is_old=True))
    if mismatches:
        pytest.fail(report(mismatches), pytrace=False)


@pytest.mark.full
def test_malformed_requests_are_answered_as_apache_answers(player: Player) -> None:
    """Every code with one thing wrong at a time."""
    mismatches = differences_in(player, odd_histories(is_old=True))
    if mismatches:
        pytest.fail(report(mismatches), pytrace=False)


def test_wrong_answer_is_found(apache: str, tested: str, plays: Iterator[int]) -> None:
    """Taking the generations into account does not hide a wrong number."""

    def falsify(step: Request, answer: Answer) -> Answer:
        return answer._replace(body=answer.body.replace(b'"readQueueNums":8', b'"readQueueNums":9'))

    with player_between(apache, tested, plays, falsify, translates=True, is_old=True) as player:
        histories = (generate(SEED_OF_SELF_CHECKS, number, is_old=True) for number in range(TRIES_TO_FIND))
        assert any(player.play_briskly(history) for history in histories)
