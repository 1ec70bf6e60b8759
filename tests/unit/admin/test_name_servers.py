"""Who is asked, and how the outcomes add up."""

import contextlib
import io
import json
import socket
from collections.abc import AsyncIterator, Sequence
from typing import Final

import pytest
from tests.support.admin_tool import Double, Reply, closed_port, silent_port

from cosmodrome.admin.name_servers import NameServers, Outcome, conclude, say_done
from cosmodrome.admin.output import Output, OutputForm, Verbosity
from cosmodrome.client.addresses import Address, Servers, parse_addresses
from cosmodrome.client.name_server import NameServerClient
from cosmodrome.errors import (
    AdminError,
    ConnectError,
    DeniedError,
    MissingError,
    NoAnswerError,
    UnavailableError,
    UnreachableError,
    WarmingUpError,
)
from cosmodrome.transport.client import RemotingClient

TOPICS = {206: Reply(body=b'{"topicList":["T"]}')}
LIMIT_S = 10.0


@pytest.fixture
async def remoting() -> AsyncIterator[RemotingClient]:
    client = RemotingClient()
    yield client
    await client.close()


def servers_at(
    remoting: RemotingClient, addresses: Sequence[str], unknown: Sequence[str] = (), limit_s: float = LIMIT_S
) -> NameServers:
    failures = {Address(name, 1): ConnectError(f"cannot look up {name}") for name in unknown}
    for failure in failures.values():
        failure.__cause__ = socket.gaierror(socket.EAI_NONAME, "Name or service not known")
    return NameServers(remoting, Servers(parse_addresses(",".join(addresses)), failures), limit_s)


async def topics(server: NameServerClient) -> tuple[str, ...]:
    return await server.all_topics()


async def test_the_first_one_is_asked_and_no_other(remoting: RemotingClient) -> None:
    with Double(TOPICS) as one, Double(TOPICS) as two:
        assert await servers_at(remoting, [one.address, two.address]).first(topics) == ("T",)
        assert (one.asked(), two.asked()) == ([206], [])


async def test_the_next_one_is_asked_when_one_is_gone_silent_or_not_ready(remoting: RemotingClient) -> None:
    not_ready = Double({206: Reply(1, remark="name server not ready")})
    with closed_port() as dead, silent_port() as silent, not_ready, Double(TOPICS) as good:
        order = [dead, not_ready.address, silent, good.address]
        assert await servers_at(remoting, order, limit_s=3600).first(topics) == ("T",)


@pytest.mark.parametrize(
    ("reply", "kind", "text"),
    [
        (Reply(17, remark="No topic route info: T\nSee"), MissingError, "has no route of this topic"),
        (Reply(22, remark="No config item"), MissingError, "has no such KV entry"),
        (Reply(16, remark="policy."), DeniedError, "does not allow it"),
        (Reply(1, remark="disable"), UnavailableError, "does not offer this"),
        (Reply(1, remark="something"), AdminError, "refused"),
        (Reply(1), AdminError, "refused"),
    ],
)
async def test_a_refusal_is_an_answer_and_explained(
    remoting: RemotingClient, reply: Reply, kind: type[AdminError], text: str
) -> None:
    with Double({206: reply}) as refusing, Double(TOPICS) as other:
        with pytest.raises(kind) as caught:
            await servers_at(remoting, [refusing.address, other.address]).first(topics)

        assert f"{refusing.address} {text}" in caught.value.what
        assert f"code {reply.code}: " in (caught.value.why or "")
        assert "\n" not in (caught.value.why or "")
        assert not (caught.value.why or "").endswith("..")
        assert other.asked() == []


async def test_when_nobody_answers_all_reasons_are_told(remoting: RemotingClient) -> None:
    with closed_port() as dead, Double({206: Reply(2, remark="busy")}) as busy:
        with pytest.raises(NoAnswerError) as caught:
            await servers_at(remoting, [dead, busy.address], ["nowhere"]).first(topics)
        with pytest.raises(UnreachableError, match="none of 2 NameServers answered") as unreachable:
            await servers_at(remoting, [dead], ["nowhere"]).first(topics)
        with pytest.raises(WarmingUpError, match="is not ready yet"):
            await servers_at(remoting, [busy.address]).first(topics)

    assert "none of 3 NameServers answered" in caught.value.what
    assert f"nothing listens on {dead}" in (caught.value.why or "")
    assert f"{busy.address} is not ready yet" in (caught.value.why or "")
    assert unreachable.value.exit_code == 69


