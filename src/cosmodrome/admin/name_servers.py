"""The NameServers that a command talks to.

Owns: who is asked: the first that answers for reading, all of them for changing; how their outcomes add up.
Must not know: what they are asked.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from cosmodrome.admin.credentials import Keys
from cosmodrome.admin.output import Output, Row, error_facts
from cosmodrome.client.addresses import Address, Servers
from cosmodrome.client.name_server import NameServerClient
from cosmodrome.errors import (
    AdminError,
    AnswerError,
    NoAnswerError,
    NotReadyError,
    RemotingError,
    RocketMQError,
    UnreachableError,
    UnreadableAnswerError,
)
from cosmodrome.protocol.command import RemotingCommand
from cosmodrome.transport.client import RemotingClient

ValueT = TypeVar("ValueT")

_HEAD_START_S: Final = 0.5
"""How long a server may take before the next one is asked as well."""

# What another server may answer better.
_ASK_ELSEWHERE: Final = (RemotingError, NotReadyError, UnreadableAnswerError)
_PARTLY_FAILED: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """How servers are reached: with TLS, trusting what this file says, and signed with these keys."""

    tls: bool = False
    tls_trust: str | None = None
    keys: Keys | None = None

    def sign(self) -> Callable[[RemotingCommand], RemotingCommand] | None:
        """Give what signs a request; None when there are no keys."""
        if self.keys is None:
            return None
        from cosmodrome.client.credentials import Credentials  # noqa: PLC0415  # most clusters have no accounts

        return Credentials(*self.keys).signed


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome(Generic[ValueT]):
    """What came of a request to one server: `value`, or `error`."""

    address: str
    value: ValueT | None = None
    error: AdminError | None = None

    def row(self, **facts: Any) -> Row:
        """Give it as JSON; the facts are left out when it failed."""
        if self.error is None:
            return {"address": self.address, "ok": True, **facts}
        return {"address": self.address, "ok": False, "error": error_facts(self.error)}


_PLAIN: Final = Access()


class NameServers:
    """All that the address list means. Raises AdminError only, whose texts are for a person.

    Args:
        remoting: Open as long as this is used.
        servers: The addresses, and the names that could not be looked up.
        timeout_s: For one request to one server.
        access: How `remoting` reaches servers: for the advice in errors, and for connections of other kinds.
    """

    def __init__(self, remoting: RemotingClient, servers: Servers, timeout_s: float, access: Access = _PLAIN) -> None:
        self.remoting = remoting
        self.timeout_s = timeout_s
        self.access = access
        self._clients = [NameServerClient(remoting, str(address), timeout_s) for address in servers.found]
        self._unknown: Mapping[Address, RemotingError] = servers.failures

    @property
    def addresses(self) -> tuple[str, ...]:
        """The addresses of all servers, in their order."""
        return tuple(client.address for client in self._clients)

    def command(self, words: str) -> str:
        """Give a command line of ours that asks the same servers, for an advice."""
        return f"cosmodrome {words}{self.flag and f' {self.flag}'}"

    @property
    def flag(self) -> str:
        """The flag of a command line that names these servers; empty when there are none."""
        return f"-n {','.join(self.addresses)}" if self.addresses else ""

    async def first(self, ask: Callable[[NameServerClient], Awaitable[ValueT]]) -> ValueT:
        """Give the first answer. The servers are asked in their order, the next one when one fails or is slow.

        Raises:
            AdminError: A server refused, or none answered.
        """
        errors: list[tuple[str, RocketMQError]] = [(str(name), error) for name, error in self._unknown.items()]
        running: dict[asyncio.Future[ValueT], str] = {}
        left = list(self._clients)
        try:
            while left or running:
                if left:
                    client = left.pop(0)
                    running[asyncio.ensure_future(ask(client))] = client.address
                done, _ = await asyncio.wait(
                    running, timeout=_HEAD_START_S if left else None, return_when=asyncio.FIRST_COMPLETED
                )
                for task in done:
                    address = running.pop(task)
                    try:
                        return task.result()
                    except _ASK_ELSEWHERE as error:
                        errors.append((address, error))
                    except AnswerError as error:
                        raise await self.explained(address, error) from error
        finally:
            for task in running:
                task.cancel()
        raise await self._nobody(errors)

    async def each(self, ask: Callable[[NameServerClient], Awaitable[ValueT]]) -> list[Outcome[ValueT]]:
        """Ask all servers at once, and give their outcomes in the order of the list."""
        asked = [self._outcome(client, ask) for client in self._clients]
        return [*await asyncio.gather(*asked), *[await self._failed(name) for name in self._unknown]]

    async def _outcome(
        self, client: NameServerClient, ask: Callable[[NameServerClient], Awaitable[ValueT]]
    ) -> Outcome[ValueT]:
        try:
            return Outcome(address=client.address, value=await ask(client))
        except (RemotingError, AnswerError) as error:
            return Outcome(address=client.address, error=await self.explained(client.address, error))

    async def _failed(self, name: Address) -> Outcome[ValueT]:
        return Outcome(address=str(name), error=await self.explained(str(name), self._unknown[name]))

    async def explained(self, address: str, error: RocketMQError, *, peer: str = "NameServer") -> AdminError:
        """Give the error that a person reads, for any server that was asked; `peer` is what it is."""
        from cosmodrome.admin.diagnosis import explained  # noqa: PLC0415  # most commands succeed, and start quickly

        return await explained(address, error, uses_tls=self.access.tls, peer=peer)

    async def _nobody(self, errors: Sequence[tuple[str, RocketMQError]]) -> AdminError:
        found = await asyncio.gather(*(self.explained(address, error) for address, error in errors))
        if len(found) == 1:
            return found[0]
        kind = UnreachableError if all(isinstance(error, UnreachableError) for error in found) else NoAnswerError
        return kind(
            f"none of {len(found)} NameServers answered.",
            why=" ".join(error.what for error in found),
            remedy="check the addresses (-n, or $NAMESRV_ADDR) and that the NameServers run",
        )


def conclude(output: Output, outcomes: Iterable[Outcome[Any]]) -> int:
    """Report what failed, and give the exit code of a command that all servers had to obey."""
    everyone = list(outcomes)
    failed = [outcome for outcome in everyone if outcome.error is not None]
    for outcome in failed:
        output.error(outcome.error or AdminError(outcome.address))
    if not failed:
        return 0
    if len(failed) == len(everyone):
        return failed[0].error.exit_code if failed[0].error else _PARTLY_FAILED
    addresses = ",".join(outcome.address for outcome in failed)
    output.error(
        AdminError(
            f"{len(failed)} of {len(everyone)} NameServers failed: {addresses}. The others have done it.",
            remedy=f"when these are well, repeat the command for them alone: -n {addresses}",
        )
    )
    return _PARTLY_FAILED


def say_done(output: Output, outcomes: Sequence[Outcome[Any]], java_line: str, **facts: str) -> None:
    """Write the line that scripts look for when all servers have done it, and a line per server when there are several."""
    for outcome in outcomes:
        output.row(outcome.row())
    if all(outcome.error is None for outcome in outcomes):
        output.confirm(java_line)
    if len(outcomes) > 1:
        output.confirm(*(f"  {outcome.address} {'failed' if outcome.error else 'OK'}" for outcome in outcomes))
    output.end("servers", **facts)
