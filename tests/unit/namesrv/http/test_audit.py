"""Who changed what, over HTTP, and undoing it."""

import json
from collections.abc import Mapping
from ipaddress import ip_network
from pathlib import Path
from typing import Any

from tests.support import wire
from tests.support.http_plane import Plane, plane

from cosmodrome.namesrv.config_keys import AdminPolicy

MASTER = wire.Broker(name="broker-a", cluster="C", id=0)
PUT, GET, DELETE, WIPE, ADD, DELETE_TOPIC, CONFIG = 100, 101, 102, 205, 327, 216, 318
INTERVAL = "scanNotActiveBrokerInterval"


async def ask(seen: Plane, code: int, fields: Mapping[str, str | None] | None = None, body: bytes = b"") -> Any:
    peer = await seen.wire()
    return await peer.request(code, dict(fields or {}), body)


async def change(seen: Plane, code: int, fields: Mapping[str, str | None] | None = None, body: bytes = b"") -> str:
    """Make a change by remoting, and give the id of its line."""
    assert (await ask(seen, code, fields, body)).code == 0
    return str((await lines(seen))[0]["id"])


async def lines(seen: Plane, query: str = "") -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = (await seen.json(f"/api/v1/audit{query}"))["items"]
    return items


async def undo(seen: Plane, line_id: str, status: int = 200, **body: object) -> Any:
    answer = await seen.http.post(f"/api/v1/audit/{line_id}/undo", json=body)
    assert answer.status_code == status, answer.text
    return answer.json()


async def put(seen: Plane, value: str, key: str = "K", namespace: str = "N") -> str:
    return await change(seen, PUT, {"namespace": namespace, "key": key, "value": value})


async def value(seen: Plane, key: str = "K", namespace: str = "N") -> str | None:
    answer = await ask(seen, GET, {"namespace": namespace, "key": key})
    return None if answer.code else str(answer.ext["value"])


async def register(seen: Plane, perms: Mapping[str, int]) -> None:
    body = wire.register_body([wire.topic_config(name, perm=perm) for name, perm in perms.items()])
    assert (await ask(seen, 103, wire.registration_ext(MASTER), body)).code == 0


async def perms(seen: Plane, *topics: str) -> dict[str, int]:
    pages = [(await seen.json(f"/api/v1/topics/{topic}"))["brokers"] for topic in topics]
    return {topic: brokers[0]["perm"] for topic, brokers in zip(topics, pages, strict=True)}


async def test_lines_are_listed_with_the_newest_first(tmp_path: Path) -> None:
    async with plane(tmp_path) as seen:
        for key in ("a", "b", "c"):
            await put(seen, "v", key)
        page = await seen.json("/api/v1/audit?limit=2")
        rest = await seen.json(f"/api/v1/audit?limit=2&cursor={page['next_cursor']}")
        (chosen,) = await lines(seen, "?request=PUT_KV_CONFIG&event=change&text=b&peer=127.0.0.1&from=2020-01-01")
        (named,) = await lines(seen, f"?id={chosen['id']}")
        assert await lines(seen, "?to=2020-01-01") == []

    assert [line["target"]["key"] for line in page["items"] + rest["items"]] == ["c", "b", "a"]
    assert (rest["next_cursor"], rest["unreadable"]) == (None, 0)
    assert chosen["target"] == {"namespace": "N", "key": "b"}
    assert named == chosen


async def test_an_entry_is_as_it_was(tmp_path: Path) -> None:
    async with plane(tmp_path) as seen:
        made = await put(seen, "first \u00e9\n")
        replaced = await put(seen, "second")
        await undo(seen, replaced)
        assert await value(seen) == "first \u00e9\n"

        deleted = await change(seen, DELETE, {"namespace": "N", "key": "K"})
        await undo(seen, deleted)
        assert await value(seen) == "first \u00e9\n"

        await undo(seen, made)
        assert await value(seen) is None
    text = (tmp_path / "audit.jsonl").read_text("utf-8")
    assert "first" not in text, "values are not logged, nor are those that are restored"


async def test_an_undo_is_a_change_that_can_be_undone(tmp_path: Path) -> None:
    async with plane(tmp_path) as seen:
        await put(seen, "old")
        made = await put(seen, "new", "K")
        done = await undo(seen, made)
        line = (await lines(seen))[0]
        await undo(seen, done["id"])
        again = await value(seen)
        last = (await lines(seen))[0]

    assert done == {"undone": made, "id": line["id"]}
    assert (line["event"], line["request"], line["undoes"]) == ("change", "PUT_KV_CONFIG", made)
    assert line["peer"].startswith("127.0.0.1:")
    assert (again, last["undoes"]) == ("new", line["id"])


async def test_what_came_after_a_change_is_not_undone_with_it(tmp_path: Path) -> None:
    async with plane(tmp_path) as seen:
        await put(seen, "1")
        second = await put(seen, "2")
        await put(seen, "3")
        refused = await undo(seen, second, 409)
        assert await value(seen) == "3"
        assert len(await lines(seen)) == 3

        forced = await undo(seen, second, force=True)
        assert await value(seen) == "1"
        assert (await undo(seen, second, 409))["code"] == "undone_already"
        await undo(seen, forced["id"])
        assert await value(seen) == "3", "what was there before the forced undo"

    assert (refused["code"], "force" in refused["hint"]) == ("changed_since", True)


