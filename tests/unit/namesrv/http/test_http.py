"""Probes and the registry over HTTP."""

import asyncio
import logging
from pathlib import Path

import httpx
import pytest
from tests.support import wire
from tests.support.builders import config_in, eventually
from tests.support.http_plane import Plane, plane

from cosmodrome.errors import BindError
from cosmodrome.http import plane as plane_module
from cosmodrome.http.paging import Page, SortedNames
from cosmodrome.namesrv.server import NameServer

MASTER = wire.Broker(name="a", cluster="C", id=0)


async def register(seen: Plane, names: list[str], broker: wire.Broker = MASTER) -> None:
    peer = await seen.wire()
    body = wire.register_body([wire.topic_config(name) for name in names])
    assert (await peer.request(103, wire.registration_ext(broker), body)).code == 0


async def test_probes_of_a_server_that_answers(tmp_path: Path) -> None:
    async with plane(tmp_path) as seen:
        for path in ("/livez", "/readyz", "/healthz"):
            answer = await seen.http.get(path)
            assert (answer.status_code, answer.text, answer.headers["cache-control"]) == (200, "ok\n", "no-store")
        assert (await seen.http.get("/readyz?verbose")).text.splitlines()[-1] == "ok"
        assert (await seen.http.get("/livez?verbose")).text.startswith("[+]")


async def test_a_server_that_waits_for_brokers_says_so(tmp_path: Path) -> None:
    async with plane(tmp_path, need_wait_for_service=True, wait_seconds_for_service=300) as seen:
        answer = await seen.http.get("/readyz")
        assert answer.status_code == 503
        assert "needWaitForService" in answer.text
        assert (await seen.http.get("/readyz?verbose")).text.count("[-]") == 1
        assert (await seen.http.get("/livez")).status_code == 200
        assert (await seen.metrics())["rocketmq_namesrv_ready{}"] == 0


async def test_a_server_that_is_being_drained_is_not_ready(tmp_path: Path) -> None:
    async with plane(tmp_path, enable_shutdown_gracefully=True, shutdown_wait_time_seconds=1) as seen:
        assert (await seen.http.get("/readyz")).status_code == 200
        stopping = asyncio.ensure_future(seen.run.server.stop())
        await eventually(lambda: "server.draining" in seen.run.names(), "the drain")

        answer = await seen.http.get("/readyz")
        assert (answer.status_code, answer.text) == (503, "draining\n")
        await stopping
        assert seen.run.server.http_address == ""


async def test_what_the_server_says_of_itself(tmp_path: Path) -> None:
    async with plane(tmp_path) as seen:
        await register(seen, ["T", "U"])
        said = await seen.json("/api/v1/server")

        assert said["address"] == seen.run.server.address
        assert (said["clusters"], said["brokers"], said["topics"], said["ready"]) == (1, 1, 2, True)
        assert said["started_at"].endswith("Z")


async def test_clusters_and_brokers(tmp_path: Path) -> None:
    async with plane(tmp_path) as seen:
        await register(seen, ["T", "U"])
        await register(seen, ["T", "U"], wire.Broker(name="a", cluster="C", id=1, addr="10.0.0.2:10911"))
        await register(seen, ["T", "U"], wire.Broker(name="b", cluster="D", addr="10.0.0.3:10911"))

        assert await seen.json("/api/v1/clusters") == {
            "items": [{"cluster": "C", "brokers": ["a"]}, {"cluster": "D", "brokers": ["b"]}]
        }
        first = await seen.json("/api/v1/brokers?limit=1")
        assert [group["broker"] for group in first["items"]] == ["a"]
        second = await seen.json(f"/api/v1/brokers?limit=1&cursor={first['next_cursor']}")
        assert ([group["broker"] for group in second["items"]], second["next_cursor"]) == (["b"], None)
        broker = await seen.json("/api/v1/brokers/a")
        assert [(each["id"], each["role"], each["address"]) for each in broker["members"]] == [
            (0, "master", "10.0.0.1:10911"),
            (1, "slave", "10.0.0.2:10911"),
        ]
        assert 0 < broker["members"][0]["expires_in_s"] <= 120
        assert (broker["cluster"], broker["topic_count"]) == ("C", 2)
        assert (await seen.json("/api/v1/brokers/nobody", 404))["code"] == "unknown_broker"


