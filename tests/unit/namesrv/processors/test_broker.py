"""Requests about brokers. What the tables do is told in routing/test_tables.py."""

from collections.abc import Callable

import pytest
from tests.support import wire
from tests.support.builders import AsyncWire, Running

from cosmodrome.namesrv.events import BrokerRegistered
from cosmodrome.namesrv.registration_digest import registration_digest
from cosmodrome.protocol.command import RemotingCommand

A = wire.Broker(name="broker-a")
SLAVE = wire.Broker(name="broker-a", addr="10.0.0.2:10911", id=1)
TWO = [wire.topic_config("T1"), wire.topic_config("T2")]


async def cluster(peer: AsyncWire) -> wire.Json:
    answer = await peer.request(106)
    assert (answer.code, answer.remark, answer.ext) == (0, None, None)
    return dict(answer.json())


NOBODY: dict[str, object] = {"brokerAddrTable": {}, "clusterAddrTable": {}}


async def test_a_master_is_told_nothing(peer: AsyncWire) -> None:
    """Its answer has a header of no fields, and no body while there is no order configuration."""
    answer = await peer.register(A, TWO)

    assert (answer.code, answer.remark, answer.ext, answer.body) == (0, None, {}, b"")
    assert (await cluster(peer))["clusterAddrTable"] == {"DefaultCluster": ["broker-a"]}


async def test_a_slave_is_told_its_master(peer: AsyncWire) -> None:
    await peer.register(A, TWO)

    answer = await peer.register(SLAVE, TWO)
    assert answer.ext == {"haServerAddr": "10.0.0.1:10912", "masterAddr": "10.0.0.1:10911"}
    again = await peer.register(SLAVE, TWO)
    assert again.ext == answer.ext


async def test_brokers_are_told_the_order_configuration(peer: AsyncWire) -> None:
    await peer.request(100, {"namespace": "ORDER_TOPIC_CONFIG", "key": "T1", "value": "broker-a:4"})
    assert (await peer.register(A, TWO)).json() == {"table": {"T1": "broker-a:4"}}
    await peer.request(102, {"namespace": "ORDER_TOPIC_CONFIG", "key": "T1"})
    assert (await peer.register(A, TWO)).json() == {"table": {}}

    await peer.request(318, None, b"returnOrderTopicConfigToBroker=false")
    assert (await peer.register(A, TWO)).body == b""


@pytest.mark.parametrize("name", ["brokerName", "brokerAddr", "clusterName", "haServerAddr", "brokerId"])
async def test_a_field_that_is_missing_is_named(peer: AsyncWire, name: str) -> None:
    answer = await peer.register(A, TWO, ext={name: None})

    assert (answer.code, answer.remark, answer.ext) == (1, f"the custom field <{name}> is null", None)
    assert await cluster(peer) == NOBODY


async def test_an_id_that_is_no_number_is_a_missing_one(peer: AsyncWire) -> None:
    assert (await peer.register(A, TWO, ext={"brokerId": "x"})).remark == "the custom field <brokerId> is null"


async def test_no_fields_at_all(peer: AsyncWire) -> None:
    for code in (103, 104, 322, 904):
        assert (await peer.request(code)).code == 1


async def test_a_checksum_that_is_wrong(peer: AsyncWire) -> None:
    answer = await peer.register(A, TWO, ext={"bodyCrc32": "1"})

    assert (answer.code, answer.remark, answer.ext, answer.body) == (1, "crc32 not match", {}, b"")
    assert await cluster(peer) == NOBODY


@pytest.mark.parametrize("crc", [None, "0", "x", "", "2147483648", "1099511627776", "-2147483649"])
async def test_a_checksum_that_is_not_checked(peer: AsyncWire, crc: str | None) -> None:
    assert (await peer.register(A, TWO, ext={"bodyCrc32": crc})).code == 0


@pytest.mark.parametrize("body", [b"null", b"[]", b"{", b'{"topicConfigSerializeWrapper":null}', b"\x78\x9cx"])
async def test_a_body_that_cannot_be_read(peer: AsyncWire, body: bytes) -> None:
    answer = await peer.register(A, body=body)

    assert answer.code == 1
    assert (answer.remark or "").startswith("Failed to decode RegisterBrokerBody: ")
    assert await cluster(peer) == NOBODY


async def test_a_version_below_zero(peer: AsyncWire) -> None:
    answer = await peer.register(A, TWO, version=-1)

    assert (answer.code, answer.remark) == (1, "Failed to decode RegisterBrokerBody: version -1 is negative")


