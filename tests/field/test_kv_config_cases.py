"""Field cases about the KV table, its file, and the warm-up of routes."""

# ruff: noqa: N802  # case ids are written in capitals

import contextlib
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest
from tests.support.disk_trouble import no_room
from tests.support.field import Names, StartServer
from tests.support.peer import MASTER, NOT_FOUND, SUCCESS, SYSTEM_ERROR, Peer, topics_named
from tests.support.server_log import wait_for_line
from tests.support.server_process import ServerProcess
from tests.support.waiting import wait_until
from tests.support.wire import Answer

Fault = Callable[[ServerProcess, Path], contextlib.AbstractContextManager[None]]

WARM_UP_S: Final = 1


@pytest.mark.parametrize("missing", ["namespace", "key", "value"])
def test_F047_a_put_that_lacks_something_stores_nothing(own_server: StartServer, tmp_path: Path, missing: str) -> None:
    fields: dict[str, str | None] = {"namespace": "N", "key": "K", "value": "V"}
    server = own_server()
    with Peer(server.address) as peer:
        answer = peer.put_kv(**fields | {missing: None})
        assert (answer.code, answer.body) == (SYSTEM_ERROR, b"")
        assert answer.remark
        assert peer.get_kv("N", "K").code == NOT_FOUND
        assert peer.list_kv("N").code == NOT_FOUND
        assert not (tmp_path / "data" / "kvConfig.json").exists()
        assert peer.put_kv("N", "other", "V").code == SUCCESS
        assert peer.put_kv(**fields | {missing: None}).code == SYSTEM_ERROR
        assert peer.list_kv("N").json() == {"table": {"other": "V"}}
    with Peer(own_server().address) as peer:
        assert peer.get_kv("N", "K").code == NOT_FOUND
        assert peer.list_kv("N").json() == {"table": {"other": "V"}}
    assert "null" not in (tmp_path / "data" / "kvConfig.json").read_text(encoding="utf-8")


def test_F047_an_empty_value_is_a_value(own_server: StartServer, pytestconfig: pytest.Config) -> None:
    """As in Apache RocketMQ NameServer 5.5.0. In the binary header codec an empty value means a missing one."""
    server = own_server()
    with Peer(server.address) as peer:
        assert peer.put_kv("N", "K", "").code == SUCCESS
        assert (peer.get_kv("N", "K").code, peer.get_kv("N", "K").ext) == (SUCCESS, {"value": ""})
        assert peer.list_kv("N").body == b'{"table":{"K":""}}'
        binary = peer.request(100, {"namespace": "N", "key": "K2", "value": ""}, codec="ROCKETMQ")
        assert binary.code == SYSTEM_ERROR
    with Peer(own_server().address) as peer:
        assert (peer.get_kv("N", "K").code, peer.get_kv("N", "K").ext) == (SUCCESS, {"value": ""})
        assert peer.list_kv("N").body == b'{"table":{"K":""}}'
    assert "F047" in (pytestconfig.rootpath / "docs" / "compatibility.md").read_text(encoding="utf-8")


def test_F048_what_is_not_there_is_not_found(server: ServerProcess, names: Names) -> None:
    """All answers were recorded from Apache RocketMQ NameServer 5.5.0."""
    namespace, unknown = names("N"), names("unknown")

    def is_not_found(answer: Answer, namespace: str, key: str) -> None:
        assert (answer.code, answer.ext or {}, answer.body) == (NOT_FOUND, {}, b"")
        assert answer.remark == f"No config item, Namespace: {namespace} Key: {key}"

    with Peer(server.address) as peer:
        is_not_found(peer.get_kv(unknown, "K"), unknown, "K")
        never = peer.list_kv(unknown)
        assert (never.code, never.remark, never.body) == (NOT_FOUND, f"No config item, Namespace: {unknown}", b"")

        assert peer.put_kv(namespace, "K", "V").code == SUCCESS
        is_not_found(peer.get_kv(namespace, "other"), namespace, "other")
        assert peer.delete_kv(namespace, "K").code == SUCCESS
        is_not_found(peer.get_kv(namespace, "K"), namespace, "K")
        emptied = peer.list_kv(namespace)
        assert (emptied.code, emptied.remark, emptied.body) == (SUCCESS, None, b'{"table":{}}')
        assert peer.delete_kv(namespace, "K").code == SUCCESS, "deleting again changes nothing and is no error"
        assert peer.delete_kv(unknown, "K").code == SUCCESS
        assert peer.list_kv(unknown).code == NOT_FOUND


