"""A Java application that sends all the time.

Owns: how many messages it may send at most, and what it has counted.
Must not know: which NameServers and brokers come and go meanwhile.
"""

import re
from pathlib import Path
from typing import Final, NamedTuple

from tests.interop.rig.java import Console, JavaProgram

PAUSE_MS: Final = 20
LIMIT: Final = 40_000

_COUNTS: Final = re.compile(r"SENT (\d+) FAILED (\d+)")


class Counts(NamedTuple):
    """Sends so far; no failed one was tried again."""

    sent: int
    failed: int


class SteadySender:
    """A producer of a release in a JVM of its own; it asks its NameServer every second, and retries no send."""

    def __init__(self, release: str, folder: Path) -> None:
        """Prepare the JVM; `start` starts it."""
        properties = {"rocketmq.client.logRoot": str(folder / "logs")}
        self._console = Console(JavaProgram(release=release, main_class="Sender", properties=properties), folder)
        self._topic = ""

    def start(self, name_servers: str, topic: str) -> None:
        """Start the JVM and begin to send, a message every PAUSE_MS and at most LIMIT."""
        self._console.start()
        self._topic = topic
        self.renew(name_servers)

    def renew(self, name_servers: str) -> None:
        """Go on with a new producer that knows these NameServers, as applications do that are restarted one by one."""
        self._console.run("start", name_servers, self._topic, str(PAUSE_MS), str(LIMIT))

    def go_on_with(self, topic: str) -> None:
        """Send to another topic from now on, whose route it has to ask for."""
        self._topic = topic
        self._console.run("topic", topic)

    def counts(self) -> Counts:
        """Tell how it went so far."""
        seen = self._console.run("count")
        match = _COUNTS.search(seen)
        assert match is not None, seen
        return Counts(int(match[1]), int(match[2]))

    def stop(self) -> None:
        """End the JVM."""
        self._console.stop()
