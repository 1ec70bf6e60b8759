"""One of the two brokers, as a history sees it.

Owns: the connections of a history; the names, offsets and ids that its tokens stand for in one play.
Must not know: the other broker.
"""

import re
from collections.abc import Callable
from typing import Any, Final

from tests.interop.broker_differential.history import FLAG_ONEWAY, FLAG_RESPONSE, Close, Request
from tests.interop.broker_differential.json_value import NotJsonError
from tests.interop.broker_differential.reading import Seen, read
from tests.support import wire
from tests.support.faulty_broker.records import offset_of
from tests.support.wire import Answer, Wire

ANSWER_S: Final = 15.0
UNANSWERED_S: Final = 0.3
UNKNOWN_CODE: Final = 29_999
END_TRANSACTION: Final = 37
_TOKEN: Final = re.compile(r"@\{([^.}]+)\.(offset|queue|id)\}")
_ID: Final = re.compile(r"[0-9A-F]{32}")
_NUMBER: Final = re.compile(r"(?<![\w.])\d{3,}(?![\w.])")


class Side:
    """A broker and what a play has open on it. Replace `falsify` to change answers before they are read.

    `mark` keeps the names of two sides apart, so that both may even be the same broker.
    """

    def __init__(self, address: str, mark: str) -> None:
        """`begin` starts a play."""
        self.address = address
        self._mark = mark
        self.falsify: Callable[[Request, Answer], Answer] = lambda _, answer: answer
        self._suffix = ""
        self._stored: dict[str, dict[str, str]] = {}
        self._connections: dict[str, Wire] = {}

    def begin(self, play: int) -> None:
        """Start a play with new names."""
        self._suffix = f"-{self._mark}{play:06x}"
        self._stored.clear()

    def end(self) -> None:
        """Leave: connections close, and with them what clients were members of."""
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()

    def ask(self, step: Request) -> Seen:
        """Send a request and read its answer."""
        try:
            answer = self._exchange(step)
        except TimeoutError:
            return Seen(failure="no answer")
        except ConnectionError:
            self._connections.pop(step.connection).close()
            return Seen(failure="closed")
        if answer is None:
            return Seen()
        self._learn(step, answer)
        try:
            return read(step, self.falsify(step, answer), self._unfill)
        except (NotJsonError, AssertionError) as error:
            return Seen(code=answer.code, failure=f"unreadable: {error}")

    def close(self, step: Close) -> None:
        """Close a connection if it is open."""
        connection = self._connections.pop(step.connection, None)
        if connection is not None:
            connection.close()

    def _exchange(self, step: Request) -> Answer | None:
        if step.connection not in self._connections:
            self._connections[step.connection] = Wire(self.address, ANSWER_S)
        connection = self._connections[step.connection]
        ext = None if step.ext is None else {name: self._fill(value) for name, value in step.ext.items()}
        opaque = connection.next_opaque()
        connection.send(
            wire.encode_request(
                step.code,
                ext,
                self._body(step.body),
                opaque=opaque,
                codec=step.codec,  # type: ignore[arg-type]  # one of two
                flag=FLAG_ONEWAY if step.is_oneway else 0,
            )
        )
        if step.is_oneway:
            connection.request(UNKNOWN_CODE)
            return None
        is_silent = step.code == END_TRANSACTION and step.get("commitOrRollback") == "0"
        connection.timeout = UNANSWERED_S if is_silent else ANSWER_S
        while not (answer := connection.answer_to(opaque)).flag & FLAG_RESPONSE:
            continue  # a request of the broker may have the same number
        return answer

    def _body(self, body: Any) -> bytes:
        if isinstance(body, bytes):
            return self._fill(body.decode("latin-1")).encode("latin-1") if b"~" in body and len(body) < 5000 else body
        return self._fill(wire.dump(body).decode()).encode()

    def _fill(self, text: str) -> str:
        return _TOKEN.sub(lambda m: self._stored.get(m[1], {}).get(m[2], "-1"), text.replace("~", self._suffix))

    def _unfill(self, text: str) -> str:
        text = text.replace(self._suffix, "~")
        ids = {stored["id"]: f"@{{{label}.id}}" for label, stored in self._stored.items()}
        offsets = {stored["offset"]: f"@{{{label}.offset}}" for label, stored in self._stored.items()}
        text = _ID.sub(lambda m: ids.get(m[0], m[0]), text)
        return _NUMBER.sub(lambda m: offsets.get(m[0], m[0]), text)

    def _learn(self, step: Request, answer: Answer) -> None:
        first = (answer.ext or {}).get("msgId", "").split(",")[0]
        if step.label and answer.code == 0 and _ID.fullmatch(first):
            self._stored[step.label] = {
                "id": first, "offset": str(offset_of(first)), "queue": (answer.ext or {}).get("queueOffset", "-1"),
            }  # fmt: skip
