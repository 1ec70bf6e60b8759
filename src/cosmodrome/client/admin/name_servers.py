"""NameServers themselves: their configuration, their KV entries, write permission of brokers.

Owns: that a change is made at all NameServers, which do not talk to each other.
Must not know: requests to one of them (name_server.py).
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

from cosmodrome.client.admin.answers import Answers, checked, done
from cosmodrome.client.admin.reach import Reach, Target
from cosmodrome.client.name_server import NameServerClient

ValueT = TypeVar("ValueT")


class NameServers:
    """`admin.name_servers`. Results have each NameServer by its address.

    Every method raises, beside what it names: RemotingError and RefusedError of the only server, BrokersFailedError
    when several failed (a change: when any did), ClientClosedError.
    """

    def __init__(self, reach: Reach) -> None:
        self._reach = reach

    async def config(self) -> Answers[Mapping[str, str]]:
        """Give the configuration of each."""
        return checked("the configuration was not read", await self._each(lambda server: server.get_config()))

    async def update_config(self, values: Mapping[str, str]) -> Answers[str | None]:
        """Change some settings of all, and give what each says about it, if anything."""
        return done("the configuration was not changed", await self._each(lambda server: server.update_config(values)))

    async def kv_get(self, namespace: str, key: str) -> str:
        """Give a KV value of the first NameServer that answers.

        Raises:
            NotFoundError: It has none.
        """
        return await self._reach.name_server(lambda server: server.kv_get(namespace, key))

    async def kv_list(self, namespace: str) -> Mapping[str, str]:
        """Give all KV values of a namespace, of the first NameServer that answers.

        Raises:
            NotFoundError: It never had any.
        """
        return await self._reach.name_server(lambda server: server.kv_list(namespace))

    async def kv_put(self, namespace: str, key: str, value: str) -> Answers[None]:
        """Store a KV value at all."""
        return done(f"{key} was not stored", await self._each(lambda server: server.kv_put(namespace, key, value)))

    async def kv_delete(self, namespace: str, key: str) -> Answers[None]:
        """Remove a KV value from all; none to remove is no error."""
        return done(f"{key} was not removed", await self._each(lambda server: server.kv_delete(namespace, key)))

    async def wipe_write_perm(self, broker_name: str) -> Answers[int]:
        """Take write permission from all topics of a broker, and give their number at each NameServer."""
        return done("permission was not taken", await self._each(lambda server: server.wipe_write_perm(broker_name)))

    async def add_write_perm(self, broker_name: str) -> Answers[int]:
        """Give write permission back to all topics of a broker, and give their number at each NameServer."""
        return done("permission was not given", await self._each(lambda server: server.add_write_perm(broker_name)))

    async def _each(self, ask: Callable[[NameServerClient], Awaitable[ValueT]]) -> Answers[ValueT]:
        servers = {server.address: server for server in await self._reach.name_servers()}
        places = [Target(address, address) for address in servers]
        return await self._reach.each(places, lambda address: ask(servers[address]))
