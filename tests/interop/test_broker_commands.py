"""mqadmin prints the same with our broker as with Apache's 5.5.0.

One script of commands runs twice beside a fresh NameServer of ours, with either broker on the same ports; every
command is one test, which compares the two outputs.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

import pytest
from tests.interop.conftest import StageMaker
from tests.interop.mqadmin_commands import BROKER, HELD_TOPIC, ONLINE_GROUP, Command, commands_of, places_of
from tests.interop.rig.brokers import CLUSTER, BrokerSettings
from tests.interop.rig.jars import V4_9, V5_5
from tests.interop.rig.our_broker import OurBroker
from tests.interop.rig.ports import HOST, free_port
from tests.interop.rig.stage import OURS, Stage
from tests.interop.test_mqadmin import FOLDER, fill_folder
from tests.support.waiting import wait_until

pytestmark = pytest.mark.full

NOT_OFFERED: Final = frozenset(
    {
        "broker-epoch", "cold-flow-info", "cold-flow-update", "cold-flow-remove", "read-ahead-mode", "export-pop-record",
        "rocksdb-config", "rocksdb-cq-progress", "timer-engine", "lite-broker", "lite-parent-topic", "static-topic",
        "static-topic-route", "static-topic-remap",
    }
)  # fmt: skip
"""Commands of which our broker has no part: static topics, cold data, RocksDB, lite topics, controllers."""
OF_NAME_SERVERS: Final = (
    "kv-", "order-conf", "namesrv-", "wipe-", "add-write-", "topic-route-ordered", "topic-route-wiped", "topic-route-perm-forced",
)  # fmt: skip
"""The broker has no part in these, or they show what these did."""


APACHES_FAIL: Final = frozenset(
    {
        (V5_5, "user-create"), (V5_5, "user-list"), (V5_5, "acl-list"), (V4_9, "cluster-list"), (V4_9, "export-metrics"),
        (V4_9, "export-configs"),
    }
)  # fmt: skip
"""Commands that end in an exception with Apache's: it has no accounts, and 28 of 5.5.0 lacks a name that tools of 4.9.7 read."""
OWN_TOPICS: Final = re.compile(
    r"^.*(?:RMQ_SYS_ROCKSDB_TRANS_(?:OP_)?HALF_TOPIC|rmq_sys_SYNC_BROKER_MEMBER_).*$\n?", re.MULTILINE
)
"""Rows of topics that 5.5.0 makes for parts that ours does not have."""
_PROPERTIES: Final = re.compile(r"(?i)(properties[=:] *)\{([^{}]*)\}")
SHARED_SETTINGS: Final = (
    "autoCreateTopicEnable", "brokerClusterName", "brokerId", "brokerName", "brokerPermission", "defaultTopicQueueNums",
    "deleteWhen", "fileReservedTime", "flushDiskType", "listenPort", "maxMessageSize", "messageDelayLevel",
)  # fmt: skip


def comparable(text: str) -> str:
    """Leave out what only one of both has, and give properties, which Java tells in hash order, in order."""
    return _PROPERTIES.sub(
        lambda found: f"{found[1]}{{{', '.join(sorted(found[2].split(', ')))}}}", OWN_TOPICS.sub("", text)
    )


def shared_settings(text: str) -> list[list[str]]:
    """Give some settings that both have."""
    rows = [line.replace("=", " ").split() for line in text.splitlines()]
    return sorted(row for row in rows if row and row[0] in SHARED_SETTINGS)


VIEWS: Final[Mapping[str, Callable[[str], object]]] = {"broker-config": shared_settings}


@dataclass(slots=True)
class Run:
    """Places of one run, and what every command printed."""

    places: Mapping[str, str]
    outputs: dict[str, str] = field(default_factory=dict)


def offered(release: str) -> list[Command]:
    """Give the commands that both brokers have a part in."""
    return [
        each
        for each in commands_of(release)
        if each.name not in NOT_OFFERED and not each.name.startswith(OF_NAME_SERVERS)
    ]


@contextmanager
def apache(stage: Stage, server: str, port: int) -> Iterator[Callable[[str, int], None]]:
    """Run Apache's broker, and give what makes a topic."""
    settings = BrokerSettings(release=V5_5, name=BROKER, name_servers=[server], port=port)
    broker = stage.registered_broker(settings)
    yield lambda topic, queues: broker.create_topic(topic, queues=queues)


@contextmanager
def ours(_: Stage, server: str, port: int) -> Iterator[Callable[[str, int], None]]:
    """Run our broker, and give what makes a topic."""
    with OurBroker(BROKER, server, port=port, ha_listen_port=0, broker_cluster_name=CLUSTER) as broker:
        yield broker.create_topic


def run_script(stage: Stage, release: str, kind: str, ports: tuple[int, int]) -> Run:
    """Run every command of a release beside one kind of broker."""
    server = stage.started_name_server(OURS, port=ports[0])
    with (apache if kind == "apache" else ours)(stage, server.address, ports[1]) as create_topic:
        create_topic(HELD_TOPIC, 1)
        stage.clients(release).stay_online(server.address, HELD_TOPIC, ONLINE_GROUP)
        admin = stage.mqadmin(release)
        wait_until(
            lambda: HELD_TOPIC in admin.run("consumerProgress", "-g", ONLINE_GROUP, "-n", server.address), "an offset"
        )
        run = Run(places_of(f"{HOST}:{ports[1]}", str(fill_folder(stage.folder))))
        for command in offered(release):
            text = admin.run(*command.words(run.places), "-n", server.address)
            run.outputs[command.name] = text.replace(str(stage.folder), FOLDER)
    return run


@dataclass(frozen=True, slots=True)
class Both:
    """Both runs of one tool."""

    apache: Run
    ours: Run


@pytest.fixture(scope="module")
def runs(new_stage: StageMaker) -> dict[str, Both]:
    """Give both runs of both tools."""
    found = {}
    for release in (V5_5, V4_9):
        ports = free_port(), free_port()
        with new_stage(f"commands-{release}-apache") as stage:
            first = run_script(stage, release, "apache", ports)
        with new_stage(f"commands-{release}-ours") as stage:
            found[release] = Both(first, run_script(stage, release, "ours", ports))
    return found


@pytest.mark.parametrize(
    ("release", "command"),
    [pytest.param(release, each, id=f"{release}-{each.name}") for release in (V5_5, V4_9) for each in offered(release)],
)
def test_mqadmin_prints_the_same_as_with_apaches_broker(
    runs: Mapping[str, Both], release: str, command: Command
) -> None:
    both = runs[release]
    apaches, our = both.apache.outputs[command.name], both.ours.outputs[command.name]
    says = command.expectation(both.ours.places).replace(both.ours.places["folder"], FOLDER)
    assert says in our
    if (release, command.name) not in APACHES_FAIL:
        view = VIEWS.get(command.name, command.view)
        assert view(comparable(our)) == view(comparable(apaches))
