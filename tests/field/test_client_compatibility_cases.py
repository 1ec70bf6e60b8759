"""Field cases about clients of every language and release, and the odd names they use."""

# ruff: noqa: N802  # case ids are written in capitals

import json
import struct
from typing import Any, Final

import pytest
from tests.support.field import Names, StartServer
from tests.support.peer import (
    CLUSTER,
    GROUP,
    KVLIST,
    MASTER,
    NO_ROUTE,
    QDV,
    REG,
    REGTOPIC,
    ROUTE,
    SUCCESS,
    SYSTEM_ERROR,
    TOPICS,
    Addresses,
    Peer,
    queue_data,
    topics_named,
)
from tests.support.server_process import ServerProcess
from tests.support.waiting import wait_until
from tests.support.wire import (
    Answer,
    crc32_masked,
    data_version,
    dump,
    frame,
    identity_ext,
    mapping_info,
    parse_body,
    register_body,
    registration_ext,
    topic_config,
)

RELEASES: Final = (399, 401, 479)
"""4.9.3, 4.9.4 and 5.3.3."""

LANGUAGES: Final = ('"GO"', '"RUST"', '"NODE_JS"', '"DART"', '""', "null", "3", "99", "-1", None)
LANGUAGE_BYTES: Final = (*range(15), 99, 255)


def test_F108_cluster_entries_name_their_cluster(own_server: StartServer, names: Names) -> None:
    """No tool of ours lists clusters yet; the filter by name is the tool's, over exactly these members."""
    server = own_server()
    brokers = [
        names.broker(f"{cluster}-{name}", id_, cluster=cluster, zone="z1" if cluster == "C1" else None)
        for cluster in ("C1", "C2", "C3")
        for name in ("a", "b")
        for id_ in (0, 1)
    ]
    with Peer(server.address) as peer:
        for broker in brokers:
            peer.registered(broker, topics_named(names("T"), names("U")))
        answer = peer.request(CLUSTER)
        cluster = parse_body(answer.body)
        assert set(cluster) == {"brokerAddrTable", "clusterAddrTable"}
        for name, entry in cluster["brokerAddrTable"].items():
            own = [broker for broker in brokers if broker.name == name]
            zone = {"zoneName": "z1"} if own[0].zone else {}
            assert entry == {
                "brokerAddrs": {str(broker.id): broker.addr for broker in own},
                "brokerName": name,
                "cluster": own[0].cluster,
                "enableActingMaster": False,
                **zone,
            }
        assert len(cluster["brokerAddrTable"]) == 6
        for name in ("C1", "C2", "C3"):
            assert sorted(cluster["clusterAddrTable"][names(name)]) == [names(f"{name}-a"), names(f"{name}-b")]
        assert len(cluster["clusterAddrTable"]) == 3


@pytest.mark.parametrize("language", LANGUAGES)
def test_F109_languages_in_json_headers_change_nothing(
    server: ServerProcess, names: Names, language: str | None
) -> None:
    """5.5.0 closes the connection for integers that it does not know; the row wants all served alike."""
    broker, topic = names.broker(), names("T")
    body = register_body(topics_named(topic, names("U")))

    def header(code: int, opaque: int, ext: dict[str, Any]) -> bytes:
        said = "" if language is None else f'"language":{language},'
        return (
            f'{{"code":{code},"extFields":{json.dumps(ext)},"flag":0,{said}"opaque":{opaque},"version":513}}'.encode()
        )

    with Peer(server.address) as peer, Peer(server.address) as java:
        peer.send(frame(header(REG, 1, _filled(registration_ext(broker, crc=crc32_masked(body)))), body))
        registered = peer.answer_to(1)
        assert (registered.code, registered.ext) == (SUCCESS, {})
        peer.send(frame(header(ROUTE, 2, {"topic": topic})))
        peer.send(frame(header(CLUSTER, 3, {})))
        assert _without_opaque(peer.answer_to(2)) == _without_opaque(java.ask_route(topic))
        assert _without_opaque(peer.answer_to(3)) == _without_opaque(java.request(CLUSTER))


@pytest.mark.parametrize("language", LANGUAGE_BYTES)
def test_F109_languages_in_binary_headers_change_nothing(server: ServerProcess, names: Names, language: int) -> None:
    broker, topic = names.broker(), names("T")
    body = register_body(topics_named(topic, names("U")))

    def header(code: int, opaque: int, ext: dict[str, Any]) -> bytes:
        entries = b"".join(
            struct.pack(">h", len(key)) + key.encode() + struct.pack(">i", len(value)) + value.encode()
            for key, value in ext.items()
        )
        return struct.pack(">HBhiiii", code, language, 513, opaque, 0, 0, len(entries)) + entries

    with Peer(server.address) as peer, Peer(server.address) as java:
        registration = header(REG, 1, _filled(registration_ext(broker, crc=crc32_masked(body))))
        peer.send(frame(registration, body, header_type=1))
        assert peer.answer_to(1).code == SUCCESS
        peer.send(frame(header(ROUTE, 2, {"topic": topic}), header_type=1))
        peer.send(frame(header(CLUSTER, 3, {}), header_type=1))
        assert _without_opaque(peer.answer_to(2)) == _without_opaque(java.ask_route(topic, codec="ROCKETMQ"))
        assert _without_opaque(peer.answer_to(3)) == _without_opaque(java.request(CLUSTER, codec="ROCKETMQ"))


