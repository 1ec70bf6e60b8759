"""`cosmodrome admin` prints what mqadmin 5.5.0 prints, of the same NameServer at the same time.

Brokers are doubles that answer as told: what a real one says changes between two runs.
"""

import contextlib
import json
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

DELETE_TOPIC_IN_BROKER: Final = 215
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
BROKER_ANSWERS: Final = {
    28: Reply(body=dump({"table": RUNTIME})),
    300: Reply(body=dump({"groupList": ["group-one"]})),
    DELETE_TOPIC_IN_BROKER: Reply(),
}


@dataclass(frozen=True, slots=True)
class Both:
    """The two tools, and the NameServer that both ask."""

    java: MqAdmin
    ours: Tool
    address: str

    def run(self, line: str) -> tuple[str, Run]:
        """Run one command line with both."""
        words = [*line.split(" "), "-n", self.address]
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
        peer.registered(Broker(name="broker-b", cluster="C2", addr=doubles[2].address), topics_named("Both", "Other"))
        yield Both(stage.mqadmin(V5_5), Tool(stage.folder), server.address)


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
]


@pytest.mark.parametrize(("line", "view"), COMMANDS, ids=[f"{at}-{line}" for at, (line, _) in enumerate(COMMANDS)])
def test_prints_what_mqadmin_prints(both: Both, line: str, view: Callable[[str], object]) -> None:
    theirs, ours = both.run(line)

    assert view(ours.out) == view(theirs)


def test_the_name_server_s_part_of_a_deletion_is_said_in_the_same_words(both: Both) -> None:
    theirs, ours = both.run("deleteTopic -c C1 -t Deleted")

    assert ours.out == theirs.splitlines(keepends=True)[-1]
    assert "NameServer's part only" in ours.err


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("topicRoute -t Unknown", 66),
        ("topicClusterList -t Unknown", 66),
        ("updateOrderConf -m get -t Unknown", 66),
        ("updateNamesrvConfig -k kvConfigPath -v x", 77),
    ],
)
def test_a_refusal_has_the_server_s_code_and_reason_and_an_exit_code(both: Both, line: str, code: int) -> None:
    theirs, ours = both.run(line)
    reason = theirs.partition("CODE: ")[2].partition("\n")[0]
    number, _, description = reason.partition("  DESC: ")

    assert (ours.code, ours.out) == (code, "")
    assert f"code {number}: {description.rstrip('.')}" in ours.err
