"""Settings of a broker that are changed while it runs (B013), and requests of tools about it."""

import asyncio
import json
from pathlib import Path
from typing import Final

import pytest
from tests.support.broker_calls import Caller, send_fields

from cosmodrome import Broker, NameServer
from cosmodrome.broker.config import BrokerConfig
from cosmodrome.namesrv.config_store import ConfigStore
from cosmodrome.namesrv.properties import last_values, parse
from cosmodrome.protocol.codes import LanguageCode

TEXT: Final = """\
# what the operator wrote
deleteWhen = 05

  brokerName=broker-b
! another remark
fileReservedTime : 48
listenPort=0
bindAddress=127.0.0.1
haListenPort=-1
brokerPermission=6
"""


def broker_of(folder: Path) -> tuple[Broker, Path]:
    """Give a broker whose settings are in a file with remarks."""
    file = folder / "broker.conf"
    file.write_text(TEXT, encoding="utf-8")
    config = BrokerConfig.of_java(last_values(parse(TEXT)) | {"storePathRootDir": str(folder / "store")})
    return Broker(config=config, settings_file=ConfigStore(file, is_given=True, content=TEXT.encode())), file


async def shown(caller: Caller) -> dict[str, str]:
    """Give the settings that 26 tells."""
    text = (await caller.ok(26)).body.decode()
    return dict(line.split("=", 1) for line in text.splitlines())


async def test_b013_one_setting_changes_one_line(tmp_path: Path) -> None:
    broker, file = broker_of(tmp_path)
    async with broker, Caller(broker.address) as caller:
        version = json.loads(((await caller.ok(26)).ext_fields or {})["version"] or "")
        await caller.ok(25, {}, b"fileReservedTime=24\n")
        assert (await shown(caller))["fileReservedTime"] == "24"
        assert (
            json.loads(((await caller.ok(26)).ext_fields or {})["version"] or "")["counter"] == version["counter"] + 1
        )
    assert file.read_text("utf-8") == TEXT.replace("fileReservedTime : 48", "fileReservedTime=24")
    assert (tmp_path / "broker.conf.bak").read_text("utf-8") == TEXT


async def test_b013_a_setting_that_is_not_there_is_added_at_the_end(tmp_path: Path) -> None:
    broker, file = broker_of(tmp_path)
    async with broker, Caller(broker.address) as caller:
        await caller.ok(25, {}, b"rejectTransactionMessage=true\n")
        assert (await caller.send("T", TRAN_MSG="true")).code == 16
    assert file.read_text("utf-8") == f"{TEXT}rejectTransactionMessage=true\n"


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ("noSuchSetting=1", 1),
        ("fileReservedTime=24\nnoSuchSetting=1", 1),
        ("fileReservedTime=24\nbrokerPermission=8", 1),
        ("fileReservedTime=-1", 1),
        ("fileReservedTime=soon", 1),
        ("deleteWhen=midnight", 1),
        ("diskSpaceWarningLevelRatio=0", 1),
        ("brokerRole=SLAVE", 1),
        ("flushDiskType=NEVER", 1),
        ("fileReservedTime=24\nadminPolicy=open", 16),
        ("adminAllow=0.0.0.0/0", 16),
        ("storePathRootDir=/tmp/elsewhere", 16),
        ("rocketmqHome=/tmp/elsewhere", 16),
        ("aclEnable=false", 16),
        ("tls.server.mode=disabled", 16),
        ("initAuthenticationUser={}", 16),
        ("x" * 70_000, 1),
    ],
)
async def test_b013_bad_settings_are_refused_as_a_whole(tmp_path: Path, change: str, code: int) -> None:
    broker, file = broker_of(tmp_path)
    async with broker, Caller(broker.address) as caller:
        before = await shown(caller)
        answer = await caller.ask(25, {}, change.encode())
        assert answer.code == code, answer
        assert await shown(caller) == before
    assert file.read_text("utf-8") == TEXT
    assert not (tmp_path / "broker.conf.bak").exists()


async def test_b013_what_waits_for_a_restart_is_said_and_kept(tmp_path: Path) -> None:
    broker, file = broker_of(tmp_path)
    async with broker, Caller(broker.address) as caller:
        answer = await caller.ok(25, {}, b"maxMessageSize=1000\nlongPollingEnable=false\n")
        assert answer.remark == "in effect after a restart: maxMessageSize"
        assert (await shown(caller))["maxMessageSize"] == "1000"
        assert (await caller.send("T", b"x" * 2000)).code == 0
    assert file.read_text("utf-8") == f"{TEXT}maxMessageSize=1000\nlongPollingEnable=false\n"


