"""Every configuration key does what it says, in the real process: the keys that wait for the next start.

A request that changes one names it in its remark; the old value is in force until the restart, the new one after it.
"""

import contextlib
import http.server
import json
import signal
import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import pytest
from tests.interop.rig.ports import free_port
from tests.support.field import Names
from tests.support.field_brokers import Listener
from tests.support.peer import GETKV, NO_ROUTE, REGTOPIC, SUCCESS, SYSTEM_ERROR, Peer, queue_data, topics_named
from tests.support.server_log import wait_for_line
from tests.support.server_process import ServerProcess
from tests.support.shown_keys import When, change, is_waiting, listing, shows
from tests.support.waiting import wait_until
from tests.support.wire import FLAG_ONEWAY, Broker, dump, encode_request

NO_PERMISSION: Final = 16
SOON_S: Final = 10.0
QUIET_S: Final = 0.4
KIB: Final = 1024


@pytest.fixture
def names(request: pytest.FixtureRequest) -> Names:
    return Names(request.node.name)


class TestFiles:
    """Where things are kept."""

    @shows("kvConfigPath", when=When.START)
    def test_kv_entries(self, tmp_path: Path) -> None:
        path = tmp_path / "elsewhere" / "kv.json"
        for value in ("1", "2"):
            with ServerProcess(tmp_path, config={"kvConfigPath": path}) as server, Peer(server.address) as peer:
                assert listing(server)["kvConfigPath"] == str(path)
                assert (peer.get_kv("N", "K").code == SUCCESS) is (value == "2"), "read at the start"
                assert peer.put_kv("N", "K", value).code == SUCCESS
            assert path.read_text(encoding="utf-8") == f'{{"configTable":{{"N":{{"K":"{value}"}}}}}}'
        assert not (tmp_path / "data" / "kvConfig.json").exists()

    @shows("configStorePath", when=When.START)
    def test_changes(self, tmp_path: Path) -> None:
        path = tmp_path / "elsewhere" / "changes.properties"
        for is_again in (False, True):
            with ServerProcess(tmp_path, "--set", f"configStorePath={path}") as server:
                assert listing(server)["configStorePath"] == str(path)
                assert (listing(server)["enableTopicList"] == "false") is is_again, "read at the start"
                change(server, enableTopicList=False)
            assert path.read_text(encoding="utf-8") == "enableTopicList=false\n"
        assert not (tmp_path / "data" / "namesrv.properties").exists()

    def test_changes_of_a_server_with_a_file_stay_in_that_file(self, tmp_path: Path) -> None:
        config = {"enableTopicList": True, "configStorePath": tmp_path / "unused.properties"}
        with ServerProcess(tmp_path, config=config) as server:
            assert listing(server)["configStorePath"] == str(tmp_path / "start.properties")
            change(server, enableTopicList=False)
        assert "enableTopicList=false\n" in (tmp_path / "start.properties").read_text(encoding="utf-8")
        assert not (tmp_path / "unused.properties").exists()

    @shows("dataDir", when=When.START)
    def test_everything_whose_path_is_not_set(self, tmp_path: Path) -> None:
        folder = tmp_path / "mine"
        for is_again in (False, True):
            with ServerProcess(tmp_path, "--set", f"dataDir={folder}") as server, Peer(server.address) as peer:
                assert (peer.get_kv("N", "K").code == SUCCESS) is is_again
                assert (listing(server)["enableTopicList"] == "false") is is_again
                peer.put_kv("N", "K", "V")
                change(server, enableTopicList=False)
        assert {path.name for path in folder.iterdir()} >= {"kvConfig.json", "namesrv.properties"}
        assert not (tmp_path / "data").exists()


@shows("configBlackList", when=When.START)
def test_keys_that_the_operator_forbids(tmp_path: Path) -> None:
    with ServerProcess(tmp_path, config={"configBlackList": "enableTopicList;listenPort"}) as server:
        before = listing(server)
        with Peer(server.address) as peer:
            for key in ("enableTopicList", "listenPort", "configBlackList", "kvConfigPath"):
                answer = peer.change_config(**{"orderMessageEnable": True, key: "1"})
                assert (answer.code, answer.remark) == (NO_PERMISSION, "Can not update config in black list."), key
        assert listing(server) == before
        assert change(server, enableAllTopicList=False) == "", "other keys may be changed"


