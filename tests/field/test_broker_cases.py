"""A broker's topics, groups, offsets and answers (B011, B016, B017, B019, B020, B037, B048)."""

import asyncio
import contextlib
import itertools
import json
import socket
import tracemalloc
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.support import wire
from tests.support.broker_calls import Caller, send_fields

from cosmodrome import Broker
from cosmodrome.protocol.messages.batch import BatchEntry, encode_batch
from cosmodrome.protocol.messages.ids import decode_offset_msg_id

NO_TOPIC = 17
EVERYWHERE = "0.0.0.0"  # noqa: S104 -- the case is about it
TOPIC: Mapping[str, str | None] = {
    "topic": "T", "defaultTopic": "TBW102", "readQueueNums": "1", "writeQueueNums": "1", "perm": "6",
    "topicFilterType": "SINGLE_TAG", "order": "false",
}  # fmt: skip
DAMAGES = {
    "zeros": b"\0" * 100,
    "empty": b"",
    "cut": b'{"topicConfigTable":{"T":{"topicN',
    "nil": b"<nil>",
    "list": b"[]",
}


def damage(path: Path, data: bytes) -> None:
    """Write garbage over a file and its previous version."""
    for each in (path, path.with_name(f"{path.name}.bak")):
        each.write_bytes(data)


def stored_paths(folder: Path) -> set[Path]:
    """Give the files and folders of a store, without those of its tables."""
    return {path for path in folder.rglob("*") if "config" not in path.parts}


@pytest.mark.parametrize("damaged", DAMAGES)
async def test_b011_with_both_topic_files_bad_topics_come_from_the_queues(tmp_path: Path, damaged: str) -> None:
    async with Broker(store=tmp_path) as broker, Caller(broker.address) as caller:
        await caller.send("T", b"kept", queue_id=2)
    damage(tmp_path / "config" / "topics.json", DAMAGES[damaged])
    async with Broker(store=tmp_path) as broker, Caller(broker.address) as caller:
        assert [each.body for each in await caller.messages("T", 2)] == [b"kept"]
        assert (await caller.send("T", queue_id=2)).code == 0
    aside = [path for path in (tmp_path / "config").iterdir() if path.read_bytes() == DAMAGES[damaged]]
    assert len(aside) == 2, "both are kept under other names"


@pytest.mark.parametrize("name", ["consumerOffset.json", "subscriptionGroup.json", "topics.json"])
async def test_b011_the_previous_version_is_used(tmp_path: Path, name: str) -> None:
    offset = {"consumerGroup": "g", "topic": "T", "queueId": "0"}
    async with Broker(store=tmp_path) as broker, Caller(broker.address) as caller:
        await caller.send("T")
        await caller.heartbeat("g")
        await caller.ok(15, offset | {"commitOffset": "1"})
    path = tmp_path / "config" / name
    path.with_name(f"{name}.bak").write_bytes(path.read_bytes())
    path.write_bytes(b"\0" * 50)
    async with Broker(store=tmp_path) as broker, Caller(broker.address) as caller:
        answer = await caller.ok(14, offset)
        assert answer.ext_fields == {"offset": "1"}
        assert (await caller.ok(15, offset | {"commitOffset": "1"})).remark is None


async def test_b016_asking_creates_nothing(tmp_path: Path) -> None:
    """50 instead of 10,000 names; in full in tests/soak."""
    await asked_for(tmp_path, 50)


async def asked_for(store: Path, count: int) -> None:
    """Ask for so many topics that are not there, in every way."""
    async with Broker(store=store) as broker, Caller(broker.address) as caller:
        await caller.send("T")
        await caller.ask(12, {"topic": "T", "key": "k", "maxNum": "1", "beginTimestamp": "0", "endTimestamp": "1"})
        before = stored_paths(store)
        for number in range(count):
            queue = {"topic": f"unknown{number}", "queueId": "0"}
            for code, found in ((29, "0"), (30, "0"), (31, "0")):
                answer = await caller.ok(code, queue | {"timestamp": "1"})
                assert answer.ext_fields == {"offset": found}
            assert (await caller.ok(32, queue)).ext_fields == {"timestamp": "-1"}
            for code in (202, 351):
                assert (await caller.ask(code, queue)).code == NO_TOPIC
            assert (await caller.ask(321, queue | {"index": "0", "count": "9"})).code == 1
        after = stored_paths(store)
        listed = json.loads((await caller.ok(21)).body)["topicConfigTable"]
    assert after == before
    assert not [name for name in listed if name.startswith("unknown")]


