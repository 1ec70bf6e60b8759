"""Field cases about bodies, names and requests that are meant to do harm."""

# ruff: noqa: N802  # case ids are written in capitals

import itertools
import json
import re
import struct
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest
from tests.support.field import Names, StartServer
from tests.support.peer import (
    CFGSET,
    DELKV,
    DELTOPIC,
    GETKV,
    HB,
    KVLIST,
    MASTER,
    NO_ROUTE,
    NOT_FOUND,
    NOT_SUPPORTED,
    PUTKV,
    QDV,
    REG,
    REGTOPIC,
    ROUTE,
    SUCCESS,
    SYSTEM_ERROR,
    TOPICS_OF_CLUSTER,
    UNREG,
    WIPE,
    Peer,
    queue_data,
    topics_named,
)
from tests.support.process_figures import cpu_s_of, memory_of, peak_memory_of
from tests.support.server_log import log_lines
from tests.support.server_process import ServerProcess
from tests.support.standing_rule import StandingRule
from tests.support.waiting import wait_until
from tests.support.wire import (
    Answer,
    Broker,
    compressed_register_body,
    crc32_masked,
    data_version,
    dump,
    encode_request,
    identity_ext,
    register,
    register_body,
    registration_ext,
)

MIB: Final = 1024 * 1024
INFLATED_LIMIT: Final = 64 * MIB
TOPIC_TEXT: Final = b"T 8 8 6 SINGLE_TAG "


def piece(data: bytes) -> bytes:
    return struct.pack(">i", len(data)) + data


def repeated(head: bytes, block: bytes, body_bytes: int) -> bytes:
    """Give a zlib stream of at most so many bytes that inflates to `head` and one block again and again.

    A block is deflated once; a full flush makes its bytes stand for themselves wherever they are.
    """
    deflater = zlib.compressobj(9, wbits=-15)
    first = deflater.compress(head) + deflater.flush(zlib.Z_FULL_FLUSH)
    again = deflater.compress(block) + deflater.flush(zlib.Z_FULL_FLUSH)
    count = (body_bytes - len(first)) // len(again) - 1
    return b"\x78\xda" + first + again * count + b"\x03\0" + bytes(4)


