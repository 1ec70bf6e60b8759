"""What shadow mode has found so far.

Owns: counts of outcomes, the first differences with both answers, the report made of them.
Must not know: how answers are got or compared; where the report goes.
"""

import datetime as dt
import enum
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import msgspec

from cosmodrome.protocol.answer_differences import ABSENT, Difference, body_value
from cosmodrome.protocol.command import RemotingCommand

KEPT_FINDINGS: Final = 10
KEPT_DIFFERENCES: Final = 50
LONGEST_KEPT_BODY: Final = 64 * 1024


class Outcome(enum.StrEnum):
    """What became of one read."""

    SAME = "same"
    DIFFERENT = "different"
    DROPPED = "dropped"
    """Not asked: there were more reads than shadow mode may take up."""
    FAILED = "failed"
    """Asked without an answer that can be compared."""


class Question(NamedTuple):
    """What makes two reads the same."""

    code: int
    fields: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        """Give the fields as `name=value`."""
        return " ".join(f"{name}={value}" for name, value in self.fields)


def question_of(request: RemotingCommand) -> Question:
    """Give the question that a request asks."""
    fields = request.ext_fields or {}
    return Question(request.code, tuple(sorted((name, value or "") for name, value in fields.items())))


class Both(NamedTuple):
    """The answers of the two servers to one question."""

    ours: RemotingCommand
    theirs: RemotingCommand


class AnswerShown(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An answer as a person reads it; `body` is a JSON value, or the beginning of a long text."""

    code: int
    remark: str | None = None
    ext_fields: dict[str, str | None] | None = None
    body: Any = ABSENT


class Finding(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A question that was answered differently, and both answers."""

    found_at: str
    code: int
    question: str
    differences: Sequence[Difference]
    ours: AnswerShown
    theirs: AnswerShown


class Report(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """All of it, to be written as JSON. `last_failure` says why the last failed read failed."""

    other: str
    since: str
    until: str
    reads: int
    same: int
    different: int
    dropped: int
    failed: int
    pending: int
    last_failure: str | None = None
    differences: Sequence[Finding]


class Tally:
    """Counts of outcomes, and the first differences.

    Whoever takes a read in counts it in `reads`, and in `turned_away` as well if it drops it at once. Every other
    read must get one outcome in the end.
    """

    def __init__(self, wall_s: float) -> None:
        self.reads = 0
        self.turned_away = 0
        self.last_failure: str | None = None
        self._counts = dict.fromkeys(Outcome, 0)
        self._findings: dict[Question, Finding] = {}
        self._since_s = wall_s

    def count(self, outcome: Outcome, reads: int = 1) -> None:
        """Take outcomes."""
        self._counts[outcome] += reads

    def of(self, outcome: Outcome) -> int:
        """Give how many had this outcome."""
        return self._counts[outcome] + (self.turned_away if outcome is Outcome.DROPPED else 0)

    @property
    def pending(self) -> int:
        """How many reads have no outcome yet."""
        return self.reads - self.turned_away - sum(self._counts.values())

    def keep(self, request: RemotingCommand, both: Both, found: list[Difference], wall_s: float) -> None:
        """Remember a difference, if it is one of the first and about something else than those before."""
        question = question_of(request)
        if len(self._findings) < KEPT_FINDINGS and question not in self._findings:
            self._findings[question] = Finding(
                found_at=_time_text(wall_s),
                code=request.code,
                question=str(question),
                differences=found[:KEPT_DIFFERENCES],
                ours=_shown(both.ours),
                theirs=_shown(both.theirs),
            )

    def give_up(self) -> None:
        """Count what is pending as dropped: nobody will look at it any more."""
        self.count(Outcome.DROPPED, self.pending)

    def report(self, other: str, wall_s: float) -> Report:
        """Give everything found so far."""
        return Report(
            other=other,
            since=_time_text(self._since_s),
            until=_time_text(wall_s),
            reads=self.reads,
            same=self.of(Outcome.SAME),
            different=self.of(Outcome.DIFFERENT),
            dropped=self.of(Outcome.DROPPED),
            failed=self.of(Outcome.FAILED),
            pending=self.pending,
            last_failure=self.last_failure,
            differences=list(self._findings.values()),
        )


def _shown(answer: RemotingCommand) -> AnswerShown:
    is_long = len(answer.body) > LONGEST_KEPT_BODY
    start = answer.body[:LONGEST_KEPT_BODY].decode("utf-8", "replace")
    return AnswerShown(
        code=answer.code,
        remark=answer.remark,
        ext_fields=None if answer.ext_fields is None else dict(answer.ext_fields),
        body=f"{start}... ({len(answer.body)} bytes)" if is_long else body_value(answer.body),
    )


def _time_text(wall_s: float) -> str:
    moment = dt.datetime.fromtimestamp(wall_s, tz=dt.UTC).replace(tzinfo=None)
    return f"{moment.isoformat(timespec='milliseconds')}Z"
