"""A long registration, cut into pieces."""

import json

import pytest
from tests.support import wire

from cosmodrome.errors import MalformedBodyError
from cosmodrome.protocol.bodies import register_broker
from cosmodrome.protocol.bodies.json_table import SHORT_BYTES, cut_body
from cosmodrome.protocol.bodies.register_broker import decode_register_broker_body, register_broker_body_in_slices
from cosmodrome.protocol.slices import at_once

MANY = 3000
MAPPINGS = [wire.mapping_info(f"S{number}", "broker-a", {0: 1, 7: 2}) for number in range(50)]


def configs(count: int = MANY, name: str = "T") -> list[wire.Json]:
    return [wire.topic_config(f"{name}{number}", read=number % 7) for number in range(count)]


def old(body: bytes) -> bytes:
    """Give the body as a 4.x broker writes it: nothing after the table, no attributes."""
    document = wire.parse_body(body)
    wrapper = document["topicConfigSerializeWrapper"]
    for config in wrapper["topicConfigTable"].values():
        del config["attributes"]
    kept = {name: wrapper[name] for name in ("dataVersion", "topicConfigTable")}
    return wire.dump({"filterServerList": document["filterServerList"], "topicConfigSerializeWrapper": kept})


def with_attributes(body: bytes) -> bytes:
    return body.replace(b'"attributes":{}', b'"attributes":{"+message.type":"NORMAL"}')


NEW = wire.register_body(configs(), filter_servers=["f:1"])
BODIES = {
    "5.x": NEW,
    "5.x with static topics": wire.register_body(configs(), mappings=MAPPINGS),
    "5.x with attributes": with_attributes(NEW),
    "4.x": old(NEW),
    "names in quotes": wire.register_body(configs(name='"},"x":{')),
    "names in braces": wire.register_body(configs(name="}},")),
    "names in other scripts": wire.register_body(configs(name="主題🚀")),
}


def read(body: bytes) -> register_broker.RegisterBrokerBody:
    return decode_register_broker_body(body, 513, is_compressed=False, now_ms=1)


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_what_is_read_in_pieces_is_what_is_read_whole(body: bytes) -> None:
    assert len(body) > SHORT_BYTES
    document = wire.parse_body(body)["topicConfigSerializeWrapper"]

    table = read(body).table

    assert {name: one.read_queue_nums for name, one in table.topic_configs.items()} == {
        name: one["readQueueNums"] for name, one in document["topicConfigTable"].items()
    }
    assert list(table.topic_configs) == list(document["topicConfigTable"]), "the order too"
    assert set(table.topic_queue_mapping_infos) == set(document.get("topicQueueMappingInfoMap", ()))
    assert table.data_version.counter == document["dataVersion"]["counter"]


@pytest.mark.parametrize("name", ["5.x", "5.x with static topics", "5.x with attributes", "4.x"])
def test_bodies_of_brokers_are_cut(name: str) -> None:
    """So that the test above tests something."""
    cut = at_once(cut_body(BODIES[name]))

    assert cut is not None
    assert len(cut.pieces) > 3
    assert all(isinstance(json.loads(piece), dict) for piece in cut.pieces)
    assert sum(1 for _ in register_broker_body_in_slices(BODIES[name], 513, is_compressed=False, now_ms=1)) > 3


def test_a_short_body_is_not_cut() -> None:
    assert at_once(cut_body(wire.register_body(configs(10)))) is None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"topicName":"T2999"', b'"topicName":2999'),
        (b'"T1500":{', b'"T1500":['),
        (b'"T1500":{', b"T1500:{"),
        (b'{"filterServerList"', b'{"topicConfigTable":{},"filterServerList"'),
        (b'"topicQueueMappingDetailMap":{}', b'"topicConfigTable":{}'),
        (b'"topicConfigTable":{', b'"topicConfigTable":{},"topicConfigTable":{'),
    ],
)
def test_what_cannot_be_read_in_pieces_is_read_as_a_whole(
    monkeypatch: pytest.MonkeyPatch, old: bytes, new: bytes
) -> None:
    """Whatever comes of it: the same table, or the same refusal."""
    body = NEW.replace(old, new, 1)
    assert body != NEW

    def outcome() -> object:
        try:
            return read(body)
        except MalformedBodyError as error:
            return str(error)

    in_pieces = outcome()
    monkeypatch.setattr(register_broker, "cut_body", lambda _: cut_body(b""))

    assert outcome() == in_pieces
