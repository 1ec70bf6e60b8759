"""What a master knows of one slave.

Owns: which reports of a slave can be true; from where it is sent the log; what it has acknowledged.
Must not know: sockets; who waits for an acknowledgement.
"""

from typing import Final

from cosmodrome.protocol.replication import NOT_AN_OFFSET

_RATE_MS: Final = 1000


class SlaveRefusedError(Exception):
    """What a slave says cannot be, or cannot be served: close its connection.

    Attributes:
        cause: The kind, in one word.
        reason: What is wrong and what to do, for an operator.
    """

    def __init__(self, cause: str, reason: str) -> None:
        super().__init__(reason)
        self.cause = cause
        self.reason = reason


class SlaveState:
    """One connection of a slave, of which nothing is known but what it reports.

    Attributes:
        address: The other end.
        sent_to: Where the next transfer begins; below 0 before the first report.
        reported: The newest report; None before the first.
        acknowledged: What it has, as far as anybody knows who sent it something first: its first report counts for nothing.
        since_ms: When it connected.
        reported_ms: When it reported last, or connected.
        is_current: Whether it has acknowledged something that it was sent.
        was_sent_something: Whether it was.
    """

    def __init__(self, address: str, now_ms: int) -> None:
        """Know nothing yet. Times are of a clock that never steps."""
        self.address = address
        self.sent_to = -1
        self.reported: int | None = None
        self.acknowledged = 0
        self.since_ms = now_ms
        self.reported_ms = now_ms
        self.is_current = False
        self.was_sent_something = False
        self._rate_from_ms = now_ms
        self._rate_bytes = 0
        self._rate = 0

    def report(self, offset: int, log: tuple[int, int], now_ms: int) -> None:
        """Take a report; `log` is where the log starts and ends now.

        Raises:
            SlaveRefusedError: It cannot be true, or this log cannot be what the slave had so far.
        """
        self.reported_ms = now_ms
        if self.sent_to < 0:
            _check_first(offset, *log)
            # An empty log takes whatever comes first, so that it gets all there is.
            self.sent_to = offset or log[0]
        elif not 0 <= offset <= self.sent_to:
            raise SlaveRefusedError(
                "claim", f"it reports {offset}, and was sent only what is before {self.sent_to}: it counts for nothing"
            )
        elif self.was_sent_something:
            self.acknowledged = max(self.acknowledged, offset)
            self.is_current = True
        self.reported = offset

    def sent(self, size: int, now_ms: int) -> None:
        """Note a transfer; size 0 is a sign of life."""
        self.sent_to += size
        self.was_sent_something = True
        if now_ms - self._rate_from_ms >= _RATE_MS:
            self._rate = self._rate_bytes * 1000 // (now_ms - self._rate_from_ms)
            self._rate_from_ms, self._rate_bytes = now_ms, 0
        self._rate_bytes += size

    def sent_per_second(self, now_ms: int) -> int:
        """Give how many bytes it was sent in a second of late; 0 when that is a while ago."""
        return self._rate if now_ms - self._rate_from_ms < 2 * _RATE_MS else 0

    def behind(self, end: int) -> int | None:
        """Give how many bytes it lacks of a log that ends there; None before its first report."""
        return None if self.reported is None else end - max(self.reported, self.acknowledged)


def _check_first(offset: int, start: int, end: int) -> None:
    """Refuse a slave that cannot go on with this log."""
    if not 0 <= offset < NOT_AN_OFFSET:
        raise SlaveRefusedError("no_report", f"{offset} is no offset: it is no slave, or speaks another protocol")
    if offset > end:
        raise SlaveRefusedError(
            "ahead",
            f"its log ends at {offset}, and this one at {end}: it has messages that this broker does not have. "
            "Make it the master if they are to be kept, else delete its store and let it copy this one",
        )
    if 0 < offset < start:
        raise SlaveRefusedError(
            "too_old",
            f"its log ends at {offset}, and this one begins at {start}: what is between is deleted. "
            "Delete its store and let it copy this one",
        )