async def test_a_single_topic_before_its_broker(peer: AsyncWire) -> None:
    answer = await peer.register(A, TWO[:1])

    assert (answer.code, answer.remark, answer.ext, answer.body) == (1, "register broker failed", {}, b"")
    assert await cluster(peer) == NOBODY


async def test_a_registration_that_loses_is_answered_0(peer: AsyncWire) -> None:
    """COMPAT: role logic does not read the code, and brokers would log errors each round."""
    newer = wire.register_body(TWO, wire.data_version(state_version=2))
    await peer.register(A, body=newer)

    answer = await peer.register(wire.Broker(name="broker-a", addr="10.0.0.9:1"), TWO)

    assert (answer.code, answer.ext) == (0, {})
    assert (await cluster(peer))["brokerAddrTable"]["broker-a"]["brokerAddrs"] == {"0": "10.0.0.1:10911"}


async def test_all_forms_of_bodies(peer: AsyncWire) -> None:
    bodies = [
        (513, wire.register_body(TWO)),
        (407, wire.compressed_register_body(TWO, mappings=None)),
        (513, wire.compressed_register_body(TWO)),
        (36, wire.old_register_body(TWO)),
        (513, b""),
    ]
    for number, (version, body) in enumerate(bodies):
        broker = wire.Broker(name=f"b{number}", addr=f"10.0.0.{number}:1")
        assert (await peer.register(broker, body=body, version=version)).code == 0
    assert len((await cluster(peer))["brokerAddrTable"]) == len(bodies)


MANY = [wire.topic_config(f"T{number}") for number in range(1000)]


async def queues_of(peer: AsyncWire, topic: str) -> list[int]:
    route = await peer.request(105, {"topic": topic})
    return [data["writeQueueNums"] for data in route.json()["queueDatas"]] if route.code == 0 else []


@pytest.mark.parametrize("make", [wire.register_body, wire.compressed_register_body], ids=["JSON", "compressed"])
async def test_a_long_registration_with_some_changes(peer: AsyncWire, make: Callable[..., bytes]) -> None:
    """What is new is taken, also when others changed topics of this broker in between, and what is the same stays."""
    ext = {"compressed": "true"} if make is wire.compressed_register_body else {}
    await peer.register(A, body=make(MANY, wire.data_version(1)), ext=ext)
    await peer.request(216, {"topic": "T500"})
    changed = [*MANY[:300], wire.topic_config("T300", write=16), *MANY[301:], wire.topic_config("new", write=3)]

    assert (await peer.register(A, body=make(changed, wire.data_version(2)), ext=ext)).code == 0

    asked = ("T0", "T299", "T300", "T301", "T500", "T999", "new")
    assert [await queues_of(peer, topic) for topic in asked] == [[8], [8], [16], [8], [8], [8], [3]]


async def test_a_topic_that_is_there_twice_counts_once(peer: AsyncWire, run: Running) -> None:
    """The last one is true, wherever it stands, for the master and for its slave."""
    twice = wire.compressed_register_body([*MANY, wire.topic_config("T0", write=16)])
    for broker in (A, SLAVE):
        assert (await peer.register(broker, body=twice)).code == 0

    assert await queues_of(peer, "T0") == [16]
    told = [one.topics for one in run.events if isinstance(one, BrokerRegistered)]
    assert told == [1000, 1000]


async def test_a_long_registration_that_changes_into_another_form(peer: AsyncWire) -> None:
    """A key that is not the name, a text that is not as brokers write it, and back."""
    body = wire.register_body(MANY, wire.data_version(1))
    odd = body.replace(b'"T7":{', b'"seven":{', 1)
    spaced = body.replace(b'"topicConfigTable":{', b'"topicConfigTable": {', 1)
    for sent in (body, odd, spaced, body):
        assert (await peer.register(A, body=sent)).code == 0
        assert await queues_of(peer, "T7") == [8]
    broken = await peer.register(A, body=body.replace(b'"T7":{', b'"T7":[', 1))

    assert (broken.code, (broken.remark or "")[:35]) == (1, "Failed to decode RegisterBrokerBody")


async def test_flags_of_a_registration(peer: AsyncWire) -> None:
    await peer.register(wire.Broker(name="broker-a", enable_acting_master=True, zone="z1"), TWO)

    data = (await cluster(peer))["brokerAddrTable"]["broker-a"]
    assert (data["enableActingMaster"], data["zoneName"]) == (True, "z1")


