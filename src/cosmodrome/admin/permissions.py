"""Commands about the write permission of a broker: wipeWritePerm, addWritePerm.

Owns: their texts.
Must not know: how a server is asked.
"""

from collections.abc import Awaitable, Callable

from cosmodrome.admin.name_servers import NameServers, conclude
from cosmodrome.admin.output import Output
from cosmodrome.client.name_server import NameServerClient
from cosmodrome.errors import MissingError


async def wipe_write_perm(servers: NameServers, output: Output, broker_name: str) -> int:
    """Take write permission from a broker on all NameServers."""
    return await _change(servers, output, broker_name, "wipe", lambda server: server.wipe_write_perm(broker_name))


async def add_write_perm(servers: NameServers, output: Output, broker_name: str) -> int:
    """Give write permission back to a broker on all NameServers."""
    return await _change(servers, output, broker_name, "add", lambda server: server.add_write_perm(broker_name))


async def _change(
    servers: NameServers,
    output: Output,
    broker_name: str,
    verb: str,
    ask: Callable[[NameServerClient], Awaitable[int]],
) -> int:
    outcomes = await servers.each(ask)
    for outcome in outcomes:
        result = f"OK, {outcome.value}" if outcome.error is None else "Failed"
        output.row(outcome.row(topics=outcome.value))
        output.confirm(f"{verb} write perm of broker[{broker_name}] in name server[{outcome.address}] {result}")
    output.end("servers", broker_name=broker_name)
    code = conclude(output, outcomes)
    if code == 0 and not any(outcome.value for outcome in outcomes):
        raise MissingError(
            f"no topic was touched: there is no broker {broker_name!r}, or it has no topics.",
            remedy=f"check the spelling: {servers.command('admin clusterList')}",
        )
    return code
