"""Apache brokers.

Owns: broker.conf of a broker that starts quickly; when it counts as registered; topics made by one frame.
Must not know: which NameServer it registers at, beyond its address.
"""

import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.interop.rig.java import JVM_FLAGS, JavaProcess, JavaProgram
from tests.interop.rig.ports import HOST, free_port
from tests.interop.rig.process import START_S, ProcessError
from tests.interop.rig.view import NOT_YET, SUCCESS, UPDATE_AND_CREATE_TOPIC, NameServerView, ask
from tests.support.waiting import NotInTimeError, wait_until
from tests.support.wire import Wire, dump

CLUSTER: Final = "RigCluster"
MASTER_ID: Final = 0
REGISTRATION_PERIOD_S: Final = 10
"""The smallest period that a broker obeys."""

SET_MESSAGE_REQUEST_MODE: Final = 401

_MAIN_CLASS: Final = "org.apache.rocketmq.broker.BrokerStartup"
_BOOT_MARK: Final = "boot success"

# Small files, so that a store takes megabytes instead of gigabytes.
_COMMON: Final = {
    "bindAddress": HOST,
    "brokerIP1": HOST,
    "brokerIP2": HOST,
    "mappedFileSizeCommitLog": "16777216",
    "mappedFileSizeConsumeQueue": "60000",
    "maxIndexNum": "20000",
    "maxHashSlotNum": "5000",
    "flushDiskType": "ASYNC_FLUSH",
    "autoCreateTopicEnable": "true",
    "registerNameServerPeriod": str(REGISTRATION_PERIOD_S * 1000),
    "waitTimeMillsInSendQueue": "5000",
}

FOR_MESSAGES: Final[Mapping[str, str]] = {
    "messageDelayLevel": " ".join(["1s"] * 18),
    "enablePropertyFilter": "true",
    "transactionTimeOut": "1000",
    "transactionCheckInterval": "1000",
    "recallMessageEnable": "true",
}
"""What a broker is told so that tests of messages do not wait: delay levels and transaction checks of a second, SQL92."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerSettings:
    """One broker: who it is, whom it registers with, and what differs from the usual."""

    release: str
    name: str
    name_servers: Sequence[str]
    id: int = MASTER_ID
    cluster: str = CLUSTER
    config: Mapping[str, str] = field(default_factory=dict)
    properties: Mapping[str, str] = field(default_factory=dict)
    """System properties of the JVM."""
    port: int | None = None
    tls: ssl.SSLContext | None = None
    """How the test itself asks the NameServers about this broker."""


class ApacheBroker:
    """A broker of an Apache release; it may be stopped and started again with its store."""

    def __init__(self, settings: BrokerSettings, folder: Path, *, jvm_flags: Sequence[str] = JVM_FLAGS) -> None:
        """Write its configuration into `folder`; nothing is started yet."""
        port = settings.port or free_port()
        self.settings = settings
        self.name = settings.name
        self.address = f"{HOST}:{port}"
        file = _write_conf(settings, folder, port)
        program = JavaProgram(
            release=settings.release,
            main_class=_MAIN_CLASS,
            arguments=["-c", str(file)],
            properties=settings.properties,
            jvm_flags=jvm_flags,
        )
        self.process = JavaProcess(program, folder)

    def start(self) -> None:
        """Start it and wait for its word that it is up, which does not mean registered."""
        self.process.start()
        self.process.wait_for_text(_BOOT_MARK)

    def start_registered(self) -> None:
        """Start it and wait until its (first) NameServer lists it."""
        self.start()
        self.wait_registered()

    def wait_registered(self, within_s: float = START_S, broker_id: int | None = None) -> None:
        """Wait until the first NameServer lists this address under `broker_id` (default: its own).

        Raises:
            ProcessError: It did not in time; the message ends with the broker's last output.
        """
        key = str(self.settings.id if broker_id is None else broker_id)
        view = self._view()

        def is_listed() -> bool:
            return view.broker_groups().get(self.name, {}).get(key) == self.address

        try:
            wait_until(is_listed, f"{self.address} as {self.name} {key} at {view.address}", within_s, NOT_YET)
        except NotInTimeError as error:
            raise ProcessError(f"{error}\n{self.process.tail()}") from None

    def wait_gone(self, within_s: float = START_S) -> None:
        """Wait until the first NameServer lists this address under no broker name.

        Raises:
            NotInTimeError: It is still listed after the deadline.
        """
        view = self._view()

        def is_unlisted() -> bool:
            return all(self.address not in group.values() for group in view.broker_groups().values())

        wait_until(is_unlisted, f"{self.address} to vanish from {view.address}", within_s, NOT_YET)

    def create_topic(self, topic: str, queues: int = 4, perm: int = 6) -> None:
        """Make a topic on this broker alone, by one frame; it registers it at its NameServers."""
        fields = {
            "topic": topic,
            "defaultTopic": "TBW102",
            "readQueueNums": str(queues),
            "writeQueueNums": str(queues),
            "perm": str(perm),
            "topicFilterType": "SINGLE_TAG",
            "topicSysFlag": "0",
            "order": "false",
        }
        answer = ask(self.address, UPDATE_AND_CREATE_TOPIC, fields)
        assert answer.code == SUCCESS, answer

    def serve_by_pop(self, topic: str, group: str) -> None:
        """Let this group have this topic by POP (401, 5.x only), for consumers that leave rebalancing to the broker."""
        body = dump({"topic": topic, "consumerGroup": group, "mode": "POP", "popShareQueueNum": 0})
        with Wire(self.address) as wire:
            answer = wire.request(SET_MESSAGE_REQUEST_MODE, None, body)
        assert answer.code == SUCCESS, answer

    def stop(self) -> None:
        """End it with SIGTERM; a 5.x broker takes 8 s and more."""
        self.process.stop()

    def kill(self) -> None:
        """End it with SIGKILL; may be called again."""
        self.process.kill()

    def _view(self) -> NameServerView:
        return NameServerView(self.settings.name_servers[0], self.settings.tls)


def _write_conf(settings: BrokerSettings, folder: Path, port: int) -> Path:
    role = "ASYNC_MASTER" if settings.id == MASTER_ID else "SLAVE"
    conf = {
        **_COMMON,
        "brokerClusterName": settings.cluster,
        "brokerName": settings.name,
        "brokerId": str(settings.id),
        "brokerRole": role,
        "namesrvAddr": ";".join(settings.name_servers),
        "listenPort": str(port),
        "haListenPort": str(port + 1),
        "storePathRootDir": str(folder / "store"),
        "storePathCommitLog": str(folder / "store" / "commitlog"),
        **settings.config,
    }
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "broker.conf"
    file.write_text("".join(f"{key}={value}\n" for key, value in conf.items()), encoding="utf-8")
    return file
