"""AdminClient: everything that is asked of brokers and NameServers to run them.

Owns: the public face; opening and closing.
Must not know: any request.
"""

import warnings
from typing import Self, Unpack

from cosmodrome.client.admin.brokers import Brokers
from cosmodrome.client.admin.clients import Clients
from cosmodrome.client.admin.groups import Groups
from cosmodrome.client.admin.messages import Messages
from cosmodrome.client.admin.name_servers import NameServers
from cosmodrome.client.admin.offsets import Offsets
from cosmodrome.client.admin.reach import Reach
from cosmodrome.client.admin.topics import Topics
from cosmodrome.client.config import ClientConfig, ClientOptions
from cosmodrome.errors import ClientClosedError, ConfigError


class AdminClient:
    """Administers brokers and NameServers of any release. `async with` opens and closes it; or `start` and `close`.

    It belongs to the event loop in which it was opened, and may be used by any number of tasks of it. Several brokers
    are asked at once; a result of which a part is missing says so in `failures`, and is never just shorter. Names of
    topics and groups are those on the wire.

    Attributes:
        topics: Make, change, delete, look at topics.
        groups: Make, change, delete, look at consumer groups.
        offsets: How far groups are; move them.
        messages: Find messages; have one consumed.
        clients: Who is connected.
        brokers: Where they are, how they are, what they are set to.
        name_servers: Their configuration and KV entries; write permission of brokers.

    Args:
        options: The settings, see ClientConfig; `namesrv` first of all.

    Raises:
        ConfigError: A setting is unknown or cannot be used; `namespace` is none here.
    """

    def __init__(self, **options: Unpack[ClientOptions]) -> None:
        config = ClientConfig.made_of(options)
        if config.namespace:
            raise ConfigError(
                "namespace: the admin client takes names as they travel.",
                keys=("namespace",),
                remedy=f'write it before the name: "{config.namespace}%orders"',
            )
        self._reach = reach = Reach(config)
        self._is_open = False
        self._is_closed = False
        self.topics = Topics(reach)
        self.groups = Groups(reach)
        self.offsets = Offsets(reach)
        self.messages = Messages(reach)
        self.clients = Clients(reach)
        self.brokers = Brokers(reach)
        self.name_servers = NameServers(reach)

    async def start(self) -> None:
        """Open it. Nothing is asked of servers yet.

        Raises:
            ClientClosedError: It was closed; make a new one.
            RuntimeError: It is open already.
        """
        if self._is_closed:
            raise ClientClosedError("this admin client was closed; make a new one")
        if self._is_open:
            raise RuntimeError("this admin client is open already")
        self._reach.open()
        self._is_open = True

    async def close(self) -> None:
        """End all connections; what waits for answers ends with ConnectError. May be called again."""
        self._is_closed = True
        self._is_open = False
        await self._reach.close()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __del__(self) -> None:
        """Warn of a client that was never closed."""
        if getattr(self, "_is_open", False):
            warnings.warn("an admin client was not closed", ResourceWarning, stacklevel=1)
