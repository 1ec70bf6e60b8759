"""Server-sent events of a server, for as long as somebody reads.

Owns: the connection, that it is made again and goes on where it broke off; how a stream is cut into messages.
Must not know: what an event is; how it is shown.
"""

import contextlib
import http.client
import json
import urllib.parse
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import Any, Final

from cosmodrome.errors import (
    MissingError,
    NoAnswerError,
    OperatorError,
    UnavailableError,
    UnreachableError,
    WarmingUpError,
)
from cosmodrome.operating.api import Api

SILENCE_S: Final = 45.0
"""A server says something every fifteen seconds."""
_PATH: Final = "/api/v1/events"
_TYPE: Final = "text/event-stream"
_LONGEST_LINE: Final = 16 * 1024 * 1024
_PAUSES_S: Final = (0.2, 0.5, 1.0, 2.0, 5.0)
"""Before the connection is made again; the last one then each time."""

Query = Sequence[tuple[str, str]]


class EventSource:
    """Reads the events of one server.

    Args:
        api: The server.
        query: What is wanted, as parameters.
        on_lost: Told why the connection broke, each time before it is made again.
        pause: Waits so many seconds.
        silence_s: After so long without a word the connection is taken to be broken.
    """

    def __init__(
        self,
        api: Api,
        query: Query,
        on_lost: Callable[[str], None],
        pause: Callable[[float], None],
        *,
        silence_s: float = SILENCE_S,
    ) -> None:
        self._api = api
        self._path = f"{_PATH}?{urllib.parse.urlencode(query)}" if query else _PATH
        self._on_lost = on_lost
        self._pause = pause
        self._silence_s = silence_s
        self._last_id = ""

    def events(self) -> Generator[dict[str, Any], None, None]:
        """Give events, and gaps, for ever. Only the first connection must succeed; what a later one meets is told.

        Raises:
            UnreachableError: Nobody answers HTTP there.
            UnavailableError: It is no NameServer of ours.
            OperatorError: It refuses.
        """
        failures = 0
        is_begun = False
        while True:
            try:
                with self._opened() as answer:
                    is_begun = True
                    for event in self._read(answer):
                        failures = 0
                        yield event
                reason = "the server ended it"
            except (UnreachableError, NoAnswerError, WarmingUpError) as error:
                if not is_begun:
                    raise
                reason = error.why or error.what
            except (OSError, http.client.HTTPException) as error:
                reason = "nothing came for too long" if isinstance(error, TimeoutError) else str(error)
            self._on_lost(reason.rstrip("."))
            self._pause(_PAUSES_S[min(failures, len(_PAUSES_S) - 1)])
            failures += 1

    @contextlib.contextmanager
    def _opened(self) -> Iterator[http.client.HTTPResponse]:
        headers = {"Accept": _TYPE} | ({"Last-Event-ID": self._last_id} if self._last_id else {})
        try:
            with self._api.stream(self._path, headers, self._silence_s) as answer:
                if answer.headers.get_content_type() != _TYPE:
                    raise not_ours(self._api.address)
                yield answer
        except MissingError as error:
            raise not_ours(self._api.address) from error

    def _read(self, answer: http.client.HTTPResponse) -> Iterator[dict[str, Any]]:
        for number, data in messages(iter(lambda: answer.readline(_LONGEST_LINE), b"")):
            if data:
                event = json.loads(data)
                self._last_id = number or self._last_id
                if isinstance(event, dict):
                    yield event
            else:
                self._last_id = number or self._last_id


def messages(lines: Iterable[bytes]) -> Iterator[tuple[str, bytes]]:
    """Cut a stream into messages, and give the id and the data of each that ended; either may be empty."""
    number = ""
    data: list[bytes] = []
    for line in lines:
        name, _, value = line.rstrip(b"\r\n").partition(b":")
        value = value.removeprefix(b" ")
        if not name and not line.startswith(b":"):
            yield number, b"\n".join(data)
            number, data = "", []
        elif name == b"id":
            number = value.decode("ascii", "replace")
        elif name == b"data":
            data.append(value)


def not_ours(address: str) -> OperatorError:
    """Give the error for a server that has no such path."""
    return UnavailableError(
        f"{address} is no NameServer of Cosmodrome, or an older one.",
        why="it answers HTTP, and not this.",
        remedy="name where HTTP of one is: --http HOST:PORT",
    )
