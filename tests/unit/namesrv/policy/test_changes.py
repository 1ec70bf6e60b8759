"""What a request is about to change: as it will be, and nothing where nothing changes."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.builders import registration, topics

from cosmodrome.namesrv.config import NamesrvConfig
from cosmodrome.namesrv.kv_config import KVConfigStore
from cosmodrome.namesrv.live_config import LiveConfig
from cosmodrome.namesrv.policy.changes import Change, Changes
from cosmodrome.namesrv.routing.tables import RouteTables
from cosmodrome.protocol.bodies.route import decode_queue_datas
from cosmodrome.protocol.command import RemotingCommand


class Scene:
    """Tables with the broker `broker-a`, which serves T and U, and an empty KV store."""

    def __init__(self, folder: Path) -> None:
        self.tables = RouteTables()
        self.tables.register_broker(registration(configs=topics("T", "U")), 0)
        self.kv_config = KVConfigStore(folder / "kvConfig.json")
        self.changes = Changes(self.kv_config, LiveConfig(NamesrvConfig(), None), self.tables.read)

    def put(self, value: str, key: str = "K") -> Change | None:
        return self.changes.of(RemotingCommand(100, ext_fields={"namespace": "N", "key": key, "value": value}))

    def register(self, topic: str, *brokers: str) -> tuple[Change | None, dict[str, Any]]:
        """Give what 217 is said to change, and which brokers serve the topic after it was done."""
        body = json.dumps({"queueDatas": [{"brokerName": name, "perm": 2} for name in brokers]}).encode()
        change = self.changes.of(RemotingCommand(217, ext_fields={"topic": topic}, body=body))
        self.tables.register_topic(topic, decode_queue_datas(body))
        return change, {name: data.perm for name, data in self.tables.read.queue_datas(topic).items()}


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


@pytest.mark.parametrize(
    ("topic", "brokers", "is_change"),
    [
        ("T", ("broker-a",), True),
        ("T", ("broker-a", "nobody"), True),
        ("T", ("nobody", "broker-a"), False),
        ("T", ("nobody",), False),
        ("new", ("broker-a",), True),
        ("new", ("broker-a", "nobody"), False),
        ("new", ("nobody",), False),
    ],
)
def test_topics_are_registered_on_brokers_that_are_known(
    scene: Scene, topic: str, brokers: tuple[str, ...], *, is_change: bool
) -> None:
    change, served = scene.register(topic, *brokers)

    assert (change is not None) == is_change
    if change is not None:
        assert {name: data["perm"] for name, data in change.after.items()} == served == {"broker-a": 2}


def test_a_topic_that_is_registered_the_same_again_is_no_change(scene: Scene) -> None:
    assert scene.register("T", "broker-a")[0] is not None
    assert scene.register("T", "broker-a")[0] is None


async def test_an_entry_is_changed_by_another_value_only(scene: Scene) -> None:
    await scene.kv_config.put("N", "K", "old")
    await scene.kv_config.put("N", "password", "old")

    assert scene.put("old") is None
    assert scene.put("new") is not None
    assert scene.put("old", "password") is None
    change = scene.put("new", "password")
    assert change is not None
    assert change.before == change.after == "********"


def test_permissions_that_are_so_already_are_not_changed(scene: Scene) -> None:
    wipe = RemotingCommand(205, ext_fields={"brokerName": "broker-a"})
    give = RemotingCommand(327, ext_fields={"brokerName": "broker-a"})

    assert scene.changes.of(give) is None
    assert scene.changes.of(wipe) is not None
    scene.tables.wipe_write_perm("broker-a")
    assert scene.changes.of(wipe) is None
    assert scene.changes.of(give) is not None


def test_a_setting_that_is_in_force_is_saved_all_the_same(scene: Scene) -> None:
    change = scene.changes.of(RemotingCommand(318, body=b"enableTopicList=true\n"))

    assert change is not None
    assert change.before == change.after == {"enableTopicList": "true"}