async def test_a_topic_and_its_route_are_what_clients_get(tmp_path: Path) -> None:
    async with plane(tmp_path) as seen:
        await register(seen, ["T", "%RETRY%g", "a/b"])
        peer = await seen.wire()

        topic = await seen.json("/api/v1/topics/T")
        assert topic == {
            "topic": "T",
            "brokers": [
                {"broker": "a", "read_queue_nums": 8, "write_queue_nums": 8, "perm": 6, "topic_sys_flag": 0},
            ],
        }
        for name, path in (("T", "T"), ("%RETRY%g", "%25RETRY%25g"), ("a/b", "a%2Fb")):
            assert await seen.json(f"/api/v1/topics/{path}/route") == (await peer.request(105, {"topic": name})).json()
        for path in ("/api/v1/topics/?/route", "/api/v1/topics/nothing", "/api/v1/topics/nothing/route"):
            assert (await seen.http.get(path)).status_code == 404


async def test_topics_come_in_pages(tmp_path: Path) -> None:
    async with plane(tmp_path) as seen:
        names = [f"T{number:04}" for number in range(250)]
        await register(seen, [*names, "A", "Z"])
        found: list[str] = []
        cursor: str | None = ""
        while cursor is not None:
            page = await seen.json(f"/api/v1/topics?limit=100&prefix=T&cursor={cursor}")
            found += page["items"]
            cursor = page["next_cursor"]
        assert found == names
        await register(seen, ["T0000a", "Z"], wire.Broker(name="b", addr="10.0.0.3:10911"))
        assert (await seen.json("/api/v1/topics?limit=1&cursor=T0000"))["items"] == ["T0000a"]


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=1001", "limit=x", "limit=-1", "limit=", "limit=٣", "cursor=" + "x" * 2000]
)
async def test_a_page_that_cannot_be_given_is_refused(tmp_path: Path, query: str) -> None:
    async with plane(tmp_path) as seen:
        for path in ("/api/v1/topics", "/api/v1/brokers"):
            problem = await seen.json(f"{path}?{query}", 400)
            assert problem["status"] == 400
            assert problem["detail"]


async def test_what_is_not_there_is_a_problem_too(tmp_path: Path) -> None:
    async with plane(tmp_path) as seen:
        assert (await seen.json("/favicon.ico", 404))["code"] == "no_such_path"
        refused = await seen.http.post("/metrics")
        assert (refused.status_code, refused.json()["code"], "GET" in refused.headers["allow"]) == (
            405,
            "no_such_method",
            True,
        )


async def test_without_an_address_there_is_no_listener(tmp_path: Path) -> None:
    async with NameServer(config_in(tmp_path)) as server:
        assert server.http_address == ""


async def test_an_address_that_is_taken_ends_the_start(tmp_path: Path) -> None:
    async with plane(tmp_path / "first") as seen:
        second = NameServer(config_in(tmp_path / "second", http=seen.run.server.http_address))
        with pytest.raises(BindError, match=seen.run.server.http_address):
            await second.start()
        assert second.address == "" or second.http_address == ""


async def test_who_connects_while_it_is_loaded_waits(tmp_path: Path) -> None:
    server = NameServer(config_in(tmp_path, http="127.0.0.1:0"))
    async with server, httpx.AsyncClient(trust_env=False, timeout=30) as client:
        assert (await client.get(f"http://{server.http_address}/livez")).text == "ok\n"


async def test_a_listener_that_fails_leaves_brokers_and_clients_served(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_: object) -> object:
        raise ImportError("no such library")

    monkeypatch.setattr(plane_module, "_loaded", fail)
    server = NameServer(config_in(tmp_path, http="127.0.0.1:0"))
    with caplog.at_level(logging.ERROR):
        async with server:
            await eventually(lambda: "no such library" in caplog.text, "the failure")
            host, _, port = server.address.rpartition(":")
            _, writer = await asyncio.open_connection(host, int(port))
            writer.close()


async def test_names_are_sorted_once_for_each_revision() -> None:
    asked: list[int] = []
    revision = [1]

    def names() -> list[str]:
        asked.append(revision[0])
        return [f"n{number}" for number in range(10_000)]

    kept = SortedNames(names, lambda: revision[0])
    pages = await asyncio.gather(*(kept.page(Page(10, "", "n")) for _ in range(5)))
    assert all(page == pages[0] for page in pages)
    assert pages[0][0] == sorted(f"n{number}" for number in range(10_000))[:10]
    revision[0] = 2
    await kept.page(Page(10, "", ""))
    assert asked == [1, 2]
