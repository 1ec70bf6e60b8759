"""Why a server gave no useful answer, in words for a person.

Owns: the text, the advice and the exit code for every way in which a request fails.
Must not know: which command failed.
"""

import asyncio
import re
import shlex
import socket
import ssl
from collections.abc import Callable, Mapping
from typing import Final

from cosmodrome.errors import (
    AdminError,
    AuthenticationError,
    ConnectError,
    DeniedError,
    MissingError,
    NoAnswerError,
    NotFoundError,
    NotPermittedError,
    NotReadyError,
    NotSupportedError,
    RefusedError,
    RequestTimeoutError,
    RocketMQError,
    TlsMismatchError,
    UnavailableError,
    UnreachableError,
    UnreadableAnswerError,
    WarmingUpError,
)
from cosmodrome.protocol.codes import ResponseCode
from cosmodrome.transport.tls import TlsFiles, client_context

_PROBE_S: Final = 1.0
_TOPIC_IN_REMARK: Final = re.compile(r"for the topic: ([%|A-Za-z0-9_-]{1,255})")
_CHECKS: Final = {
    "NameServer": "check the address (-n, or $NAMESRV_ADDR) and that the NameServer runs there",
    "broker": "check that the broker runs, and that the address that it registered can be reached from here (brokerIP1)",
}


async def explained(address: str, error: RocketMQError, *, uses_tls: bool, peer: str = "NameServer") -> AdminError:
    """Give the error that a person reads; the one given is its cause. May connect once more to find out.

    `peer` is what is at the address: NameServer or broker.
    """
    if isinstance(error, RequestTimeoutError):
        found = await _timed_out(address, str(error), peer)
    elif isinstance(error, ConnectError):
        found = await _not_connected(address, error.__cause__, peer, uses_tls=uses_tls)
    elif isinstance(error, RefusedError) and error.code in _MISSING_AT_BROKERS and peer == "broker":
        found = MissingError(f"{address}: {_MISSING_AT_BROKERS[error.code]}.", why=_remark(error))
    else:
        answered = {**_ANSWERED, **_ANSWERED_BY_BROKERS} if peer == "broker" else _ANSWERED
        kind = next(kind for kind in type(error).__mro__ if kind in answered)
        found = answered[kind](address, error)
    found.__cause__ = error
    return found


async def _timed_out(address: str, text: str, peer: str) -> AdminError:
    if await _accepts(address, tls=None):
        return NoAnswerError(
            f"{address} accepts connections and does not answer.",
            why=f"it is overloaded or stopped in its tracks, or it is no {peer} ({text}).",
            remedy="try again, with more time: --timeout 30; or look at the process that listens there",
        )
    return NoAnswerError(
        f"nothing answers at {address}.",
        why="no host has this address, or a firewall drops what is sent there.",
        remedy=_CHECKS[peer],
    )


async def _not_connected(address: str, cause: BaseException | None, peer: str, *, uses_tls: bool) -> AdminError:
    if isinstance(cause, socket.gaierror | UnicodeError):
        return UnreachableError(
            f"{address}: the name cannot be looked up.",
            why=f"{cause}.",
            remedy="check the spelling, or use an IP address",
        )
    if isinstance(cause, ConnectionRefusedError):
        return UnreachableError(
            f"nothing listens on {address}.", why="the connection was refused.", remedy=_CHECKS[peer]
        )
    if isinstance(cause, ssl.SSLCertVerificationError):
        return TlsMismatchError(
            f"the certificate of {address} is not trusted.",
            why=f"{cause.verify_message}.",
            remedy="name the authority that signed it: --tls-trust FILE",
        )
    if uses_tls:
        return TlsMismatchError(
            f"{address} does not speak TLS.", why=f"no TLS session came about: {cause}.", remedy="leave --tls out"
        )
    if cause is not None:
        return UnreachableError(f"cannot reach {address}.", why=f"{cause}.", remedy=_CHECKS[peer])
    return await _broken(address, peer)


async def _broken(address: str, peer: str) -> AdminError:
    if await _accepts(address, tls=client_context(TlsFiles())):
        return TlsMismatchError(
            f"{address} takes TLS connections only.",
            why="it closed a plain one, and a TLS session with it came about.",
            remedy="add --tls",
        )
    return UnreachableError(
        f"{address} closed the connection without an answer.",
        why=f"it is stopping, it is no {peer}, or something between closes such connections.",
        remedy=_CHECKS[peer],
    )


async def _accepts(address: str, tls: ssl.SSLContext | None) -> bool:
    """Tell whether a connection comes about now."""
    host, _, port = address.rpartition(":")
    try:
        async with asyncio.timeout(_PROBE_S):
            _, writer = await asyncio.open_connection(
                host.strip("[]"), int(port), ssl=tls, server_hostname=None if tls is None else ""
            )
    except (OSError, ValueError):
        return False
    writer.close()
    return True


def _remark(error: RocketMQError) -> str:
    """Give the first line of what the server said, as a sentence."""
    if not isinstance(error, RefusedError):
        return f"{error}."
    first = error.remark.partition("\n")[0].strip(" .") or "it gave no reason"
    return f"code {error.code}: {first}."


def _topic_in(error: RefusedError) -> str:
    """Give the topic that a remark names, if it has the form of one; else a word that stands for it."""
    found = _TOPIC_IN_REMARK.search(error.remark)
    return found[1] if found else "TOPIC"


