"""Routes of another environment, for topics that this one does not have (`clusterTest`).

Owns: where that environment's NameServers are, and asking them.
Must not know: when they are asked.
"""

import contextlib
import logging
import time
from collections.abc import Callable
from typing import Final

from cosmodrome.errors import RemotingError
from cosmodrome.protocol.codes import RequestCode, ResponseCode
from cosmodrome.protocol.command import request
from cosmodrome.transport.client import RemotingClient
from cosmodrome.transport.daemon_thread import in_daemon_thread

logger = logging.getLogger(__name__)

_REQUEST_TIMEOUT_S: Final = 3.0
_ADDRESSES_VALID_S: Final = 120.0
_MAX_LIST_BYTES: Final = 64 * 1024
_DEFAULT_HTTP_PORT: Final = 8080


class ProductEnvironment:
    """Asks the NameServers of an environment, one after another, for a route.

    The addresses are those given (`NAMESRV_ADDR`), else those that an HTTP address server names for the
    environment, asked at most every two minutes.
    """

    def __init__(self, client: RemotingClient, url: Callable[[], str], addresses: str = "") -> None:
        self._client = client
        self._url = url
        self._given = split_addresses(addresses)
        self._found: tuple[str, ...] = ()
        self._found_for = ""
        self._valid_until_s = 0.0

    async def route(self, topic: str) -> bytes | None:
        """Give the route as a body in the plain dialect; None when nobody there has it or answers."""
        # Version 0 and no wish for standard JSON: the answer is in the plain dialect, as is ours.
        question = request(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": topic}).replaced(version=0)
        for address in self._given or await self._addresses():
            try:
                answer = await self._client.request(address, question, _REQUEST_TIMEOUT_S)
            except RemotingError as error:
                logger.warning("the product environment's NameServer failed: %s", error)
                continue
            return answer.body if answer.code == ResponseCode.SUCCESS and answer.body else None
        return None

    async def _addresses(self) -> tuple[str, ...]:
        url = self._url()
        if url != self._found_for or time.monotonic() >= self._valid_until_s:
            try:
                self._found = split_addresses(await in_daemon_thread(_fetch, url))
            except (OSError, ValueError) as error:
                logger.warning("the address server %s failed: %s", url, error)
                self._found = self._found if url == self._found_for else ()
            self._found_for = url
            self._valid_until_s = time.monotonic() + _ADDRESSES_VALID_S
        return self._found


def address_server_url(domain: str, subgroup: str, environment: str) -> str:
    """Give the URL at which Java's clients ask for the NameServers of an environment."""
    host = domain if ":" in domain else f"{domain}:{_DEFAULT_HTTP_PORT}"
    unit = f"-{environment}?nofix=1" if environment else ""
    return f"http://{host}/rocketmq/{subgroup}{unit}"


def split_addresses(text: str) -> tuple[str, ...]:
    """Split a list of `host:port`, separated by `;` or `,`."""
    return tuple(part.strip() for part in text.replace(",", ";").split(";") if part.strip())


def _fetch(url: str) -> str:
    """Ask the address server.

    Raises:
        OSError: It does not answer.
        ValueError: The URL is none, or the answer is not HTTP or not a success.
    """
    # Only `clusterTest` needs them, and they take longer to load than the rest of this package.
    import http.client  # noqa: PLC0415 -- see above
    import urllib.parse  # noqa: PLC0415 -- see above

    parts = urllib.parse.urlsplit(url)
    try:
        with contextlib.closing(http.client.HTTPConnection(parts.netloc, timeout=_REQUEST_TIMEOUT_S)) as connection:
            connection.request("GET", f"{parts.path}?{parts.query}" if parts.query else parts.path)
            with contextlib.closing(connection.getresponse()) as answer:
                if answer.status != http.client.OK:
                    raise ValueError(f"HTTP status {answer.status}")
                return answer.read(_MAX_LIST_BYTES).decode("utf-8", "replace")
    except http.client.HTTPException as error:
        raise ValueError(f"not an HTTP answer: {error!r}") from error
