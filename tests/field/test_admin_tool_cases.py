"""Field cases about the administration command line."""

# ruff: noqa: N802  # case ids are written in capitals

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest
from tests.support.admin_tool import Double, Reply, Run, Tool, closed_port, peak_kib, silent_port
from tests.support.certificates import make_pair
from tests.support.field import Names, StartServer
from tests.support.peer import Peer, topics_named
from tests.support.server_process import ServerProcess
from tests.support.tls_wire import tls_keys
from tests.support.wire import Broker, dump

ALL_DONE: Final = 0
PARTLY: Final = 1
USAGE: Final = 2
NOT_FOUND: Final = 66
UNREACHABLE: Final = 69
NOT_READY: Final = 75
DENIED: Final = 77

LIMIT_S: Final = 2.0
"""What `--timeout` is in cases where a server does not answer."""
START_S: Final = 20.0
"""What a run may take beside its waits, on a busy machine."""

PUT: Final = ("updateKvConfig", "-s", "N", "-k", "K", "-v", "V")
MANY: Final = 50_000

Connect = Callable[[ServerProcess], Peer]
Trio = tuple[ServerProcess, ServerProcess, ServerProcess]


@pytest.fixture
def tool(tmp_path: Path) -> Tool:
    return Tool(tmp_path)


@pytest.fixture(scope="module")
def trio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trio]:
    """Three servers that know nothing of each other; the third one refuses writes from this host."""
    with contextlib.ExitStack() as stack:

        def start(**config: object) -> ServerProcess:
            return stack.enter_context(ServerProcess(tmp_path_factory.mktemp("trio"), config=config))

        yield start(), start(), start(adminPolicy="hardened", adminAllow="10.1.2.0/24")


@pytest.fixture(scope="module")
def by_name(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trio]:
    """Three servers on the same port of three addresses, as one name for all of them needs."""
    with contextlib.ExitStack() as stack:
        first = stack.enter_context(ServerProcess(tmp_path_factory.mktemp("by-name")))
        others = [
            stack.enter_context(
                ServerProcess(
                    tmp_path_factory.mktemp("by-name"), "--bindAddress", host, "--listenPort", str(first.port)
                )
            )
            for host in ("127.0.0.2", "127.0.0.3")
        ]
        yield first, others[0], others[1]


@pytest.fixture
def connected() -> Iterator[Connect]:
    """Open connections that last as long as the test: a broker is gone when its connection is closed."""
    with contextlib.ExitStack() as stack:
        yield lambda server: stack.enter_context(Peer(server.address, timeout=60))


def addresses(run: Run) -> list[str]:
    """Give the servers that a changing command names in its JSON document."""
    return [each["address"] for each in run.json["servers"]]


@pytest.mark.parametrize(
    "form",
    [
        "{a},{b}",
        "{a};{b}",
        "{a} {b}",
        " {a} ; {b} ,, ",
        "http://{a},http://{b}/",
        "{a}/;{b}/",
        "'{a};{b}'",
        "{a},{b},{a},HTTP://{b}",
        "{a}\\;{b}",
    ],
)
def test_F102_every_sensible_form_of_a_list_works(trio: Trio, tool: Tool, form: str) -> None:
    a, b = trio[0].address, trio[1].address
    run = tool(*PUT, "-n", form.format(a=a, b=b), "-o", "json")

    assert (run.code, run.err) == (ALL_DONE, "")
    assert addresses(run) == [a, b]


def test_F102_an_ipv6_address_stands_in_brackets(tmp_path: Path, tool: Tool) -> None:
    with ServerProcess(tmp_path / "six", "--bindAddress", "::1") as server:
        address = f"[::1]:{server.port}"
        run = tool(*PUT, "-n", f"http://{address}/", "-o", "json")

        assert (run.code, addresses(run)) == (ALL_DONE, [address])