@shows("bindAddress", "listenPort", when=When.START)
@shows("bindAddress", "listenPort", when=When.RESTART)
def test_where_it_listens(tmp_path: Path) -> None:
    first, second = "127.83.0.1", "127.83.0.2"
    port = free_port()
    config = {"bindAddress": first, "listenPort": free_port()}
    with ServerProcess(tmp_path, config=config) as server:
        assert server.address == f"{first}:{config['listenPort']}"
        remark = change(server, bindAddress=second, listenPort=port)
        assert is_waiting(remark, "bindAddress")
        assert is_waiting(remark, "listenPort")
        with Peer(server.address) as peer:
            assert peer.topics() == []
        with pytest.raises(OSError, match="refused"):
            Peer(f"{second}:{port}")
    with ServerProcess(tmp_path, config=config) as server:
        assert server.address == f"{second}:{port}"
        with Peer(server.address) as peer:
            assert peer.topics() == []
        with pytest.raises(OSError, match="refused"):
            Peer(f"{first}:{port}")


@shows("serverSocketBacklog", when=When.START)
@shows("serverSocketBacklog", when=When.RESTART)
def test_how_many_connections_wait_to_be_accepted(tmp_path: Path) -> None:
    few, many, tried = 2, 40, 20
    config = {"serverSocketBacklog": few}
    with ServerProcess(tmp_path, config=config) as server:
        assert listing(server)["serverSocketBacklog"] == str(few)
        assert is_waiting(change(server, serverSocketBacklog=many), "serverSocketBacklog")
        assert let_in_while_stopped(server, tried) < few + 3
    with ServerProcess(tmp_path, config=config) as server:
        assert listing(server)["serverSocketBacklog"] == str(many)
        assert let_in_while_stopped(server, tried) == tried


def let_in_while_stopped(server: ServerProcess, tried: int) -> int:
    """Return how many of so many connections the kernel lets in while the process does not run."""
    host, _, port = server.address.rpartition(":")
    server.signal(signal.SIGSTOP)
    try:
        with contextlib.ExitStack() as stack:
            sockets = [stack.enter_context(socket.socket()) for _ in range(tried)]
            for each in sockets:
                each.setblocking(False)
                with contextlib.suppress(BlockingIOError):
                    each.connect((host, int(port)))
            return settled(lambda: sum(is_connected(each) for each in sockets))
    finally:
        server.signal(signal.SIGCONT)


def is_connected(connection: socket.socket) -> bool:
    try:
        connection.getpeername()
    except OSError:
        return False
    return True


def settled(value: Callable[[], int], quiet_polls: int = 6) -> int:
    """Return a number once it has not changed for so many looks at it."""
    seen: list[int] = []

    def is_settled() -> bool:
        seen.append(value())
        return len(seen) > quiet_polls and len(set(seen[-quiet_polls:])) == 1

    wait_until(is_settled, "a number to settle", 30)
    return seen[-1]