async def test_an_answer_that_cannot_be_read_is_explained(remoting: RemotingClient) -> None:
    with Double({206: Reply(body=b"HTTP")}) as strange, pytest.raises(UnavailableError, match="cannot be read"):
        await servers_at(remoting, [strange.address]).first(topics)


async def test_an_address_that_takes_no_connection_in_time_is_told_from_a_silent_one(remoting: RemotingClient) -> None:
    with silent_port() as silent:
        (outcome,) = await servers_at(remoting, [silent], limit_s=0.05).each(topics)
    assert outcome.error is not None
    assert "accepts connections and does not answer" in outcome.error.what


async def test_changes_go_to_all_in_their_order(remoting: RemotingClient) -> None:
    with closed_port() as dead, Double(TOPICS) as one, Double(TOPICS) as two:
        outcomes = await servers_at(remoting, [one.address, dead, two.address], ["nowhere"]).each(topics)

        assert [outcome.address for outcome in outcomes] == [one.address, dead, two.address, "nowhere:1"]
        assert [outcome.value for outcome in outcomes] == [("T",), None, ("T",), None]
        assert (one.asked(), two.asked()) == ([206], [206])


GOOD: Final[Outcome[None]] = Outcome(address="a:1")
DENIED: Final[Outcome[None]] = Outcome(address="b:1", error=DeniedError("b:1 does not allow it."))
GONE: Final[Outcome[None]] = Outcome(address="c:1", error=UnreachableError("nothing listens on c:1."))


@pytest.mark.parametrize(
    ("outcomes", "code"),
    [
        ([GOOD], 0),
        ([GOOD, GOOD], 0),
        ([DENIED], 77),
        ([GONE, DENIED], 69),
        ([GOOD, DENIED], 1),
        ([GOOD, GONE, DENIED], 1),
    ],
)
def test_exit_codes(outcomes: list[Outcome[None]], code: int) -> None:
    err = io.StringIO()
    output = Output(OutputForm.TEXT, io.StringIO(), err, Verbosity.USUAL)

    assert conclude(output, outcomes) == code
    assert err.getvalue().count("error[") == sum(outcome.error is not None for outcome in outcomes) + (code == 1)
    with contextlib.suppress(StopIteration):
        failed = next(outcome for outcome in outcomes if outcome.error)
        assert failed.error is not None
        assert failed.error.what in err.getvalue()


def test_what_is_left_to_do_is_told() -> None:
    err = io.StringIO()
    conclude(Output(OutputForm.TEXT, io.StringIO(), err, Verbosity.USUAL), [GONE, GOOD, DENIED])

    assert "2 of 3 NameServers failed: c:1,b:1. The others have done it." in err.getvalue()
    assert "for them alone: -n c:1,b:1" in err.getvalue()


@pytest.mark.parametrize(
    ("outcomes", "text"),
    [
        ([GOOD], "success.\n"),
        ([GOOD, GOOD], "success.\n  a:1 OK\n  a:1 OK\n"),
        ([DENIED], ""),
        ([GOOD, DENIED], "  a:1 OK\n  b:1 failed\n"),
    ],
)
def test_success_is_only_said_when_it_is_whole(outcomes: list[Outcome[None]], text: str) -> None:
    out = io.StringIO()
    say_done(Output(OutputForm.TEXT, out, io.StringIO(), Verbosity.USUAL), outcomes, "success.")

    assert out.getvalue() == text


def test_json_says_it_per_server() -> None:
    out = io.StringIO()
    say_done(Output(OutputForm.JSON, out, io.StringIO(), Verbosity.USUAL), [GOOD, DENIED], "success.", key="K")
    document = json.loads(out.getvalue())

    assert document["key"] == "K"
    assert document["servers"][0] == {"address": "a:1", "ok": True}
    assert document["servers"][1]["error"]["id"] == "NS-DENIED"