async def test_b016_a_held_pull_of_a_deleted_topic_is_refused_at_once() -> None:
    async with Broker() as broker, Caller(broker.address) as caller:
        await caller.ok(17, TOPIC)
        held = asyncio.create_task(caller.pull("T", sysFlag="6"))
        await caller.ok(30, {"topic": "T", "queueId": "0"})  # the pull was read before
        await caller.ok(215, {"topic": "T"})
        answer = await held
    assert answer.code == NO_TOPIC


@pytest.mark.parametrize(
    ("settings", "host"),
    [
        ({"host": "127.0.0.1"}, "127.0.0.1"),
        ({"host": EVERYWHERE, "broker_ip1": "10.1.2.3"}, "10.1.2.3"),
        ({"host": "127.0.0.1", "broker_ip1": "fe80::1"}, "fe80::1"),
    ],
)
async def test_b017_ids_name_the_published_address(settings: dict[str, Any], host: str) -> None:
    async with Broker(**settings) as broker, Caller(f"127.0.0.1:{broker.address.rpartition(':')[2]}") as caller:
        answer = await caller.send("T")
        found = decode_offset_msg_id((answer.ext_fields or {}).get("msgId") or "")
        assert found is not None
        (record,) = await caller.messages("T")
        view = await caller.ok(33, {"offset": str(found.commit_log_offset)})
    assert (found.host, str(found.port)) == (host, broker_port(str(record.store_host)))
    assert record.store_host.ip == host
    assert len(view.body) > 0


def broker_port(address: str) -> str:
    return address.rpartition(":")[2]


async def test_b017_all_addresses_are_not_published() -> None:
    async with Broker(host=EVERYWHERE) as broker:
        assert not broker.address.startswith(EVERYWHERE)


async def test_b019_nothing_of_a_deleted_topic_acts_on_a_new_one() -> None:
    async with Broker() as broker, Caller(broker.address) as caller:
        await caller.ok(17, TOPIC)
        for _ in range(10):
            await caller.send("T")
        await caller.heartbeat("g")
        await caller.ok(15, {"consumerGroup": "g", "topic": "T", "queueId": "0", "commitOffset": "9"})
        await caller.ok(222, {"topic": "T", "group": "g", "timestamp": "-1", "isForce": "true"})
        await caller.ok(215, {"topic": "T"})
        await caller.ok(17, TOPIC)
        assert (await caller.ok(30, {"topic": "T", "queueId": "0"})).ext_fields == {"offset": "0"}
        await caller.send("T", b"new")
        assert (await caller.ok(14, {"consumerGroup": "g", "topic": "T", "queueId": "0"})).ext_fields == {"offset": "0"}
        assert [each.body for each in await caller.messages("T")] == [b"new"], "no reset waits"


async def test_b019_a_group_deleted_with_its_offsets_begins_anew() -> None:
    queue = {"consumerGroup": "g", "topic": "T", "queueId": "0"}
    locks = {"consumerGroup": "g", "mqSet": [{"topic": "T", "brokerName": "b", "queueId": 0}]}
    async with Broker() as broker, Caller(broker.address) as caller:
        await caller.send("T")
        await caller.heartbeat("g")
        await caller.ok(15, queue | {"commitOffset": "1"})
        await caller.ok(41, {}, json.dumps(locks | {"clientId": "before"}).encode())
        await caller.ok(207, {"groupName": "g", "cleanOffset": "true"})
        await caller.heartbeat("g")
        assert (await caller.ok(14, queue)).ext_fields == {"offset": "0"}
        granted = await caller.ok(41, {}, json.dumps(locks | {"clientId": "after"}).encode())
    assert len(json.loads(granted.body)["lockOKMQSet"]) == 1