def advice_without_route(topic: str, name_servers: str) -> str:
    """Say which commands tell why a topic cannot be used; `name_servers` is the flag that they take, or empty."""
    flag = f" {name_servers}" if name_servers else ""
    return f"see why: cosmodrome why {shlex.quote(topic)}{flag}; all topics: cosmodrome admin topicList{flag}"


def _missing(address: str, error: RocketMQError) -> AdminError:
    if isinstance(error, RefusedError) and error.code == ResponseCode.TOPIC_NOT_EXIST:
        return MissingError(
            f"{address} has no route of this topic.",
            why=_remark(error),
            remedy=advice_without_route(_topic_in(error), f"-n {address}"),
        )
    return MissingError(
        f"{address} has no such KV entry.",
        why=_remark(error),
        remedy=f"check the spelling: cosmodrome admin listKvConfig -s NAMESPACE -n {address}",
    )


def _own_host_advice(address: str) -> str:
    """Say how to ask by way of the loopback interface, from where changes are allowed by default."""
    host, _, port = address.rpartition(":")
    if host.startswith("127.") or host in ("localhost", "[::1]"):
        return ""
    return f"run it on the server's own host, with -n 127.0.0.1:{port}, or "


def _denied(address: str, error: RocketMQError) -> AdminError:
    if "black list" in str(error):
        return DeniedError(
            f"{address} does not allow it.",
            why=f"no request may change this key; {_remark(error)}",
            remedy="change it in the server's configuration file; it takes effect at the next start",
        )
    return DeniedError(
        f"{address} does not allow it.",
        why=_remark(error),
        remedy=f"{_own_host_advice(address)}have adminAllow and adminPolicy changed in the server's file",
    )


def _not_ready(address: str, error: RocketMQError) -> AdminError:
    return WarmingUpError(
        f"{address} is not ready yet.",
        why=f"after a start it waits for brokers (needWaitForService), or it is stopping or busy; {_remark(error)}",
        remedy="try again in a while, or ask another NameServer: -n",
    )


def _not_supported(address: str, error: RocketMQError) -> AdminError:
    return UnavailableError(
        f"{address} does not offer this.",
        why=f"it is an older release, or the listing is switched off (enableAllTopicList); {_remark(error)}",
        remedy="ask another NameServer: -n",
    )


def _refused(address: str, error: RocketMQError) -> AdminError:
    return AdminError(f"{address} refused.", why=_remark(error), remedy="the log of that server says more")


def _unreadable(address: str, error: RocketMQError) -> AdminError:
    return UnavailableError(
        f"{address} gave an answer that cannot be read.", why=f"{error}.", remedy="is this the address of a NameServer?"
    )


def _unauthenticated(address: str, error: RocketMQError) -> AdminError:
    return DeniedError(
        f"{address} does not accept the credentials.",
        why=_remark(error),
        remedy="sign with an account that may do this: --credentials FILE (accessKey, secretKey), or "
        "$ROCKETMQ_HOME/conf/tools.yml, or $ROCKETMQ_ACCESS_KEY and $ROCKETMQ_SECRET_KEY",
    )


def _denied_by_broker(address: str, error: RocketMQError) -> AdminError:
    return DeniedError(
        f"{address} does not allow it.",
        why=_remark(error),
        remedy="run it on the broker's own host, or with --credentials of an administrator, or change the broker's policy",
    )


def _not_offered_by_broker(address: str, error: RocketMQError) -> AdminError:
    return UnavailableError(
        f"{address} does not offer this.", why=f"this release of the broker does not know the request; {_remark(error)}"
    )


def _busy_broker(address: str, error: RocketMQError) -> AdminError:
    return WarmingUpError(
        f"{address} cannot do it now.",
        why=f"it is starting, stopping or busy; {_remark(error)}",
        remedy="try again in a while",
    )


def _unreadable_broker(address: str, error: RocketMQError) -> AdminError:
    return UnavailableError(
        f"{address} gave an answer that cannot be read.", why=f"{error}.", remedy="is this the address of a broker?"
    )


def _missing_at_broker(address: str, error: RocketMQError) -> AdminError:
    return MissingError(f"{address} does not have it.", why=_remark(error), remedy="check the spelling")


_MISSING_AT_BROKERS: Final[Mapping[int, str]] = {
    ResponseCode.TOPIC_NOT_EXIST: "there is no such topic",
    ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST: "there is no such consumer group",
    ResponseCode.CONSUMER_NOT_ONLINE: "no consumer of the group is online",
}
_ANSWERED_BY_BROKERS: Final[Mapping[type, Callable[[str, RocketMQError], AdminError]]] = {
    NotFoundError: _missing_at_broker,
    NotPermittedError: _denied_by_broker,
    NotReadyError: _busy_broker,
    NotSupportedError: _not_offered_by_broker,
    UnreadableAnswerError: _unreadable_broker,
}
_ANSWERED: Final[Mapping[type, Callable[[str, RocketMQError], AdminError]]] = {
    AuthenticationError: _unauthenticated,
    NotFoundError: _missing,
    NotPermittedError: _denied,
    NotReadyError: _not_ready,
    NotSupportedError: _not_supported,
    RefusedError: _refused,
    UnreadableAnswerError: _unreadable,
}
