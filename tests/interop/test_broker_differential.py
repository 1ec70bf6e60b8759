"""The same random histories of client requests to Apache's broker 5.5.0 and to ours: every answer is compared.

Differences that are wanted stand in docs/compatibility.md and in broker_differential/differences.py; any other fails. A
failure prints the shortest history found and both answers. To play more, or others: `--histories N`, `--differential-seed S`.
"""

import itertools
import logging
from collections.abc import Callable, Iterator

import pytest
from tests.interop.broker_differential.differences import HEADING, RULES
from tests.interop.broker_differential.generator import generate
from tests.interop.broker_differential.history import Request
from tests.interop.broker_differential.player import Falsify, Player, differences_in
from tests.interop.broker_differential.side import Side
from tests.interop.conftest import StageMaker
from tests.interop.differential.differences import listed_names
from tests.interop.rig.brokers import CLUSTER, BrokerSettings
from tests.interop.rig.jars import V5_5
from tests.interop.rig.our_broker import OurBroker
from tests.interop.rig.stage import Stage
from tests.support.wire import Answer

NAME = "broker-diff"
LEVELS = " ".join(["5h"] * 18)
DEFAULT_HISTORIES = 40
SELF_CHECKS = 8
TRIES_TO_FIND = 40
SEED_OF_SELF_CHECKS = 7


@pytest.fixture(scope="module")
def stage(new_stage: StageMaker) -> Iterator[Stage]:
    with new_stage("broker-differential") as stage:
        yield stage


@pytest.fixture(scope="module")
def apache(stage: Stage) -> str:
    """The address of an Apache broker that lives for the whole module."""
    config = {"messageDelayLevel": LEVELS, "transactionCheckInterval": "600000", "transactionTimeOut": "600000"}
    name_server = stage.name_server()
    broker = stage.broker(BrokerSettings(release=V5_5, name=NAME, name_servers=[name_server.address], config=config))
    broker.start()
    return broker.address


@pytest.fixture(scope="module")
def ours() -> Iterator[str]:
    """The address of ours."""
    settings = {
        "broker_cluster_name": CLUSTER, "message_delay_level": LEVELS, "transaction_check_interval": 600_000,
        "transaction_time_out": 600_000,
    }  # fmt: skip
    with OurBroker(NAME, "", **settings) as broker:
        yield broker.broker.address


class _Tracebacks(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info:
            self.found.append(logging.Formatter().format(record))


@pytest.fixture
def tracebacks() -> Iterator[list[str]]:
    """Errors of our own that were logged."""
    handler = _Tracebacks()
    logging.getLogger("cosmodrome").addHandler(handler)
    yield handler.found
    logging.getLogger("cosmodrome").removeHandler(handler)


@pytest.fixture(scope="module")
def plays() -> Iterator[int]:
    """Numbers of plays: names never come back while the brokers live."""
    return itertools.count(1)


def player_between(theirs: str, ours: str, plays: Iterator[int], falsify: Falsify | None = None) -> Player:
    second = Side(ours, "b")
    if falsify is not None:
        second.falsify = falsify
    return Player(Side(theirs, "a"), second, plays, listed_names(HEADING))


def test_apache_agrees_with_itself(apache: str, plays: Iterator[int]) -> None:
    """The harness sees no difference where there is none."""
    player = player_between(apache, apache, plays)
    mismatches = differences_in(player, (generate(SEED_OF_SELF_CHECKS, number) for number in range(SELF_CHECKS)), 1)
    assert not mismatches, str(mismatches[0])


def _in_ext(code: int, name: str, change: Callable[[str], str]) -> Falsify:
    def falsify(step: Request, answer: Answer) -> Answer:
        if step.code != code or name not in (answer.ext or {}):
            return answer
        ext = dict(answer.ext or {})
        return answer._replace(ext=ext | {name: change(ext[name])})

    return falsify


def _without(name: str) -> Falsify:
    def falsify(step: Request, answer: Answer) -> Answer:
        del step
        return answer._replace(ext={key: each for key, each in (answer.ext or {}).items() if key != name})

    return falsify


def _one_more(text: str) -> str:
    return str(int(text) + 1)


def _one_record_less(step: Request, answer: Answer) -> Answer:
    if step.code not in (11, 361) or answer.code != 0:
        return answer
    return answer._replace(body=answer.body[int.from_bytes(answer.body[:4]) :])


def _other_code(step: Request, answer: Answer) -> Answer:
    del step
    return answer._replace(code=24 if answer.code == 17 else answer.code)


def _other_remark(step: Request, answer: Answer) -> Answer:
    del step
    return answer._replace(remark=f"{answer.remark}." if answer.code == 17 else answer.remark)


def _other_table(step: Request, answer: Answer) -> Answer:
    body = answer.body.replace(b'"readQueueNums":4', b'"readQueueNums":5')
    return answer._replace(body=body) if step.code in (21, 351) else answer


FALSIFICATIONS: dict[str, Falsify] = {
    "offset of a queue": _in_ext(30, "offset", _one_more),
    "offset of a message": _in_ext(310, "queueOffset", _one_more),
    "where to go on": _in_ext(11, "nextBeginOffset", _one_more),
    "field of a send": _without("MSG_REGION"),
    "message left out": _one_record_less,
    "code": _other_code,
    "remark": _other_remark,
    "number in a table": _other_table,
}


@pytest.mark.parametrize("name", FALSIFICATIONS)
def test_a_wrong_answer_is_found(name: str, apache: str, plays: Iterator[int]) -> None:
    """The harness notices a broker that is wrong in one respect."""
    player = player_between(apache, apache, plays, FALSIFICATIONS[name])
    player.is_patient = False
    assert any(player.play(generate(SEED_OF_SELF_CHECKS, number)) for number in range(TRIES_TO_FIND))


def test_a_failing_history_is_made_small(apache: str, plays: Iterator[int]) -> None:
    player = player_between(apache, apache, plays, FALSIFICATIONS["offset of a message"])
    player.is_patient = False
    (mismatch,) = differences_in(player, (generate(SEED_OF_SELF_CHECKS, number) for number in range(TRIES_TO_FIND)), 1)
    assert [step.code for step in mismatch.history.steps if isinstance(step, Request)] == [310]
    assert "answers differ in ext" in str(mismatch)


def test_a_history_is_determined_by_its_seed() -> None:
    assert generate(1, 2) == generate(1, 2)
    assert generate(1, 2) != generate(2, 2) != generate(2, 7)


def test_the_document_lists_wanted_differences() -> None:
    """A rule without a line in the document would go unnoticed."""
    assert set(RULES) <= listed_names(HEADING)


def test_histories_are_answered_as_apache_answers(
    apache: str, ours: str, plays: Iterator[int], tracebacks: list[str], request: pytest.FixtureRequest
) -> None:
    """Whatever the history: same code, remark, header fields, records and tables."""
    count = request.config.getoption("--histories") or DEFAULT_HISTORIES
    seed = request.config.getoption("--differential-seed")
    player = player_between(apache, ours, plays)
    mismatches = differences_in(player, (generate(seed, number) for number in range(count)))
    if mismatches:
        pytest.fail("\n\n".join(map(str, mismatches)), pytrace=False)
    assert not tracebacks, tracebacks[0]
    assert player.compared >= 5 * count
