"""The same random histories to the Apache NameServer 5.5.0 and to ours: every answer is compared.

Differences that are wanted stand in docs/compatibility.md and in differential/differences.py; any other
fails. A failure prints the shortest history found and both answers. To play more, or others:
`--histories N`, `--differential-seed S`.
"""

import itertools
import re
from collections.abc import Iterator
from dataclasses import replace

import pytest
from tests.interop.conftest import StageMaker
from tests.interop.differential.campaign import (
    Falsify,
    differences_in,
    player_between,
    random_histories,
    report,
)
from tests.interop.differential.differences import DOCUMENT, HEADING, RULES, listed_names
from tests.interop.differential.generator import generate
from tests.interop.differential.history import Body, History, Request, Topic
from tests.interop.differential.matrix import odd_histories
from tests.interop.differential.options import DEFAULT_HISTORIES
from tests.interop.differential.player import Player
from tests.interop.differential.shrinking import smaller
from tests.interop.rig.jars import V5_5
from tests.interop.rig.name_servers import NameServer
from tests.interop.rig.stage import OURS, Stage
from tests.interop.shrinking import shrink
from tests.support.wire import Answer, Broker, Wire, register

SELF_CHECKS = 30
TRIES_TO_FIND = 60
SEED_OF_SELF_CHECKS = 7
LONGEST_RUN_S = 7200
"""About 20,000 histories; 200 take half a minute."""


@pytest.fixture(scope="module")
def stage(new_stage: StageMaker) -> Iterator[Stage]:
    with new_stage("differential") as stage:
        yield stage


@pytest.fixture(scope="module")
def apache(stage: Stage) -> str:
    """The address of an Apache NameServer that lives for the whole module."""
    return stage.started_name_server(V5_5).address


@pytest.fixture(scope="module")
def tested_server(stage: Stage) -> NameServer:
    """The NameServer under test."""
    return stage.name_server()


@pytest.fixture(scope="module")
def tested(tested_server: NameServer) -> str:
    """Its address."""
    return tested_server.address


@pytest.fixture(scope="module")
def plays() -> Iterator[int]:
    """Numbers of plays: names never come back while the servers live."""
    return itertools.count(1)


@pytest.fixture
def player(apache: str, tested: str, plays: Iterator[int], request: pytest.FixtureRequest) -> Iterator[Player]:
    is_ours = request.config.getoption("--name-server") == OURS
    with player_between(apache, tested, plays, translates=is_ours) as player:
        yield player


def test_new_server_sends_no_order_table(apache: str, tested: str) -> None:
    """The first test: the answer to a registration has a body once the order namespace was made."""
    for address in (apache, tested):
        with Wire(address) as wire:
            answer = register(wire, Broker(name="first", addr="127.0.0.1:9", cluster="first"))
            assert (answer.code, answer.remark, answer.ext, answer.body) == (0, None, {}, b"")


def test_apache_agrees_with_itself(apache: str, plays: Iterator[int]) -> None:
    """The harness sees no difference where there is none, even without any wanted one."""
    with player_between(apache, apache, plays) as player:
        for number in range(SELF_CHECKS):
            mismatch = player.play(generate(SEED_OF_SELF_CHECKS, number))
            assert mismatch is None, f"{mismatch}"


def _in_body(code: int, old: bytes, new: bytes) -> Falsify:
    def falsify(step: Request, answer: Answer) -> Answer:
        return answer._replace(body=answer.body.replace(old, new)) if step.code == code else answer

    return falsify


def _in_ext(code: int, name: str, old: str, new: str) -> Falsify:
    def falsify(step: Request, answer: Answer) -> Answer:
        if step.code != code or (answer.ext or {}).get(name) != old:
            return answer
        return answer._replace(ext={**(answer.ext or {}), name: new})

    return falsify


def _one_topic_less(step: Request, answer: Answer) -> Answer:
    shorter = re.sub(rb'"t1-[^"]*",?', b"", answer.body)
    return answer._replace(body=shorter) if step.code == 206 else answer


def _no_master(step: Request, answer: Answer) -> Answer:
    return answer._replace(ext={}) if step.code == 103 and "masterAddr" in (answer.ext or {}) else answer


FALSIFICATIONS: dict[str, Falsify] = {
    "number in a route": _in_body(105, b'"readQueueNums":8', b'"readQueueNums":9'),
    "quoted keys in a plain route": _in_body(105, b"{0:", b'{"0":'),
    "bare keys in a standard route": _in_body(105, b'{"0":', b"{0:"),
    "white space": _in_body(106, b',"', b', "'),
    "escaped slash": _in_body(105, b"f/", b"f\\/"),
    "topic left out of a list": _one_topic_less,
    "change of a data version denied": _in_ext(322, "changed", "true", "false"),
    "count": _in_ext(205, "wipeTopicCount", "2", "3"),
    "master of a slave": _no_master,
    "empty ext fields dropped": lambda _, answer: answer._replace(ext=answer.ext or None),
    "remark without its leading blank": lambda _, answer: answer._replace(remark=(answer.remark or "").strip() or None),
    "flags": lambda _, answer: answer._replace(flag=3),
    "code": lambda _, answer: answer._replace(code=0 if answer.code == 22 else answer.code),
}


