"""mqadmin prints the same with our NameServer as with Apache's of its own release.

One script of commands runs twice, each time against a fresh NameServer and a fresh Apache broker on the
same ports; every command is one test, which compares the two outputs.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.interop.conftest import StageMaker
from tests.interop.mqadmin_commands import (
    BROKER,
    ENDLESS,
    HELD_TOPIC,
    ONLINE_GROUP,
    Command,
    commands_of,
    places_of,
)
from tests.interop.rig.brokers import BrokerSettings
from tests.interop.rig.jars import V4_9, V5_5
from tests.interop.rig.ports import HOST, free_port
from tests.interop.rig.stage import Stage
from tests.support.waiting import wait_until

FOLDER = "<folder>"
"""Stands for the folder of a run in its outputs."""


@dataclass(frozen=True, slots=True)
class Ports:
    """The ports that both runs use, one after the other."""

    name_server: int
    broker: int


@dataclass(frozen=True, slots=True)
class Outputs:
    """What every command printed with Apache's NameServer and with the one under test, by name."""

    apache: Mapping[str, str]
    ours: Mapping[str, str]
    places: Mapping[str, str]


def run_script(stage: Stage, release: str, kind: str, ports: Ports) -> dict[str, str]:
    """Run every command of a release against a fresh server and broker; return their outputs."""
    server = stage.started_name_server(kind, port=ports.name_server)
    settings = BrokerSettings(release=release, name=BROKER, name_servers=[server.address], port=ports.broker)
    broker = stage.registered_broker(settings)
    broker.create_topic(HELD_TOPIC, queues=1)
    stage.clients(release).stay_online(server.address, HELD_TOPIC, ONLINE_GROUP)
    admin = stage.mqadmin(release)

    def progress() -> str:
        return admin.run("consumerProgress", "-g", ONLINE_GROUP, "-n", server.address)

    wait_until(lambda: HELD_TOPIC in progress(), f"an offset of {ONLINE_GROUP}")
    places = places_of(broker.address, str(fill_folder(stage.folder)))
    outputs = {}
    for command in commands_of(release):
        outputs[command.name] = admin.run(*command.words(places), "-n", server.address)
    outputs[ENDLESS.name] = admin.run_until("broker-admin", *ENDLESS.words(places), "-n", server.address)
    return {name: text.replace(str(stage.folder), FOLDER) for name, text in outputs.items()}


def fill_folder(folder: Path) -> Path:
    """Write the files that some commands read, and return where they are."""
    files = folder / "files"
    (files / "export").mkdir(parents=True)
    topics = [{"topicName": f"Listed{number}", "readQueueNums": 3, "writeQueueNums": 3} for number in (1, 2)]
    (files / "topics.json").write_text(json.dumps(topics), encoding="utf-8")
    groups = [{"groupName": "ListedGroup"}]
    (files / "groups.json").write_text(json.dumps(groups), encoding="utf-8")
    return files


def run_both(release: str, new_stage: StageMaker) -> Outputs:
    """Run the script with mqadmin, broker and Apache NameServer of a release, then with our NameServer."""
    ports = Ports(name_server=free_port(), broker=free_port())
    with new_stage(f"mqadmin-{release}-apache") as stage:
        apache = run_script(stage, release, release, ports)
    with new_stage(f"mqadmin-{release}-ours") as stage:
        ours = run_script(stage, release, stage.name_server_kind, ports)
    return Outputs(apache, ours, places_of(f"{HOST}:{ports.broker}", FOLDER))


@pytest.fixture(scope="module")
def outputs_5_5(new_stage: StageMaker) -> Outputs:
    return run_both(V5_5, new_stage)


@pytest.fixture(scope="module")
def outputs_4_9(new_stage: StageMaker) -> Outputs:
    return run_both(V4_9, new_stage)


def all_commands_of(release: str) -> pytest.MarkDecorator:
    """Make a test run once for each command of a release, under the command's name."""
    commands = [*commands_of(release), ENDLESS]
    return pytest.mark.parametrize("command", commands, ids=[command.name for command in commands])


@all_commands_of(V5_5)
def test_mqadmin_5_5_prints_the_same_as_with_apaches_name_server(outputs_5_5: Outputs, command: Command) -> None:
    check(outputs_5_5, command)


@all_commands_of(V4_9)
def test_mqadmin_4_9_prints_the_same_as_with_apaches_name_server(outputs_4_9: Outputs, command: Command) -> None:
    check(outputs_4_9, command)


def check(outputs: Outputs, command: Command) -> None:
    """Assert that a command did what it is for with Apache's NameServer, and the same with ours."""
    apache, ours = outputs.apache[command.name], outputs.ours[command.name]
    assert command.expectation(outputs.places) in apache
    assert command.view(ours) == command.view(apache)
