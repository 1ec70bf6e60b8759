"""The JSON API of a server, as an operator's command asks it.

Owns: what becomes of an answer that is none, or a refusal: an error with the exit code for it.
Must not know: what is asked.
"""

import contextlib
import http.client
import json
import urllib.parse
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from cosmodrome.errors import (
    AdminError,
    ConfigError,
    DeniedError,
    MissingError,
    NoAnswerError,
    OperatorError,
    UnavailableError,
    UnreachableError,
    UsageError,
    WarmingUpError,
)

_LARGEST_BYTES: Final = 16 * 1024 * 1024
_BUSY: Final = (429, 502, 503, 504)


class Api:
    """Asks one server.

    Args:
        given: `host:port`, or a URL of it.
        token: What the server's `httpToken` is; empty for none.
        timeout_s: Of one question.

    Raises:
        UsageError: That is no address.
    """

    def __init__(self, given: str, *, token: str = "", timeout_s: float = 5.0) -> None:
        parts = urllib.parse.urlsplit(given if "://" in given else f"http://{given}")
        try:
            is_one = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:
            is_one = False
        if not is_one:
            raise UsageError(f"{given} is no address of HTTP.", remedy="for example: --http 127.0.0.1:19876")
        self.address = parts.netloc
        self._kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._timeout_s = timeout_s

    def get(self, path: str) -> Any:
        """Ask for JSON.

        Raises:
            OperatorError: There is no good answer.
        """
        return self._json(*self._ask("GET", path, None))

    def pages(
        self, path: str, query: Sequence[tuple[str, str]] = (), *, page: int, most: int | None = None
    ) -> Iterator[Any]:
        """Ask for a list page after page, as the answers come; each has `items` and `next_cursor`.

        Args:
            path: Of the list.
            query: What is asked for on each page.
            page: How many items one page may have.
            most: How many all of them may have; None for no end.

        Raises:
            OperatorError: There is no good answer.
        """
        cursor: str | None = ""
        left = most
        while cursor is not None and (left is None or left > 0):
            limit = page if left is None else min(page, left)
            asked = [*query, ("limit", str(limit)), *([("cursor", cursor)] if cursor else [])]
            found = self.get(f"{path}?{urllib.parse.urlencode(asked)}")
            yield found
            left = None if left is None else left - len(found["items"])
            cursor = found["next_cursor"]

    def text(self, path: str) -> tuple[int, str]:
        """Ask for a text, and give it with its status, whatever that is.

        Raises:
            UnreachableError: Nobody answers.
            NoAnswerError: Nobody answers in time.
        """
        status, content = self._ask("GET", path, None)
        return status, content.decode("utf-8", "replace")

    def change(self, method: str, path: str, body: Mapping[str, object]) -> Any:
        """Have something changed.

        Raises:
            DeniedError: Not by us.
            ConfigError: It was refused for what is in a file or a value.
            OperatorError: There is no good answer.
        """
        return self._json(*self._ask(method, path, body))

    @contextlib.contextmanager
    def stream(self, path: str, headers: Mapping[str, str], silence_s: float) -> Iterator[http.client.HTTPResponse]:
        """Open an answer that goes on; after `silence_s` without a byte reading it raises TimeoutError.

        Raises:
            OperatorError: There is none.
        """
        with self._answers():
            connection = self._kind(self.address, timeout=self._timeout_s)
        with contextlib.closing(connection):
            with self._answers():
                connection.request("GET", path, None, self._headers | dict(headers))
                sock = connection.sock  # which the connection gives away with an answer that goes on to its end
                answer = connection.getresponse()
            if answer.status >= http.client.BAD_REQUEST:
                with self._answers():
                    self._json(answer.status, answer.read(_LARGEST_BYTES))
            sock.settimeout(silence_s)
            yield answer

    def _ask(self, method: str, path: str, body: Mapping[str, object] | None) -> tuple[int, bytes]:
        headers = dict(self._headers)
        if body is not None:
            headers["Content-Type"] = "application/json"
        with self._answers(), contextlib.closing(self._kind(self.address, timeout=self._timeout_s)) as connection:
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            return answer.status, answer.read(_LARGEST_BYTES)

    @contextlib.contextmanager
    def _answers(self) -> Iterator[None]:
        """Raise for whoever does not answer."""
        try:
            yield
        except TimeoutError as error:
            raise NoAnswerError(f"{self.address} did not answer in {self._timeout_s:g} s.") from error
        except (OSError, http.client.HTTPException) as error:
            raise UnreachableError(
                f"nobody answers HTTP at {self.address}.",
                why=f"{getattr(error, 'strerror', None) or error or type(error).__name__}.",
                remedy="name where its HTTP listens, the key http: --http HOST:PORT",
            ) from error

    def _json(self, status: int, content: bytes) -> Any:
        try:
            answer = json.loads(content)
        except ValueError as error:
            raise UnavailableError(
                f"{self.address} has no JSON API of Cosmodrome.",
                why=f"it answered {status} with something that is no JSON.",
                remedy="name where HTTP of the server listens, the key http: --http HOST:PORT",
            ) from error
        if status < http.client.BAD_REQUEST:
            return answer
        raise self._refusal(status, answer if isinstance(answer, dict) else {})

    def _refusal(self, status: int, problem: Mapping[str, object]) -> OperatorError:
        what = f"{self.address}: {problem.get('detail') or f'status {status}'}".rstrip(".") + "."
        remedy = str(problem.get("hint") or "") or None
        if status in (http.client.UNAUTHORIZED, http.client.FORBIDDEN, http.client.MISDIRECTED_REQUEST):
            return DeniedError(what, remedy=remedy)
        if status == http.client.CONFLICT:
            return ConfigError(what, remedy=remedy)
        if status == http.client.NOT_FOUND:
            return MissingError(what, remedy=remedy)
        if status in _BUSY:
            return WarmingUpError(what, remedy=remedy)
        return AdminError(what, remedy=remedy)
