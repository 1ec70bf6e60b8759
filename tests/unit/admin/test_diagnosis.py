"""Why a server gave no useful answer, in words for a person."""

import socket
import ssl

import pytest
from tests.support.admin_tool import closed_port, silent_port

from cosmodrome.admin.diagnosis import explained
from cosmodrome.errors import (
    AdminError,
    AnswerError,
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
    TlsMismatchError,
    UnavailableError,
    UnreachableError,
    UnreadableAnswerError,
    WarmingUpError,
)


def caused_by(cause: BaseException | None) -> ConnectError:
    error = ConnectError("cannot connect")
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("cause", "uses_tls", "kind", "text"),
    [
        (ConnectionRefusedError(), False, UnreachableError, "nothing listens on h:1"),
        (ConnectionRefusedError(), True, UnreachableError, "nothing listens on h:1"),
        (socket.gaierror(-2, "unknown"), False, UnreachableError, "cannot be looked up"),
        (OSError(113, "No route to host"), False, UnreachableError, "cannot reach h:1"),
        (ssl.SSLError(1, "WRONG_VERSION_NUMBER"), True, TlsMismatchError, "h:1 does not speak TLS"),
        (ConnectionResetError(), True, TlsMismatchError, "h:1 does not speak TLS"),
        (ssl.SSLCertVerificationError(1, "failed"), True, TlsMismatchError, "is not trusted"),
    ],
)
async def test_failed_connections(
    cause: Exception,
    uses_tls: object,
    kind: type[AdminError],
    text: str,
) -> None:
    if isinstance(cause, ssl.SSLCertVerificationError):
        cause.verify_message = "self-signed certificate"
    error = caused_by(cause)
    found = await explained("h:1", error, uses_tls=bool(uses_tls))

    assert type(found) is kind
    assert text in found.what
    assert found.__cause__ is error
    assert found.why
    assert found.remedy


async def test_a_connection_that_breaks_without_a_word() -> None:
    with closed_port() as address:
        found = await explained(address, caused_by(None), uses_tls=False)

    assert "closed the connection without an answer" in found.what
    assert found.exit_code == 69


async def test_a_silent_server_is_told_from_an_address_without_one() -> None:
    error = RequestTimeoutError("no answer in 5 s")
    with silent_port() as address:
        silent = await explained(address, error, uses_tls=False)
    with closed_port() as address:
        absent = await explained(address, error, uses_tls=False)

    assert isinstance(silent, NoAnswerError)
    assert "does not answer" in silent.what
    assert "no answer in 5 s" in (silent.why or "")
    assert absent.what == f"nothing answers at {address}."
    assert absent.exit_code == 75


@pytest.mark.parametrize(
    ("error", "kind", "text"),
    [
        (NotFoundError("h:1", 22, "no"), MissingError, "h:1 does not have it"),
        (NotFoundError("h:1", 17, "no"), MissingError, "there is no such topic"),
        (RefusedError("h:1", 26, "no"), MissingError, "there is no such consumer group"),
        (RefusedError("h:1", 206, "no"), MissingError, "no consumer of the group is online"),
        (RefusedError("h:1", 1, "no"), AdminError, "h:1 refused"),
        (NotReadyError("h:1", 2, "busy"), WarmingUpError, "cannot do it now"),
        (NotPermittedError("h:1", 16, "no"), DeniedError, "administrator"),
        (AuthenticationError("h:1", 16, "no"), DeniedError, "--credentials FILE"),
        (NotSupportedError("h:1", 3, "no"), UnavailableError, "this release of the broker"),
        (UnreadableAnswerError("h:1", "nonsense"), UnavailableError, "is this the address of a broker?"),
    ],
)
async def test_what_brokers_answer(error: AnswerError, kind: type[AdminError], text: str) -> None:
    found = await explained("h:1", error, uses_tls=False, peer="broker")

    assert type(found) is kind
    assert text in found.render()
    assert found.__cause__ is error


@pytest.mark.parametrize(
    ("remark", "topic"),
    [
        ("No topic route info in name server for the topic: order-event\nSee https://x", "order-event"),
        ("No topic route info in name server for the topic: %RETRY%g", "%RETRY%g"),
        ("No topic route info in name server for the topic: $(reboot)", "TOPIC"),
        ("no", "TOPIC"),
    ],
)
async def test_a_missing_route_is_answered_with_the_next_command(remark: str, topic: str) -> None:
    found = await explained("h:1", NotFoundError("h:1", 17, remark), uses_tls=False)

    assert found.remedy == f"see why: cosmodrome why {topic} -n h:1; all topics: cosmodrome admin topicList -n h:1"


async def test_a_denial_names_the_address_on_the_servers_own_host() -> None:
    far = await explained("192.168.1.5:9877", NotPermittedError("h:1", 16, "no"), uses_tls=False)
    near = await explained("127.0.0.1:9877", NotPermittedError("h:1", 16, "no"), uses_tls=False)

    assert far.remedy == f"run it on the server's own host, with -n 127.0.0.1:9877, or {near.remedy}"
    assert near.remedy == "have adminAllow and adminPolicy changed in the server's file"
