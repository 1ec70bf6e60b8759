"""Field cases about groups of a master and its slaves, and who stands in for the master."""

# ruff: noqa: N802  # case ids are written in capitals

import contextlib
import itertools
import random
import time
from typing import Any, Final

import pytest
from tests.support.field import Names, StartServer
from tests.support.field_brokers import Listener
from tests.support.latency import RouteReader, assert_not_slowed, quiet_p99_s
from tests.support.peer import (
    GROUP,
    MASTER,
    MIN_ID_NOTICE,
    NO_ROUTE,
    REG,
    SUCCESS,
    Addresses,
    Peer,
    peers,
    topics_named,
)
from tests.support.server_process import ServerProcess
from tests.support.waiting import wait_until
from tests.support.wire import (
    FLAG_ONEWAY,
    Answer,
    Broker,
    crc32_masked,
    encode_request,
    register_body,
    registration_ext,
    topic_config,
)

SYNC_GROUP: Final = "rmq_sys_SYNC_BROKER_MEMBER_"
"""Brokers before 5.x-style member queries ask for the route of this prefix and their own name."""

NOTICE_S: Final = 5.0
QUICK_S: Final = 1.0

BOTH_MODES: Final = pytest.mark.parametrize("supports_acting_master", [False, True])


def test_F039_an_address_has_one_id_the_newest(server: ServerProcess, names: Names) -> None:
    """The answers to slaves were recorded from Apache RocketMQ NameServer 5.5.0."""
    one, two, three = "192.0.2.1:10911", "192.0.2.2:10911", "192.0.2.3:10911"
    steps: list[tuple[int, str, dict[str, str], Addresses]] = [
        (1, one, {}, {"1": one}),
        (0, one, {}, {MASTER: one}),
        (2, two, {"haServerAddr": "ha-0:1", "masterAddr": one}, {MASTER: one, "2": two}),
        (1, one, {}, {"1": one, "2": two}),
        (2, two, {}, {"1": one, "2": two}),
        (0, three, {}, {MASTER: three, "1": one, "2": two}),
        (1, one, {"haServerAddr": "ha-0:1", "masterAddr": three}, {MASTER: three, "1": one, "2": two}),
    ]
    topics = [names("T"), names("U")]
    with Peer(server.address) as peer, Peer(server.address) as client:
        for broker_id, address, told, group in steps:
            broker = names.broker("broker-a", broker_id, addr=address, ha_addr=f"ha-{broker_id}:1")
            answer = peer.registered(broker, topics_named(*topics), 1)
            assert answer.ext == told
            for topic in topics:
                assert client.routed(topic).brokers == {broker.name: group}
                assert client.routed(topic).perms == {broker.name: 6}
            assert client.group(names("C"), names("broker-a")) == group
            assert client.cluster().brokers[names("broker-a")] == group


@BOTH_MODES
@pytest.mark.parametrize("order", list(itertools.permutations((0, 1, 2))))
@pytest.mark.parametrize("asks", [False, None, True], ids=["no", "unknown", "yes"])
def test_F040_topics_stay_writable_unless_the_group_asked_for_acting_masters(
    shared_server: StartServer, names: Names, *, order: tuple[int, ...], asks: bool | None, supports_acting_master: bool
) -> None:
    """Recorded from Apache RocketMQ NameServer 5.5.0, in all orders."""
    server = shared_server(supportActingMaster=supports_acting_master)
    brokers = {id_: names.broker("broker-a", id_, enable_acting_master=asks) for id_ in order}
    topics = [names("T"), names("U")]
    with Peer(server.address) as peer:
        for at, broker_id in enumerate(order, 1):
            present = sorted(order[:at])
            peer.registered(brokers[broker_id], topics_named(*topics), 1)
            group = {str(id_): str(brokers[id_].addr) for id_ in present}
            assert peer.group(names("C"), names("broker-a")) == group
            if asks is None and 0 not in present:
                assert peer.route(topics[0]) is None, "slaves of old releases announce no topics"
                continue
            stands_in = asks is True and 0 not in present
            if stands_in and supports_acting_master:
                group[MASTER] = group.pop(str(present[0]))
            for topic in topics:
                route = peer.routed(topic)
                assert route.brokers == {names("broker-a"): group}
                assert route.perms == {names("broker-a"): 4 if stands_in else 6}


