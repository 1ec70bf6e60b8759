"""One NameServer with one master of each release.

Owns: the brokers by release; what all three do together.
Must not know: what a test expects of them.
"""

from tests.interop.rig.brokers import ApacheBroker, BrokerSettings
from tests.interop.rig.jars import RELEASES
from tests.interop.rig.name_servers import NameServer
from tests.interop.rig.stage import Stage


class Trio:
    """Three running, registered brokers in one cluster, and their NameServer."""

    def __init__(self, stage: Stage) -> None:
        """Start the NameServer and the brokers on a stage, which ends them."""
        self.name_server: NameServer = stage.name_server()
        self._brokers = {release: stage.broker(self._settings(release)) for release in RELEASES}
        self.start_ended()

    def broker(self, release: str) -> ApacheBroker:
        """Return the broker of a release."""
        return self._brokers[release]

    def addresses(self) -> dict[str, dict[str, str]]:
        """Return what request 106 is to list: broker name → id → address."""
        return {broker.name: {"0": broker.address} for broker in self._brokers.values()}

    def start_ended(self) -> None:
        """Start every broker that is not running, one after the other, and wait until it is registered."""
        for broker in self._brokers.values():
            if not broker.process.is_alive:
                broker.start_registered()

    def terminate(self) -> None:
        """Send SIGTERM to every broker, so that they shut down at the same time."""
        for broker in self._brokers.values():
            broker.process.terminate()

    def _settings(self, release: str) -> BrokerSettings:
        return BrokerSettings(release=release, name=f"broker-{release}", name_servers=[self.name_server.address])