async def test_b013_a_file_that_cannot_be_written_changes_nothing(tmp_path: Path) -> None:
    broker, file = broker_of(tmp_path)
    async with broker, Caller(broker.address) as caller:
        file.unlink()
        file.mkdir()
        assert (await caller.ask(25, {}, b"fileReservedTime=24\n")).code == 1
        assert (await shown(caller))["fileReservedTime"] == "48"


async def test_b013_permissions_that_change_are_published_at_once() -> None:
    async with (
        NameServer(port=0) as server,
        Broker(namesrv=server.address) as broker,
        Caller(broker.address) as caller,
        Caller(server.address) as asker,
    ):
        await caller.send("T")
        await caller.ok(25, {}, b"brokerPermission=4\n")
        async with asyncio.timeout(10):
            while b'"perm":4' not in (await asker.ask(105, {"topic": "T"})).body:
                pass
        await caller.ok(25, {}, b"brokerPermission=2\n")
        assert (await caller.pull("T")).code == 16


async def test_settings_are_read_again(tmp_path: Path) -> None:
    broker, _ = broker_of(tmp_path)
    async with broker, Caller(broker.address) as caller:
        texts = last_values(parse(TEXT)) | {"storePathRootDir": str(tmp_path / "store")}
        change = await broker.reload(
            lambda: BrokerConfig.of_java(
                texts | {"fileReservedTime": "1", "maxMessageSize": "9", "adminPolicy": "open"}
            )
        )
        assert set(change.applied) == {"fileReservedTime", "adminPolicy"}
        assert "maxMessageSize" in change.restart
        assert "listenPort" not in change.restart
        assert (await shown(caller))["fileReservedTime"] == "1"


async def test_time_spans_of_a_group() -> None:
    """303."""
    async with Broker() as broker, Caller(broker.address) as caller:
        await caller.send("T")
        await caller.send("T")
        await caller.ok(200, {}, json.dumps({"groupName": "g"}).encode())
        await caller.ok(15, {"consumerGroup": "g", "topic": "T", "queueId": "0", "commitOffset": "1"})
        spans = json.loads((await caller.ok(303, {"topic": "T", "group": "g"})).body)["consumeTimeSpanSet"]
        first = next(each for each in spans if each["messageQueue"]["queueId"] == 0)
        messages = await caller.messages("T")
        assert first["minTimeStamp"] == first["consumeTimeStamp"] == messages[0].store_timestamp_ms
        assert first["maxTimeStamp"] == messages[1].store_timestamp_ms
        assert first["delayTime"] >= 0
        empty = next(each for each in spans if each["messageQueue"]["queueId"] == 1)
        assert (empty["minTimeStamp"], empty["maxTimeStamp"], empty["delayTime"]) == (-1, -1, 0)
        assert (await caller.ask(303, {"topic": "none", "group": "g"})).code == 17


async def test_correction_offsets() -> None:
    """308."""
    async with Broker() as broker, Caller(broker.address) as caller:
        for _ in range(5):
            await caller.send("T")
        for group, offset in (("a", 4), ("b", 2), ("c", 1)):
            await caller.ok(200, {}, json.dumps({"groupName": group}).encode())
            await caller.ok(15, {"consumerGroup": group, "topic": "T", "queueId": "0", "commitOffset": str(offset)})
        asked = {"filterGroups": "c", "compareGroup": "a", "topic": "T"}
        assert b'"correctionOffsets":{0:2}' in (await caller.ok(308, asked)).body
        behind = {"filterGroups": "c", "compareGroup": "c", "topic": "T"}
        assert b'"correctionOffsets":{0:9223372036854775807}' in (await caller.ok(308, behind)).body


async def test_statistics_of_all_groups() -> None:
    """317."""
    async with Broker() as broker, Caller(broker.address) as caller:
        for _ in range(3):
            await caller.send("T")
        await caller.ok(200, {}, json.dumps({"groupName": "g"}).encode())
        await caller.ok(15, {"consumerGroup": "g", "topic": "T", "queueId": "0", "commitOffset": "1"})
        body = (await caller.ok(317, {"isOrder": "false"})).body
        assert b'"brokerAddr":"%b"' % broker.address.encode() in body
        assert b'"totalDiff":2' in body
        assert b'{"TOOLS_CONSUMER":[]}' in body
        assert b'"consumerOffset":1' in body
        assert b'"totalDiff":0' in (await caller.ok(317, {"isOrder": "true"})).body


