"""Changes by administrators are in a file before they are made."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.broker_calls import Caller

from cosmodrome import Broker, NameServer
from cosmodrome.client.name_server import NameServerClient
from cosmodrome.errors import NotFoundError
from cosmodrome.transport.client import RemotingClient

TOPIC = {
    "topic": "T", "defaultTopic": "TBW102", "readQueueNums": "4", "writeQueueNums": "4", "perm": "6",
    "topicFilterType": "SINGLE_TAG", "topicSysFlag": "0", "order": "false",
}  # fmt: skip


def lines(folder: Path) -> list[dict[str, Any]]:
    path = folder / "audit.jsonl"
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []


async def test_what_was_and_what_will_be(tmp_path: Path) -> None:
    async with Broker(store=tmp_path) as broker, Caller(broker.address) as caller:
        await caller.ok(17, TOPIC)
        await caller.ok(17, TOPIC | {"perm": "4"})
        await caller.ok(215, {"topic": "T"})
        await caller.ok(25, {}, b"fileReservedTime=48\n")
        group = {"groupName": "g", "retryMaxTimes": 3}
        await caller.ok(200, {}, json.dumps(group).encode())
        await caller.ok(207, {"groupName": "g"})
        found = lines(tmp_path)

    assert [(each["event"], each["request"]) for each in found] == [
        ("change", name)
        for name in (
            "UPDATE_AND_CREATE_TOPIC", "UPDATE_AND_CREATE_TOPIC", "DELETE_TOPIC_IN_BROKER", "UPDATE_BROKER_CONFIG",
            "UPDATE_AND_CREATE_SUBSCRIPTIONGROUP", "DELETE_SUBSCRIPTIONGROUP",
        )
    ]  # fmt: skip
    made, changed, deleted, settings, new_group, no_group = found
    assert (made["target"], made["before"], made["after"]["perm"]) == ({"topic": "T"}, None, "6")
    assert (changed["before"]["perm"], changed["after"]["perm"]) == (6, "4")
    assert (deleted["before"]["perm"], deleted["after"]) == (4, None)
    assert (settings["before"], settings["after"]) == ({"fileReservedTime": "72"}, {"fileReservedTime": "48"})
    assert (new_group["target"], new_group["after"]["retryMaxTimes"]) == ({"group": "g"}, 3)
    assert no_group["before"]["retryMaxTimes"] == 3
    assert all(each["peer"].startswith("127.0.0.1:") and each["time"].endswith("Z") for each in found)


async def test_a_reset_says_where_the_group_was(tmp_path: Path) -> None:
    async with Broker(store=tmp_path) as broker, Caller(broker.address) as caller:
        await caller.send("T")
        await caller.heartbeat("g")
        await caller.ok(15, {"consumerGroup": "g", "topic": "T", "queueId": "0", "commitOffset": "1"})
        await caller.ask(222, {"topic": "T", "group": "g", "timestamp": "0", "isForce": "true"})
        line = next(each for each in lines(tmp_path) if each["code"] == 222)

    assert line["before"]["0"] == 1
    assert line["target"] == {"topic": "T", "group": "g", "timestamp": "0", "isForce": "true"}


async def test_a_change_that_is_not_made_is_followed_by_its_reason(tmp_path: Path) -> None:
    async with Broker(store=tmp_path) as broker, Caller(broker.address) as caller:
        assert (await caller.ask(17, TOPIC | {"topic": "a b"})).code != 0
        assert (await caller.ask(25, {}, b"noSuchKey=1\n")).code != 0
    found = lines(tmp_path)

    assert sorted(each["event"] for each in found) == ["change", "change", "not_made", "not_made"]
    assert all(each["reason"] for each in found if each["event"] == "not_made")


async def test_a_change_that_cannot_be_written_down_is_not_made(tmp_path: Path) -> None:
    audit = tmp_path / "there" / "audit.jsonl"
    audit.mkdir(parents=True)
    async with Broker(store=tmp_path / "store", audit_log=str(audit)) as broker, Caller(broker.address) as caller:
        assert (await caller.ask(17, TOPIC)).code != 0
        assert broker.running_state.topics.get("T") is None
        assert (await caller.send("U")).code == 0
        audit.rmdir()
        await caller.ok(17, TOPIC)
        assert len(audit.read_text("utf-8").splitlines()) == 1


async def test_off_is_off(tmp_path: Path) -> None:
    async with Broker(store=tmp_path, audit_log="off") as broker, Caller(broker.address) as caller:
        await caller.ok(17, TOPIC)
    assert lines(tmp_path) == []


async def test_no_line_where_nothing_is_changed(tmp_path: Path) -> None:
    async with Broker(store=tmp_path) as broker, Caller(broker.address) as caller:
        await caller.send("T")
        await caller.heartbeat("g")
        await caller.ok(21)
    assert not (tmp_path / "audit.jsonl").exists()


async def test_refusals_are_noted_and_bounded(tmp_path: Path) -> None:
    async with Broker(store=tmp_path, admin_allow="10.0.0.0/8") as broker, Caller(broker.address) as caller:
        for _ in range(70):
            assert (await caller.ask(17, TOPIC)).code == 16
    found = lines(tmp_path)

    assert {each["event"] for each in found} == {"denied"}
    assert len(found) == 60
    assert "adminAllow" in found[0]["reason"]


async def test_no_secret_is_in_a_line(tmp_path: Path) -> None:
    async with Broker(store=tmp_path) as broker, Caller(broker.address) as caller:
        text = b'initAuthenticationUser={"username":"a","password":"hush-hush"}\nfileReservedTime=1\n'
        assert (await caller.ask(25, {"Signature": "hush-hush", "secretKey": "hush-hush"}, text)).code == 16
        await caller.ask(50, {"accessKey": "someone", "secretKey": "hush-hush"})
        await caller.ask(3001, {"username": "someone"}, b'{"username":"someone","password":"hush-hush"}')
    text_of_file = (tmp_path / "audit.jsonl").read_text("utf-8")

    assert "hush-hush" not in text_of_file
    assert "someone" in text_of_file or "initAuthenticationUser" in text_of_file


async def test_a_topic_that_is_made_is_told_to_name_servers_at_once(tmp_path: Path) -> None:
    """The change comes after its line, when the request that asked for it has been looked at already."""
    client = RemotingClient()
    async with NameServer(port=0) as server, Broker(store=tmp_path, namesrv=server.address) as broker:
        async with Caller(broker.address) as caller, asyncio.timeout(20):
            await caller.ok(17, TOPIC)
            while True:
                try:
                    route = await NameServerClient(client, server.address, 5).topic_route("T")
                    break
                except NotFoundError:
                    await asyncio.sleep(0.02)
        assert route is not None
        await client.close()


@pytest.mark.parametrize("key", ["auditLog", "http"])
async def test_no_request_changes_where_it_is_written(tmp_path: Path, key: str) -> None:
    async with Broker(store=tmp_path) as broker, Caller(broker.address) as caller:
        assert (await caller.ask(25, {}, f"{key}=off\n".encode())).code == 16