@pytest.mark.parametrize("content", [None, b"", b"  \n\t \n"], ids=["missing folder", "no bytes", "only spaces"])
def test_F049_a_fresh_or_empty_file_means_no_entries(
    own_server: StartServer, tmp_path: Path, names: Names, content: bytes | None
) -> None:
    path = tmp_path / "not" / "there" / "kvConfig.json"
    if content is not None:
        path.parent.mkdir(parents=True)
        path.write_bytes(content)
    server = own_server(kvConfigPath=path)
    with Peer(server.address) as peer:
        assert peer.list_kv("N").code == NOT_FOUND
        _routes(peer, names)
        assert peer.put_kv("N", "K", "V").code == SUCCESS
        assert json.loads(path.read_bytes()) == {"configTable": {"N": {"K": "V"}}}
    with Peer(own_server(kvConfigPath=path).address) as peer:
        assert peer.get_kv("N", "K").ext == {"value": "V"}


def test_F049_an_unusable_path_fails_writes_and_nothing_else(
    own_server: StartServer, tmp_path: Path, names: Names
) -> None:
    path = tmp_path / "kv"
    (path / "something").mkdir(parents=True)
    for _ in ("first start", "restart"):
        server = own_server(kvConfigPath=path)
        with Peer(server.address) as peer:
            refused = peer.put_kv("N", "K", "V")
            assert (refused.code, refused.body) == (SYSTEM_ERROR, b"")
            assert "stored" in (refused.remark or "")
            assert peer.get_kv("N", "K").code == NOT_FOUND
            assert peer.list_kv("N").code == NOT_FOUND
            wait_for_line(server, str(path), level="ERROR")
            _routes(peer, names)


@contextlib.contextmanager
def _no_way_in(_: ServerProcess, folder: Path) -> Iterator[None]:
    """Put a folder where the file was; it cannot be replaced by a file, not even by root."""
    path, away = folder / "kvConfig.json", folder / "away.json"
    path.rename(away)
    (path / "something").mkdir(parents=True)
    yield
    (path / "something").rmdir()
    path.rmdir()
    away.rename(path)


@contextlib.contextmanager
def _no_folder(_: ServerProcess, folder: Path) -> Iterator[None]:
    """Put a file where the folder was."""
    away = folder.with_name("away")
    folder.rename(away)
    folder.write_bytes(b"")
    yield
    folder.unlink()
    away.rename(folder)


@pytest.mark.parametrize("fault", [no_room, _no_way_in, _no_folder])
def test_F051_a_change_that_cannot_be_saved_is_not_made(own_server: StartServer, tmp_path: Path, fault: Fault) -> None:
    folder = tmp_path / "kv"
    path = folder / "kvConfig.json"
    server = own_server(kvConfigPath=path, auditLog="off")
    with Peer(server.address) as peer:
        assert peer.put_kv("N", "old", "1").code == SUCCESS
        on_disk = path.read_bytes()
        with fault(server, folder):
            for _ in range(3):
                refused = [peer.put_kv("N", "new", "2"), peer.put_kv("N", "old", "2"), peer.put_kv("N2", "new", "2")]
                refused.append(peer.delete_kv("N", "old"))
                assert [answer.code for answer in refused] == [SYSTEM_ERROR] * 4
                assert all("stored" in (answer.remark or "") for answer in refused), "a write failure, and named so"
                assert peer.get_kv("N", "old").ext == {"value": "1"}
                assert peer.get_kv("N", "new").code == NOT_FOUND
                assert peer.list_kv("N").body == b'{"table":{"old":"1"}}'
                assert peer.list_kv("N2").code == NOT_FOUND
            wait_for_line(server, "cannot write", str(path), level="ERROR")  # repeats are counted, not printed
        assert path.read_bytes() == on_disk
        assert {each.name for each in folder.iterdir()} <= {path.name, f"{path.name}.bak"}, (
            "nothing half-written is left"
        )
        assert peer.put_kv("N", "new", "3").code == SUCCESS, "it heals without a restart"
        assert peer.delete_kv("N", "old").code == SUCCESS
        assert peer.list_kv("N").body == b'{"table":{"new":"3"}}'
    with Peer(own_server(kvConfigPath=path).address) as peer:
        assert peer.list_kv("N").body == b'{"table":{"new":"3"}}'
        assert peer.list_kv("N2").code == NOT_FOUND