@BOTH_MODES
def test_F040_only_the_lowest_slave_writes_queue_data(
    shared_server: StartServer, names: Names, *, supports_acting_master: bool
) -> None:
    server = shared_server(supportActingMaster=supports_acting_master)
    with Peer(server.address) as peer:
        peer.registered(names.broker("broker-a", 1), [topic_config(names("T")), topic_config(names("U"))], 1)
        before = peer.routed(names("T")).raw["queueDatas"]
        for version in (2, 3):
            higher = [topic_config(names("T"), read=3, write=3, perm=4), topic_config(names("V"))]
            peer.registered(names.broker("broker-a", 2), higher, version)
            assert peer.routed(names("T")).raw["queueDatas"] == before
            assert peer.route(names("V")) is None
        peer.unreg(names.broker("broker-a", 1))
        peer.registered(names.broker("broker-a", 2), [topic_config(names("T"), read=3), topic_config(names("V"))], 4)
        assert peer.routed(names("T")).raw["queueDatas"][0]["readQueueNums"] == 3, "now it is the lowest"
        assert peer.route(names("V")) is not None


def test_F042_notices_reach_whoever_can_be_reached(shared_server: StartServer, names: Names) -> None:
    server = shared_server(supportActingMaster=True, notifyMinBrokerIdChanged=True)
    with (
        Listener("127.0.0.2") as master,
        Listener("127.0.0.3", is_open=False) as hole,
        Listener("127.0.0.4", is_open=False) as far,
        Listener("127.0.0.5") as near,
        peers(server.address, 4) as lines,
        Peer(server.address) as client,
    ):
        group = [
            names.broker("broker-a", id_, addr=listener.address, ha_addr=f"ha-{id_}:1", enable_acting_master=True)
            for id_, listener in enumerate((master, hole, far, near))
        ]
        for peer, broker in zip(lines, group, strict=True):
            peer.registered(broker, topics_named(names("T"), names("U")))
        other = names.broker("other")
        client.registered(other, topics_named(names("X"), names("Y")))
        quiet_s = quiet_p99_s(server.address, names("X"))

        is_right = lambda brokers: brokers == {other.name: {MASTER: other.addr}}  # noqa: E731  # said once
        with RouteReader(server.address, names("X"), is_right) as reader:
            lines[0].abort()
            wait_until(lambda: len(near.frames) == 1, "the notice of the lost master, past the black hole", QUICK_S)
            far.open()
            wait_until(lambda: len(far.frames) == 1, "the same notice at the broker that is far away", NOTICE_S)
            for notice in (near.frames[0], far.frames[0]):
                _is_notice(notice, minBrokerId="1", minBrokerAddr=hole.address, offlineBrokerAddr=master.address)

            with Peer(server.address) as again:
                again.registered(group[0], topics_named(names("T"), names("U")))
                for listener in (near, far):
                    wait_until(lambda at=listener: len(at.frames) == 2, "the notice of its return", QUICK_S)  # type: ignore[misc]  # a default for a lambda
                    _is_notice(listener.frames[1], minBrokerId="0", minBrokerAddr=master.address, haBrokerAddr="ha-0:1")
                assert client.routed(names("T")).perms == {names("broker-a"): 6}
                assert [len(listener.frames) for listener in (master, near, far)] == [0, 2, 2], "one each"
        assert_not_slowed(reader.p99_s, quiet_s)


def test_F042_the_switch_off_sends_nothing(shared_server: StartServer, names: Names) -> None:
    server = shared_server(supportActingMaster=True)
    with Listener("127.0.0.2") as master, Listener("127.0.0.3") as slave, Peer(server.address) as peer:
        for id_, listener in enumerate((master, slave)):
            peer.registered(
                names.broker("broker-a", id_, addr=listener.address, enable_acting_master=True),
                topics_named(names("T"), names("U")),
            )
        peer.unreg(names.broker("broker-a", 0, addr=master.address))
        assert peer.group(names("C"), names("broker-a")) == {"1": slave.address}
        peer.registered(
            names.broker("broker-a", 0, addr=master.address, enable_acting_master=True),
            topics_named(names("T"), names("U")),
        )
        assert peer.is_silent(0.5)
        assert master.frames == slave.frames == []