async def test_permissions_are_as_they_were_of_each_topic(tmp_path: Path) -> None:
    async with plane(tmp_path) as seen:
        await register(seen, {"T": 6, "U": 4, "V": 2, "W": 6})
        before = await perms(seen, "T", "U", "V", "W")
        wiped = await change(seen, WIPE, {"brokerName": "broker-a"})
        assert await perms(seen, "T", "U", "V", "W") == {"T": 4, "U": 4, "V": 0, "W": 4}
        given = await undo(seen, wiped)
        assert await perms(seen, "T", "U", "V", "W") == before == {"T": 6, "U": 4, "V": 2, "W": 6}
        restored = (await seen.json("/api/v1/history?type=perm.restored"))["items"][-1]

        added = await change(seen, ADD, {"brokerName": "broker-a"})
        await undo(seen, added)
        assert await perms(seen, "T", "U", "V", "W") == before
        await undo(seen, given["id"])
        assert await perms(seen, "T", "U", "V", "W") == {"T": 4, "U": 4, "V": 0, "W": 4}
        names = [item["event"] for item in (await seen.json("/api/v1/history?type=perm"))["items"]]

    assert (restored["topics"], restored["reason"]) == (3, f"{wiped} was undone")
    assert names == ["perm.wiped", "perm.restored", "perm.restored", "perm.wiped", "perm.wiped"]


async def test_permissions_that_a_broker_has_set_itself_since_are_not_overwritten(tmp_path: Path) -> None:
    async with plane(tmp_path) as seen:
        await register(seen, {"T": 6, "U": 6})
        wiped = await change(seen, WIPE, {"brokerName": "broker-a"})
        assert (await ask(seen, DELETE_TOPIC, {"topic": "U"})).code == 0
        assert (await undo(seen, wiped, 409))["code"] == "changed_since"
        await undo(seen, wiped, force=True)
        assert await perms(seen, "T") == {"T": 6}

        second = await change(seen, WIPE, {"brokerName": "broker-a"})
        assert (await ask(seen, DELETE_TOPIC, {"topic": "T"})).code == 0
        assert (await undo(seen, second, 409, force=True))["code"] == "gone"


async def test_the_configuration_is_as_it_was(tmp_path: Path) -> None:
    async with plane(tmp_path) as seen:
        changed = await change(seen, CONFIG, body=f"{INTERVAL}=7000\norderMessageEnable=true\n".encode())
        assert f"{INTERVAL}=7000" in (await ask(seen, 319)).body.decode()
        await undo(seen, changed)
        listed = (await ask(seen, 319)).body.decode()
        event = (await seen.json("/api/v1/history?type=config.changed"))["items"][-1]

    assert f"{INTERVAL}=5000" in listed
    assert "orderMessageEnable=false" in listed
    assert set(event["applied"]) == {INTERVAL, "orderMessageEnable"}


async def test_what_cannot_be_undone_says_so(tmp_path: Path) -> None:
    async with plane(tmp_path) as seen:
        await register(seen, {"T": 6, "U": 6})
        deleted = await change(seen, DELETE_TOPIC, {"topic": "T"})
        assert (await undo(seen, deleted, 409))["code"] == "not_undoable"
        assert (await undo(seen, "0123456789", 404))["code"] == "unknown_change"
        assert (await undo(seen, "0123456789", 400, force="yes"))["code"] == "bad_body"


async def test_after_a_restart_what_the_log_shows_can_be_undone(tmp_path: Path) -> None:
    async with plane(tmp_path) as seen:
        await put(seen, "broker-a:4", "T", "ORDER_TOPIC_CONFIG")
        order = await put(seen, "broker-a:8", "T", "ORDER_TOPIC_CONFIG")
        await put(seen, "1")
        other = await put(seen, "2")
        await register(seen, {"T": 6, "U": 6})
        wiped = await change(seen, WIPE, {"brokerName": "broker-a"})
    async with plane(tmp_path) as seen:
        await undo(seen, order)
        assert await value(seen, "T", "ORDER_TOPIC_CONFIG") == "broker-a:4"
        refused = await undo(seen, other, 409)
        assert (await undo(seen, wiped, 409))["code"] == "not_undoable"

    assert (refused["code"], "this run" in refused["detail"]) == ("not_undoable", True)


async def test_the_policy_holds_for_undoing(tmp_path: Path) -> None:
    async with plane(tmp_path) as seen:
        made = await put(seen, "V", "T", "ORDER_TOPIC_CONFIG")
    async with plane(tmp_path, admin_policy=AdminPolicy.HARDENED, admin_allow=(ip_network("10.0.0.0/8"),)) as seen:
        refused = await undo(seen, made, 403)
        denied = (await seen.json("/api/v1/history?type=request.denied", 403))["code"]
        assert (await seen.json("/api/v1/audit", 403))["code"] == "denied"
    kept = [json.loads(line) for line in (tmp_path / "audit.jsonl").read_text("utf-8").splitlines()]

    assert refused["code"] == denied == "denied"
    assert {line["event"] for line in kept[1:]} == {"denied"}
    assert kept[1]["request"] == "DELETE_KV_CONFIG"


async def test_without_an_audit_log_there_is_nothing_to_undo(tmp_path: Path) -> None:
    async with plane(tmp_path, audit_log="off") as seen:
        assert (await seen.json("/api/v1/audit", 404))["code"] == "not_audited"
        assert (await undo(seen, "0123456789", 404))["code"] == "not_audited"


async def test_what_cannot_be_meant_is_refused(tmp_path: Path) -> None:
    async with plane(tmp_path) as seen:
        for query in ("?from=x", "?limit=0", f"?text={'x' * 2000}"):
            assert (await seen.http.get(f"/api/v1/audit{query}")).status_code == 400