async def test_b020_unused_topics_go_and_nothing_else(tmp_path: Path) -> None:
    """316, with a transaction that is open."""
    async with Broker(store=tmp_path) as broker, Caller(broker.address) as caller:
        await caller.send("Used")
        await caller.send("Half", TRAN_MSG="true", PGROUP="p")
        await caller.send("Later", DELAY="18")
        unused = tmp_path / "consumequeue" / "Unused" / "0"
        await caller.send("Unused")
        assert unused.exists()
        broker.running_state.topics.remove("Unused", 0)
        await caller.ok(316)
        left = {each.name for each in (tmp_path / "consumequeue").iterdir()}
        assert left == {"Used", "RMQ_SYS_TRANS_HALF_TOPIC", "SCHEDULE_TOPIC_XXXX"}
        assert [each.body for each in await caller.messages("Used")] == [b"x"]


@pytest.mark.parametrize("name", ["RMQ_SYS_TRANS_HALF_TOPIC", "RMQ_SYS_TRANS_OP_HALF_TOPIC", "TBW102", "rmq_sys_x", ""])
async def test_b020_system_topics_are_not_deleted(name: str) -> None:
    async with Broker() as broker, Caller(broker.address) as caller:
        await caller.send("Half", TRAN_MSG="true", PGROUP="p")
        assert (await caller.ask(215, {"topic": name})).code != 0
        assert (
            int(
                ((await caller.ok(30, {"topic": "RMQ_SYS_TRANS_HALF_TOPIC", "queueId": "0"})).ext_fields or {})[
                    "offset"
                ]
                or ""
            )
            == 1
        )


@pytest.mark.parametrize("name", ["CID_RMQ_SYS_TRANS", "TOOLS_CONSUMER"])
async def test_b020_system_groups_are_not_deleted(name: str) -> None:
    async with Broker() as broker, Caller(broker.address) as caller:
        assert (await caller.ask(207, {"groupName": name, "cleanOffset": "true"})).code != 0
        assert name in json.loads((await caller.ok(201)).body)["subscriptionGroupTable"]


async def test_b020_a_name_that_begins_like_another_is_another(tmp_path: Path) -> None:
    async with Broker(store=tmp_path) as broker, Caller(broker.address) as caller:
        for topic in ("T", "T2", "%RETRY%g", "%DLQ%g", "%RETRY%g2"):
            await caller.send(topic)
        for topic in ("T", "%RETRY%g"):
            await caller.ok(215, {"topic": topic})
        left = {each.name for each in (tmp_path / "consumequeue").iterdir()}
        assert left == {"T2", "%DLQ%g", "%RETRY%g2"}


async def test_b021_nothing_is_left_of_what_was_deleted() -> None:
    async with Broker() as broker, Caller(broker.address) as caller:
        counts = []
        for number in range(30):
            topic, group = f"T{number}", f"g{number}"
            await caller.send(topic)
            await caller.ok(200, {}, json.dumps({"groupName": group}).encode())
            await caller.pull(topic, consumerGroup=group)
            await caller.ok(15, {"consumerGroup": group, "topic": topic, "queueId": "0", "commitOffset": "1"})
            assert (await caller.ok(315, {"statsName": "TOPIC_PUT_NUMS", "statsKey": topic})).code == 0
            await caller.ok(207, {"groupName": group, "cleanOffset": "true"})
            await caller.ok(215, {"topic": topic})
            assert (await caller.ask(315, {"statsName": "TOPIC_PUT_NUMS", "statsKey": topic})).code == 1
            counts.append(len(broker.running_state.statistics))
        assert counts[-1] == counts[1]
        assert b"T7" not in (await caller.ok(43)).body
        table = json.loads((await caller.ok(28)).body)["table"]
        assert int(table["msgPutTotalTodayNow"]) == 30