@pytest.mark.parametrize(
    "name", ["RMQ_SYS_TRANS_HALF_TOPIC", "RMQ_SYS_TRANS_OP_HALF_TOPIC", "TBW102", "DefaultCluster"]
)
async def test_b020_system_topics_are_not_deleted_or_changed(name: str) -> None:
    async with Broker() as broker, Caller(broker.address) as caller:
        for code in (17, 215):
            answer = await caller.ask(code, {**TOPIC, "topic": name})
            assert (answer.code, answer.remark) == (29, f"The topic[{name}] is conflict with system topic.")
        assert name in json.loads((await caller.ok(21)).body)["topicConfigTable"]


async def test_b037_a_reader_with_a_rare_tag_goes_through_the_backlog_and_then_waits() -> None:
    async with Broker() as broker, Caller(broker.address) as caller:
        await asyncio.gather(*(caller.send("T", b"%d" % n, TAGS="rare" if n == 1999 else "often") for n in range(2000)))
        offset, answers = 0, 0
        while (answer := await caller.pull("T", offset, subscription="rare")).code != 0:
            assert answer.code == 20
            offset, answers = int((answer.ext_fields or {})["nextBeginOffset"] or 0), answers + 1
        assert answers < 10
        offset = int((answer.ext_fields or {})["nextBeginOffset"] or 0)
        held = asyncio.create_task(caller.pull("T", offset, subscription="rare", sysFlag="6"))
        await caller.send("T", b"often", TAGS="often")
        await caller.send("T", b"found", TAGS="rare")
        answer = await held
    assert answer.code == 0


@pytest.mark.parametrize("code", [17, 18, 200, 207, 215, 222, 225, 306, 309, 314, 329])
async def test_b048_changes_come_from_allowed_networks_only(code: int) -> None:
    async with Broker(admin_allow="10.0.0.0/8") as broker, Caller(broker.address) as caller:
        answer = await caller.ask(code, {**TOPIC, "groupName": "g", "group": "g", "timestamp": "1"}, b"{}")
        assert answer.code == 16
        assert "adminAllow" in (answer.remark or "")
        assert (await caller.send("T")).code == 0


@pytest.mark.parametrize("code", [39, 40, 220, 221, 326])
async def test_b048_what_brokers_ask_clients_is_not_served(code: int) -> None:
    async with Broker() as broker, Caller(broker.address) as caller:
        assert (await caller.ask(code)).code == 3


async def test_b042_a_peer_that_does_not_read_is_owed_little() -> None:
    """Pulls that wait, of a peer that reads nothing, are answered when it reads: not kept as answers."""
    held = 400
    async with Broker() as broker, Caller(broker.address) as caller:
        await caller.send("T")
        stubborn = socket.create_connection((broker.address.rpartition(":")[0], int(broker.address.rpartition(":")[2])))
        stubborn.setblocking(False)
        with stubborn:
            fields = {**PULL, "queueOffset": "1", "sysFlag": "6"}
            frames = [wire.encode_request(11, fields, opaque=number) for number in range(held)]
            await asyncio.get_running_loop().sock_sendall(stubborn, b"".join(frames))
            await caller.ok(30, {"topic": "T", "queueId": "0"})
            tracemalloc.start()
            try:
                await caller.send("T", b"x" * 200_000)
                for _ in range(20):
                    await caller.send("T", b"x")
                _, most = tracemalloc.get_traced_memory()
            finally:
                tracemalloc.stop()
            assert most < 4_000_000, f"{held} answers are {held * 200_000} bytes"
            assert len(await caller.messages("T")) == 22, "others are served"


PULL = {
    "consumerGroup": "g", "topic": "T", "queueId": "0", "queueOffset": "0", "maxMsgNums": "32", "sysFlag": "4",
    "commitOffset": "0", "suspendTimeoutMillis": "15000", "subVersion": "0", "subscription": "*",
}  # fmt: skip