@pytest.mark.parametrize(
    "bad", ["10.0.0.1:70000", "10.0.0.1:port", "::1:9876", "[::g]:1", "http://host/nsaddr", ":9876"]
)
def test_F102_a_bad_address_is_named_and_nothing_is_sent(trio: Trio, tool: Tool, bad: str) -> None:
    run = tool("deleteKvConfig", "-s", "N", "-k", "K", "-n", f"{trio[0].address},{bad}")

    assert (run.code, run.out) == (USAGE, "")
    assert repr(bad) in run.err
    assert trio[0].address not in run.err
    assert "do:  write HOST:PORT, several with a comma" in run.err


def test_F102_the_help_shows_a_form_that_needs_no_quoting(tool: Tool) -> None:
    run = tool("help", "topicRoute")

    assert run.code == ALL_DONE
    assert "10.0.0.1:9876,10.0.0.2:9876" in run.out


def test_F102_one_dead_server_of_three_is_reported_and_does_not_stop_the_others(trio: Trio, tool: Tool) -> None:
    a, b = trio[0].address, trio[1].address
    with closed_port() as dead:
        run = tool(*PUT, "-n", f"{a},{dead},{b}", "-o", "json")
        text = tool(*PUT, "-n", f"{a},{dead},{b}")

    assert (run.code, text.code) == (PARTLY, PARTLY)
    assert [(each["address"], each["ok"]) for each in run.json["servers"]] == [(a, True), (dead, False), (b, True)]
    assert run.json["servers"][1]["error"]["id"] == "NS-UNREACHABLE"
    assert "success" not in text.out
    assert text.out.splitlines() == [f"  {a} OK", f"  {dead} failed", f"  {b} OK"]
    assert f"nothing listens on {dead}" in text.err
    assert f"repeat the command for them alone: -n {dead}" in text.err


def test_F102_reading_takes_the_first_that_answers(trio: Trio, tool: Tool) -> None:
    with closed_port() as dead, silent_port() as silent:
        began = time.monotonic()
        run = tool("topicList", "-n", f"{dead},{silent},{trio[0].address}", "--timeout", "600")

    assert (run.code, run.err) == (ALL_DONE, "")
    assert time.monotonic() - began < START_S


def test_F103_an_empty_cluster_is_success_with_empty_tables(own_server: StartServer, tool: Tool) -> None:
    server = own_server()
    with Peer(server.address) as peer:
        assert peer.cluster().raw == {"brokerAddrTable": {}, "clusterAddrTable": {}}
    clusters = tool("clusterList", "-n", server.address)
    topics = tool("topicList", "-n", server.address)
    document = tool("clusterList", "-n", server.address, "-o", "json")

    assert clusters.code == topics.code == document.code == ALL_DONE
    assert clusters.out.startswith("#Cluster Name")
    assert len(clusters.out.splitlines()) == 1
    assert "no broker is registered" in clusters.err
    assert topics.out == ""
    assert document.json == {"brokers": []}


