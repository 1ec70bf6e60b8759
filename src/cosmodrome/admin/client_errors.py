"""Why a client of ours did not do what a command asked, in words for a person.

Owns: the text, the advice and the exit code for errors of AdminClient, producers and consumers.
Must not know: which command failed; what the answers of servers mean (diagnosis.py).
"""

from collections.abc import Callable, Mapping
from typing import Final

from cosmodrome.admin.name_servers import NameServers
from cosmodrome.errors import (
    AdminError,
    AnswerError,
    BrokersFailedError,
    ConnectError,
    FilterError,
    MessageError,
    MissingError,
    NoAnswerError,
    NoRouteError,
    OperatorError,
    PendingLimitError,
    RequestTimeoutError,
    RocketMQError,
    SendError,
    SendTimeoutError,
    UnreachableError,
    UsageError,
)


async def explained_by_client(servers: NameServers, error: RocketMQError) -> OperatorError:
    """Give the error that a person reads; the one given is its cause."""
    if isinstance(error, OperatorError):
        return error
    if isinstance(error, AnswerError):
        return await servers.explained(error.address, error, peer="broker")
    if isinstance(error, SendError):
        found: OperatorError = await _sent(servers, error)
    elif isinstance(error, BrokersFailedError):
        found = await _several(servers, error)
    elif isinstance(error, NoRouteError):
        found = _no_route(servers, error)
    else:
        kind = next(kind for kind in type(error).__mro__ if kind in _KINDS)
        found = _KINDS[kind](servers, _sentence(error))
    found.__cause__ = error
    return found


async def _sent(servers: NameServers, error: SendError) -> AdminError:
    cause = error.__cause__
    inner = await explained_by_client(servers, cause) if isinstance(cause, RocketMQError) else None
    more = " The message may be stored all the same." if error.is_outcome_unknown else ""
    if isinstance(inner, AdminError):
        return type(inner)(f"the message was not sent: {inner.what}{more}", why=inner.why, remedy=inner.remedy)
    kind = NoAnswerError if isinstance(error, SendTimeoutError) else AdminError
    return kind(_sentence(error) + more, remedy="try again, with more time: --timeout 30")


async def _several(servers: NameServers, error: BrokersFailedError) -> AdminError:
    found = [await explained_by_client(servers, each) for each in error.failures.values()]
    kinds = {type(each) for each in found}
    only = kinds.pop() if len(kinds) == 1 and not error.done else AdminError
    kind = only if issubclass(only, AdminError) else AdminError
    done = f" Done at {', '.join(error.done)}." if error.done else ""
    return kind(
        f"{len(found)} of {len(found) + len(error.done)} brokers failed: {', '.join(error.failures)}.{done}",
        why=" ".join(f"{name}: {each.what}" for name, each in zip(error.failures, found, strict=True)),
        remedy=found[0].remedy if found else None,
    )


def _no_route(servers: NameServers, error: NoRouteError) -> AdminError:
    from cosmodrome.admin.diagnosis import advice_without_route  # noqa: PLC0415  # most commands succeed

    remedy = advice_without_route(error.topic, servers.flag)
    if error.is_for_writing:
        what = f"topic {error.topic} cannot be written: no broker takes messages for it."
        return MissingError(what, why=_sentence(error), remedy=remedy)
    return MissingError(_sentence(error), remedy=remedy)


def _usage(_: NameServers, text: str) -> AdminError:
    return UsageError(text)


def _other(_: NameServers, text: str) -> AdminError:
    return AdminError(text)


def _timed_out(servers: NameServers, text: str) -> AdminError:
    return NoAnswerError(
        text,
        why="the server is overloaded, or its address cannot be reached from here.",
        remedy="try again, with more time: --timeout 30; or see whether the broker is well: "
        + servers.command("admin clusterList"),
    )


def _unreachable(servers: NameServers, text: str) -> AdminError:
    return UnreachableError(
        text,
        why="the broker is down, or the address under which it is registered cannot be reached from here.",
        remedy=f"see what is registered: {servers.command('admin clusterList')}; brokerIP1 in the broker's configuration "
        "sets its address",
    )


def _sentence(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return text if text.endswith((".", "?", "!")) else f"{text}."


_KINDS: Final[Mapping[type, Callable[[NameServers, str], AdminError]]] = {
    RequestTimeoutError: _timed_out,
    PendingLimitError: _timed_out,
    ConnectError: _unreachable,
    MessageError: _usage,
    FilterError: _usage,
    RocketMQError: _other,
}