@pytest.mark.parametrize("version", [393, 401, 479])
@pytest.mark.parametrize("language", ["JAVA", "GO", "CPP", "PYTHON", "RUST"])
def test_F110_lenient_and_splitting_parsers_read_cluster_and_group(
    server: ServerProcess, names: Names, version: int, language: str
) -> None:
    with Peer(server.address) as peer:
        addresses = _register_three(peer, names)
        cluster, members = _cluster_and_group(peer, names, version, language)
        assert [cluster, members] == _cluster_and_group(peer, names, 513, "JAVA"), "the form is constant"
        for body in (cluster, members):
            assert _addresses_in(parse_body(body), names) == addresses, "the lenient parser of Java"
            assert _split_addresses(body, addresses) == addresses, "the splitting parser of old clients"


@pytest.mark.parametrize("version", [393, 401, 479])
def test_F110_a_strict_parser_reads_cluster_and_group(server: ServerProcess, names: Names, version: int) -> None:
    with Peer(server.address) as peer:
        addresses = _register_three(peer, names)
        for body in _cluster_and_group(peer, names, version, "PYTHON"):
            assert _addresses_in(json.loads(body), names) == addresses


def test_F110_the_form_is_documented(pytestconfig: pytest.Config) -> None:
    text = (pytestconfig.rootpath / "docs" / "compatibility.md").read_text(encoding="utf-8")
    assert "F110" in text


def test_F112_addresses_are_texts(shared_server: StartServer, names: Names) -> None:
    server = shared_server(scanNotActiveBrokerInterval=100)
    spellings = ["[2001:db8::5]:10911", "2001:db8::5:10911", "[fe80::1%eth0]:10911", "192.0.2.5:10911"]
    brokers = [
        names.broker(f"broker-{at}", addr=spelling, ha_addr=f"{spelling}2") for at, spelling in enumerate(spellings)
    ]
    topics = [names("T"), names("U")]
    with Peer(server.address) as peer, Peer(server.address) as client:
        for broker, spelling in zip(brokers, spellings, strict=True):
            peer.registered(broker, topics_named(*topics), filter_servers=[f"filter of {spelling}"])
            slave = names.broker(str(broker.name).rpartition("broker-")[0] + "x", 1)
            assert slave.addr != spelling
        expected = {str(broker.name): {MASTER: broker.addr} for broker in brokers}
        for version in (399, 513):
            answer = client.ask_route(topics[0], version=version)
            route = parse_body(answer.body)
            assert {each["brokerName"]: each["brokerAddrs"] for each in route["brokerDatas"]} == expected
            assert route["filterServerTable"] == {spelling: [f"filter of {spelling}"] for spelling in spellings}
            assert all(f'"{spelling}"'.encode() in answer.body for spelling in spellings), "to the byte"
        cluster = client.cluster()
        for broker in brokers:
            assert cluster.brokers[str(broker.name)] == {MASTER: broker.addr}
            assert client.group(names("C"), str(broker.name)) == {MASTER: broker.addr}
            slave_at = names.broker(str(broker.name).rpartition(names(""))[2], 1, enable_acting_master=None)
            told = peer.registered(slave_at, topics_named(*topics))
            assert told.ext == {"masterAddr": broker.addr, "haServerAddr": broker.ha_addr}
            assert peer.unreg(slave_at).code == SUCCESS

        other_spelling = names.broker("broker-0", addr=spellings[1])
        assert peer.unreg(other_spelling).code == SUCCESS
        assert client.routed(topics[0]).brokers == expected, "another text is another broker"
        assert client.query_version(other_spelling, data_version()).body == dump(data_version()), "that of broker-1"

        assert peer.unreg(brokers[0]).code == SUCCESS
        del expected[str(brokers[0].name)]
        assert client.routed(topics[0]).brokers == expected

        short_lived = names.broker("broker-2", addr=spellings[2], heartbeat_timeout_millis=300)
        with Peer(server.address) as silent:
            silent.registered(short_lived, topics_named(*topics))
            del expected[names("broker-2")]
            wait_until(lambda: client.routed(topics[0]).brokers == expected, "the expiry of one of them", within_s=3)


