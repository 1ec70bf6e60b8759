"""The NameServers of a client: those that are set, or those that an address server names.

Owns: the list, its age, and that one question is asked at a time.
Must not know: which of them is asked; how an address server is.
"""

import asyncio
import logging
from collections.abc import Sequence
from typing import Final

from cosmodrome.client.address_server import name_servers_at
from cosmodrome.client.addresses import Address
from cosmodrome.errors import AddressServerError

logger = logging.getLogger(__name__)

VALID_S: Final = 120.0
"""As Java's clients ask."""
FAILED_VALID_S: Final = 5.0
"""After a question that failed."""


class ServerList:
    """The addresses. With a `url` they are asked for when they are wanted and old; if that fails the old ones stay."""

    def __init__(self, addresses: Sequence[Address], url: str | None = None, timeout_s: float = 3.0) -> None:
        self.known = tuple(addresses)
        """What was known last."""
        self._url = url
        self._timeout_s = timeout_s
        self._valid_until_s = 0.0
        self._asking: asyncio.Task[None] | None = None

    async def current(self) -> tuple[Address, ...]:
        """Give the addresses, at least one.

        Raises:
            AddressServerError: The address server never named any.
        """
        if self._url is None:
            return self.known
        if asyncio.get_running_loop().time() >= self._valid_until_s:
            if self._asking is None:
                self._asking = asyncio.ensure_future(self._ask(self._url))
                self._asking.add_done_callback(_retrieved)
            asking = self._asking
            if self.known:
                return self.known  # the old ones meanwhile: nobody waits for an address server that is slow
            await asyncio.wait({asking})
            if not asking.cancelled():
                asking.result()
        if not self.known:
            raise AddressServerError(self._url, "it named no NameServer yet")
        return self.known

    def close(self) -> None:
        """Stop asking."""
        if self._asking is not None:
            self._asking.cancel()

    async def _ask(self, url: str) -> None:
        loop = asyncio.get_running_loop()
        try:
            found = await name_servers_at(url, self._timeout_s)
        except AddressServerError as error:
            self._valid_until_s = loop.time() + FAILED_VALID_S
            if not self.known:
                raise
            logger.warning("the NameServers stay %s: %s", _shown(self.known), error)
        else:
            self._valid_until_s = loop.time() + VALID_S
            if set(found) != set(self.known):
                logger.info("address server %s names the NameServers %s", url, _shown(found))
                self.known = found
        finally:
            self._asking = None


def _retrieved(done: asyncio.Task[None]) -> None:
    """Those who waited may all have given up: then nobody else asks for what it raised."""
    if not done.cancelled():
        done.exception()


def _shown(addresses: Sequence[Address]) -> str:
    return ", ".join(map(str, addresses))
