"""Errors of clients, as a person reads them."""

import pytest

from cosmodrome.admin.client_errors import explained_by_client
from cosmodrome.admin.name_servers import NameServers
from cosmodrome.client.addresses import Servers, parse_addresses
from cosmodrome.errors import (
    AuthenticationError,
    BrokersFailedError,
    ConfigError,
    ConnectError,
    MessageError,
    NoRouteError,
    NotFoundError,
    NotPermittedError,
    NotSupportedError,
    PendingLimitError,
    RefusedError,
    RequestTimeoutError,
    RocketMQError,
    SendError,
    SendTimeoutError,
)
from cosmodrome.transport.client import RemotingClient

B = "10.0.0.1:10911"


async def explained(error: RocketMQError) -> tuple[int, str]:
    remoting = RemotingClient()
    try:
        found = await explained_by_client(NameServers(remoting, Servers(parse_addresses("h:1"), {}), 1.0), error)
    finally:
        await remoting.close()
    assert found.__cause__ is error or found is error
    return found.exit_code, found.render()


def caused(cause: RocketMQError | None, *, is_outcome_unknown: bool = False, late: bool = False) -> SendError:
    kind = SendTimeoutError if late else SendError
    error = kind("not sent", "ID", ["b"], is_outcome_unknown=is_outcome_unknown)
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (NoRouteError("T", "nobody"), 66, "No route info of this topic: T"),
        (NoRouteError("T", "nobody"), 66, "No route info of this topic: T: nobody."),
        (
            NoRouteError("a|b", "no", is_for_writing=True),
            66,
            "topic a|b cannot be written: no broker takes messages for it.",
        ),
        (NoRouteError("a|b", "no"), 66, "cosmodrome why 'a|b' -n h:1; all topics: cosmodrome admin topicList -n h:1"),
        (NotFoundError(B, 17, "no topic"), 66, "no topic"),
        (RefusedError(B, 26, "Group G does not exist"), 66, "Group G does not exist"),
        (RefusedError(B, 206, "not online"), 66, "not online"),
        (RefusedError(B, 1, "broken"), 1, "broken"),
        (NotPermittedError(B, 16, "no"), 77, "code 16: no"),
        (AuthenticationError(B, 16, "who?"), 77, "--credentials"),
        (NotSupportedError(B, 3, "unknown"), 69, "does not offer this"),
        (RequestTimeoutError(f"{B} did not answer request 11 in 3 s"), 75, "--timeout 30"),
        (PendingLimitError("full"), 75, "full."),
        (ConnectError(f"cannot connect to {B}: refused"), 69, "brokerIP1"),
        (ConnectError("x"), 69, "cosmodrome admin clusterList -n h:1; "),
        (MessageError("the topic is none"), 2, "the topic is none."),
        (ConfigError("namesrv: none."), 78, "namesrv: none."),
        (RocketMQError("else"), 1, "else."),
        (caused(None), 1, "not sent."),
        (caused(None, late=True), 75, "not sent."),
        (caused(ConnectError("no way")), 69, "the message was not sent: no way."),
        (caused(RequestTimeoutError("late"), is_outcome_unknown=True), 75, "may be stored all the same"),
        (
            BrokersFailedError("it", {"a": ConnectError("x"), "b": ConnectError("y")}),
            69,
            "2 of 2 brokers failed: a, b.",
        ),
        (BrokersFailedError("it", {"a": ConnectError("x"), "b": NoRouteError("T", "y")}), 1, "a: x. b: No route"),
        (BrokersFailedError("it", {"a": ConnectError("x")}, ["b"]), 1, "1 of 2 brokers failed: a. Done at b."),
    ],
)
async def test_each_error_has_an_exit_code_and_words(error: RocketMQError, code: int, text: str) -> None:
    found = await explained(error)
    assert found[0] == code
    assert text in found[1]
