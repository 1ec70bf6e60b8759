"""Changes over HTTP: each is the request of the remoting protocol, with its policy, its audit line and its disk."""

import ipaddress
import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.support import wire
from tests.support.builders import config_in
from tests.support.http_plane import Plane, plane

from cosmodrome.errors import ConfigError
from cosmodrome.namesrv.config import NamesrvConfig
from cosmodrome.namesrv.config_keys import AdminPolicy
from cosmodrome.namesrv.config_store import ConfigStore
from cosmodrome.namesrv.program import Program
from cosmodrome.namesrv.server import NameServer

ELSEWHERE = {"X-Forwarded-For": "10.1.2.3"}
"""A proxy on this host was asked by somebody."""
TOKEN = "seven and more"  # noqa: S105
BEARER = {"Authorization": f"Bearer {TOKEN}"}

CHANGES = {
    "put kv": ("PUT", "/api/v1/kv/N/K", {"value": "v"}),
    "delete kv": ("DELETE", "/api/v1/kv/N/K", None),
    "config": ("PATCH", "/api/v1/config", {"changes": {"scanNotActiveBrokerInterval": 6000}}),
    "delete topic": ("DELETE", "/api/v1/topics/T", None),
    "write permission": ("PUT", "/api/v1/brokers/broker-a/write-permission", {"allowed": False}),
    "drain": ("PUT", "/api/v1/drain", {"draining": True}),
}
CONFIG_ONLY = {"config", "drain"}
"""What `compatible` lets administrators do, and nobody else."""


async def change(seen: Plane, name: str, headers: dict[str, str] | None = None) -> httpx.Response:
    method, path, body = CHANGES[name]
    return await seen.http.request(method, path, json=body, headers=headers)


def audited(folder: Path) -> list[dict[str, Any]]:
    path = folder / "audit.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


async def registered(seen: Plane) -> None:
    peer = await seen.wire()
    body = wire.register_body([wire.topic_config("T"), wire.topic_config("U")])
    assert (await peer.request(103, wire.registration_ext(wire.Broker()), body)).code == 0


@pytest.mark.parametrize("name", CHANGES)
async def test_a_change_is_made_and_is_in_the_audit_log(tmp_path: Path, name: str) -> None:
    async with plane(tmp_path) as seen:
        await registered(seen)
        assert (await change(seen, "put kv")).status_code == 200
        before = len(audited(tmp_path))
        answer = await change(seen, name)

        assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")
        lines = audited(tmp_path)[before:]
        assert len(lines) == (0 if name == "put kv" else 1), "the same value again is no change"
        assert all(line["event"] == "change" and line["peer"].startswith("127.0.0.1:") for line in lines)


async def test_kv_entries_are_those_of_the_wire_and_on_disk(tmp_path: Path) -> None:
    async with plane(tmp_path) as seen:
        peer = await seen.wire()
        path = "/api/v1/kv/a%2Fb/%25k"
        assert (await seen.http.put(path, json={"value": "é\n"})).json() == {
            "namespace": "a/b",
            "key": "%k",
            "value": "é\n",
        }
        on_disk = json.loads((tmp_path / "kvConfig.json").read_text())
        assert on_disk["configTable"]["a/b"] == {"%k": "é\n"}
        answer = await peer.request(101, {"namespace": "a/b", "key": "%k"})
        assert (answer.ext or {})["value"] == "é\n"
        assert (await peer.request(100, {"namespace": "a/b", "key": "z", "value": "1"})).code == 0
        entries = await seen.json("/api/v1/kv/a%2Fb")
        assert ([each["key"] for each in entries["items"]], entries["next_cursor"]) == (["%k", "z"], None)
        assert await seen.json("/api/v1/kv") == {
            "items": [{"namespace": "a/b", "entries": 2}],
            "next_cursor": None,
        }
        assert (await seen.http.delete(path)).json() == {"done": True, "changed": True}
        assert (await seen.http.delete(path)).json() == {"done": True, "changed": False}
        assert (await seen.json(path, 404))["code"] == "unknown_key"
        assert (await seen.json("/api/v1/kv/none", 404))["code"] == "unknown_namespace"
        assert (await peer.request(101, {"namespace": "a/b", "key": "%k"})).code == 22


