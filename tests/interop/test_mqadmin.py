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

PLACE_HOLDERS_OF_RUN = "<folder>"


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
    places = places_of(broker.address, str(fill_folder(stage.folder)))
    outputs = {}
    for command in commands_of(release):
        outputs[command.name] = admin.run(*command.words(places), "-n", server.address)
    outputs[ENDLESS.name] = admin.run_until("broker-admin", *ENDLESS.words(places), "-n", server.address)
    return {name: text.replace(str(stage.folder), PLACE_HOLDERS_OF_RUN) for name, text in outputs.items()}


def fill_folder(folder: Path) -> Path:
    """Write the files that some commands read, and return where they are."""
    files = folder / "files"
    (files / "export").mkdir(parents=True)
    topics = [{"topicName": f"Listed{number}", "readQueueNums": 3, "writeQueueNums": 3} for number in (1, 2)]
    (files / "topics.json").write_text(json.dumps(topics), encoding="utf-8")
    groups = [{"groupName": "ListedGroup"}]
    (files / "groups.json").write_text(json.dumps(groups), encoding="utf-8")
    return files


@pytest.fixture(scope="module")
def outputs(request: pytest.FixtureRequest, new_stage: StageMaker) -> Outputs:
    """Both runs of the script with mqadmin, broker and Apache NameServer of one release."""
    release = request.param
    ports = Ports(name_server=free_port(), broker=free_port())
    with new_stage(f"mqadmin-{release}-apache") as stage:
        apache = run_script(stage, release, release, ports)
    with new_stage(f"mqadmin-{release}-ours") as stage:
        ours = run_script(stage, release, stage.name_server_kind, ports)
    return Outputs(apache, ours, places_of(f"{HOST}:{ports.broker}", PLACE_HOLDERS_OF_RUN))


def cases() -> list[object]:
    """Return (release, command) of every test."""
    return [
        pytest.param(release, command, id=f"{release}-{command.name}")
        for release in (V5_5, V4_9)
        for command in (*commands_of(release), ENDLESS)
    ]


@pytest.mark.parametrize(("outputs", "command"), cases(), indirect=["outputs"], scope="module")
def test_prints_the_same_as_with_apaches_name_server(outputs: Outputs, command: Command) -> None:
    apache, ours = outputs.apache[command.name], outputs.ours[command.name]
    assert command.says.format_map(outputs.places) in apache if "{" in command.says else command.says in apache
    assert command.view(ours) == command.view(apache)