def test_F115_topic_names_are_raw_texts(server: ServerProcess, names: Names) -> None:
    broker = names.broker()
    topics = [
        f"MQ_INST_1%{names('orders')}",
        f"%RETRY%MQ_INST_1%{names('GID-a')}",
        f"%DLQ%{names('x')}",
        f"%SYS%{names('y')}",
        f"{names('a')}%%b",
        f"{names('c')}%s%d%41",
    ]
    with Peer(server.address) as peer:
        peer.registered(broker, topics_named(*topics))
        assert set(topics) <= set(peer.topics())
        assert sorted(peer.topics_of(names("C"))) == sorted(topics)
        for topic in topics:
            for codec in ("JSON", "ROCKETMQ"):
                answer = peer.ask_route(topic, {"ns": "MQ_INST_1", "nsd": "true"}, codec=codec)
                assert answer.code == SUCCESS
                assert answer.body == peer.ask_route(topic).body, "fields of namespaces are ignored"
        for short in (names("orders"), names("GID-a"), names("x"), names("y"), f"{names('a')}%b", f"{names('c')}%s%dA"):
            answer = peer.ask_route(short, {"ns": "MQ_INST_1", "nsd": "true"})
            assert (answer.code, answer.body) == (NO_ROUTE, b"")
            assert f"for the topic: {short}\n" in (answer.remark or "")
        for at, topic in enumerate(topics, 1):
            assert peer.delete_topic(topic).code == SUCCESS
            assert peer.route(topic) is None
            assert sorted(peer.topics_of(names("C"))) == sorted(topics[at:])


def test_F116_the_default_topic_is_a_topic_like_any_other(own_server: StartServer, names: Names) -> None:
    default = "TBW102"
    server = own_server()
    without, with_it = names.broker("without"), names.broker("with")
    asked = [default, f"ns%{default}", names("brand-new")]
    with Peer(server.address) as peer, Peer(server.address) as client:

        def missing(topic: str) -> bool:
            answer = client.ask_route(topic)
            if answer.code == SUCCESS:
                return False
            assert (answer.code, answer.body) == (NO_ROUTE, b"")
            assert (answer.remark or "").startswith(f"No topic route info in name server for the topic: {topic}\n")
            return True

        peer.registered(without, topics_named(names("T"), names("U")))
        assert [missing(topic) for topic in asked] == [True, True, True]
        peer.registered(with_it, [topic_config(default, perm=7), topic_config(names("T"))])
        assert [missing(topic) for topic in asked] == [False, True, True]
        assert client.routed(default).brokers == {with_it.name: {MASTER: with_it.addr}}
        assert client.routed(default).perms == {with_it.name: 7}
        assert peer.unreg(with_it).code == SUCCESS
        assert [missing(topic) for topic in asked] == [True, True, True]


@pytest.mark.parametrize("version", RELEASES)
def test_F120_members_and_their_types(server: ServerProcess, names: Names, version: int) -> None:
    """Shapes recorded from Apache RocketMQ NameServer 5.5.0; they are the same for all three releases."""
    broker = names.broker(zone="z9")
    static, plain = names("S"), names("T")
    mapping = mapping_info(static, str(broker.name), {0: 0, 4: 1})
    broker_data = {
        "brokerAddrs": {MASTER: "str"},
        "brokerName": "str",
        "cluster": "str",
        "enableActingMaster": "bool",
        "zoneName": "str",
    }
    queues = {
        "brokerName": "str",
        "perm": "int",
        "readQueueNums": "int",
        "topicSysFlag": "int",
        "writeQueueNums": "int",
    }
    route = {
        "brokerDatas": [broker_data],
        "filterServerTable": {broker.addr: ["str"]},
        "queueDatas": [queues],
    }
    static_info = {
        "bname": "str",
        "currIdMap": {"0": "int", "4": "int"},
        "dirty": "bool",
        "epoch": "int",
        "scope": "str",
        "topic": "str",
        "totalQueues": "int",
    }
    with Peer(server.address) as peer:
        peer.registered(
            broker,
            [topic_config(static, sys_flag=1), topic_config(plain)],
            mappings=[mapping],
            filter_servers=["f:1"],
        )
        peer.put_kv(names("N"), "K", "V")

        def shape(code: int, ext: dict[str, str] | None = None, body: bytes = b"") -> Any:
            answer = peer.request(code, ext, body, version=version)
            assert answer.code == SUCCESS
            return _shape(answer.json())

        assert shape(ROUTE, {"topic": plain}) == route
        assert shape(ROUTE, {"topic": static}) == {**route, "topicQueueMappingByBroker": {broker.name: static_info}}
        cluster = shape(CLUSTER)
        assert set(cluster) == {"brokerAddrTable", "clusterAddrTable"}
        assert cluster["brokerAddrTable"][broker.name] == broker_data
        assert cluster["clusterAddrTable"][broker.cluster] == ["str"]
        group = {"clusterName": names("C"), "brokerName": names("broker-a")}
        member = {"brokerAddrs": {MASTER: "str"}, "brokerName": "str", "cluster": "str"}
        assert shape(GROUP, group) == {"brokerMemberGroup": member}
        assert shape(TOPICS) == {"topicList": ["str"]}
        assert shape(KVLIST, {"namespace": names("N")}) == {"table": {"K": "str"}}
        version_ext = {key: str(value) for key, value in identity_ext(broker).items()}
        assert shape(QDV, version_ext, dump(data_version())) == {
            "counter": "int",
            "stateVersion": "int",
            "timestamp": "int",
        }