async def test_leaving(peer: AsyncWire) -> None:
    """Done before it is answered; nobody by that name is gone already."""
    await peer.register(A, TWO)

    for _ in range(2):
        answer = await peer.request(104, wire.identity_ext(A))
        assert (answer.code, answer.remark, answer.ext, answer.body) == (0, None, None, b"")
        assert await cluster(peer) == NOBODY


async def test_heartbeats(peer: AsyncWire, run: Running) -> None:
    """COMPAT: nobody's is answered 0 too."""
    await peer.register(A, TWO)
    known = await peer.request(904, wire.identity_ext(A))
    unknown = await peer.request(904, wire.identity_ext(SLAVE))

    assert (known.code, unknown.code) == (0, 0)
    assert run.names().count("heartbeat.unknown") == 1


async def test_versions(peer: AsyncWire) -> None:
    unknown = await peer.request(322, wire.identity_ext(A), wire.dump(wire.data_version()))
    assert (unknown.code, unknown.ext, unknown.body) == (0, {"changed": "true"}, b"")
    await peer.register(A, TWO)

    same = await peer.request(322, wire.identity_ext(A), wire.dump(wire.data_version()))
    assert (same.ext, same.json()) == ({"changed": "false"}, wire.data_version())
    for body in (wire.dump(wire.data_version(2)), b"", b"null"):
        other = await peer.request(322, wire.identity_ext(A), body)
        assert (other.ext, other.json()) == ({"changed": "true"}, wire.data_version())
    refused = await peer.request(322, wire.identity_ext(A), b"[]")
    assert (refused.code, refused.remark) == (1, "a DataVersion is not an object")


async def test_a_member_group(peer: AsyncWire) -> None:
    """COMPAT: the cluster is echoed and not checked, and the remark is the one that Java forgets to clear."""
    await peer.register(A, TWO)
    answer = await peer.request(901, {"clusterName": "other", "brokerName": "broker-a"})

    assert (answer.code, answer.remark) == (0, "not set any response code")
    assert answer.json() == {
        "brokerMemberGroup": {
            "brokerAddrs": {"0": "10.0.0.1:10911"},
            "brokerName": "broker-a",
            "cluster": "other",
        }
    }
    assert (await peer.request(901)).json() == {"brokerMemberGroup": {"brokerAddrs": {}}}


@pytest.mark.parametrize(("code", "name", "perm"), [(205, "wipeTopicCount", 4), (327, "addTopicCount", 6)])
async def test_permissions(peer: AsyncWire, code: int, name: str, perm: int) -> None:
    await peer.register(A, TWO)

    answer = await peer.request(code, {"brokerName": "broker-a"})
    assert (answer.code, answer.ext) == (0, {name: "2"})
    route = await peer.request(105, {"topic": "T1"})
    assert route.json()["queueDatas"][0]["perm"] == perm
    for fields in (None, {}, {"brokerName": "?"}):
        assert (await peer.request(code, fields)).ext == {name: "0"}


def digest(fields: dict[str, str | None], body: bytes = b"", version: int = 513) -> bytes:
    return registration_digest(RemotingCommand(103, version=version, ext_fields=fields, body=body))


def test_what_counts_as_the_same_registration() -> None:
    """Neither the order of the fields, nor the checksum, nor the time of sending in the body."""
    body = b'{"a":1,"mappingDataVersion":{"counter":0,"timestamp":%d},"b":2}'

    assert digest({"a": "1", "b": "2", "bodyCrc32": "5"}, body % 1) == digest({"b": "2", "a": "1"}, body % 2)


def test_what_does_not() -> None:
    same = digest({"a": "1"}, b"body")
    others = [
        digest({"a": "2"}, b"body"),
        digest({"b": "1"}, b"body"),
        digest({"a": "1", "b": "2"}, b"body"),
        digest({}, b"body"),
        digest({"a": "1"}, b"bodz"),
        digest({"a": "1"}, b"body", version=401),
    ]

    assert same not in others
    assert len(set(others)) == len(others)


def test_a_null_field_is_not_a_text_and_no_field_runs_into_another() -> None:
    assert digest({"__ZONE_NAME": None}) != digest({"__ZONE_NAME": "None"})
    assert digest({"a": "1\0b=2"}) != digest({"a": "1", "b": "2"})
    assert digest({"a": "1"}, b"b=2\0") != digest({"a": "1", "b": "2"})