@pytest.mark.parametrize("name", FALSIFICATIONS)
def test_wrong_answer_is_found(name: str, apache: str, plays: Iterator[int]) -> None:
    """The harness notices a server that is wrong in one respect."""
    with player_between(apache, apache, plays, FALSIFICATIONS[name]) as player:
        histories = (generate(SEED_OF_SELF_CHECKS, number) for number in range(TRIES_TO_FIND))
        assert any(player.play_briskly(history) for history in histories)


def test_apache_in_our_place_is_found_out(apache: str, plays: Iterator[int]) -> None:
    """What Apache's server leaves behind, and ours does not, is noticed in what is answered later."""
    with player_between(apache, apache, plays, translates=True) as player:
        histories = (generate(SEED_OF_SELF_CHECKS, number) for number in range(TRIES_TO_FIND))
        played = (history for history in histories if not _leaves_a_null_name(history))
        assert sum(player.play_briskly(history) is not None for history in played) > TRIES_TO_FIND // 6


def _leaves_a_null_name(history: History) -> bool:
    """Return whether Apache's lists would be cut short for ever by it."""
    requests = [step for step in history.steps if isinstance(step, Request)]
    return any(step.code == 103 and step.get("brokerName") is None for step in requests)


def test_failing_history_is_made_small(apache: str, plays: Iterator[int]) -> None:
    """What a person reads is a registration with the topic and the route that shows it wrongly."""
    with player_between(apache, apache, plays, FALSIFICATIONS["number in a route"]) as player:
        histories = (generate(SEED_OF_SELF_CHECKS, number) for number in range(TRIES_TO_FIND))
        failing = next(history for history in histories if player.play_briskly(history))
        mismatch = shrink(failing, smaller, player.play_briskly)
        assert mismatch is not None
        assert [step.code for step in mismatch.history.steps if isinstance(step, Request)] == [103, 105]
        assert "answers differ in body" in str(mismatch)


def test_history_is_determined_by_its_seed() -> None:
    """A seed and a number name a history for good."""
    assert generate(1, 2) == generate(1, 2)
    assert generate(1, 2) != generate(2, 2) != generate(2, 7)


def test_document_lists_wanted_differences() -> None:
    """A rule without a line in the document, or a line that is not read, would go unnoticed."""
    assert HEADING in DOCUMENT.read_text(encoding="utf-8")
    assert set(RULES) <= listed_names()


@pytest.mark.timeout(LONGEST_RUN_S)
def test_histories_are_answered_as_apache_answers(player: Player, request: pytest.FixtureRequest) -> None:
    """Whatever the history: same code, remark, header fields and body, byte for byte up to order."""
    count = request.config.getoption("--histories") or DEFAULT_HISTORIES
    seed = request.config.getoption("--differential-seed")
    mismatches = differences_in(player, random_histories(seed, count))
    if mismatches:
        pytest.fail(report(mismatches), pytrace=False)


def test_malformed_requests_are_answered_as_apache_answers(player: Player) -> None:
    """Every code with one thing wrong at a time: fields, types, names, bodies, headers, flags, versions."""
    mismatches = differences_in(player, odd_histories())
    if mismatches:
        pytest.fail(report(mismatches), pytrace=False)


@pytest.mark.parametrize("server", ["apache", "tested"])
def test_system_topic_list_names_the_address_of_a_broker(server: str, request: pytest.FixtureRequest) -> None:
    """304 picks any broker, so the histories leave the address out: here it must be a known one."""
    with Wire(request.getfixturevalue(server)) as wire:
        assert register(wire, Broker(name="listed", addr="127.0.0.1:9", cluster="listed")).code == 0
        groups = wire.request(106).json()["brokerAddrTable"].values()
        addrs = {addr for group in groups for addr in group["brokerAddrs"].values()}
        # A refused registration may have left a group without addresses on Apache's server (refusal-leaves-no-trace).
        is_excused = server == "apache" and any(not group["brokerAddrs"] for group in groups)
        assert wire.request(304).json().get("brokerAddr") in (addrs | {None} if is_excused else addrs)


def test_histories_leave_no_traceback(tested_server: NameServer) -> None:
    """Whatever the histories sent, nothing of it was an error of ours."""
    assert "Traceback" not in tested_server.process.output()


def test_registration_without_a_broker_name(player: Player) -> None:
    """The last test: Apache's lists are cut short for ever by the null name that it stores."""
    ext = {"brokerAddr": "@1", "clusterName": "c1~", "haServerAddr": "@1", "brokerId": "0", "compressed": "false"}
    step = Request(connection="b", code=103, ext=ext, body=Body(form="json", topics=(Topic("t1~"), Topic("t2~"))))
    steps = (step, replace(step, ext=ext | {"brokerName": "b1~", "brokerId": ""}))
    for each in steps:
        mismatch = player.play(History(seed=0, number=0, setting=(), steps=(each,)))
        assert mismatch is None, f"{mismatch}"