def test_F055_routes_are_refused_until_the_warm_up_is_over(own_server: StartServer, names: Names) -> None:
    began = time.monotonic()
    server = own_server(needWaitForService=True, waitSecondsForService=WARM_UP_S)
    ready = time.monotonic()
    broker, topic, unknown = names.broker(), names("T"), names("unknown")
    with Peer(server.address) as peer, Peer(server.address) as client:
        peer.registered(broker, topics_named(topic, names("U")))
        assert client.cluster().brokers == {broker.name: {MASTER: broker.addr}}
        assert sorted(client.topics()) == [topic, names("U")]
        assert client.put_kv("N", "K", "V").code == SUCCESS
        last_refused = ready

        def has_opened() -> bool:
            nonlocal last_refused
            answers = [client.ask_route(name) for name in (topic, unknown)]
            is_refused = [answer.code == SYSTEM_ERROR for answer in answers]
            if all(is_refused):
                assert {answer.remark for answer in answers} == {"name server not ready"}
                assert {answer.body for answer in answers} == {b""}
                last_refused = time.monotonic()
            return not any(is_refused)

        wait_until(has_opened, "the end of the warm-up", within_s=WARM_UP_S + 3)
        opened = time.monotonic()
        assert opened >= began + WARM_UP_S
        assert ready < last_refused <= ready + WARM_UP_S + 0.5
        assert opened <= ready + WARM_UP_S + 1
        assert client.routed(topic).brokers == {broker.name: {MASTER: broker.addr}}
        assert client.route(unknown) is None, "17, as ever"


def test_F055_without_brokers_the_warm_up_ends_as_well(own_server: StartServer, names: Names) -> None:
    server = own_server(needWaitForService=True, waitSecondsForService=WARM_UP_S)
    with Peer(server.address) as client:
        assert client.ask_route(names("T")).code == SYSTEM_ERROR
        wait_until(
            lambda: client.ask_route(names("T")).code != SYSTEM_ERROR, "the end of the warm-up", within_s=WARM_UP_S + 3
        )
        assert client.route(names("T")) is None


def test_F055_the_warm_up_can_be_switched_at_run_time(own_server: StartServer, names: Names) -> None:
    server = own_server(needWaitForService=True, waitSecondsForService=600)
    broker, topic = names.broker(), names("T")
    with Peer(server.address) as peer:
        peer.registered(broker, topics_named(topic, names("U")))

        def is_refused() -> bool:
            answer = peer.ask_route(topic)
            return (answer.code, answer.remark) == (SYSTEM_ERROR, "name server not ready")

        assert is_refused()
        for changes, refuses in (
            ({"needWaitForService": False}, False),
            ({"needWaitForService": True}, True),
            ({"waitSecondsForService": 0}, False),
            ({"waitSecondsForService": 600}, True),
            ({"needWaitForService": False, "waitSecondsForService": 45}, False),
        ):
            assert peer.change_config(**changes).code == SUCCESS
            assert is_refused() is refuses, changes
        assert peer.routed(topic).brokers == {broker.name: {MASTER: broker.addr}}


def _routes(peer: Peer, names: Names) -> None:
    broker = names.broker()
    peer.registered(broker, topics_named(names("T"), names("U")))
    assert peer.routed(names("T")).brokers == {broker.name: {MASTER: broker.addr}}