async def test_a_page_of_long_values_is_short(tmp_path: Path) -> None:
    async with plane(tmp_path) as seen:
        for number in range(5):
            answer = await seen.http.put(f"/api/v1/kv/N/{number}", json={"value": "x" * 200_000})
            assert answer.status_code == 200, answer.text
        found: list[str] = []
        cursor: str | None = ""
        pages = 0
        while cursor is not None:
            page = await seen.json(f"/api/v1/kv/N?cursor={cursor}")
            found += [each["key"] for each in page["items"]]
            cursor, pages = page["next_cursor"], pages + 1
        assert (found, pages) == (["0", "1", "2", "3", "4"], 2)


async def test_write_permission_is_taken_and_given_back(tmp_path: Path) -> None:
    async with plane(tmp_path) as seen:
        await registered(seen)
        path = "/api/v1/brokers/broker-a/write-permission"
        assert (await seen.http.put(path, json={"allowed": False})).json() == {
            "broker": "broker-a",
            "allowed": False,
            "topics": 2,
        }
        assert (await seen.json("/api/v1/topics/T"))["brokers"][0]["perm"] == 4
        assert (await seen.http.put(path, json={"allowed": True})).json()["topics"] == 2
        assert (await seen.json("/api/v1/topics/T"))["brokers"][0]["perm"] == 6
        answer = await seen.http.put("/api/v1/brokers/nobody/write-permission", json={"allowed": True})
        assert (answer.status_code, answer.json()["code"]) == (404, "unknown_broker")


async def test_a_topic_is_deleted_everywhere_or_in_a_cluster(tmp_path: Path) -> None:
    async with plane(tmp_path) as seen:
        await registered(seen)
        empty = await seen.http.delete("/api/v1/topics/T?cluster=")
        assert (empty.status_code, empty.json()["code"]) == (400, "empty_cluster"), "no cluster is not every cluster"
        assert (await seen.http.delete("/api/v1/topics/T?cluster=other")).json() == {"done": True, "changed": False}
        assert (await seen.json("/api/v1/topics/T"))["topic"] == "T"
        assert (await seen.http.delete("/api/v1/topics/T")).json() == {"done": True, "changed": True}
        assert (await seen.http.delete("/api/v1/topics/T")).json() == {"done": True, "changed": False}
        assert (await seen.json("/api/v1/topics/T", 404))["code"] == "unknown_topic"


async def test_settings_change_all_or_none(tmp_path: Path) -> None:
    async with plane(tmp_path) as seen:
        shown = await seen.json("/api/v1/config?prefix=scanNotActiveBrokerInterval")
        assert [(each["key"], each["value"], each["by_request"]) for each in shown["items"]] == [
            ("scanNotActiveBrokerInterval", "5000", True)
        ]
        changes = {"scanNotActiveBrokerInterval": 6000, "listenPort": 9999, "orderMessageEnable": True}
        answer = await seen.http.patch("/api/v1/config", json={"changes": changes})
        assert answer.json() == {
            "applied": ["scanNotActiveBrokerInterval", "orderMessageEnable"],
            "needs_restart": ["listenPort"],
            "without_effect": [],
            "note": "in effect after a restart: listenPort",
        }
        for bad, status, code in (
            ({"scanNotActiveBrokerInterval": 7000, "orderMessageEnable": "perhaps"}, 400, "bad_value"),
            ({"scanNotActiveBrokerInterval": 7000, "noSuchKey": "x"}, 400, "unknown_key"),
            ({"scanNotActiveBrokerInterval": 7000, "adminPolicy": "open"}, 400, "not_by_request"),
            ({"scanNotActiveBrokerInterval": 7000, "kvConfigPath": "/tmp/x"}, 403, "denied"),  # noqa: S108
            ({"scanNotActiveBrokerInterval": 7000, "orderMessageEnable\nx": "y"}, 400, "unknown_key"),
        ):
            answer = await seen.http.patch("/api/v1/config", json={"changes": bad})
            assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text
        shown = await seen.json("/api/v1/config?prefix=scanNotActiveBrokerInterval")
        assert shown["items"][0]["value"] == "6000"
        assert (await seen.http.patch("/api/v1/config", json={"changes": {}})).status_code == 200


async def test_secrets_are_shown_nowhere(tmp_path: Path) -> None:
    async with plane(tmp_path, http_token=TOKEN) as seen:
        for path in ("/api/v1/config?limit=1000", "/api/v1/snapshot", "/api/v1/history", "/metrics", "/"):
            answer = await seen.http.get(path)
            assert answer.status_code == 200
            assert TOKEN not in answer.text


