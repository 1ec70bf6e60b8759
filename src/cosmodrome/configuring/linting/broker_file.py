"""What a broker.conf makes of a broker: the values that count, defaults among them.

Owns: Java's defaults of what rules ask for; role, id, name and ports that follow.
Must not know: any rule.
"""

from dataclasses import dataclass
from typing import Final

from cosmodrome.configuring.files import SettingsFile
from cosmodrome.configuring.linting.host import Host
from cosmodrome.namesrv.properties import Property

SLAVE: Final = "SLAVE"
SYNC_MASTER: Final = "SYNC_MASTER"
MASTER_ID: Final = 0
_DEFAULTS: Final = {
    "brokerClusterName": "DefaultCluster",
    "brokerId": "0",
    "brokerRole": "ASYNC_MASTER",
    "flushDiskType": "ASYNC_FLUSH",
    "listenPort": "10911",
    "storePathRootDir": "~/store",
}
_FAST_BEFORE: Final = 2
"""So far before the listening port is the one for clients that must not wait (VIP channel)."""


@dataclass(frozen=True, slots=True)
class BrokerFile:
    """A file and what follows from it."""

    file: SettingsFile
    host: Host

    def entry(self, key: str) -> Property | None:
        """Give the entry of a key that counts."""
        return self.file.last().get(key)

    def at(self, key: str) -> Property | str:
        """Give the entry of a key, or the key itself when it is not there: where to point at."""
        return self.entry(key) or key

    def value(self, key: str) -> str:
        """Give the text in force; empty where neither the file nor Java has one."""
        entry = self.entry(key)
        return _DEFAULTS.get(key, "") if entry is None else entry.value.strip()

    def number(self, key: str) -> int | None:
        """Give a number in force; None for a text that is none."""
        text = self.value(key)
        return int(text) if len(text) < 11 and text.removeprefix("-").isdecimal() and text.isascii() else None

    def is_on(self, key: str) -> bool:
        """Tell whether a switch that is off by default is on."""
        return self.value(key).lower() == "true"

    @property
    def name(self) -> str:
        """The broker's name, which is the host's unless it is set."""
        return self.value("brokerName") or self.host.name

    @property
    def is_slave(self) -> bool:
        """Whether it follows a master."""
        return self.value("brokerRole") == SLAVE

    @property
    def is_elected(self) -> bool:
        """Whether others decide who is master: a controller, or DLedger."""
        return self.is_on("enableControllerMode") or self.is_on("enableDLegerCommitLog")

    @property
    def id_in_force(self) -> int | None:
        """The id with which it registers: a master's is always 0. None when it is not to be known."""
        if self.is_elected:
            return None
        return self.number("brokerId") if self.is_slave else MASTER_ID

    def ports(self) -> dict[int, str]:
        """Give the ports that it takes, each with what it is for; nothing when they are not to be known."""
        listen = self.number("listenPort")
        if listen is None:
            return {}
        slaves = self.number("haListenPort") or listen + 1
        return {
            slaves: "for slaves (haListenPort, by default listenPort + 1)",
            listen - _FAST_BEFORE: "for clients that must not wait (listenPort - 2)",
            listen: "listenPort",
        }