class TestBuffers:
    """How much a peer costs that asks and does not take its answers."""

    SMALL: Final = {
        "serverSocketSndBufSize": 8 * KIB,
        "serverSocketRcvBufSize": 8 * KIB,
        "writeBufferHighWaterMark": 64 * KIB,
        "writeBufferLowWaterMark": 32 * KIB,
    }
    LARGE_B: Final = 208 * KIB
    """Linux's own limit for what a program may set, unless the administrator has raised it."""
    DIFFERENCE_B: Final = 150 * KIB

    @pytest.mark.parametrize(
        ("key", "large"),
        [("serverSocketSndBufSize", LARGE_B), ("writeBufferHighWaterMark", 1024 * KIB)],
    )
    @shows("serverSocketSndBufSize", "writeBufferHighWaterMark", when=When.START)
    @shows("serverSocketSndBufSize", "writeBufferHighWaterMark", when=When.RESTART)
    def test_answers_that_are_made_in_advance(self, tmp_path: Path, names: Names, key: str, large: int) -> None:
        with ServerProcess(tmp_path, config=self.SMALL) as server:
            with Glutton(server, names) as glutton:
                small = glutton.settled_answer_bytes()
            assert is_waiting(change(server, **{key: large}), key)
            with Glutton(server, Names(names("again"))) as glutton:
                assert glutton.settled_answer_bytes() < small + self.DIFFERENCE_B, "not before the restart"
        with ServerProcess(tmp_path, config=self.SMALL) as server:
            assert listing(server)[key] == str(large)
            with Glutton(server, names) as glutton:
                assert glutton.settled_answer_bytes() > small + self.DIFFERENCE_B

    @shows("writeBufferLowWaterMark", when=When.START)
    @shows("writeBufferLowWaterMark", when=When.RESTART)
    def test_when_it_goes_on(self, tmp_path: Path, names: Names) -> None:
        """With a low mark near 0 after nearly all that waits was taken, with one near the high one much earlier."""
        high = 512 * KIB
        config = self.SMALL | {"writeBufferHighWaterMark": high, "writeBufferLowWaterMark": 1}
        with ServerProcess(tmp_path, config=config) as server:
            with Glutton(server, names) as glutton:
                assert glutton.taken_until_it_goes_on() > high * 3 // 4
            assert is_waiting(change(server, writeBufferLowWaterMark=high * 9 // 10), "writeBufferLowWaterMark")
        with ServerProcess(tmp_path, config=config) as server, Glutton(server, names) as glutton:
            assert glutton.taken_until_it_goes_on() < high * 3 // 4

    @shows("serverSocketRcvBufSize", when=When.START)
    @shows("serverSocketRcvBufSize", when=When.RESTART)
    def test_questions_that_wait(self, tmp_path: Path, names: Names) -> None:
        with ServerProcess(tmp_path, config=self.SMALL) as server:
            with Glutton(server, names) as glutton:
                small = glutton.questions_that_wait_bytes()
            assert is_waiting(change(server, serverSocketRcvBufSize=self.LARGE_B), "serverSocketRcvBufSize")
        with ServerProcess(tmp_path, config=self.SMALL) as server:
            assert listing(server)["serverSocketRcvBufSize"] == str(self.LARGE_B)
            with Glutton(server, names) as glutton:
                large = glutton.questions_that_wait_bytes()
                assert large > small + 50 * KIB


class Glutton:
    """A peer that asks for large answers and takes none of them, and an observer of how many were made.

    Behind each question it registers a topic of a number; the numbers that exist tell how far the server has come.
    """

    QUESTIONS: Final = 600
    PORTION: Final = 4 * KIB
    BIT: Final = 64 * KIB
    VALUE: Final = "x" * 8 * KIB

    def __init__(self, server: ServerProcess, names: Names) -> None:
        host, _, port = server.address.rpartition(":")
        self._names = names
        self._broker = names.broker()
        self._observer = Peer(server.address)
        self._socket = socket.socket()
        for option in (socket.SO_RCVBUF, socket.SO_SNDBUF):
            self._socket.setsockopt(socket.SOL_SOCKET, option, 4 * KIB)
        self._socket.connect((host, int(port)))
        self._socket.setblocking(False)
        self._unsent = b""

    def __enter__(self) -> Self:
        self._observer.registered(self._broker, topics_named(self._names("T"), self._names("U")))
        assert self._observer.put_kv("N", "large", self.VALUE).code == SUCCESS
        self._unsent = b"".join(self._question(number) for number in range(self.QUESTIONS))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()
        self._observer.close()

    def answer_bytes(self) -> int:
        """Ask as much as goes, and return how many bytes of answers have been made."""
        self._send()
        return (len(self._observer.topics_of(self._names("C"))) - 2) * len(self.VALUE)

    def settled_answer_bytes(self) -> int:
        """Ask as much as goes until nothing moves, and return the same."""
        return settled(self.answer_bytes)

    def questions_that_wait_bytes(self) -> int:
        """Ask as much as goes until nothing moves, and return how many bytes were sent."""
        whole = len(self._unsent)

        def sent() -> int:
            self._send()
            return whole - len(self._unsent)

        return settled(sent)

    def taken_until_it_goes_on(self) -> int:
        """Ask until nothing moves, then take answers bit by bit until more are made; return how much was taken."""
        made = self.settled_answer_bytes()
        taken = 0
        while self.settled_answer_bytes() == made:
            self._take(self.BIT)
            taken += self.BIT
        return taken

    def _take(self, size: int) -> None:
        self._socket.settimeout(SOON_S)
        while size > 0:
            size -= len(self._socket.recv(size))
        self._socket.setblocking(False)

    def _send(self) -> None:
        """Send what goes, in portions that the server answers one by one: it also writes portion by portion."""
        with contextlib.suppress(BlockingIOError):
            while self._unsent:
                self._unsent = self._unsent[self._socket.send(self._unsent[: self.PORTION]) :]
                self._observer.get_kv("N", "small")

    def _question(self, number: int) -> bytes:
        body = dump({"brokerDatas": [], "queueDatas": [queue_data(str(self._broker.name))]})
        topic = {"topic": self._names(f"made-{number}")}
        asked = encode_request(GETKV, {"namespace": "N", "key": "large"}, opaque=number)
        return asked + encode_request(REGTOPIC, topic, body, opaque=number, flag=FLAG_ONEWAY)


class AddressServer(http.server.ThreadingHTTPServer):
    """What tells Java's clients where the NameServers of an environment are."""

    def __init__(self) -> None:
        self.addresses: dict[str, str] = {}
        self.asked: list[str] = []
        super().__init__(("127.0.0.1", 0), _AddressHandler)
        self._thread = threading.Thread(target=self.serve_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self._thread.join(SOON_S)
        self.server_close()

    @property
    def domain(self) -> str:
        """Its `host:port`."""
        return f"127.0.0.1:{self.server_port}"


class _AddressHandler(http.server.BaseHTTPRequestHandler):
    server: AddressServer

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        text = self.server.addresses.get(self.path)
        self.send_response(404 if text is None else 200)
        self.end_headers()
        self.wfile.write((text or "").encode())

    def log_message(self, *_: object) -> None:
        pass


class TestProductEnvironment:
    """A test environment that finds the topics of another one."""

    @pytest.fixture
    def product(self, tmp_path: Path) -> Iterator[ServerProcess]:
        with ServerProcess(tmp_path / "product") as server:
            yield server

    @pytest.fixture
    def its_broker(self, product: ServerProcess, names: Names) -> Iterator[Broker]:
        broker = names.broker("product-broker", addr="192.0.2.7:10911")
        with Peer(product.address) as peer:
            peer.registered(broker, topics_named(names("T"), names("U")))
            yield broker

    @shows("clusterTest", when=When.START)
    @shows("clusterTest", when=When.RESTART)
    def test_whether_it_is_asked(
        self, tmp_path: Path, names: Names, product: ServerProcess, its_broker: Broker
    ) -> None:
        config = {"clusterTest": False}
        environment = {"NAMESRV_ADDR": f"127.0.0.1:1;{product.address}"}
        own = names.broker("own-broker")
        with ServerProcess(tmp_path, config=config, environment=environment) as server, Peer(server.address) as peer:
            assert peer.route(names("T")) is None
            assert is_waiting(change(server, clusterTest=True), "clusterTest")
            assert peer.route(names("T")) is None, "not before the restart"
        with ServerProcess(tmp_path, config=config, environment=environment) as server, Peer(server.address) as peer:
            peer.registered(own, topics_named(names("T-own"), names("U")))
            assert peer.routed(names("T")).brokers == {its_broker.name: {"0": its_broker.addr}}
            assert peer.routed(names("U")).brokers == {own.name: {"0": own.addr}}, "what is here comes from here"
            assert peer.route(names("nowhere")) is None
            assert names("T") not in peer.topics(), "only 105 is asked elsewhere"

    @shows("rocketmq.namesrv.domain", "rocketmq.namesrv.domain.subgroup", "productEnvName", when=When.START)
    @shows("productEnvName", when=When.LIVE)
    def test_where_it_is(self, tmp_path: Path, names: Names, product: ServerProcess, its_broker: Broker) -> None:
        with AddressServer() as address_server:
            there = "/rocketmq/mine-alpha?nofix=1"
            address_server.addresses[there] = f"{product.address};127.0.0.1:1\n"
            config = {
                "clusterTest": True,
                "productEnvName": "beta",
                "rocketmq.namesrv.domain": address_server.domain,
                "rocketmq.namesrv.domain.subgroup": "mine",
            }
            with ServerProcess(tmp_path, config=config) as server, Peer(server.address) as peer:
                assert peer.ask_route(names("T")).code == NO_ROUTE
                assert address_server.asked == ["/rocketmq/mine-beta?nofix=1"]
                assert change(server, productEnvName="alpha") == ""
                assert peer.routed(names("T")).brokers == {its_broker.name: {"0": its_broker.addr}}
                assert address_server.asked[1:] == [there]
            with ServerProcess(tmp_path, config=config) as server, Peer(server.address) as peer:
                assert peer.routed(names("T")).brokers == {its_broker.name: {"0": its_broker.addr}}
                assert peer.route(names("nowhere")) is None
                assert address_server.asked[2:] == [there], "its answer is kept for a while"

    def test_without_a_subgroup_it_is_nsaddr(self, tmp_path: Path, names: Names) -> None:
        with AddressServer() as address_server:
            config = {"clusterTest": True, "rocketmq.namesrv.domain": address_server.domain}
            with ServerProcess(tmp_path, config=config) as server, Peer(server.address) as peer:
                assert peer.ask_route(names("T")).code == NO_ROUTE
                assert address_server.asked == ["/rocketmq/nsaddr-center?nofix=1"]


@shows("rocketmq.serialize.type", when=When.START)
@pytest.mark.parametrize("kind", ["JSON", "ROCKETMQ"])
@pytest.mark.parametrize("source", ["file", "environment"])
def test_codec_of_what_it_sends_by_itself(tmp_path: Path, names: Names, kind: str, source: str) -> None:
    config: dict[str, object] = {"notifyMinBrokerIdChanged": True}
    of_file: dict[str, object] = {"rocketmq.serialize.type": kind} if source == "file" else {}
    of_environment = {"ROCKETMQ_SERIALIZE_TYPE": kind} if source == "environment" else {}
    with (
        ServerProcess(tmp_path, config=config | of_file, environment=of_environment) as server,
        Listener("127.0.0.2") as slave,
        Peer(server.address) as peer,
    ):
        assert f"The Name Server boot success. serializeType={kind}, address {server.address}" in server.stdout_lines
        for broker_id, address in enumerate(("192.0.2.1:10911", slave.address)):
            broker = names.broker("broker-a", broker_id, addr=address, enable_acting_master=True)
            peer.registered(broker, topics_named(names("T"), names("U")))
        peer.unreg(names.broker("broker-a", 0, addr="192.0.2.1:10911"))
        wait_until(lambda: slave.frames, "the notice", SOON_S)
        assert slave.frames[0].codec == kind
        assert (slave.frames[0].ext or {})["minBrokerAddr"] == slave.address
        assert peer.ask_route(names("T"), codec="JSON").codec == "JSON", "an answer has the codec of its request"
        assert peer.ask_route(names("T"), codec="ROCKETMQ").codec == "ROCKETMQ"


@shows("com.rocketmq.remoting.frameMaxLength", when=When.START)
def test_the_largest_frame(tmp_path: Path) -> None:
    limit = 4 * KIB
    with ServerProcess(
        tmp_path, config={"com.rocketmq.remoting.frameMaxLength": limit, "maxNameLength": limit}
    ) as server:
        bare = len(encode_request(REGTOPIC, {"topic": ""}, opaque=1))
        largest = encode_request(REGTOPIC, {"topic": "x" * (limit - bare)}, opaque=1)
        assert len(largest) == limit, "with the four bytes of its length"
        with Peer(server.address) as peer:
            peer.send(largest)
            assert peer.answer_to(1).code == SUCCESS
            peer.send(encode_request(REGTOPIC, {"topic": "x" * (limit - bare + 1)}, opaque=2))
            peer.expect_closed(SOON_S)
        with Peer(server.address) as peer:
            for number in range(2):
                assert peer.put_kv("N", str(number), "x" * (limit // 2)).code == SUCCESS
            answer = peer.list_kv("N")
            assert (answer.code, answer.body) == (SYSTEM_ERROR, b""), "peers have the same limit"
            assert peer.get_kv("N", "1").code == SUCCESS


@shows("http", when=When.START)
def test_where_probes_and_metrics_are(tmp_path: Path) -> None:
    with ServerProcess(tmp_path, config={"http": "127.0.0.1:0"}) as server:
        address = wait_for_line(server, event="http.listening")["address"]
        with urllib.request.urlopen(f"http://{address}/readyz", timeout=30) as answer:
            assert answer.read() == b"ok\n"
        with urllib.request.urlopen(f"http://{address}/metrics", timeout=30) as answer:
            assert b"rocketmq_nameserver_up 1" in answer.read()


@shows("metricsLabel", "metricsJavaNames", when=When.START)
def test_labels_and_names_of_metrics(tmp_path: Path) -> None:
    settings = {"http": "127.0.0.1:0", "metricsLabel": "region:eu,rack:7", "metricsJavaNames": "true"}
    with ServerProcess(tmp_path, config=settings) as server, Peer(server.address) as peer:
        peer.get_kv("N", "K")
        address = wait_for_line(server, event="http.listening")["address"]
        with urllib.request.urlopen(f"http://{address}/metrics", timeout=30) as answer:
            text = answer.read().decode()
        assert 'rocketmq_nameserver_up{region="eu",rack="7"} 1' in text
        assert 'rocketmq_rpc_latency_milliseconds_count{region="eu",rack="7",node_type="nameserver"' in text


def asked(server: ServerProcess, path: str, headers: Mapping[str, str], method: str = "GET") -> tuple[int, str]:
    """Ask over HTTP, and give the status and the code of the problem, if it is one."""
    address = wait_for_line(server, event="http.listening")["address"]
    request = urllib.request.Request(f"http://{address}{path}", method=method, headers=dict(headers))
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310  # ours
            return answer.status, ""
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.loads(error.read())["code"]


@shows("httpHosts", when=When.START)
def test_by_which_names_the_api_is_asked(tmp_path: Path) -> None:
    with ServerProcess(tmp_path, config={"httpHosts": "mq.example.com"}) as server:
        assert asked(server, "/api/v1/server", {"Host": "mq.example.com:19876"}) == (200, "")
        assert asked(server, "/api/v1/server", {"Host": "other.example.com"}) == (421, "unexpected_host")


@shows("httpToken", when=When.START)
def test_the_token_of_changes_from_elsewhere(tmp_path: Path) -> None:
    with ServerProcess(tmp_path, config={"httpToken": "a token"}) as server:
        elsewhere = {"X-Forwarded-For": "10.1.2.3"}
        assert asked(server, "/api/v1/kv/N/K", elsewhere, "DELETE") == (401, "bad_token")
        assert asked(server, "/api/v1/kv/N/K", elsewhere | {"Authorization": "Bearer a token"}, "DELETE") == (200, "")
        assert "a token" not in server.stderr


@shows("peerServers", when=When.START)
def test_which_other_servers_are_asked(tmp_path: Path, names: Names) -> None:
    with (
        ServerProcess(tmp_path / "other") as other,
        ServerProcess(tmp_path, config={"peerServers": other.address}) as server,
    ):
        with Peer(other.address) as peer:
            peer.registered(names.broker(), topics_named(names("T"), names("U")))
            address = wait_for_line(server, event="http.listening")["address"]
            with urllib.request.urlopen(f"http://{address}/api/v1/peers", timeout=30) as answer:
                (said,) = json.load(answer)["items"]
        assert (said["address"], said["reachable"], said["differences"]) == (other.address, True, 1)


@shows("shadow", when=When.START)
def test_where_questions_go_too(tmp_path: Path, names: Names) -> None:
    with (
        ServerProcess(tmp_path / "other") as other,
        ServerProcess(tmp_path, config={"shadow": other.address}) as server,
    ):
        with Peer(server.address) as peer:
            assert peer.route(names("T")) is None
        assert wait_for_line(other, event="route.missed", topic=names("T"))["peer"].startswith("127.0.0.1:")