VERSION: Final = piece(b'{"counter":1,"stateVersion":0,"timestamp":1}')
BOMBS: Final[Mapping[str, Callable[[int], bytes]]] = {
    "of nothing": lambda size: repeated(b"", bytes(MIB), size),
    "of one endless piece": lambda size: repeated(struct.pack(">i", 2**31 - 1), bytes(MIB), size),
    "of the largest pieces": lambda size: repeated(
        VERSION + struct.pack(">i", 200_000), piece(TOPIC_TEXT + b"x" * (MIB - len(TOPIC_TEXT))), size
    ),
    "of topics without end": lambda size: repeated(
        VERSION + struct.pack(">i", 200_000), piece(TOPIC_TEXT) * 20_000, size
    ),
    "of streams": lambda size: repeated(
        VERSION + struct.pack(">i", 200_000), piece(TOPIC_TEXT + zlib.compress(bytes(MIB))) * 100, size
    ),
    "that inflates slowly": lambda size: zlib.compress(
        VERSION + struct.pack(">i", 100_000) + piece(TOPIC_TEXT) * (size // len(piece(TOPIC_TEXT)) - 10), 0
    ),
}


@pytest.mark.parametrize("bomb", BOMBS.values(), ids=BOMBS.keys())
def test_F087_a_bomb_is_refused_once_the_limit_is_passed(
    own_server: StartServer, names: Names, bomb: Callable[[int], bytes]
) -> None:
    """Fifteen mebibytes, most of which would inflate to fifteen gibibytes."""
    server = own_server()
    broker = names.broker()
    body = bomb(15 * MIB)
    with Peer(server.address, timeout=60) as peer, Peer(server.address) as client:
        peer.registered(broker, topics_named(names("T"), names("U")))
        known = client.topics()
        before, used_s = peak_memory_of(server.pid), cpu_s_of(server.pid)
        answer = register(peer, broker, body=body, ext={"compressed": "true"})
        assert answer.code == SYSTEM_ERROR
        assert len(answer.remark or "") < 200
        assert peak_memory_of(server.pid) - before < INFLATED_LIMIT + 3 * len(body)
        assert cpu_s_of(server.pid) - used_s < 10, "to inflate all of it would take half a minute and more"
        assert client.topics() == known
        assert client.routed(names("T")).brokers == {broker.name: {MASTER: broker.addr}}
        peer.unreg(broker)


def test_F087_what_inflates_to_long_names_fills_no_memory(own_server: StartServer, names: Names) -> None:
    """Registrations of 900 topics with names of 1,000 similar characters. The ceiling is 8 MiB instead of 1 GiB."""
    server = own_server(maxTableBytes=8 * MIB)
    good = names.broker("good")
    codes = []
    with Peer(server.address, timeout=60) as peer:
        peer.registered(good, topics_named(names("T"), names("U")))
        before = peak_memory_of(server.pid)
        for number in range(24):
            named = topics_named(*(names(f"{number}-{topic}").ljust(1000, "x") for topic in range(900)))
            body = compressed_register_body(named)
            assert len(body) < 100_000
            lasting = names.broker(f"b{number}", heartbeat_timeout_millis=str(2**62))
            codes.append(register(peer, lasting, body=body, ext={"compressed": "true"}).code)
        accepted = codes.count(SUCCESS)
        assert codes == [SUCCESS] * accepted + [SYSTEM_ERROR] * (24 - accepted)
        assert 0 < accepted < 12
        assert peak_memory_of(server.pid) - before < 40 * MIB
        assert len(peer.topics()) == 2 + 900 * accepted
        assert peer.reg(good, topics_named(names("T"), names("U"))).code == SUCCESS
        peer.unreg(good)


def test_F087_the_limit_is_told(own_server: StartServer, names: Names) -> None:
    server = own_server()
    with Peer(server.address, timeout=60) as peer:
        answer = register(peer, names.broker(), body=BOMBS["of the largest pieces"](MIB))
        assert answer.code == SYSTEM_ERROR
        assert f"inflates to more than {INFLATED_LIMIT} bytes" in (answer.remark or "")


def test_F087_twenty_at_once(own_server: StartServer, names: Names) -> None:
    """One is inflated after the other: the memory is that of one, and routes are answered in between.

    The limit is an eighth of the default, for the time that twenty of them take.
    """
    server = own_server(maxInflatedRegisterBytes=INFLATED_LIMIT // 8)
    broker = names.broker()
    body = BOMBS["of the largest pieces"](MIB)
    ext = registration_ext(names.broker("bad"), compressed=True, crc=crc32_masked(body))
    request = encode_request(REG, ext, body, opaque=1)
    with Peer(server.address) as peer:
        peer.registered(broker, topics_named(names("T"), names("U")))
        before = peak_memory_of(server.pid)
        bad = [Peer(server.address, timeout=60) for _ in range(20)]
        for each in bad:
            each.send(request)
        waiting = 0
        while not all(each.untaken() for each in bad):
            assert peer.routed(names("T")).brokers == {broker.name: {MASTER: broker.addr}}
            waiting += 1
            for each in bad:
                if not each.untaken() and not each.is_silent(0.001):
                    assert each.untaken()[0].code == SYSTEM_ERROR
        assert waiting > 3
        assert peak_memory_of(server.pid) - before < INFLATED_LIMIT // 8 + 20 * 3 * len(body)
        for each in bad:
            each.close()
        peer.unreg(broker)


HINTS: Final = {"@type": "java.lang.Runtime", "$ref": "$", "$type": "System.Diagnostics.Process, System", "@c": "x"}
DEEP: Final = 100_000


def with_member(body: bytes, member: str) -> bytes:
    """Give a JSON object with one more member, the first one."""
    return b"{" + member.encode("utf-8", "surrogatepass") + b"," + body[1:]


MEMBERS: Final = {
    "hints": (json.dumps(HINTS)[1:-1], True),
    "a reference to everything": ('"x":{"$ref":"$"},"y":[{"$ref":".."},{"$ref":"$.x"}]', True),
    "lists nested deeply": ('"x":' + "[" * DEEP + "]" * DEEP, False),
    "objects nested deeply": ('"x":' + '{"a":' * DEEP + "1" + "}" * DEEP, False),
    "brackets that stay open": ('"x":' + "[" * DEEP, False),
    "a number of 10,000 digits": ('"x":' + "1" * 10_000, True),
    "1e400": ('"x":1e400', True),
    "numbers of 4,000 digits": ('"x":[' + ",".join(["1" * 4000] * 200) + "]", True),
    "a key twice": ('"x":1,"x":2', True),
}
"""A member that nobody asks for, and whether it does no harm; what is not read need not be a number that we have."""


@pytest.mark.parametrize(("member", "is_harmless"), MEMBERS.values(), ids=MEMBERS.keys())
def test_F097_members_that_nobody_asks_for(
    server: ServerProcess, names: Names, member: str, *, is_harmless: bool
) -> None:
    broker = names.broker()
    queues = dump({"queueDatas": [queue_data(names("broker-a"))]})
    version = dump(data_version(1))
    with Peer(server.address) as peer:
        peer.registered(broker, topics_named(names("A"), names("B")))
        register_answer = register(
            peer, broker, body=with_member(register_body(topics_named(names("T"), names("U"))), member)
        )
        topic_answer = peer.request(REGTOPIC, {"topic": names("V")}, with_member(queues, member))
        version_answer = peer.request(QDV, identity_ext(broker), with_member(version, member))
        for answer, topic in ((register_answer, "T"), (topic_answer, "V"), (version_answer, None)):
            assert_answered(answer, is_harmless=is_harmless)
            if topic is not None:
                assert (peer.route(names(topic)) is not None) is (answer.code == SUCCESS)
        assert peer.routed(names("A")).brokers == {broker.name: {MASTER: broker.addr}}
        peer.unreg(broker)
    assert "Traceback" not in server.stderr


def assert_answered(answer: Answer, *, is_harmless: bool) -> None:
    """What does harm must be refused in words of ours; what does none may be, where a reader without a form meets it."""
    assert answer.code in ((SUCCESS, SYSTEM_ERROR) if is_harmless else (SYSTEM_ERROR,)), answer
    if answer.code != SUCCESS:
        assert is_of_the_fixed_set(answer.remark or ""), answer.remark


VALUES: Final = {
    "1e400": "1e400",
    "10,000 digits": "1" * 10_000,
    "400 digits": "1" * 400,
    "beyond an int": "4294967296",
    "infinite": "Infinity",
    "a list": "[]",
    "an object with hints": json.dumps(HINTS),
    "nested deeply": "[" * DEEP + "]" * DEEP,
    "a long text": '"' + "9" * 100_000 + '"',
}


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES.keys())
def test_F097_values_that_are_no_numbers(server: ServerProcess, names: Names, value: str) -> None:
    broker = names.broker()
    topics = register_body(topics_named(names("T"), names("U")))
    with Peer(server.address) as peer:
        peer.registered(broker, topics_named(names("A"), names("B")))
        body = topics.replace(b'"readQueueNums":8', f'"readQueueNums":{value}'.encode())
        queues = dump({"queueDatas": [queue_data(names("broker-a"))]}).replace(b":8", f":{value}".encode())
        version = f'{{"counter":{value},"timestamp":1}}'.encode()
        for answer in (
            register(peer, broker, body=body),
            peer.request(REGTOPIC, {"topic": names("T")}, queues),
            *([] if value == "4294967296" else [peer.request(QDV, identity_ext(broker), version)]),
        ):
            assert_answered(answer, is_harmless=False)
        assert peer.route(names("T")) is None
        peer.unreg(broker)


def test_F097_of_a_key_sent_twice_the_last_counts(server: ServerProcess, names: Names) -> None:
    broker = names.broker()
    body = register_body(topics_named(names("T"), names("U"), perm=4))
    with Peer(server.address) as peer:
        assert register(peer, broker, body=body.replace(b'"perm":4', b'"perm":2,"perm":4')).code == SUCCESS
        assert peer.routed(names("T")).perms == {broker.name: 4}
        peer.unreg(broker)


def test_F097_nothing_that_a_body_names_is_made(own_server: StartServer, names: Names, tmp_path: Path) -> None:
    """A hint with a command or a file in it is text like any other."""
    server = own_server()
    before = files_below(tmp_path)
    target = tmp_path / "made-by-a-hint"
    hint = json.dumps({"@type": "java.io.FileOutputStream", "name": str(target), "val": {"@type": f"touch {target}"}})
    with Peer(server.address) as peer:
        broker = names.broker()
        body = with_member(register_body(topics_named(names("T"), names("U"))), f'"x":{hint}')
        assert register(peer, broker, body=body).code == SUCCESS
        assert peer.route(names("T")) is not None
        peer.unreg(broker)
    assert files_below(tmp_path) == before


def files_below(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


BAD_NAMES: Final = {
    "climbing": "../../../{}",
    "climbing back": "..\\..\\{}",
    "absolute": "/tmp/{}",  # noqa: S108  # a name, not a file
    "device": "\\\\.\\pipe\\{}",
    "NUL": "{}\0after",
    "line breaks": '{}\r\n{{"level":"ERROR","event":"forged"}}\n2026-01-01T00:00:00 ERROR forged x=1',
    "escape sequences": "{}\x1b[2J\x1b]0;owned\x07\x9b31m",
    "separators": "{}\u2028\u2029\x85\x0b\x0c",
    "right to left": "{}\u202egnp.exe",
    "quotes": "{}\"'`$(touch x)",
    "angle brackets": "{}<script>alert(1)</script>",
    "equals": '{} level=ERROR event="forged"',
    "percent": "{}%s%n%x%%",
    "braces": "{}{{0}}{{}}",
}


@pytest.mark.parametrize("log_format", ["text", "json"])
def test_F098_bad_names_are_names(tmp_path: Path, names: Names, log_format: str) -> None:
    """There are no metrics to scrape yet; file system and log are looked at for all names and requests together."""
    with ServerProcess(tmp_path, f"--log-format={log_format}", "--log-level=debug") as server:
        rule = StandingRule(server)
        with Peer(server.address) as peer:
            for value in "VW":
                assert peer.put_kv("N", "K", value).code == SUCCESS
            before = files_below(tmp_path)
            for number, pattern in enumerate(BAD_NAMES.values()):
                say_everywhere(peer, pattern.format(names(str(number))))
            wait_until(lambda: names(str(len(BAD_NAMES) - 1)) in server.stderr, "the last line", 5)
        assert files_below(tmp_path) == before
        rule.check()
    assert_lines_are_lines(server.stderr, log_format)


def say_everywhere(peer: Peer, name: str) -> None:
    """Use a name in every place where a request can have one."""
    broker = Broker(name=name, cluster=name, addr=name, ha_addr=name, zone=name)
    assert peer.reg(broker, topics_named(name, f"{name}-2"), filter_servers=[name]).code == SUCCESS
    assert peer.routed(name).brokers == {name: {MASTER: name}}
    assert peer.register_topic(f"{name}-3", queue_data(name)).code == SUCCESS
    assert set(peer.topics_of(name)) == {name, f"{name}-2", f"{name}-3"}
    assert peer.put_kv(name, name, name).code == SUCCESS
    assert peer.get_kv(name, name).ext == {"value": name}
    assert peer.delete_kv(name, name).code == SUCCESS
    assert peer.heartbeat(Broker(name=name, cluster=f"{name}-none", addr=name)).code == SUCCESS
    assert peer.ask_route(f"{name}-none").code == NO_ROUTE
    assert peer.get_kv(name, f"{name}-none").code == NOT_FOUND
    assert peer.request(CFGSET, None, f"{name}=1\n".encode()).code in (SUCCESS, SYSTEM_ERROR)
    assert peer.request(PUTKV, {"namespace": name, "key": name}).code == SYSTEM_ERROR
    assert register(peer, broker, body=f'{{"{name}'.encode()).code == SYSTEM_ERROR
    peer.wipe(name)
    peer.add_perm(name)
    assert peer.delete_topic(name).code == SUCCESS
    assert peer.unreg(broker).code == SUCCESS


def assert_lines_are_lines(text: str, log_format: str) -> None:
    lines = text.split("\n")
    assert lines.pop() == ""
    assert lines
    for line in lines:
        assert line.isprintable(), line
        if log_format == "json":
            assert json.loads(line)["event"] != "forged"
        else:
            assert re.match(r"\d{4}-\d\d-\d\dT[0-9:.+-]+ (DEBUG|INFO|WARN|ERROR) [a-z_.]+( |$)", line), line
            assert not re.match(r"\S+ ERROR forged", line), line


@pytest.mark.parametrize("length", [1025, 32_768, 100_000, MIB])
def test_F098_names_over_the_limit_are_refused(server: ServerProcess, names: Names, length: int) -> None:
    """At 1,024 characters (maxNameLength); a header over 1 MiB (maxHeaderBytes) is not even read."""
    broker = names.broker()
    long = names("").ljust(length, "x")
    with Peer(server.address) as peer:
        peer.registered(broker, topics_named(names("T"), names("U")))
        known = peer.topics()
        for answer in (
            peer.reg(broker, topics_named(long, names("U")), 2),
            peer.register_topic(names("T"), queue_data(long)),
        ):
            assert (answer.code, "more than 1024 characters" in (answer.remark or "")) == (SYSTEM_ERROR, True)
        for code, ext, body in in_headers(broker, long):
            assert_name_refused(server, code, ext, body)
        assert peer.topics() == known
        assert peer.request(KVLIST, {"namespace": "N"}).code == NOT_FOUND
        peer.unreg(broker)
    assert max(map(len, server.stderr.splitlines()), default=0) < 10_000


def in_headers(broker: Broker, long: str) -> Iterator[tuple[int, Mapping[str, str | None], bytes]]:
    body = register_body(topics_named("T", "U"))
    for field in ("brokerName", "brokerAddr", "clusterName", "haServerAddr", "__ZONE_NAME"):
        yield REG, registration_ext(broker) | {field: long}, body
    yield REGTOPIC, {"topic": long}, dump({"queueDatas": [queue_data(broker.name or "")]})
    yield DELTOPIC, {"topic": long}, b""
    yield TOPICS_OF_CLUSTER, {"cluster": long}, b""
    yield WIPE, {"brokerName": long}, b""
    yield HB, identity_ext(broker) | {"brokerAddr": long}, b""
    yield PUTKV, {"namespace": long, "key": "K", "value": "V"}, b""
    yield PUTKV, {"namespace": "N", "key": long, "value": "V"}, b""
    yield DELKV, {"namespace": "N", "key": long}, b""
    yield GETKV, {"namespace": long, "key": "K"}, b""


def assert_name_refused(server: ServerProcess, code: int, ext: Mapping[str, str | None], body: bytes) -> None:
    """With code 1 and the limit, or with a close when the whole header is too long."""
    with Peer(server.address) as peer:
        if max(len(value or "") for value in ext.values()) >= MIB:
            peer.oneway(code, ext, body)
            peer.expect_closed(5)
            return
        answer = peer.request(code, ext, body)
        assert (answer.code, answer.remark) == (SYSTEM_ERROR, "a header field of more than 1024 characters")


def test_F098_a_long_topic_that_is_asked_for_is_not_there(server: ServerProcess, names: Names) -> None:
    """The remark names the beginning: an answer must not be as long as any question."""
    topic = names("").ljust(500_000, "x")
    with Peer(server.address) as peer:
        answer = peer.ask_route(topic)
        assert answer.code == NO_ROUTE
        assert topic[:100] in (answer.remark or "")
        assert len(answer.remark or "") < 300


BROKER: Final = Broker()
GOOD_BODY: Final = register_body(topics_named("T", "U"))
SUBJECTS: Final = (
    "topic|topic config|topicConfigTable|topicConfigSerializeWrapper|topicQueueMappingInfoMap|currIdMap|body|document|"
    "compressed body|compressed body's last part|DataVersion|TopicRouteData|QueueData|RegisterBrokerBody|"
    "TopicQueueMappingInfo|static-topic mapping|length in the compressed body|part of the compressed body|name|text|"
    "value|list|dict|str|int|float"
)
IN_BODIES: Final = (
    rf"(the |a |an )?({SUBJECTS}) ('.*' |\".*\" )?(is|has|does|ends|reaches|inflates|holds|of|with) .*",
    r"'.*'? is (not an integer|not a boolean|out of range)",
    r"-?[0-9.e+inf]+ is (not an integer|not a boolean|not a value|out of range).*",
    r"'.*' is not a value at character \d+",
    r"(expected .*|text after the document|unknown escape|nested too deeply) at character \d+",
    r"nested too deeply",
    r"the document ends too early at character \d+",
    r"not standard JSON( at byte \d+)?",
    r"bad length -?\d+ in the compressed body",
    r"bytes follow the compressed body's last part",
    r"more than \d+ (topics in one request|filter servers|queues in one static-topic mapping|values in one document)",
)
"""What can be wrong with a body."""

REMARKS: Final = (
    r" request type -?\d+ not supported",
    r"the custom field <\w+> is null",
    r"crc32 not match",
    r"register broker failed",
    r"(namespace or key|value) is null",
    r"string2Properties error",
    r"[\w.]+ must (be|not) .*",
    r"a header field of more than \d+ characters",
    r"a KV value of more than \d+ bytes",
    r"the KV config (holds \d+ entries already|would hold more than \d+ bytes)",
    *IN_BODIES,
    *(f"Failed to decode RegisterBrokerBody: {each}" for each in IN_BODIES),
)
"""Every remark of a refusal; what stands for a dot is a number, or a short piece of what the peer sent."""


def is_of_the_fixed_set(remark: str) -> bool:
    """Whether a remark is one of ours, short, and gives nothing away."""
    gives_away = re.search(r"Traceback|Error\b|Exception|\.py\b|cosmodrome|msgspec|object at 0x|/[a-z]+/", remark)
    return len(remark) < 200 and gives_away is None and any(re.fullmatch(each, remark) for each in REMARKS)


ErrorPath = tuple[int, Mapping[str, str | None] | None, bytes]


def error_paths() -> Iterator[ErrorPath]:
    """Give requests that are refused, each in another way, without end; what can vary varies."""
    for number in itertools.count(1):
        text = f"{number}".encode()
        yield 29_000 + number % 50, None, b""
        yield REG, registration_ext(BROKER, crc=1), GOOD_BODY
        yield REG, registration_ext(BROKER) | {"brokerName": None}, GOOD_BODY
        yield REG, registration_ext(BROKER) | {"clusterName": "x" * 40_000}, GOOD_BODY
        yield REG, registration_ext(BROKER), b"{nonsense" + text
        yield REG, registration_ext(BROKER), b"[" * (2000 + number)
        yield REG, registration_ext(BROKER), b'{"topicConfigSerializeWrapper":' + text
        yield REG, registration_ext(BROKER), b'{"topicConfigSerializeWrapper":null}'
        yield REG, registration_ext(BROKER), GOOD_BODY.replace(b'"perm":6', b'"perm":"a' + text + b'"')
        yield REG, registration_ext(BROKER), GOOD_BODY.replace(b'"topicName"', b'"topic' + text + b'"')
        yield REG, registration_ext(BROKER), b"\x78" + text
        yield REG, registration_ext(BROKER), compressed_register_body(topics_named(f"a blank {number}"))
        yield REG, registration_ext(BROKER), compressed_register_body(topics_named("T"))[: 10 + number % 20]
        yield REG, registration_ext(BROKER), zlib.compress(VERSION + struct.pack(">i", 300_000 + number))
        yield UNREG, identity_ext(BROKER) | {"brokerId": "x" + str(number)}, b""
        yield HB, identity_ext(BROKER) | {"brokerAddr": None}, b""
        yield QDV, identity_ext(BROKER), b"{nonsense" + text
        yield QDV, identity_ext(BROKER), b'{"counter":"x' + text + b'"}'
        yield QDV, identity_ext(BROKER), b" " * 70_000
        yield REGTOPIC, {"topic": "T"}, b"[" + text
        yield REGTOPIC, {"topic": "T"}, b'{"queueDatas":[{"perm":' + text + b"}]}"
        yield REGTOPIC, {"topic": "T"}, b'{"queueDatas":' + text + b"}"
        yield PUTKV, {"namespace": "N", "key": "K"}, b""
        yield PUTKV, {"namespace": "N", "value": "V"}, b""
        yield PUTKV, {"namespace": "N", "key": "K", "value": "x" * 300_000}, b""
        yield CFGSET, None, b"scanNotActiveBrokerInterval=often" + text
        yield CFGSET, None, b"scanNotActiveBrokerInterval=\\u00zz" + text


def test_F101_a_thousand_faults_are_a_few_remarks_and_a_few_lines(tmp_path: Path, names: Names) -> None:
    paths = len(list(itertools.takewhile(lambda path: path[0] != 29_002, error_paths())))
    answers: Counter[int] = Counter()
    with ServerProcess(tmp_path, "--log-format=json") as server:
        rule = StandingRule(server)
        with Peer(server.address) as peer:
            before = memory_of(server.pid)
            for code, ext, body in itertools.islice(error_paths(), 1000 // paths * paths + paths):
                fields = dict(ext) if ext else None
                if fields and "bodyCrc32" in fields and fields["bodyCrc32"] == "0":
                    fields["bodyCrc32"] = str(crc32_masked(body))
                answer = peer.request(code, fields, body)
                answers[answer.code] += 1
                assert is_of_the_fixed_set(answer.remark or ""), (code, answer.remark)
            assert memory_of(server.pid) - before < 16 * MIB
        rule.check()
        told = log_lines(server, event="request.failed")
        assert len(told) <= 50 + paths, "one for each code and cause"
        assert set(answers) == {SYSTEM_ERROR, NOT_SUPPORTED}
        asked = sum(answers.values())
        assert asked >= 1000
    assert "Traceback" not in server.stderr
    told = log_lines(server, event="request.failed")
    assert sum(line.get("repeated") or 1 for line in told) == asked, "each is told or counted"
    assert len(told) <= 2 * (50 + paths)
    assert len(server.stderr) < 100_000
    assert {"unknown_code", "wrong_crc", "missing_field", "malformed_body", "over_limit", "long_name"} <= {
        line["cause"] for line in told
    }


def test_F101_questions_that_have_no_answer_cost_no_log(tmp_path: Path, names: Names) -> None:
    """Misses are told once a minute for each topic, and not more than a hundred topics."""
    with ServerProcess(tmp_path, "--log-format=json") as server, Peer(server.address) as peer:
        for number in range(1000):
            assert peer.request(ROUTE, {"topic": names(str(number % 200))}).code == NO_ROUTE
            assert peer.get_kv("N", str(number)).code == NOT_FOUND
            assert peer.heartbeat(names.broker(f"b{number}")).code == SUCCESS
    for event, asked in (("route.missed", 1000), ("heartbeat.unknown", 1000)):
        lines = log_lines(server, event=event)
        assert len(lines) <= 201
        told = sum(line.get("repeated") or 0 or (line["others"] + 1 if "others" in line else 1) for line in lines)
        assert told == asked
    assert len(server.stderr) < 200_000


def test_F101_a_fault_does_not_cost_the_server_more_than_a_question(own_server: StartServer, names: Names) -> None:
    """A thousand refused registrations against a thousand that are read, in the same run."""
    server = own_server()

    def taken_s(body: bytes, code: int) -> float:
        ext = registration_ext(names.broker(), crc=0)
        begin = time.monotonic()
        with Peer(server.address, timeout=60) as peer:
            peer.send(b"".join(encode_request(REG, ext, body, opaque=number) for number in range(1000)))
            assert {peer.read_answer().code for _ in range(1000)} == {code}
        return time.monotonic() - begin

    good_s = min(taken_s(GOOD_BODY, SUCCESS) for _ in range(2))
    bad_s = min(taken_s(GOOD_BODY[:-1], SYSTEM_ERROR) for _ in range(2))
    assert bad_s < 20 * good_s
