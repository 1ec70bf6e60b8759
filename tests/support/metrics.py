"""The metrics of servers that run in this process.

Owns: starting them, and asking.
Must not know: what a test claims.
"""

from cosmodrome import Broker, NameServer
from cosmodrome.metrics.family import Family


async def families_of_both() -> list[Family]:
    """Give every metric of a NameServer and of a broker that were just started."""
    async with NameServer(port=0) as server, Broker() as broker:
        return [*await server.measured(), *await broker.measured()]
