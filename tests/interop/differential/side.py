"""One of the two servers, as a history sees it.

Owns: the connections of a history; the names and addresses it stands for in one play; how to wait
until the server has done what it does in the background.
Must not know: the other server.
"""

import re
import time
from collections.abc import Callable
from typing import Any, Final

from tests.interop.differential.frames import encode
from tests.interop.differential.history import Close, Request, Setting, Step, as_text
from tests.interop.differential.notices import NoticeListener, Notices
from tests.interop.differential.old_release import NO_ANSWER, is_unanswered
from tests.interop.differential.reading import Seen, read
from tests.interop.differential.settings import setting_text
from tests.support import wire
from tests.support.wire import Answer, Broker, Wire

ANSWER_TIMEOUT_S: Final = 10.0
SETTLE_TIMEOUT_S: Final = 10.0
ADDRS_PER_PLAY: Final = 16
BROKERS_PER_HISTORY: Final = 9
READS: Final = frozenset({101, 105, 106, 206, 219, 224, 304, 311, 312, 313, 901})


class Side:
    """A server and what a play has open on it.

    `octet` keeps the names and broker addresses of two sides apart (127.`octet`.x.y), so that both
    may even be the same server. Replace `falsify` to change answers before they are read: it tests the
    harness.
    """

    def __init__(self, address: str, octet: int, *, broker_port: int, is_old: bool = False) -> None:
        """Connect to a server; `begin` starts a play. Brokers are announced on `broker_port`.

        An old server, 4.9.7, leaves some codes without an answer.
        """
        self._is_old = is_old
        self.address = address
        self._octet = octet
        self._port = broker_port
        self.falsify: Callable[[Request, Answer], Answer] = lambda _, answer: answer
        self._control = Wire(address, ANSWER_TIMEOUT_S)
        self._has_order_namespace = False
        self._suffix = ""
        self._base = 0
        self._sentinels = 0
        self._connections: dict[str, Wire] = {}
        self._kv_keys: set[tuple[str, str]] = set()
        self._listener: NoticeListener | None = None

    def begin(self, play: int, setting: Setting) -> None:
        """Start a play: new names, and the server configured as the history wants it."""
        if not self._has_order_namespace:
            self._make_order_namespace()
        self._suffix, self._base = f"-{self._octet:x}{play:06x}", play * ADDRS_PER_PLAY
        answer = self._control.request(318, None, setting_text(setting))
        assert answer.code == 0, f"{self.address} refused {setting}: {answer}"
        self._listener = NoticeListener(self.fill(f"@{at}") for at in range(1, BROKERS_PER_HISTORY + 1))

    def end(self) -> None:
        """Leave nothing of the play behind: KV entries and registrations are gone."""
        for namespace, key in self._kv_keys:
            self._control.request(102, {"namespace": namespace, "key": key})
        for connection in self._connections.values():
            connection.close()
        self._kv_keys.clear()
        self._connections.clear()
        if self._listener is not None:
            self._listener.close()
            self._listener = None

    def stop(self) -> None:
        """Close what is open."""
        self.end()
        self._control.close()

    def fill(self, text: str) -> str:
        """Put the names and addresses of this play in the place of the tokens."""
        return re.sub(r"@(\d+)", self._addr, text.replace("~", self._suffix))

    def _filled(self, value: Any) -> Any:
        return self.fill(value) if isinstance(value, str) else value

    def unfill(self, text: str) -> str:
        """Put the tokens back."""
        pattern = rf"127\.{self._octet}\.(\d+)\.(\d+):{self._port}"
        return re.sub(pattern, self._token, text.replace(self._suffix, "~"))

    def ask(self, step: Request) -> Seen | None:
        """Send a request and read its answer; None for a oneway request."""
        ext = None if step.ext is None else {name: self._filled(value) for name, value in step.ext.items()}
        body = step.body.build(self.fill)
        if step.code == wire.REGISTER_BROKER and ext is not None:
            ext.setdefault("bodyCrc32", str(wire.crc32_masked(body) ^ step.bad_crc))
        if step.code == 100 and ext is not None and {"namespace", "key"} <= ext.keys():
            self._kv_keys.add((as_text(ext["namespace"]), as_text(ext["key"])))
        return self._exchange(step, ext, body)

    def close(self, step: Close) -> None:
        """Close a connection, if it is open, and wait until the server has noticed."""
        connection = self._connections.pop(step.connection, None)
        if connection is None:
            return
        if step.is_reset:
            connection.abort()
        else:
            connection.end_sending()

    def settle(self, step: Step) -> None:
        """Wait until unregistrations that were queued before this call are done.

        Apache's server handles them in order, on one thread, so a broker of our own that leaves
        after them shows when they are done. Closed connections reach that queue through several
        threads: two more that close behind them make overtaking practically impossible, and a
        difference that is left after it is looked at again (player.py).
        """
        for _ in range(2 if isinstance(step, Close) else 1):
            self._pass_through_queue(by_close=isinstance(step, Close))

    def notices(self, wait_s: float = 0) -> Notices:
        """Return what the brokers of this play were told so far, waiting so long for something new."""
        return {} if self._listener is None else self._listener.collect(self.unfill, wait_s)

    def _make_order_namespace(self) -> None:
        """Make the namespace that shows in answers to registrations: once made it stays, if empty."""
        entry = {"namespace": "ORDER_TOPIC_CONFIG", "key": "any", "value": "any"}
        assert self._control.request(100, entry).code == self._control.request(102, entry).code == 0
        self._has_order_namespace = True

    def _pass_through_queue(self, *, by_close: bool) -> None:
        self._sentinels += 1
        name = f"sentinel-{self._octet}-{self._sentinels}"
        broker = Broker(name=name, addr=f"{name}:1", cluster="sentinels")
        sentinel = Wire(self.address, ANSWER_TIMEOUT_S)
        assert wire.register(sentinel, broker, body=b"").code == 0
        if by_close:
            sentinel.end_sending()
        else:
            sentinel.request(104, wire.identity_ext(broker))
            sentinel.close()
        self._wait_gone(name)

    def _wait_gone(self, name: str) -> None:
        """Ask again and again, each round trip being the pause, until a broker name is unknown."""
        deadline = time.monotonic() + SETTLE_TIMEOUT_S
        while time.monotonic() < deadline:
            if not self._is_known(name):
                return
        raise AssertionError(f"{self.address} still lists {name}, which left {SETTLE_TIMEOUT_S:g} s ago")

    def _is_known(self, name: str) -> bool:
        if self._is_old:
            # 4.9.7 fails when something changes while it writes.
            answer = self._control.request(106)
            return answer.code != 0 or name in answer.json()["brokerAddrTable"]
        answer = self._control.request(901, {"clusterName": "sentinels", "brokerName": name})
        return bool(answer.json()["brokerMemberGroup"]["brokerAddrs"])

    def _exchange(self, step: Request, ext: dict[str, Any] | None, body: bytes) -> Seen | None:
        try:
            answer = self._sent(step, ext, body)
        except (TimeoutError, ConnectionError) as error:
            self._connections.pop(step.connection).close()
            return Seen(failure="closed" if isinstance(error, ConnectionError) else "no answer in time")
        connection = self._connection(step.connection)
        if connection.untaken():
            return Seen(failure=f"an answer to no request: {connection.untaken()}")
        if not step.is_answered:
            return None
        return Seen(failure=NO_ANSWER) if answer is None else read(step.code, self.falsify(step, answer), self.unfill)

    def _sent(self, step: Request, ext: dict[str, Any] | None, body: bytes) -> Answer | None:
        """Send a request; return its answer, or None if none is due.

        What an old server does not answer is followed by a request that it does answer: waiting for
        that one takes no deadline.
        """
        connection = self._connection(step.connection)
        opaque = connection.next_opaque()
        connection.send(encode(step, ext, body, opaque))
        if not step.is_answered or (self._is_old and is_unanswered(step)):
            connection.request(101, {"namespace": "none", "key": "none"})
            return None
        return connection.answer_to(opaque)

    def _connection(self, label: str) -> Wire:
        if label not in self._connections:
            self._connections[label] = Wire(self.address, ANSWER_TIMEOUT_S)
        return self._connections[label]

    def _addr(self, token: re.Match[str]) -> str:
        number = self._base + int(token[1])
        return f"127.{self._octet}.{number >> 8 & 255}.{number & 255}:{self._port}"

    def _token(self, addr: re.Match[str]) -> str:
        number = (int(addr[1]) << 8 | int(addr[2])) - (self._base & 0xFFFF)
        return f"@{number}"
