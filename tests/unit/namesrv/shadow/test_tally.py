"""Counts, the first differences, and the report."""

import json
from typing import Any

import msgspec

from cosmodrome.namesrv.shadow.tally import (
    KEPT_DIFFERENCES,
    KEPT_FINDINGS,
    LONGEST_KEPT_BODY,
    Both,
    Outcome,
    Report,
    Tally,
    question_of,
)
from cosmodrome.protocol.answer_differences import Difference
from cosmodrome.protocol.command import RemotingCommand

FOUND = [Difference("code", 17, 0)]


def ask(topic: str) -> RemotingCommand:
    return RemotingCommand(105, ext_fields={"topic": topic, "acceptStandardJsonOnly": None})


def both(body: bytes = b"{}") -> Both:
    return Both(RemotingCommand(17, remark="none"), RemotingCommand(0, body=body, ext_fields={"a": "b"}))


def as_json(report: Report) -> Any:
    return json.loads(msgspec.json.encode(report))


class TestCounts:
    def test_a_read_is_pending_until_it_has_an_outcome(self) -> None:
        tally = Tally(0)
        tally.reads = 5
        tally.turned_away = 1
        tally.count(Outcome.SAME)
        tally.count(Outcome.DIFFERENT, 2)

        assert [tally.of(outcome) for outcome in Outcome] == [1, 2, 1, 0]
        assert tally.pending == 1

    def test_what_nobody_will_look_at_was_dropped(self) -> None:
        tally = Tally(0)
        tally.reads = 3
        tally.count(Outcome.FAILED)

        tally.give_up()

        assert (tally.pending, tally.of(Outcome.DROPPED), tally.of(Outcome.FAILED)) == (0, 2, 1)


class TestFindings:
    def test_a_report_is_json_with_both_answers_decoded(self) -> None:
        tally = Tally(0)
        tally.reads = 1
        tally.count(Outcome.DIFFERENT)
        tally.last_failure = "it was down"
        tally.keep(ask("T"), both(b'{"brokerDatas":[{"brokerAddrs":{0:"a:1"}}]}'), FOUND, 1.5)

        assert as_json(tally.report("10.0.0.1:9876", 60)) == {
            "other": "10.0.0.1:9876",
            "since": "1970-01-01T00:00:00.000Z",
            "until": "1970-01-01T00:01:00.000Z",
            "reads": 1,
            "same": 0,
            "different": 1,
            "dropped": 0,
            "failed": 0,
            "pending": 0,
            "last_failure": "it was down",
            "differences": [
                {
                    "found_at": "1970-01-01T00:00:01.500Z",
                    "code": 105,
                    "question": "acceptStandardJsonOnly= topic=T",
                    "differences": [{"where": "code", "ours": 17, "theirs": 0}],
                    "ours": {"code": 17, "remark": "none"},
                    "theirs": {
                        "code": 0,
                        "ext_fields": {"a": "b"},
                        "body": {"brokerDatas": [{"brokerAddrs": {"0": "a:1"}}]},
                    },
                }
            ],
        }

    def test_the_first_ones_about_different_questions_are_kept(self) -> None:
        tally = Tally(0)
        for number in range(KEPT_FINDINGS + 5):
            for _ in range(2):
                tally.keep(ask(f"T{number}"), both(), FOUND, 0)

        kept = tally.report("o:1", 0).differences

        assert [each.question for each in kept] == [str(question_of(ask(f"T{n}"))) for n in range(KEPT_FINDINGS)]

    def test_what_is_kept_of_one_is_bounded(self) -> None:
        body = b'["' + b"x" * LONGEST_KEPT_BODY + b'"]'
        tally = Tally(0)
        tally.keep(ask("T"), both(body), FOUND * (KEPT_DIFFERENCES + 1), 0)

        (kept,) = tally.report("o:1", 0).differences

        assert len(kept.differences) == KEPT_DIFFERENCES
        assert kept.theirs.body.endswith(f"x... ({len(body)} bytes)")
        assert len(kept.theirs.body) < LONGEST_KEPT_BODY + 50


def test_a_question_is_its_code_and_its_fields_in_any_order() -> None:
    one, other = (
        RemotingCommand(901, ext_fields={"a": "1", "b": "2"}),
        RemotingCommand(901, ext_fields={"b": "2", "a": "1"}),
    )

    assert question_of(one) == question_of(other)
    assert question_of(one) != question_of(other.replaced(code=101))
    assert str(question_of(RemotingCommand(106))) == ""
