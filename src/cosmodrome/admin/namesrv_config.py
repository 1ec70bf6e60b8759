"""Commands about the configuration of NameServers.

Owns: their layouts and texts.
Must not know: how a server is asked.
"""

from cosmodrome.admin.name_servers import NameServers, conclude
from cosmodrome.admin.output import Output, shown


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
    """Change one key on all NameServers."""
    outcomes = await servers.each(lambda server: server.update_config({key: value}))
    for outcome in outcomes:
        output.row(outcome.row(remark=outcome.value))
        if outcome.value:
            output.note(f"{outcome.address}: {outcome.value}")
    done = [outcome.address for outcome in outcomes if outcome.error is None]
    if done:
        output.confirm(f"update name server config success![{', '.join(done)}]", f"{key} : {value}")
    output.end("servers", key=key, value=value)
    return conclude(output, outcomes)
