"""What several servers answered, with what failed never left out.

Owns: the mark of a partial result; when failures are an error; the advice for a refusal.
Must not know: what was asked.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Generic, Self, TypeVar

from cosmodrome.errors import (
    AuthenticationError,
    BrokersFailedError,
    NotPermittedError,
    NotSupportedError,
    RefusedError,
    RemotingError,
    RocketMQError,
)
from cosmodrome.protocol.codes import ResponseCode

ValueT = TypeVar("ValueT")

_ADVICE: Final[Mapping[int, str]] = {
    ResponseCode.SYSTEM_BUSY: "the broker has too much to do: ask again later",
    ResponseCode.TOPIC_NOT_EXIST: "create the topic there, or look for the name with topics.names()",
    ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST: "create the group there with groups.create()",
    ResponseCode.CONSUMER_NOT_ONLINE: "start a consumer of the group",
    ResponseCode.CONSUME_MSG_TIMEOUT: "the client is connected and does not answer: look at its log",
    ResponseCode.INVALID_PARAMETER: "correct what the remark names",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Partial:
    """A result of several servers.

    Attributes:
        failures: What went wrong, by the server that was asked. Their part is missing in the result.
    """

    failures: Mapping[str, RocketMQError] = field(default_factory=dict)

    @property
    def is_partial(self) -> bool:
        """Whether something is missing."""
        return bool(self.failures)

    def whole(self) -> Self:
        """Give the result if nothing is missing.

        Raises:
            BrokersFailedError: Something is.
        """
        if self.failures:
            raise failed("the result is not whole", self.failures)
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers(Partial, Generic[ValueT]):
    """What each server answered.

    Attributes:
        values: By the name of the broker that was asked, or by its address if it was asked for by address.
    """

    values: Mapping[str, ValueT] = field(default_factory=dict)

    def one(self) -> ValueT:
        """Give the only value.

        Raises:
            BrokersFailedError: Something is missing.
            ValueError: There is not exactly one.
        """
        self.whole()
        if len(self.values) != 1:
            raise ValueError(f"there are {len(self.values)} values: {', '.join(self.values)}")
        return next(iter(self.values.values()))


def checked(what: str, answers: Answers[ValueT]) -> Answers[ValueT]:
    """Let a result pass of which there is something.

    Raises:
        RocketMQError: The only server that was asked failed.
        BrokersFailedError: All of several failed.
    """
    return answers if answers.values or not answers.failures else _failed(what, answers)


def done(what: str, answers: Answers[ValueT]) -> Answers[ValueT]:
    """Let a change pass that every server made.

    Raises:
        RocketMQError: The only server that was asked failed.
        BrokersFailedError: Some or all of several did; it names those that did it too.
    """
    return _failed(what, answers) if answers.failures else answers


def _failed(what: str, answers: Answers[ValueT]) -> Answers[ValueT]:
    if len(answers.failures) == 1 and not answers.values:
        raise next(iter(answers.failures.values()))
    raise failed(what, answers.failures, tuple(answers.values))


def failed(what: str, failures: Mapping[str, RocketMQError], done_at: Sequence[str] = ()) -> BrokersFailedError:
    """Give the error for several that failed, with the advice for each as its notes."""
    error = BrokersFailedError(what, failures, done_at)
    for name, failure in failures.items():
        advice = _advice(failure)
        if advice is not None:
            error.add_note(f"{name}: do: {advice}")
    return error


def advised(name: str, error: RocketMQError) -> RocketMQError:
    """Add to an error which broker it is about and what can be done; both show in tracebacks."""
    error.add_note(f"asked: {name}")
    advice = _advice(error)
    if advice is not None:
        error.add_note(f"do: {advice}")
    return error


def _advice(error: RocketMQError) -> str | None:
    if isinstance(error, AuthenticationError):
        return "give AdminClient the credentials of an account that may do this: credentials=Credentials(...)"
    if isinstance(error, NotPermittedError):
        return "ask from the broker's own host, or with credentials of an administrator, or change the broker's policy"
    if isinstance(error, NotSupportedError):
        return "this release does not know the request; newer ones may"
    if isinstance(error, RemotingError):
        return "see whether the server runs and its address can be reached from here"
    return _ADVICE.get(error.code) if isinstance(error, RefusedError) else None