STUBBORN = 30
PULLS = 60


@pytest.mark.parametrize("is_half_closed", [False, True])
async def test_b042_many_peers_that_pull_and_do_not_read_are_owed_little(*, is_half_closed: bool) -> None:
    """Connections with small receive windows ask for 256 KiB again and again; others are served meanwhile."""
    async with Broker() as broker, Caller(broker.address) as caller:
        await caller.send("T", b"x" * 250_000)
        host, _, port = broker.address.rpartition(":")
        with contextlib.ExitStack() as stack:
            frames = b"".join(wire.encode_request(11, PULL, opaque=number) for number in range(PULLS))
            tracemalloc.start()
            stack.callback(tracemalloc.stop)
            for _ in range(STUBBORN):
                one = stack.enter_context(socket.socket())
                one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                one.connect((host, int(port)))
                one.setblocking(False)
                await asyncio.get_running_loop().sock_sendall(one, frames)
                if is_half_closed:
                    one.shutdown(socket.SHUT_WR)
            for _ in range(20):
                assert (await caller.send("T", b"x")).code == 0
            assert len(await caller.messages("T")) == 21
            _, most = tracemalloc.get_traced_memory()
    assert most < STUBBORN * 2_000_000, f"{STUBBORN * PULLS} answers are {STUBBORN * PULLS * 250_000} bytes"


async def test_b012_what_slaves_are_given_is_whole_and_never_older_after_a_restart(tmp_path: Path) -> None:
    """A slave takes over what its master shows: a table that is empty or older would delete its own."""
    tables: list[dict[int, Any]] = []
    for _ in range(3):
        async with Broker(store=tmp_path) as broker, Caller(broker.address) as caller:
            found = {}
            for code in (21, 201, 43, 45):
                body = (await caller.ok(code)).body
                found[code] = wire.parse_body(body)
            tables.append(found)
            await caller.send(f"T{len(tables)}")
            await caller.heartbeat(f"g{len(tables)}", f"T{len(tables)}")
            place = {"consumerGroup": f"g{len(tables)}", "topic": f"T{len(tables)}", "queueId": "0"}
            await caller.ok(15, place | {"commitOffset": "1"})
    for before, after in itertools.pairwise(tables):
        for code, table in ((21, "topicConfigTable"), (201, "subscriptionGroupTable"), (43, "offsetTable")):
            assert before[code][table].keys() < after[code][table].keys(), code
        for code in (21, 201):
            assert version_of(before[code]) < version_of(after[code])


def version_of(body: dict[str, Any]) -> tuple[int, int]:
    return body["dataVersion"]["counter"], body["dataVersion"]["timestamp"]


async def test_c007_a_batch_with_an_entry_that_would_be_parked_is_refused_whole() -> None:
    entries = [BatchEntry(b"good", b""), BatchEntry(b"late", b"DELAY\x013\x02")]
    async with Broker() as broker, Caller(broker.address) as caller:
        await caller.send("T")
        answer = await caller.ask(320, send_fields("T", m="true"), encode_batch(entries))
        assert answer.code == 13
        assert len(await caller.messages("T")) == 1


async def test_b021_rounds_of_making_and_deleting_leave_no_counters() -> None:
    """20 instead of 50,000; in full in tests/soak."""
    await made_and_deleted(20)


async def made_and_deleted(rounds: int) -> None:
    """Make, use and delete a topic again and again."""
    async with Broker() as broker, Caller(broker.address) as caller:
        for _ in range(rounds):
            await caller.ok(17, TOPIC)
            await caller.send("T")
            assert len(await caller.messages("T")) == 1
            for name, key in (("TOPIC_PUT_NUMS", "T"), ("GROUP_GET_NUMS", "T@g")):
                data = json.loads((await caller.ok(315, {"statsName": name, "statsKey": key})).body)
                assert data["statsDay"]["sum"] == 1
            await caller.ok(215, {"topic": "T"})
            answer = await caller.ask(315, {"statsName": "GROUP_GET_NUMS", "statsKey": "T@g"})
            assert (answer.code, answer.remark) == (1, "The stats <GROUP_GET_NUMS> <T@g> not exist")
        table = json.loads((await caller.ok(28)).body)["table"]
    assert (table["msgPutTotalTodayNow"], table["msgGetTotalTodayNow"]) == (str(rounds), str(rounds))