def test_F043_reads_go_on_at_the_slave(shared_server: StartServer, names: Names) -> None:
    server = shared_server(supportActingMaster=False)
    master, slave = names.broker("broker-a", 0), names.broker("broker-a", 1)
    topics = [names("T"), names("U"), SYNC_GROUP + names("broker-a")]
    with Peer(server.address) as peer:
        for broker in (master, slave):
            peer.registered(broker, topics_named(*topics))
        before = {topic: peer.routed(topic).raw["queueDatas"] for topic in topics}
        assert peer.unreg(master).code == SUCCESS
        for topic in topics:
            route = peer.routed(topic)
            assert route.brokers == {slave.name: {"1": slave.addr}}
            assert route.raw["queueDatas"] == before[topic]
            assert route.perms == {slave.name: 6}


@BOTH_MODES
def test_F044_brokers_too_old_for_acting_masters(
    shared_server: StartServer, names: Names, *, supports_acting_master: bool
) -> None:
    """The whole history was recorded from Apache RocketMQ NameServer 5.5.0."""
    server = shared_server(supportActingMaster=supports_acting_master)
    topics = [names("T"), names("U")]
    master, slave = (str(names.broker("broker-a", id_).addr) for id_ in (0, 1))
    acting = {MASTER: slave} if supports_acting_master else {"1": slave}
    both = {MASTER: master, "1": slave}

    def broker(broker_id: int, *, asks: bool | None) -> Broker:
        return names.broker("broker-a", broker_id, enable_acting_master=asks)

    with Peer(server.address) as peer:

        def register(broker_id: int, *, asks: bool | None, version: int) -> None:
            release = 399 if asks is None else 513
            body = register_body(topics_named(*topics), {"counter": version, "stateVersion": 0, "timestamp": 5})
            ext = registration_ext(broker(broker_id, asks=asks), crc=crc32_masked(body))
            assert peer.request(REG, ext, body, version=release).code == SUCCESS

        def sees(brokers: Addresses, perm: int, *, asked: bool) -> None:
            for topic in topics:
                route = peer.routed(topic)
                assert (route.brokers, route.perms) == ({names("broker-a"): brokers}, {names("broker-a"): perm})
                assert route.raw["brokerDatas"][0]["enableActingMaster"] is asked

        register(0, asks=None, version=1)
        register(1, asks=None, version=1)
        sees(both, 6, asked=False)
        peer.unreg(broker(0, asks=None))
        sees({"1": slave}, 6, asked=False)
        register(1, asks=None, version=1)
        sees({"1": slave}, 6, asked=False)
        register(1, asks=True, version=1)
        sees({"1": slave}, 6, asked=True)
        register(1, asks=True, version=2)
        sees(acting, 4, asked=True)
        register(0, asks=None, version=3)
        sees(both, 6, asked=False)
        peer.unreg(broker(0, asks=None))
        sees({"1": slave}, 6, asked=False)
        register(0, asks=True, version=3)
        sees(both, 6, asked=True)
        peer.unreg(broker(0, asks=True))
        sees(acting, 4, asked=True)
        register(1, asks=None, version=5)
        sees({"1": slave}, 4, asked=False)


