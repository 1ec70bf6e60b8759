"""`cosmodrome admin` prints what mqadmin 5.5.0 prints, of the same NameServer at the same time.

Brokers are doubles that answer as told: what a real one says changes between two runs.
"""

import contextlib
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import pytest
from tests.interop.conftest import StageMaker
from tests.interop.rig.jars import V5_5
from tests.interop.rig.mqadmin import MqAdmin
from tests.support.admin_tool import Double, Reply, Run, Tool
from tests.support.peer import Peer, topics_named
from tests.support.wire import Broker, dump, topic_config

RUNTIME: Final = {
    "brokerVersionDesc": "V5_5_0",
    "brokerActive": "true",
    "putTps": "1.5 2.5 3.5",
    "getTransferredTps": "10.256 2 3",
    "sendThreadPoolQueueSize": "3",
    "pullThreadPoolQueueSize": "4",
    "sendThreadPoolQueueHeadWaitTimeMills": "5",
    "pullThreadPoolQueueHeadWaitTimeMills": "6",
    "ackThreadPoolQueueSize": "7",
    "ackThreadPoolQueueHeadWaitTimeMills": "8",
    "pageCacheLockTimeMills": "9",
    "commitLogDiskRatio": "0.2345",
    "timerReadBehind": "1",
    "timerOffsetBehind": "2",
    "timerCongestNum": "34567",
    "timerEnqueueTps": "1.25",
    "timerDequeueTps": "2.5",
    "msgPutTotalYesterdayMorning": "1",
    "msgPutTotalTodayMorning": "20",
    "msgPutTotalTodayNow": "300",
    "msgGetTotalYesterdayMorning": "10",
    "msgGetTotalTodayMorning": "200",
    "msgGetTotalTodayNow": "3000",
}
_QUEUE: Final = '{"brokerName":"broker-a","queueId":1,"topic":"Wide"}'
_OFFSETS: Final = '{"brokerOffset":9,"consumerOffset":4,"lastTimestamp":1700000000123,"pullOffset":5}'
_STATS: Final = f'{{"offsetTable":{{{_QUEUE}:{_OFFSETS}}},"consumeTps":1.5}}'
_CONNECTION: Final = {"clientId": "c@1", "clientAddr": "10.0.0.9:5", "language": "GO", "version": 513}
_SUBSCRIPTION: Final = {
    "topic": "Wide",
    "subString": "a || b",
    "tagsSet": ["a", "b"],
    "codeSet": [97, 98],
    "subVersion": 5,
}
_SLAVE: Final = {
    "addr": "10.0.0.3:5", "slaveAckOffset": 5, "diff": 2, "inSync": True, "transferredByteInSecond": 2048,
    "transferFromWhere": 3,
}  # fmt: skip
BROKER_ANSWERS: Final = {
    **dict.fromkeys((17, 200, 207, 215, 306, 316, 329, 401), Reply()),
    25: Reply(),
    26: Reply(body=b"brokerName=broker-a\nfileReservedTime=72\n"),
    28: Reply(body=dump({"table": RUNTIME})),
    201: Reply(
        body=dump({"subscriptionGroupTable": {"g": {"groupName": "g", "retryMaxTimes": 3, "brokerId": 2}}})
    ),
    202: Reply(
        body=f'{{"offsetTable":{{{_QUEUE}:{{"minOffset":1,"maxOffset":7,"lastUpdateTimestamp":1700000000123}}}}}}'.encode()
    ),
    203: Reply(
        body=dump(
            {
                "connectionSet": [_CONNECTION], "subscriptionTable": {"Wide": _SUBSCRIPTION},
                "consumeType": "CONSUME_PASSIVELY", "messageModel": "CLUSTERING",
                "consumeFromWhere": "CONSUME_FROM_LAST_OFFSET",
            }
        )
    ),
    204: Reply(body=dump({"connectionSet": [_CONNECTION]})),
    208: Reply(body=_STATS.encode()),
    300: Reply(body=dump({"groupList": ["g2"]})),
    315: Reply(
        body=dump(
            {
                "statsMinute": {"sum": 60, "tps": 1.005, "avgpt": 1.0}, "statsHour": {"sum": 0, "tps": 0.0, "avgpt": 0.0},
                "statsDay": {"sum": 0, "tps": 0.0, "avgpt": 0.0},
            }
        )
    ),
    351: Reply(body=dump({"topicName": "Other", "readQueueNums": 1, "writeQueueNums": 1, "perm": 6})),
    317: Reply(body=f'{{"consumeStatsList":[{{"g":[{_STATS}]}}],"totalDiff":5}}'.encode()),
    321: Reply(
        body=dump(
            {
                "maxQueueIndex": 9, "minQueueIndex": 0, "filterData": "null", "subscriptionData": _SUBSCRIPTION,
                "queueData": [{"physicOffset": 5, "physicSize": 6, "tagsCode": 7, "msg": "text"}],
            }
        )
    ),
    328: Reply(
        body=dump(
            {
                "data": {
                    "p": [
                        {
                            "clientId": "c@1", "remoteIP": "/10.0.0.9:5", "language": "JAVA", "version": 513,
                            "lastUpdateTimestamp": 1700000000123,
                        }
                    ]
                }
            }
        )
    ),
    907: Reply(
        body=dump({"master": True, "masterCommitLogMaxOffset": 7, "inSyncSlaveNums": 1, "haConnectionInfo": [_SLAVE]})
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Both:
    """The two tools, and the NameServer that both ask."""

    java: MqAdmin
    ours: Tool
    address: str
    broker: str

    def run(self, line: str) -> tuple[str, Run]:
        """Run one command line with both."""
        words = [*(word.replace("{broker}", self.broker) for word in line.split(" ")), "-n", self.address]
        return self.java.run(*words).lstrip("\n"), self.ours(*words)


@pytest.fixture(scope="module")
def both(new_stage: StageMaker) -> Iterator[Both]:
    with contextlib.ExitStack() as stack:
        stage = stack.enter_context(new_stage("admin-output"))
        server = stage.name_server()
        doubles = [stack.enter_context(Double(BROKER_ANSWERS)) for _ in range(3)]
        peer = stack.enter_context(Peer(server.address))
        topics = [*topics_named("Both", "Deleted", "%RETRY%g", "%DLQ%g", "TBW102"), topic_config("Wide", 4, 6)]
        peer.registered(Broker(name="broker-a", cluster="C1", addr=doubles[0].address), topics)
        peer.registered(Broker(name="broker-a", id=1, cluster="C1", addr=doubles[1].address), topics)
        peer.registered(
            Broker(name="broker-b", cluster="C2", addr=doubles[2].address), topics_named("Both", "Other", "%RETRY%g2")
        )
        yield Both(stage.mqadmin(V5_5), Tool(stage.folder), server.address, doubles[2].address)


def exact(text: str) -> object:
    return text


def unordered(text: str) -> object:
    """The lines after the first, sorted: Java lists in the order of its hash tables."""
    first, *others = text.splitlines() or [""]
    return [first, *sorted(others)]


def of_one_cluster(text: str) -> object:
    """As `unordered`, without the topic that two clusters have: mqadmin lists it in one of them only."""
    return unordered("\n".join(line for line in text.splitlines() if " Both " not in line))


def unordered_lines(text: str) -> object:
    return sorted(text.splitlines())


def without_end(text: str) -> object:
    """mqadmin forgets the end of the line here."""
    return text.rstrip("\n")


def dealt(text: str) -> object:
    """How many queues each consumer got, and all of them: mqadmin deals them out in the order of a hash table."""
    result = json.loads(text)["result"]
    queues = sorted(json.dumps(queue, sort_keys=True) for queues in result.values() for queue in queues)
    return {client: len(queues) for client, queues in result.items()}, queues


def unended(text: str) -> object:
    """mqadmin forgets the end of the last line here."""
    return text.rstrip("\n")


def leading_blank(text: str) -> object:
    """The test has already cut off the blank line with which mqadmin begins."""
    return text.lstrip("\n")


def blocks(text: str) -> object:
    """Blocks of brokers, in the order of a hash table."""
    return sorted(re.split(r"\n(?======)", text.strip()))


COMMANDS: Final[list[tuple[str, Callable[[str], object]]]] = [
    ("topicRoute -t Both", exact),
    ("topicRoute -t Both -l", exact),
    ("topicRoute -t Wide -l", exact),
    ("topicroute -topic Wide", exact),
    ("topicList", unordered_lines),
    ("topicList -c", of_one_cluster),
    ("topicClusterList -t Wide", exact),
    ("clusterList", unordered),
    ("clusterList -c C2", exact),
    ("clusterList -m", unordered),
    ("updateKvConfig -s N -k K -v V", exact),
    ("deleteKvConfig -s N -k K", exact),
    ("deleteKvConfig -s N -k K", exact),
    ("wipeWritePerm -b broker-a", exact),
    ("topicRoute -t Wide -l", exact),
    ("addWritePerm -b broker-a", exact),
    ("wipeWritePerm -b unknown", exact),
    ("updateOrderConf -m put -t Wide -v broker-a:4", without_end),
    ("updateOrderConf -m get -t Wide", without_end),
    ("updateOrderConf -m delete -t Wide", without_end),
    ("allocateMQ -t Both -i 10.0.0.1,10.0.0.2,10.0.0.3", dealt),
    ("getNamesrvConfig", unordered),
    ("updateNamesrvConfig -k orderMessageEnable -v true", exact),
    ("updateNamesrvConfig -k orderMessageEnable -v false", exact),
    ("updateTopic -c C2 -t Made -r 3 -w 4 -p 4", exact),
    ("updateTopicPerm -c C2 -t Other -p 4", exact),
    ("topicStatus -t Other", exact),
    ("statsAll -t Other", exact),
    ("queryCq -t Other -q 0 -i 8 -g g", exact),
    ("updateSubGroup -c C2 -g g -r 5", unended),
    ("getConsumerConfig -g g", blocks),
    ("setConsumeMode -c C2 -t Other -g g -m POP", without_end),
    ("producer -b {broker}", exact),
    ("producerConnection -g p -t Other", exact),
    ("consumerConnection -g g2", exact),
    ("brokerConsumeStats -b {broker}", exact),
    ("updateBrokerConfig -b {broker} -k fileReservedTime -v 48", exact),
    ("getBrokerConfig -c C2", unordered),
    ("brokerStatus -b {broker}", exact),
    ("brokerStatus -c C2", exact),
    ("haStatus -b {broker}", leading_blank),
    ("cleanExpiredCQ -c C2", without_end),
    ("deleteSubGroup -c C2 -g g", exact),
    ("deleteTopic -c C2 -t Made", exact),
]


@pytest.mark.parametrize(("line", "view"), COMMANDS, ids=[f"{at}-{line}" for at, (line, _) in enumerate(COMMANDS)])
def test_prints_what_mqadmin_prints(both: Both, line: str, view: Callable[[str], object]) -> None:
    theirs, ours = both.run(line)

    assert view(ours.out) == view(theirs)


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("topicRoute -t Unknown", 66),
        ("topicClusterList -t Unknown", 66),
        ("updateOrderConf -m get -t Unknown", 66),
        ("updateNamesrvConfig -k kvConfigPath -v x", 77),
        ("topicStatus -t Unknown", 66),
        ("consumerConnection -g unknown", 66),
    ],
)
def test_a_refusal_has_the_server_s_code_and_reason_and_an_exit_code(both: Both, line: str, code: int) -> None:
    theirs, ours = both.run(line)
    reason = theirs.partition("CODE: ")[2].partition("\n")[0]
    number, _, description = reason.partition("  DESC: ")

    assert (ours.code, ours.out) == (code, "")
    assert f"code {number}: {description.rstrip('.')}" in ours.err
