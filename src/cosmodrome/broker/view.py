"""What can be seen of a broker from outside, from the moment it starts.

Owns: which of its parts may be read (metrics, HTTP), and nothing else of it; why it is not ready.
Must not know: who reads, or in which form.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from cosmodrome.broker.clock import Clock
from cosmodrome.broker.config import BrokerConfig
from cosmodrome.broker.state import BrokerState
from cosmodrome.broker.timer_service import TimerService
from cosmodrome.http.checks import Check
from cosmodrome.metrics.loop_lag import LoopLag
from cosmodrome.store.message_store import MessageStore
from cosmodrome.transport.server import RemotingServer


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """The parts of a broker whose store is open; read them in its event loop, and change nothing.

    `config` gives the settings in force, `disk_refusal` why the disk's use keeps messages away, `cold_reads` how many
    requests and deliveries wait for old messages to be read, by kind.
    """

    config: Callable[[], BrokerConfig]
    state: BrokerState
    store: MessageStore
    timers: TimerService
    server: RemotingServer
    disk_refusal: Callable[[], str | None]
    cold_reads: Mapping[str, int]


class BrokerView:
    """A broker at any time between the call of its start and the end of its stop.

    Attributes:
        config: As it was given.
        seen: Its parts; None until the store is open, and when it is closed.
        is_started: Whether requests are served.
        is_stopping: Whether the stop has begun.
        lag: How late the event loop is.
        started_s: When the start was asked for, Unix time.
    """

    def __init__(self, config: BrokerConfig, clock: Clock) -> None:
        """See nothing yet."""
        self.config = config
        self.clock = clock
        self.seen: Seen | None = None
        self.is_started = False
        self.is_stopping = False
        self.lag = LoopLag()
        self.started_s = clock.wall_ms() / 1000

    def checks(self) -> list[Check]:
        """Give what must hold before anybody is sent here."""
        return [Check("service", "requests are served", self._unserved()), self._store()]

    def _unserved(self) -> str:
        if self.is_stopping:
            return "draining"
        if self.seen is None:
            return "starting: the store is being opened"
        return "" if self.is_started else "starting"

    def _store(self) -> Check:
        seen = self.seen
        if seen is None:
            return Check("store", "", "it is not open")
        reason = seen.store.failure or seen.disk_refusal() or ""
        return Check("store", "messages are stored", reason and f"messages are refused: {reason}", self._held())

    def _held(self) -> str:
        """Say that sends wait, although everything else is served."""
        begin_ms = 0 if self.seen is None else self.seen.config().start_accept_send_request_time_stamp
        if begin_ms <= self.clock.wall_ms():
            return ""
        moment = datetime.fromtimestamp(begin_ms / 1000).astimezone()
        return f"sends are refused until {moment.isoformat(timespec='seconds')}, startAcceptSendRequestTimeStamp"
