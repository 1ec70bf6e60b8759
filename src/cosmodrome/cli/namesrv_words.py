"""What is said of a NameServer when it starts and stops.

Owns: the boot line, the banner, the goodbye, and the event of an unclean end.
Must not know: when something is said (serve.py).
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from cosmodrome.cli.banner import Start, banner, own_address
from cosmodrome.cli.bind_errors import explained
from cosmodrome.errors import BindError
from cosmodrome.namesrv.config_file import LoadedConfig
from cosmodrome.namesrv.events import Publish, UncleanEnd
from cosmodrome.namesrv.logs import LineWriter
from cosmodrome.namesrv.memory import settle
from cosmodrome.namesrv.server import StopSummary


@dataclass(frozen=True, slots=True, kw_only=True)
class Terminal:
    """Where people and scripts read: `stdout` always, `stderr` goes nowhere when no person asked for it."""

    stdout: LineWriter
    stderr: LineWriter


@dataclass(frozen=True, slots=True, kw_only=True)
class NamesrvWords:
    """Words of a NameServer (serve.Words).

    Attributes:
        loaded: The configuration it was started with.
        terminal: Where the lines go.
        began_s: When the start began, by `time.perf_counter`.
        publish: Told when the previous run had no proper end.
        no_http: Asked, once it serves, why there is no HTTP that should be; empty when nothing is missing.
    """

    loaded: LoadedConfig
    terminal: Terminal
    began_s: float
    publish: Publish = lambda _: None
    no_http: Callable[[], str] = str

    def explained(self, error: BindError) -> BindError:
        """Say who has the port, and which one is free."""
        return explained(error, self.loaded.config)

    def unclean_end(self, previous_pid: str, pid_file: Path) -> None:
        """Publish it."""
        self.publish(UncleanEnd(previous_pid=previous_pid, pid_file=str(pid_file)))

    def ready(self, address: str, http_address: str) -> None:
        """Write Java's line for everybody, the banner for people; what is in memory now stays."""
        settle()
        kind = self.loaded.config.serialize_type.name
        self.terminal.stdout.write(f"The Name Server boot success. serializeType={kind}, address {address}")
        took_s = time.perf_counter() - self.began_s
        start = Start(
            loaded=self.loaded, address=address, took_s=took_s, http_address=http_address, no_http=self.no_http()
        )
        self.terminal.stderr.write(banner(start, own_address()))

    def stopping(self, reason: str) -> None:
        """Leave it to the event of the server."""

    def stopped(self, summary: StopSummary) -> Mapping[str, int]:
        """Say goodbye."""
        self.terminal.stderr.write(
            f"stopping: {counted(summary.brokers, 'broker')}, {counted(summary.clients, 'client')} connected; "
            f"finished {counted(summary.finished_requests, 'request')} in flight; KV saved. Bye."
        )
        return {
            "brokers": summary.brokers,
            "clients": summary.clients,
            "finished_requests": summary.finished_requests,
        }


def counted(number: int, noun: str) -> str:
    """Give a number with its noun."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