def test_F045_no_round_of_a_changing_master_ends_read_only(shared_server: StartServer, names: Names) -> None:
    server = shared_server(supportActingMaster=True)
    rounds, others_count, lines_of_others = 500, 100, 10
    draw = random.Random(45)
    body = register_body(topics_named(names("T"), names("U")))
    slave = names.broker("broker-a", 1, enable_acting_master=True)
    others = [names.broker(f"other-{number}", enable_acting_master=True) for number in range(others_count)]
    frames_of_others = [
        b"".join(
            encode_request(REG, registration_ext(other, crc=crc32_masked(body)), body, opaque=number)
            for number, other in enumerate(others[line::lines_of_others])
        )
        for line in range(lines_of_others)
    ]

    def master(round_number: int) -> Broker:
        addr = f"10.45.{round_number // 250}.{round_number % 250}:10911"
        return names.broker("broker-a", 0, addr=addr, enable_acting_master=True)

    with Peer(server.address) as of_slave, Peer(server.address) as client, contextlib.ExitStack() as at_the_end:
        of_slave.registered(slave, topics_named(names("T"), names("U")))
        present = Peer(server.address)
        present.registered(master(0), topics_named(names("T"), names("U")))
        for round_number in range(1, rounds + 1):
            lines = []
            if round_number % 5 == 0:  # a hundred others close with every fifth master
                lines = [Peer(server.address) for _ in range(lines_of_others)]
                for line, frames in zip(lines, frames_of_others, strict=True):
                    line.send(frames)
                for line in lines:
                    assert all(line.read_answer().code == SUCCESS for _ in range(others_count // lines_of_others))
            following = Peer(server.address)
            for line in lines:
                line.abort()
            present.abort()
            pause_until = time.monotonic() + draw.uniform(0, 0.02) * draw.choice((0, 0, 0, 1))
            while time.monotonic() < pause_until:
                client.route(names("T"))
            following.registered(
                master(round_number), topics_named(names("T"), names("U")), draw.choice((1, round_number))
            )
            for _ in range(2):
                route = client.routed(names("T"))
                assert route.brokers[names("broker-a")] == {MASTER: master(round_number).addr, "1": slave.addr}
                assert route.perms[names("broker-a")] == 6, f"round {round_number} is read-only"
            present = following
        at_the_end.callback(present.close)
        wait_until(lambda: names("other-0") not in client.cluster().brokers, "the others to be gone", QUICK_S)
        route = client.routed(names("T"))
        assert route.brokers == {names("broker-a"): {MASTER: master(rounds).addr, "1": slave.addr}}
        assert route.perms == {names("broker-a"): 6}


@BOTH_MODES
def test_F046_replicas_find_each_other(
    shared_server: StartServer, names: Names, *, supports_acting_master: bool
) -> None:
    """The bodies were recorded from Apache RocketMQ NameServer 5.5.0."""
    server = shared_server(supportActingMaster=supports_acting_master)
    brokers = [names.broker("broker-a", id_, enable_acting_master=True) for id_ in (0, 1, 2)]
    reserved, topic = SYNC_GROUP + names("broker-a"), names("T")
    slaves = {"1": brokers[1].addr, "2": brokers[2].addr}
    with Peer(server.address) as peer:

        def group(**ext: str) -> tuple[int, Any]:
            answer = peer.request(GROUP, ext)
            return answer.code, answer.json()

        nothing = peer.ask_route(reserved)
        assert (nothing.code, nothing.body) == (NO_ROUTE, b"")
        for broker in brokers:
            peer.registered(broker, topics_named(topic, reserved))
        assert peer.unreg(brokers[0]).code == SUCCESS

        route = peer.routed(reserved)
        assert (route.brokers, route.perms) == ({names("broker-a"): slaves}, {names("broker-a"): 4})
        shown = {MASTER: brokers[1].addr, "2": brokers[2].addr} if supports_acting_master else slaves
        assert peer.routed(topic).brokers == {names("broker-a"): shown}

        name, cluster = names("broker-a"), names("C")
        member = {"brokerAddrs": slaves, "brokerName": name, "cluster": cluster}
        assert group(clusterName=cluster, brokerName=name) == (SUCCESS, {"brokerMemberGroup": member})
        assert group(clusterName="wrong", brokerName=name) == (
            SUCCESS,
            {"brokerMemberGroup": member | {"cluster": "wrong"}},
        )
        assert group(clusterName=cluster, brokerName="nobody") == (
            SUCCESS,
            {"brokerMemberGroup": {"brokerAddrs": {}, "brokerName": "nobody", "cluster": cluster}},
        )
        assert group() == (SUCCESS, {"brokerMemberGroup": {"brokerAddrs": {}}})


def _is_notice(frame: Answer, **ext: str) -> None:
    assert (frame.code, frame.flag, frame.ext, frame.body) == (MIN_ID_NOTICE, FLAG_ONEWAY, ext, b"")