def test_F103_each_way_of_not_answering_has_its_own_message(server: ServerProcess, tmp_path: Path, tool: Tool) -> None:
    plain = server.address
    (tmp_path / "tls").mkdir()
    secured = ServerProcess(tmp_path / "secured", config=tls_keys(make_pair(tmp_path / "tls"), mode="enforcing"))
    unsecured = ServerProcess(tmp_path / "unsecured", config={"tls.server.mode": "disabled"})
    warming = ServerProcess(tmp_path / "warming", config={"needWaitForService": True, "waitSecondsForService": 600})

    def run(address: str, *flags: str) -> Run:
        began = time.monotonic()
        found = tool("topicRoute", "-t", "T", "-n", address, "--timeout", str(LIMIT_S), *flags)
        assert time.monotonic() - began < LIMIT_S + START_S
        assert found.out == ""
        return found

    with closed_port() as dead, silent_port() as silent, secured, unsecured, warming:
        runs = {
            "unknown topic": (run(plain), NOT_FOUND, "error[NS-NOT-FOUND]"),
            "closed": (run(dead), UNREACHABLE, "nothing listens on"),
            "silent": (run(silent), NOT_READY, "accepts connections and does not answer"),
            "TLS wanted": (run(secured.address), UNREACHABLE, "takes TLS connections only"),
            "TLS refused": (run(unsecured.address, "--tls"), UNREACHABLE, "does not speak TLS"),
            "warm-up": (run(warming.address), NOT_READY, "is not ready yet"),
            "unknown host": (run("no-such-host.invalid"), UNREACHABLE, "the name cannot be looked up"),
        }
        assert run(secured.address, "--tls").code == NOT_FOUND, "with TLS the question is answered"
        untrusted = run(secured.address, "--tls-trust", str(make_pair(tmp_path).cert))
        assert "is not trusted" in untrusted.err

    for name, (found, code, text) in runs.items():
        assert (name, found.code) == (name, code), found.err
        assert text in found.err, name
        assert "  why: " in found.err, name
        assert "  do:  " in found.err, name
        assert "Traceback" not in found.err, name
    firsts = {found.err.splitlines()[0] for found, _, _ in runs.values()}
    assert len(firsts) == len(runs)


@pytest.mark.parametrize(
    "value",
    ["a b  c ", "line 1\nline 2\n\nline 4", "消息队列 café 🚀", "", "a=b;c:d#e!\\n\\", '{"json": [1, 2]}'],
    ids=["blanks", "newlines", "chinese", "empty", "special", "json"],
)
def test_F105_a_value_comes_back_as_it_went_in(server: ServerProcess, names: Names, tool: Tool, value: str) -> None:
    where = ("-s", names("N"), "-n", server.address)
    assert tool("updateKvConfig", *where, "-k", "K", "-v", value).code == ALL_DONE
    text = tool("getKvConfig", *where, "-k", "K")
    document = tool("getKvConfig", *where, "-k", "K", "-o", "json")
    listed = tool("listKvConfig", *where, "-o", "json")
    with Peer(server.address) as peer:
        assert peer.get_kv(names("N"), "K").ext == {"value": value}

    assert (text.code, text.out) == (ALL_DONE, f"{value}\n")
    assert document.json == {"namespace": names("N"), "key": "K", "value": value}
    assert listed.json == {"namespace": names("N"), "entries": [{"key": "K", "value": value}]}
    assert tool("deleteKvConfig", *where, "-k", "K").code == ALL_DONE
    gone = tool("getKvConfig", *where, "-k", "K")
    assert (gone.code, gone.out) == (NOT_FOUND, "")
    assert tool("listKvConfig", *where).out.splitlines() == ["#Key" + " " * 46 + "#Value"]


def test_F105_a_namespace_that_never_was_is_not_found(server: ServerProcess, names: Names, tool: Tool) -> None:
    run = tool("listKvConfig", "-s", names("never"), "-n", server.address)

    assert run.code == NOT_FOUND
    assert names("never") in run.err


def test_F105_a_partial_write_is_reported_per_server_and_can_be_repeated(trio: Trio, tool: Tool) -> None:
    a, b, refusing = (server.address for server in trio)
    everywhere = ("-n", f"{a},{b},{refusing}")
    run = tool("updateKvConfig", "-s", "P", "-k", "K", "-v", "V", *everywhere, "-o", "json")
    error = run.json["servers"][2].pop("error")

    assert run.code == PARTLY
    assert run.json["servers"][:2] == [{"address": a, "ok": True}, {"address": b, "ok": True}]
    assert (error["id"], error["code"]) == ("NS-DENIED", 16)
    assert f"-n {refusing}" in run.err
    for address in (a, b):
        assert tool("getKvConfig", "-s", "P", "-k", "K", "-n", address).out == "V\n"
    assert not (trio[2].folder / "data" / "kvConfig.json").exists()
    alone = tool("updateKvConfig", "-s", "P", "-k", "K", "-v", "V", "-n", refusing)
    assert (alone.code, alone.out) == (DENIED, "")
    assert "adminAllow" in alone.err
    deleted = tool("deleteKvConfig", "-s", "P", "-k", "K", *everywhere)
    assert deleted.code == PARTLY
    assert tool("getKvConfig", "-s", "P", "-k", "K", "-n", a).code == NOT_FOUND