async def test_old_messages_are_deleted_when_somebody_asks_and_readers_are_told() -> None:
    small: dict[str, Any] = {"mapped_file_size_commit_log": 4096, "file_reserved_time": 0, "delete_when": ""}
    async with Broker(**small) as broker, Caller(broker.address) as caller:
        for number in range(40):
            await caller.send("T", b"%d" % number + b"x" * 500)
        await caller.ok(329)
        low = int((await caller.ok(31, {"topic": "T", "queueId": "0"})).ext_fields["offset"])  # type: ignore[index, arg-type]
        assert 0 < low < 40
        answer = await caller.pull("T")
        assert (answer.code, answer.remark) == (21, "OFFSET_TOO_SMALL")
        assert (answer.ext_fields or {})["nextBeginOffset"] == str(low)
        assert (await caller.pull("T", low)).code == 0


async def test_settings_are_shown() -> None:
    async with Broker(flush_disk_type="SYNC_FLUSH") as broker, Caller(broker.address) as caller:
        answer = await caller.ok(26)
    lines = answer.body.decode().splitlines()
    assert {"flushDiskType=SYNC_FLUSH", "brokerName=broker-a", f"listenPort={broker_port(caller.address)}"} <= {*lines}


async def test_a_retry_topic_is_marked_as_ordered_as_the_last_heartbeat_says() -> None:
    """As by Apache's 5.5.0, step by step; a message given back takes the mark away."""
    async with Broker(port=0) as broker, Caller(broker.address) as caller:
        for topic in ("ordered", "plain"):
            await caller.ok(17, {**TOPIC, "topic": topic, "order": str(topic == "ordered").lower()})

        async def is_marked() -> bool:
            table = json.loads((await caller.ok(351, {"topic": "%RETRY%g"})).body)
            return bool(table.get("topicConfig", table)["order"])

        for topic in ("ordered", "plain", "ordered"):
            await caller.heartbeat("g", topic)
            assert await is_marked() == (topic == "ordered")
        sent = await caller.send("ordered")
        place = decode_offset_msg_id((sent.ext_fields or {})["msgId"] or "")
        assert place is not None
        back: dict[str, str | None] = {"offset": str(place.commit_log_offset), "group": "g", "delayLevel": "3"}
        await caller.ok(36, back)
        assert not await is_marked()
        await caller.heartbeat("g", "ordered")
        assert await is_marked()


async def test_a_stored_reply_says_where_it_was_stored_as_other_messages_do() -> None:
    """Region and trace are added to it, the cluster is not: as by Apache's 5.5.0."""
    async with Broker(port=0) as broker, Caller(broker.address) as caller:
        fields = send_fields("DefaultCluster_REPLY_TOPIC", REPLY_TO_CLIENT="gone@1", MSG_TYPE="reply")
        assert (await caller.ask(325, fields, b"reply")).code == 1
        (stored,) = await caller.messages("DefaultCluster_REPLY_TOPIC")
        assert stored.properties == {
            "REPLY_TO_CLIENT": "gone@1", "MSG_TYPE": "reply", "MSG_REGION": "DefaultRegion", "TRACE_ON": "true",
        }  # fmt: skip


@pytest.mark.parametrize("sys_flag", [4, 12])
async def test_a_message_that_is_in_no_queue_makes_none(sys_flag: int) -> None:
    """One that says of itself that it is prepared or rolled back is stored and never handed out: as by Apache's 5.5.0."""
    async with Broker(port=0) as broker, Caller(broker.address) as caller:
        assert (await caller.send("T", f=sys_flag)).code == 0
        answer = await caller.ask(321, {"topic": "T", "queueId": "0", "index": "1", "count": "1"})
        assert (answer.code, answer.remark) == (1, "0@T is not exist!")
        assert await caller.messages("T") == []