@pytest.mark.parametrize("name", CHANGES)
async def test_a_stranger_changes_nothing(tmp_path: Path, name: str) -> None:
    async with plane(tmp_path, http_token=TOKEN) as seen:
        await registered(seen)
        for headers, status, code in (
            ({"Origin": "http://evil.example"}, 403, "foreign_origin"),
            ({"Origin": "null"}, 403, "foreign_origin"),
            ({"Sec-Fetch-Site": "cross-site"}, 403, "foreign_origin"),
            ({"Host": "evil.example"}, 421, "unexpected_host"),
            ({"Host": "evil.example", "Origin": "http://evil.example"}, 421, "unexpected_host"),
            (ELSEWHERE, 401, "bad_token"),
            (ELSEWHERE | {"Authorization": "Bearer nonsense"}, 401, "bad_token"),
        ):
            answer = await change(seen, name, headers)
            assert (answer.status_code, answer.json()["code"]) == (status, code)
        method, path, body = CHANGES[name]
        if body is not None:
            for content_type in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
                answer = await seen.http.request(
                    method, path, content=json.dumps(body), headers={"Content-Type": content_type}
                )
                assert (answer.status_code, answer.json()["code"]) == (415, "not_json")
        assert audited(tmp_path) == []
        assert (await seen.json("/api/v1/topics/T"))["brokers"][0]["perm"] == 6
        assert (await seen.json("/api/v1/drain"))["draining"] is False


@pytest.mark.parametrize("name", CHANGES)
async def test_with_the_token_the_policy_decides_as_on_the_wire(tmp_path: Path, name: str) -> None:
    """Behind a proxy nobody is of adminAllow; KV, topics and permissions are open to everybody, as in Java."""
    async with plane(tmp_path, http_token=TOKEN) as seen:
        await registered(seen)
        answer = await change(seen, name, ELSEWHERE | BEARER)

        if name in CONFIG_ONLY:
            assert (answer.status_code, answer.json()["code"]) == (403, "denied")
            assert "adminAllow" in answer.json()["hint"]
            assert "request.denied" in seen.run.names()
        else:
            assert answer.status_code == 200


@pytest.mark.parametrize("name", CHANGES)
async def test_hardened_lets_administrators_change_and_nobody_else(tmp_path: Path, name: str) -> None:
    hardened: dict[str, Any] = {"admin_policy": AdminPolicy.HARDENED, "http_token": TOKEN}
    async with plane(tmp_path / "ours", **hardened) as seen:
        await registered(seen)
        assert (await change(seen, name, ELSEWHERE | BEARER)).json()["code"] == "denied"
        assert (await change(seen, name)).status_code == 200
    others = (ipaddress.ip_network("10.0.0.0/8"),)
    async with plane(tmp_path / "others", admin_allow=others, **hardened) as seen:
        await registered(seen)
        answer = await change(seen, name)
        assert (answer.status_code, answer.json()["code"]) == (403, "denied")
        assert [line["event"] for line in audited(tmp_path / "others")] in ([], ["denied"])


@pytest.mark.parametrize(
    "path",
    ["config", "kv", "kv/N", "kv/N/K", "audit", "snapshot", "connections", "clients", "misses", "topics", "brokers"],
)
async def test_hardened_hides_listings_from_everybody_else(tmp_path: Path, path: str) -> None:
    async with plane(tmp_path, admin_policy=AdminPolicy.HARDENED) as seen:
        assert (await seen.http.put("/api/v1/kv/N/K", json={"value": "v"})).status_code == 200
        assert (await seen.http.get(f"/api/v1/{path}")).status_code == 200
        answer = await seen.http.get(f"/api/v1/{path}", headers=ELSEWHERE)
        assert (answer.status_code, answer.json()["code"]) == (403, "denied")
        assert (await seen.http.get("/readyz", headers=ELSEWHERE)).status_code == 200