def test_F106_changes_go_to_every_address_of_a_name(
    by_name: Trio, tmp_path: Path, names: Names, connected: Connect
) -> None:
    port = by_name[0].port
    tool = Tool(tmp_path).resolving({"mq.example": ["127.0.0.1", "127.0.0.2", "127.0.0.3"]})
    peers = [connected(server) for server in by_name]
    for peer in peers:
        peer.registered(names.broker(), topics_named("T", "U"))
    all_three = [f"127.0.0.{number}:{port}" for number in (1, 2, 3)]
    at = ("-n", f"mq.example:{port}", "-o", "json")

    changes = [
        tool("updateKvConfig", "-s", names("N"), "-k", "K", "-v", "V", *at),
        tool("wipeWritePerm", "-b", names("broker-a"), *at),
        tool("updateNamesrvConfig", "-k", "enableTopicList", "-v", "false", *at),
        tool("deleteTopic", "-t", "T", "-c", names("C"), "--nameServersOnly", *at),
    ]
    for change in changes:
        assert (change.code, addresses(change)) == (ALL_DONE, all_three), change.err
    for peer in peers:
        assert peer.get_kv(names("N"), "K").ext == {"value": "V"}
        assert peer.route("T") is None
        assert peer.routed("U").perms == {names("broker-a"): 4}
        assert peer.request(224, {"cluster": names("C")}).remark == "disable"


def test_F106_a_name_is_looked_up_at_every_run(by_name: Trio, tmp_path: Path, names: Names) -> None:
    at = ("-n", f"mq.example:{by_name[0].port}", "-o", "json")
    before = Tool(tmp_path).resolving({"mq.example": ["127.0.0.1"]})(*PUT[:1], "-s", names("N"), *PUT[3:], *at)
    after = Tool(tmp_path).resolving({"mq.example": ["127.0.0.2", "127.0.0.3"]})("getNamesrvConfig", *at)

    assert [address.partition(":")[0] for address in addresses(before)] == ["127.0.0.1"]
    assert [address.partition(":")[0] for address in addresses(after)] == ["127.0.0.2", "127.0.0.3"]


def test_F107_names_are_whole_and_filters_tell_kinds_apart(
    own_server: StartServer, tool: Tool, connected: Connect
) -> None:
    server = own_server()
    longest = "L" * 255
    kinds = {
        "user": ["order-events", longest, "rmq-mine"],
        "retry": ["%RETRY%" + "g" * 200],
        "dlq": ["%DLQ%g"],
        "system": ["TBW102", "SCHEDULE_TOPIC_XXXX", "rmq_sys_REVIVE_LOG_C", "C", "broker-a", "C_REPLY_TOPIC"],
    }
    everything = sorted(name for names in kinds.values() for name in names)
    connected(server).registered(Broker(name="broker-a", cluster="C"), topics_named(*everything))

    plain = tool("topiclist", "-n", server.address)
    assert (plain.code, plain.out.splitlines()) == (ALL_DONE, everything)
    for kind, names in kinds.items():
        run = tool("topicList", f"--{kind}", "-n", server.address)
        assert (kind, run.out.splitlines()) == (kind, sorted(names))
        rows = tool("topicList", f"--{kind}", "-n", server.address, "-o", "ndjson").rows
        assert rows == [{"topic": name, "kind": kind} for name in sorted(names)]
    both = tool("topicList", "--retry", "--dlq", "-n", server.address, "-o", "json").json
    assert [each["topic"] for each in both["topics"]] == sorted(kinds["retry"] + kinds["dlq"])
    table = tool("topicList", "-c", "-n", server.address).out
    assert f"{'C':<20}  {longest}  " in table
    assert "%RETRY%" not in table


