"""What a service manager such as systemd is told: ready, reloading, stopping, still alive.

Owns: the notification protocol of `$NOTIFY_SOCKET` and the watchdog.
Must not know: what the server does.
"""

import asyncio
import logging
import os
import socket
import sys
import time
from collections.abc import Mapping
from typing import Final

_LOG = logging.getLogger(__name__)

_PINGS_PER_LIMIT: Final = 3
_LONGEST_STATUS: Final = 200


class ServiceManager:
    """Tells the service manager that started this process, if any; never fails and never waits.

    Args:
        environment: Environment variables. `NOTIFY_SOCKET` is a path, or the name of an abstract socket after an `@`;
            `WATCHDOG_USEC` and `WATCHDOG_PID` say how often, and of which process, a sign of life is expected.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._address = environment.get("NOTIFY_SOCKET", "") if sys.platform != "win32" else ""
        self._watchdog_s = _watchdog_s(environment)
        self._timer: asyncio.TimerHandle | None = None

    def ready(self, status: str) -> None:
        """Serving; `status` is one line for people."""
        self._send("READY=1", _status(status))

    def reloading(self) -> None:
        """Reading the configuration again; `ready` follows."""
        self._send("RELOADING=1", f"MONOTONIC_USEC={time.monotonic_ns() // 1000}")

    def stopping(self, reason: str) -> None:
        """Draining."""
        self._send("STOPPING=1", _status(f"stopping: {reason}"))

    def watch(self) -> None:
        """Give signs of life from the running loop, as often as was asked for, until `unwatch`."""
        if self._watchdog_s and self._address:
            self._send("WATCHDOG=1")
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(self._watchdog_s / _PINGS_PER_LIMIT, self.watch)

    def unwatch(self) -> None:
        """Stop giving signs of life; whoever expects them ends a process that does not end by itself."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _send(self, *assignments: str) -> None:
        if not self._address:
            return
        name = f"\0{self._address[1:]}" if self._address.startswith("@") else self._address
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sender:
                sender.setblocking(False)
                sender.sendto("\n".join(assignments).encode(), name)
        except OSError as error:
            _LOG.warning("the service manager at %s cannot be told: %s", self._address, error.strerror or error)


def _watchdog_s(environment: Mapping[str, str]) -> float:
    """Give the seconds within which a sign of life is expected of this process; 0 for none."""
    micros, pid = environment.get("WATCHDOG_USEC", ""), environment.get("WATCHDOG_PID", "")
    is_ours = not pid or pid == str(os.getpid())
    return int(micros) / 1_000_000 if is_ours and micros.isdecimal() else 0.0


def _status(text: str) -> str:
    """Give the status line; what is no text of one line becomes blanks."""
    return f"STATUS={''.join(char if char.isprintable() else ' ' for char in text[:_LONGEST_STATUS])}"