async def test_another_name_is_expected_when_it_is_configured(tmp_path: Path) -> None:
    async with plane(tmp_path, http_hosts="mq.example.com;other.example.com") as seen:
        for path in ("/", "/api/v1/server", "/api/v1/openapi.json", "/api/v1/topics"):
            assert (await seen.http.get(path, headers={"Host": "mq.example.com:19876"})).status_code == 200
            refused = await seen.http.get(path, headers={"Host": "rebound.example.com:19876"})
            assert (refused.status_code, refused.json()["code"]) == (421, "unexpected_host")
        for path in ("/livez", "/readyz", "/metrics"):
            assert (await seen.http.get(path, headers={"Host": "any.example.com"})).status_code == 200, "by any name"


async def test_what_cannot_be_written_down_is_not_done(tmp_path: Path) -> None:
    async with plane(tmp_path) as seen:
        await registered(seen)
        (tmp_path / "audit.jsonl").mkdir()
        for name in CHANGES:
            answer = await change(seen, name)
            if name == "delete kv":
                assert answer.status_code == 200, "there is nothing to delete"
            else:
                assert (answer.status_code, answer.json()["code"]) == (507, "storage"), name
        assert (await seen.json("/api/v1/topics/T"))["brokers"][0]["perm"] == 6
        assert (await seen.json("/api/v1/drain"))["draining"] is False
        assert (await seen.http.get("/api/v1/kv/N/K")).status_code == 404


async def test_a_drained_server_is_not_ready_and_sends_newer_clients_away(tmp_path: Path) -> None:
    async with plane(tmp_path) as seen:
        await registered(seen)
        peer = await seen.wire()

        async def codes() -> list[int]:
            """Of a client before 5.3.2, and of a later one."""
            return [(await peer.request(105, {"topic": "T"}, version=version)).code for version in (475, 513)]

        assert await codes() == [0, 0]
        assert await codes() == [0, 0]
        drain = (await seen.http.put("/api/v1/drain", json={"draining": True})).json()
        assert (drain["draining"], drain["since"][-1]) == (True, "Z")
        assert (await seen.http.put("/api/v1/drain", json={"draining": True})).json()["since"] == drain["since"]
        assert (await seen.http.get("/readyz")).text == "draining\n"
        assert await codes() == [0, 1500]
        assert (await seen.http.put("/api/v1/kv/N/K", json={"value": "v"})).status_code == 200, "changes go on"
        assert (await seen.http.put("/api/v1/drain", json={"draining": False})).json()["since"] is None
        assert (await seen.http.get("/readyz")).text == "ok\n"
        assert await codes() == [0, 0]
        assert [line["target"] for line in audited(tmp_path) if line["request"] == "DRAIN"] == [
            {"draining": True},
            {"draining": False},
        ]


async def reloading(folder: Path, read: NamesrvConfig | ConfigError) -> tuple[httpx.Response, list[str]]:
    names: list[str] = []

    def read_again() -> tuple[NamesrvConfig, ConfigStore]:
        if isinstance(read, ConfigError):
            raise read
        return read, ConfigStore(folder / "namesrv.properties")

    config = config_in(folder, http="127.0.0.1:0")
    server = NameServer(config, publish=lambda event: names.append(event.NAME), program=Program(read_again=read_again))
    async with server, httpx.AsyncClient(trust_env=False, timeout=30) as http:
        answer = await http.post(f"http://{server.http_address}/api/v1/reload", json={})
    return answer, names


async def test_a_configuration_is_read_again(tmp_path: Path) -> None:
    read = config_in(tmp_path, http="127.0.0.1:0", scan_not_active_broker_interval=7000, max_brokers=10)
    answer, names = await reloading(tmp_path, read)

    assert answer.status_code == 200
    assert answer.json() == {
        "applied": ["scanNotActiveBrokerInterval"], "needs_restart": ["maxBrokers"], "overridden": {},
    }  # fmt: skip
    assert "config.reloaded" in names
    assert [line["request"] for line in audited(tmp_path)] == ["RELOAD"]


async def test_a_configuration_that_cannot_be_used_replaces_nothing(tmp_path: Path) -> None:
    answer, names = await reloading(tmp_path, ConfigError("bad file.", keys=("listenPort",)))

    assert (answer.status_code, answer.json()["code"], answer.json()["detail"]) == (409, "not_reloaded", "bad file.")
    assert "config.reload_failed" in names


async def test_a_server_of_a_program_has_nothing_to_read_again(tmp_path: Path) -> None:
    async with plane(tmp_path) as seen:
        answer = await seen.http.post("/api/v1/reload", json={})
        assert (answer.status_code, answer.json()["code"]) == (409, "nothing_to_read")
