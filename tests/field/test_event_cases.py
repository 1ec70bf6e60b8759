"""Field cases about what happens without a word: told as an event, counted, and seen from the command line."""

# ruff: noqa: N802  # case ids are written in capitals

import json
import subprocess
import urllib.request
from typing import Any, Final

from tests.support.field import Names, StartServer
from tests.support.peer import ROUTE, SUCCESS, Peer, topics_named
from tests.support.server_log import wait_for_line
from tests.support.server_process import COMMAND, ServerProcess, server_environment
from tests.support.waiting import wait_until

HTTP: Final = "--http=127.0.0.1:0"
ENOUGH_S: Final = 60.0


def ask(server: ServerProcess, path: str) -> str:
    """Ask over HTTP, at a server that was started with HTTP."""
    address = wait_for_line(server, event="http.listening")["address"]
    with urllib.request.urlopen(f"http://{address}{path}", timeout=ENOUGH_S) as answer:
        text: str = answer.read().decode()
    return text


def told(server: ServerProcess, query: str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = json.loads(ask(server, f"/api/v1/history?{query}"))["items"]
    return items


def count(server: ServerProcess, event: str) -> float:
    name = f'rocketmq_namesrv_events_total{{event="{event}"}}'
    return sum(float(line.split()[-1]) for line in ask(server, "/metrics").splitlines() if line.startswith(name))


def test_F036_heartbeats_of_an_unknown_broker_are_told_once_and_all_counted(
    shared_server: StartServer, names: Names
) -> None:
    server = shared_server(HTTP)
    unknown = names.broker("unknown", addr=f"{names('host')}:10911")
    before = count(server, "heartbeat.unknown")
    with Peer(server.address) as peer:
        for _ in range(5):
            assert peer.heartbeat(unknown).code == SUCCESS

        (event,) = [item for item in told(server, "type=heartbeat") if item["addr"] == unknown.addr]
        assert (event["level"], event["cluster"], event["peer"]) == ("WARN", unknown.cluster, peer.local_address)
    assert count(server, "heartbeat.unknown") == before + 5


def test_F054_order_settings_of_a_topic_are_events_of_that_topic(shared_server: StartServer, names: Names) -> None:
    server = shared_server(HTTP)
    topic = names("T")
    with Peer(server.address) as peer:
        assert peer.put_kv("ORDER_TOPIC_CONFIG", topic, "broker-a:4;broker-b:4").code == SUCCESS
        assert peer.put_kv(names("N"), topic, "of something else").code == SUCCESS
        assert peer.delete_kv("ORDER_TOPIC_CONFIG", topic).code == SUCCESS

        items = told(server, f"topic={topic}")
        assert [(item["event"], item["namespace"]) for item in items] == [
            ("kv.put", "ORDER_TOPIC_CONFIG"), ("kv.deleted", "ORDER_TOPIC_CONFIG"),
        ]  # fmt: skip
        assert "broker-a:4" not in json.dumps(items)


def test_what_happens_is_watched_from_the_command_line(shared_server: StartServer, names: Names) -> None:
    """A broker comes and is lost, a topic is asked for in vain; and who changed what can be undone."""
    server = shared_server(HTTP)
    address = wait_for_line(server, event="http.listening")["address"]
    environment = server_environment(server.folder)
    watch = (*COMMAND, "watch", "--http", address, "-o", "ndjson", "--count", "5")
    chosen = ("--broker", names("broker-a"), "--type", "broker,perm,topic")
    readers = read_by(server)
    with subprocess.Popen([*watch, *chosen], stdout=subprocess.PIPE, env=environment, text=True) as watching:
        wait_until(lambda: read_by(server) > readers, "the stream", ENOUGH_S)
        with Peer(server.address) as peer:
            peer.registered(names.broker(), topics_named(names("T"), names("U")))
            assert peer.request(205, {"brokerName": names("broker-a")}).code == SUCCESS
            line = json.loads(ask(server, f"/api/v1/audit?text={names('broker-a')}"))["items"][0]
            undo = (*COMMAND, "audit", "--http", address, "--undo", line["id"], "-q")
            assert subprocess.run(undo, env=environment, timeout=ENOUGH_S, check=False).returncode == 0
            assert peer.routed(names("T")).perms == {names("broker-a"): 6}
        output, _ = watching.communicate(timeout=ENOUGH_S)
    assert watching.returncode == 0
    events = [json.loads(text) for text in output.splitlines()]
    assert {event["event"] for event in events} == {
        "broker.registered", "topic.added", "perm.wiped", "perm.restored", "broker.unregistered",
    }  # fmt: skip
    numbers = [event["event_id"] for event in events]
    assert numbers == sorted(set(numbers))


def read_by(server: ServerProcess) -> float:
    """Give how many read streams of events."""
    lines = ask(server, "/metrics").splitlines()
    return next(float(line.split()[-1]) for line in lines if line.startswith("rocketmq_namesrv_event_subscribers"))


def test_a_miss_is_told_once_a_minute_for_each_topic(shared_server: StartServer, names: Names) -> None:
    server = shared_server(HTTP)
    before = count(server, "route.missed")
    with Peer(server.address) as peer:
        for topic in ("a", "a", "b", "a"):
            assert peer.request(ROUTE, {"topic": names(topic)}).code != SUCCESS

    assert len(told(server, f"type=route.missed&topic={names('a')}")) == 1
    assert len(told(server, f"type=route.missed&topic={names('b')}")) == 1
    assert count(server, "route.missed") == before + 4
