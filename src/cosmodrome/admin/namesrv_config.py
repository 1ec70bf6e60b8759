"""Commands about the configuration of NameServers.

Owns: their layouts and texts.
Must not know: how a server is asked.
"""

import dataclasses
import shlex
from typing import Final

from cosmodrome.admin.name_servers import NameServers, Outcome, conclude
from cosmodrome.admin.output import Output
from cosmodrome.client.name_server import NameServerClient
from cosmodrome.errors import AdminError, MissingError, RefusedError
from cosmodrome.protocol.codes import ResponseCode
from cosmodrome.shown_text import shown

_UNKNOWN: Final = "unknown, not stored: "
"""How a server of ours begins its remark about a single key that it does not have."""


async def get_namesrv_config(servers: NameServers, output: Output) -> int:
    """Print the configuration of every NameServer, a block for each."""
    outcomes = await servers.each(lambda server: server.get_config())
    for outcome in outcomes:
        output.row(outcome.row(config=outcome.value))
        if outcome.value is not None:
            output.text(f"============{outcome.address}============")
            output.text(*(f"{shown(key):<50}=  {shown(value)}" for key, value in outcome.value.items()))
    output.end("servers")
    return conclude(output, outcomes)


async def update_namesrv_config(servers: NameServers, output: Output, key: str, value: str) -> int:
    """Change one key on all NameServers. One of ours tells that it has no such key; Apache's do not."""
    outcomes = await changed_config(servers, key, value)
    for outcome in outcomes:
        output.row(outcome.row(remark=outcome.value))
        if outcome.value:
            output.note(f"{outcome.address}: {outcome.value}")
    done = [outcome.address for outcome in outcomes if outcome.error is None]
    if done:
        output.confirm(f"update name server config success![{', '.join(done)}]", f"{key} : {value}")
    output.end("servers", key=key, value=value)
    return conclude(output, outcomes)


async def changed_config(servers: NameServers, key: str, value: str) -> list[Outcome[str | None]]:
    """Have all NameServers change a key; that one of them does not have it is an error of that one."""

    async def change(server: NameServerClient) -> str | None:
        return await server.update_config({key: value})

    return [_judged(servers, outcome, key) for outcome in await servers.each(change)]


def _judged(servers: NameServers, outcome: Outcome[str | None], key: str) -> Outcome[str | None]:
    if outcome.value is not None and outcome.value.startswith(_UNKNOWN):
        unknown = MissingError(
            f"{outcome.address} has no key {key[:80]!r}.",
            why="nothing was stored.",
            remedy=f"see all of them: {servers.command('config show')}",
        )
        return dataclasses.replace(outcome, value=None, error=unknown)
    if outcome.error is not None:
        return dataclasses.replace(outcome, error=with_key_advice(outcome.error, key))
    return outcome


def with_key_advice(error: AdminError, key: str) -> AdminError:
    """Give the error of a refused setting; when its value is to blame, with the command that tells what it may be."""
    cause = error.__cause__
    if not isinstance(cause, RefusedError) or cause.code != ResponseCode.SYSTEM_ERROR or key not in cause.remark:
        return error  # what was wrong was not the value
    better = AdminError(
        error.what, why=error.why, remedy=f"see what it may be: cosmodrome config explain {shlex.quote(key)}"
    )
    better.__cause__ = cause
    return better
