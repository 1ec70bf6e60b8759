"""Apache's Java producer and push consumer of a release, in one JVM.

Owns: sending and receiving numbered messages.
Must not know: which broker or NameServer serves them.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tests.interop.rig.java import Console, JavaProgram

RECEIVE_S: Final = 60
"""A new consumer waits up to one rebalance period of 20 s for its queues."""


class JavaClients:
    """One JVM with the client of a release; every call makes a new producer or consumer."""

    def __init__(self, release: str, folder: Path, properties: Mapping[str, str] | None = None) -> None:
        """Prepare the JVM with its offsets and logs in `folder`; `start` starts it."""
        all_properties = {
            "rocketmq.client.logRoot": str(folder / "logs"),
            "rocketmq.client.localOffsetStoreDir": str(folder / "offsets"),
            **(properties or {}),
        }
        program = JavaProgram(release=release, main_class="Clients", properties=all_properties)
        self.release = release
        self._console = Console(program, folder)

    def start(self) -> None:
        """Start the JVM and wait until it takes commands."""
        self._console.start()

    def send(self, name_server: str, topic: str, count: int) -> str:
        """Send messages `m0`, `m1`, ... one by one; return the output, `SENT <ok>/<count>` in it."""
        return self._console.run("send", name_server, topic, str(count))

    def receive(self, name_server: str, topic: str, count: int) -> str:
        """Receive with a new group from the first offset until `count` different bodies were seen.

        Returns the output, `RECEIVED <seen>/<count>` in it; seen is less after RECEIVE_S seconds.
        """
        words = ("receive", name_server, topic, f"group-{topic}", str(count), str(RECEIVE_S))
        return self._console.run(*words, within_s=RECEIVE_S + 30)

    def stay_online(self, name_server: str, topic: str, group: str) -> None:
        """Start a producer and a consumer, both of `group`, that stay until `stop`.

        They share the client id `<ip>@<group>-client`, and the producer has sent one message.
        """
        seen = self._console.run("online", name_server, topic, group)
        assert "ONLINE" in seen, seen

    def stop(self) -> None:
        """End the JVM."""
        self._console.stop()