def test_F107_many_topics_go_to_a_file_in_steady_memory(
    own_server: StartServer, tmp_path: Path, connected: Connect
) -> None:
    server = own_server()
    names = [f"topic-{number:05d}-{'x' * 40}" for number in range(MANY)]
    peer = connected(server)
    peer.registered(Broker(), topics_named(*names[:2]))
    few = peak_kib("admin", "topicList", "-n", server.address, folder=tmp_path, out=tmp_path / "few")
    peer.registered(Broker(), topics_named(*names), version=2)
    many = peak_kib("admin", "topicList", "-n", server.address, folder=tmp_path, out=tmp_path / "many")
    rows = peak_kib(
        *("admin", "topicList", "--user", "-o", "ndjson", "-n", server.address),
        folder=tmp_path,
        out=tmp_path / "rows",
    )

    assert (tmp_path / "many").read_text(encoding="utf-8").splitlines() == names
    assert len((tmp_path / "rows").read_text(encoding="utf-8").splitlines()) == MANY
    assert max(many, rows) - few < 25_000, "the names are 3 MB, in the answer and once as texts"


def test_F108_one_cluster_can_be_listed_and_an_unknown_one_is_named(
    own_server: StartServer, tool: Tool, connected: Connect
) -> None:
    server = own_server()
    for number in (1, 2, 3):
        broker = Broker(name=f"broker-{number}", cluster=f"C{number}", addr=f"127.0.0.1:{number}")
        connected(server).registered(broker, topics_named("T", "U"))
    everything = tool("clusterList", "-n", server.address, "-o", "json")
    one = tool("clusterList", "-c", "C2", "-n", server.address)
    unknown = tool("clusterList", "-c", "nope", "-n", server.address)

    assert [(each["cluster"], each["broker_name"]) for each in everything.json["brokers"]] == [
        (f"C{number}", f"broker-{number}") for number in (1, 2, 3)
    ]
    assert len(one.out.splitlines()) == 2
    assert one.out.splitlines()[1].split()[:5] == ["C2", "broker-2", "0", "127.0.0.1:2", "unreachable"]
    assert (unknown.code, unknown.out) == (NOT_FOUND, "")
    assert "there is no cluster 'nope'" in unknown.err
    assert "known are: C1, C2, C3" in unknown.err


def test_F123_equal_content_has_an_equal_digest_whatever_the_order(
    tmp_path: Path, tool: Tool, connected: Connect
) -> None:
    names = [f"T{number}" for number in range(30)]
    with ServerProcess(tmp_path / "1") as first, ServerProcess(tmp_path / "2") as second:
        for server, order in ((first, 1), (second, -1)):
            peer = connected(server)
            for name in ("b1", "b2", "b3")[::order]:
                host = f"10.0.0.{name[1]}"
                for id_ in (0, 1)[::order]:
                    broker = Broker(name=name, id=id_, addr=f"{host}:{10_911 + id_}", ha_addr=f"{host}:1")
                    peer.registered(broker, topics_named(*names[::order]))
        run = tool.cosmodrome("peers", "diff", "-n", f"{first.address},{second.address}", "-o", "json")
        text = tool.cosmodrome("peers", "diff", "-n", f"{first.address};{second.address}")

    assert (run.code, text.code) == (ALL_DONE, ALL_DONE), run.err
    one, two = run.json["servers"]
    assert (one["clusters"], one["brokers"], one["topics"]) == (1, 3, 30)
    assert one["digest"] == two["digest"]
    assert (run.json["is_equal"], run.json["differences"]) == (True, [])
    assert text.out.splitlines()[-1] == "no difference"