async def test_totals_and_times_of_28() -> None:
    async with Broker() as broker, Caller(broker.address) as caller:
        for _ in range(4):
            await caller.send("T", b"x" * 100)
        await caller.pull("T")
        table = json.loads((await caller.ok(28)).body)["table"]
        assert table["putMessageTimesTotal"] == "4"
        assert int(table["putMessageSizeTotal"]) == int(table["commitLogMaxOffset"])
        assert float(table["putMessageAverageSize"]) == int(table["putMessageSizeTotal"]) / 4
        buckets = dict(each.rsplit(":", 1) for each in table["putMessageDistributeTime"].split())
        assert sum(map(int, buckets.values())) == 4
        assert (table["msgPutTotalTodayMorning"], table["msgPutTotalTodayNow"]) == ("0", "4")


async def test_members_are_asked_for_their_offsets() -> None:
    """223 and 221."""
    async with Broker() as broker, Caller(broker.address) as tool, Caller(broker.address) as member:
        await tool.send("T")
        missing = await tool.ask(223, {"topic": "T", "group": "g"})
        assert missing.remark == "No Any Consumer online in the consumer group: [g]"
        await member.heartbeat("g", "T", client_id="c@1")
        asking = asyncio.create_task(tool.ask(223, {"topic": "T", "group": "g"}))
        (asked,) = await member.next_heard(221)
        assert asked.ext_fields == {"topic": "T", "group": "g"}
        body = b'{"messageQueueTable":{{"brokerName":"broker-a","queueId":0,"topic":"T"}:7}}'
        await member.answer(asked, body)
        answer = await asking
        assert answer.code == 0
        assert b'"c@1":{{"brokerName":"broker-a","queueId":0,"topic":"T"}:7}' in answer.body


async def test_a_half_message_that_was_given_up_is_asked_about_again() -> None:
    """323."""
    async with (
        Broker(transaction_check_interval=20, transaction_time_out=1, transaction_check_max=0) as broker,
        Caller(broker.address) as caller,
    ):
        await caller.send("T", TRAN_MSG="true", PGROUP="p")
        (given_up,) = await caller.until("TRANS_CHECK_MAX_TIME_TOPIC", 1)
        await caller.ok(25, {}, b"transactionCheckMax=15\n")
        await caller.heartbeat("g", "T", producer="p")
        await caller.ok(323, {"topic": "T", "msgId": given_up.offset_msg_id})
        assert (await caller.next_heard(39))[0].body
        assert (await caller.ask(323, {"topic": "T", "msgId": "7F000001000000010000000000000000"})).code == 1
        assert (await caller.ask(323, {"topic": "T", "msgId": "no id"})).code == 1


async def test_the_fast_port_serves_everything_but_waiting() -> None:
    """As with Apache's: sends and offsets, and no pulls."""
    async with Broker(ha_listen_port=0) as broker, Caller(broker.address) as caller:
        host, _, port = broker.address.rpartition(":")
        async with Caller(f"{host}:{int(port) - 2}") as fast:
            assert (await fast.ask(310, send_fields("T"), b"fast")).code == 0
            await fast.heartbeat("g", "T", client_id="fast@1")
            assert (await fast.pull("T")).code == 3
            await caller.heartbeat("g", "T", client_id="main@1")
            assert await fast.next_heard(40)
            assert [each.body for each in await caller.messages("T")] == [b"fast"]
            ids = json.loads((await fast.ok(38, {"consumerGroup": "g"})).body)["consumerIdList"]
            assert sorted(ids) == ["fast@1", "main@1"]


@pytest.mark.parametrize(
    ("version", "language", "told"),
    [
        (407, LanguageCode.JAVA, [b"{{"]),
        (401, LanguageCode.CPP, [b"[{"]),
        (513, LanguageCode.JAVA, []),
    ],
)
async def test_members_older_than_5_0_are_told_of_a_reset(
    version: int, language: LanguageCode, told: list[bytes]
) -> None:
    """220, in the form that each can read; newer ones hear of it at their next pull."""
    async with Broker() as broker, Caller(broker.address) as tool, Caller(broker.address) as member:
        member.version, member.language = version, language
        await tool.send("T")
        await member.heartbeat("g", "T")
        await tool.ok(222, {"topic": "T", "group": "g", "timestamp": "-1", "isForce": "true", "queueId": "0"})
        moved = await member.pull("T", consumerGroup="g")
        assert (moved.code, moved.remark) == (21, "OFFSET_RESET")
        heard = [each.body.partition(b'"offsetTable":')[2][:2] for each in member.heard if each.code == 220]
        assert heard == told