def test_F120_both_spellings_of_the_sys_flag_are_read(server: ServerProcess, names: Names) -> None:
    """5.5.0 reads only the new spelling of the two; what it does about missing members is recorded from it."""
    broker = names.broker()
    name = str(broker.name)
    with Peer(server.address) as peer:
        peer.registered(broker, [])

        def stored(topic: str, queues: dict[str, Any]) -> Any:
            assert peer.register_topic(topic, queues).code == SUCCESS
            (data,) = peer.routed(topic).raw["queueDatas"]
            return data

        new = queue_data(name, sys_flag=3)
        old = {("topicSynFlag" if key == "topicSysFlag" else key): value for key, value in new.items()}
        none = {key: value for key, value in new.items() if key != "topicSysFlag"}
        assert stored(names("new"), new) == new
        assert stored(names("old"), old) == new
        assert stored(names("none"), none) == new | {"topicSysFlag": 0}
        zeros = {"perm": 0, "readQueueNums": 0, "topicSysFlag": 0, "writeQueueNums": 0}
        assert stored(names("bare"), {"brokerName": name}) == {"brokerName": name, **zeros}
        peer.register_topic(names("nameless"), {})
        assert peer.route(names("nameless")) is None
        assert peer.request(REGTOPIC, {"topic": names("broken")}, b"{not json").code == SYSTEM_ERROR


def test_F120_missing_members_of_a_topic_config_take_defaults(server: ServerProcess, names: Names) -> None:
    broker = names.broker()
    with Peer(server.address) as peer:
        bare = {"topicName": names("T")}
        peer.registered(broker, [bare, topic_config(names("U"))])
        assert peer.routed(names("T")).raw["queueDatas"] == [
            {
                "brokerName": broker.name,
                "perm": 6,
                "readQueueNums": 16,
                "topicSysFlag": 0,
                "writeQueueNums": 16,
            }
        ]


def _shape(value: Any) -> Any:
    """Replace scalars by their types, and a list by the one shape that its members have."""
    if isinstance(value, dict):
        return {key: _shape(each) for key, each in value.items()}
    if isinstance(value, list):
        shapes = [_shape(each) for each in value]
        assert all(each == shapes[0] for each in shapes)
        return shapes[:1]
    return type(value).__name__


def _register_three(peer: Peer, names: Names) -> Addresses:
    brokers = [names.broker("broker-a", id_) for id_ in (0, 1, 2)]
    for broker in brokers:
        peer.registered(broker, topics_named(names("T"), names("U")))
    return {str(broker.id): str(broker.addr) for broker in brokers}


def _cluster_and_group(peer: Peer, names: Names, version: int, language: str) -> list[bytes]:
    group = {"clusterName": names("C"), "brokerName": names("broker-a")}
    questions = ((CLUSTER, None), (GROUP, group))
    return [peer.request(code, ext, version=version, language=language).body for code, ext in questions]


def _addresses_in(value: Any, names: Names) -> Any:
    found = value["brokerAddrTable"][names("broker-a")] if "brokerAddrTable" in value else value["brokerMemberGroup"]
    return found["brokerAddrs"]


def _split_addresses(body: bytes, addresses: Addresses) -> Addresses:
    """Read `brokerAddrs` as old clients do: cut at commas and first colons, drop the quotes, trim nothing."""
    text = body.decode()
    end = text.index(str(addresses["2"]))
    start = text.rindex('"brokerAddrs":{', 0, end) + len('"brokerAddrs":{')
    pieces = text[start : text.index("}", start)].split(",")
    pairs = (piece.split(":", 1) for piece in pieces)
    return {key.replace('"', ""): value.replace('"', "") for key, value in pairs}


def _filled(ext: Any) -> dict[str, Any]:
    return {key: value for key, value in ext.items() if value is not None}


def _without_opaque(answer: Answer) -> tuple[object, ...]:
    return answer.code, answer.flag, answer.language, answer.version, answer.remark, answer.ext, answer.body
