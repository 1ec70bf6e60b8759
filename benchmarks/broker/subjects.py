"""The two brokers that are measured, each with a NameServer of its own.

Owns: how each is started, with which settings; when it has taken its first message.
Must not know: what is measured.
"""

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.interop.rig.brokers import ApacheBroker, BrokerSettings
from tests.interop.rig.jars import V5_5
from tests.interop.rig.java import JVM_FLAGS, SERVER_JVM_FLAGS
from tests.interop.rig.name_servers import OurNameServer
from tests.interop.rig.ports import HOST, free_port
from tests.interop.rig.process import START_S, RigProcess
from tests.support.process_figures import cpu_s_of, memory_of
from tests.support.waiting import wait_until
from tests.support.wire import Wire

from benchmarks.subjects import APACHE, OURS

ROOT: Final = Path(__file__).resolve().parents[2]
# Of bin/runbroker.sh but the heap, which is 8 GB there and touched at the start; and what 4.9 and 5.x need of the JDK.
BROKER_FLAGS: Final = (
    *SERVER_JVM_FLAGS,
    "-XX:G1ReservePercent=25",
    "-XX:InitiatingHeapOccupancyPercent=30",
    "-XX:SoftRefLRUPolicyMSPerMB=0",
    "-XX:MaxDirectMemorySize=1g",
    *(flag for flag in JVM_FLAGS if flag.startswith("--add")),
)
DESCRIPTIONS: Final = {OURS: "this checkout", APACHE: f"Apache RocketMQ {V5_5}, java {' '.join(BROKER_FLAGS)}"}
QUEUES: Final = 8
# Files of one size for both; all else as each has it by default, with the index of keys.
_FILES: Final = {
    "mappedFileSizeCommitLog": "268435456",
    "mappedFileSizeConsumeQueue": "6000000",
    "maxHashSlotNum": "5000000",
    "maxIndexNum": "20000000",
}
_MIB: Final = 2**20
_MESSAGE: Final = {
    "a": "start", "b": "Started", "c": "TBW102", "d": "4", "e": "0", "f": "0", "g": "1700000000000", "h": "0",
    "i": "UNIQ_KEY\x010A00000500002A9F000000000000000A\x02", "j": "0", "k": "false", "m": "false",
}  # fmt: skip
_SEND: Final = 310
_UPDATE_AND_CREATE_TOPIC: Final = 17


@dataclass(frozen=True, slots=True)
class Subject:
    """A broker that runs. `start_s` is the time from exec to the answer to its first message."""

    name: str
    name_server: str
    address: str
    pid: int
    start_s: float

    def cpu_s(self) -> float:
        """Processor time of all its threads since it began."""
        return cpu_s_of(self.pid)

    def resident_mb(self) -> float:
        """Resident memory now."""
        return memory_of(self.pid) / _MIB

    def create_topic(self, topic: str) -> None:
        """Make a topic, as a tool does."""
        fields = {
            "topic": topic, "defaultTopic": "TBW102", "readQueueNums": str(QUEUES), "writeQueueNums": str(QUEUES),
            "perm": "6", "topicFilterType": "SINGLE_TAG", "topicSysFlag": "0", "order": "false",
        }  # fmt: skip
        with Wire(self.address) as wire:
            answer = wire.request(_UPDATE_AND_CREATE_TOPIC, fields)
        assert answer.code == 0, answer


@contextmanager
def running(names: Sequence[str], folder: Path, flush: str) -> Iterator[list[Subject]]:
    """Start the brokers one after the other, with this `flushDiskType`; the idle one costs nearly nothing.

    Raises:
        ProcessError: One of them does not start.
    """
    with ExitStack() as stack:
        yield [stack.enter_context(_running(name, folder / f"{name}-{flush}", flush)) for name in names]


@contextmanager
def _running(name: str, folder: Path, flush: str) -> Iterator[Subject]:
    name_server = OurNameServer(folder / "namesrv")
    name_server.start()
    process, address = _broker(name, folder / "broker", name_server.address, flush)
    try:
        began = time.monotonic()
        process.start()
        took_s = _first_message(address, process) - began
        process.wait_for_text("boot success")
        wait_until(lambda: name_server.view.broker_groups().get(f"bench-{name}"), "the registration", START_S)
        yield Subject(name, name_server.address, address, process.pid, took_s)
    finally:
        process.kill()
        name_server.kill()


def _broker(name: str, folder: Path, name_server: str, flush: str) -> tuple[RigProcess, str]:
    """Prepare a broker; give its process and its address."""
    if name == APACHE:
        settings = BrokerSettings(
            release=V5_5, name=f"bench-{name}", name_servers=[name_server], config={**_FILES, "flushDiskType": flush}
        )
        broker = ApacheBroker(settings, folder, jvm_flags=BROKER_FLAGS)
        return broker.process, broker.address
    port = free_port()
    conf = {
        **_FILES, "flushDiskType": flush, "brokerName": f"bench-{name}", "namesrvAddr": name_server, "bindAddress": HOST,
        "brokerIP1": HOST, "listenPort": str(port), "storePathRootDir": str(folder / "store"),
    }  # fmt: skip
    folder.mkdir(parents=True)
    file = folder / "broker.conf"
    file.write_text("".join(f"{key}={value}\n" for key, value in conf.items()), encoding="utf-8")
    command = [sys.executable, "-m", "cosmodrome", "broker", "-c", str(file)]
    return RigProcess(command, folder, {"PYTHONPATH": str(ROOT / "src")}), f"{HOST}:{port}"


def _first_message(address: str, process: RigProcess) -> float:
    """Send until a message is accepted; give the time of the answer."""
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline and process.is_alive:
        try:
            with Wire(address) as wire:
                if wire.request(_SEND, _MESSAGE, b"x").code == 0:
                    return time.monotonic()
        except (OSError, AssertionError):  # it does not listen yet, or not to messages
            time.sleep(0.002)
    raise AssertionError(f"no message was accepted\n{process.tail()}")