def test_F123_brokers_topics_and_routes_that_differ_are_named_in_one_poll(
    tmp_path: Path, tool: Tool, connected: Connect
) -> None:
    with ServerProcess(tmp_path / "1") as first, ServerProcess(tmp_path / "2") as second:
        at = {"n1": first.address, "n2": second.address}
        for server, second_broker in ((first, "b2"), (second, "b3")):
            peer = connected(server)
            peer.registered(Broker(name="b1", addr="10.0.0.1:10911"), topics_named("shared", "same"))
            more = topics_named("shared", f"only-{second_broker}")
            peer.registered(Broker(name=second_broker, addr=f"10.0.0.{second_broker[1]}:10911"), more)
        run = tool.cosmodrome("peers", "diff", "-n", f"{at['n1']},{at['n2']}", "-o", "json")
        text = tool.cosmodrome("peers", "diff", "-n", f"{at['n1']},{at['n2']}").out

    assert run.code == PARTLY
    one, two = run.json["servers"]
    assert one["digest"] != two["digest"]
    found = {(each["kind"], each["name"]): each["values"] for each in run.json["differences"]}
    assert found[("broker", "DefaultCluster/b2 id 0")] == {at["n1"]: "10.0.0.2:10911", at["n2"]: None}
    assert found[("broker", "DefaultCluster/b3 id 0")] == {at["n1"]: None, at["n2"]: "10.0.0.3:10911"}
    assert found[("topic", "only-b2")][at["n2"]] is None
    assert found[("topic", "only-b3")][at["n1"]] is None
    assert ("route", "shared") in found
    assert len(found) == 5, "what is the same is not listed"
    assert f"  broker DefaultCluster/b2 id 0: missing at {at['n2']}" in text
    assert f"  topic only-b3: missing at {at['n1']}" in text


def test_F123_a_server_of_an_old_release_can_be_compared(tmp_path: Path, tool: Tool, connected: Connect) -> None:
    """4.8.0 and older write bare integer keys, spell a flag otherwise, and know no acting masters."""
    broker = b'{"brokerAddrs":{0:"10.9.0.1:1"},"brokerName":"old","cluster":"C"}'
    queue = b'{"brokerName":"old","perm":6,"readQueueNums":8,"topicSynFlag":0,"writeQueueNums":8}'
    answers = {
        106: Reply(body=b'{"brokerAddrTable":{"old":' + broker + b'},"clusterAddrTable":{"C":["old"]}}'),
        206: Reply(body=dump({"topicList": ["U", "T"]})),
        105: Reply(body=b'{"brokerDatas":[' + broker + b'],"filterServerTable":{},"queueDatas":[' + queue + b"]}"),
    }
    with ServerProcess(tmp_path / "new") as server, Double(answers) as old:
        peer = connected(server)
        peer.registered(Broker(name="old", cluster="C", addr="10.9.0.1:1"), topics_named("T", "U"))
        same = tool.cosmodrome("peers", "diff", "-n", f"{server.address},{old.address}", "-o", "json")
        peer.wipe("old")
        wiped = tool.cosmodrome("peers", "diff", "-n", f"{server.address},{old.address}", "-o", "json")

    assert (same.code, same.json["is_equal"]) == (ALL_DONE, True), same.out
    assert [(each["kind"], each["name"]) for each in wiped.json["differences"]] == [("route", "T"), ("route", "U")]


def test_F123_a_server_that_does_not_answer_is_no_difference(server: ServerProcess, tool: Tool) -> None:
    with closed_port() as dead:
        run = tool.cosmodrome("peers", "diff", "-n", f"{server.address},{dead}", "-o", "json")
    alone = tool.cosmodrome("peers", "diff", "-n", server.address)

    assert run.code == PARTLY
    assert run.json["is_equal"] is None
    assert f"nothing listens on {dead}" in run.err
    assert alone.code == USAGE
