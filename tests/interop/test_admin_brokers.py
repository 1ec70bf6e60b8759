"""`cosmodrome admin` prints what mqadmin 5.5.0 prints of topics, groups and brokers, of the same cluster at the same time.

Once with Apache's NameServer and broker, once with ours. What both tools change is changed twice.
"""

import contextlib
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
from tests.interop.conftest import StageMaker
from tests.interop.mqadmin_outputs import columns, names_only, unordered, unordered_without_figures, whole
from tests.interop.rig.brokers import CLUSTER, BrokerSettings
from tests.interop.rig.jars import V5_5
from tests.interop.rig.mqadmin import MqAdmin
from tests.interop.rig.our_broker import OurBroker
from tests.interop.rig.stage import OURS, Stage
from tests.support.admin_tool import Run, Tool
from tests.support.waiting import wait_until

pytestmark = pytest.mark.full

BROKER: Final = "broker-admin"
GROUP: Final = "rig-online"
TOPIC: Final = "Held"
View = Callable[[str], object]


@dataclass(frozen=True, slots=True)
class Place:
    """A cluster with a producer and a consumer online, and the two tools."""

    java: MqAdmin
    ours: Tool
    name_server: str
    address: str
    folder: Path

    def run(self, line: str) -> tuple[str, Run]:
        """Run one command line with both, each with a folder of its own."""
        folders = {name: self.folder / name for name in ("java", "ours")}
        words = {
            name: [
                word.format(address=self.address, cluster=CLUSTER, folder=folder, files=self.folder)
                for word in line.split(" ")
            ]
            for name, folder in folders.items()
        }
        theirs = self.java.run(*words["java"], "-n", self.name_server).replace(str(folders["java"]), "<folder>")
        ours = self.ours(*words["ours"], "-n", self.name_server)
        return theirs, ours._replace(out=ours.out.replace(str(folders["ours"]), "<folder>"))


@contextlib.contextmanager
def running_broker(stage: Stage, kind: str, server: str) -> Iterator[tuple[str, Callable[[str, int], None]]]:
    """Run a broker, and give its address and what makes a topic there."""
    if kind == OURS:
        with OurBroker(BROKER, server, ha_listen_port=0, broker_cluster_name=CLUSTER) as broker:
            yield broker.address, broker.create_topic
        return
    apache = stage.registered_broker(BrokerSettings(release=V5_5, name=BROKER, name_servers=[server]))
    yield apache.address, lambda topic, queues: apache.create_topic(topic, queues=queues)


@pytest.fixture(scope="module", params=[V5_5, OURS])
def place(request: pytest.FixtureRequest, new_stage: StageMaker) -> Iterator[Place]:
    kind = request.param
    with new_stage(f"admin-brokers-{kind}") as stage:
        server = stage.started_name_server(kind)
        with running_broker(stage, kind, server.address) as (address, create_topic):
            create_topic(TOPIC, 1)
            stage.clients(V5_5).stay_online(server.address, TOPIC, GROUP)
            files = stage.folder / "exports"
            (files / "ours").mkdir(parents=True)
            topics = [{"topicName": f"Listed{number}", "readQueueNums": 3, "writeQueueNums": 3} for number in (1, 2)]
            (files / "topics.json").write_text(json.dumps(topics), encoding="utf-8")
            (files / "groups.json").write_text(json.dumps([{"groupName": "ListedGroup"}]), encoding="utf-8")
            placed = Place(stage.mqadmin(V5_5), Tool(files / "ours"), server.address, address, files)
            wait_until(lambda: TOPIC in placed.run("consumerProgress -g " + GROUP)[0], "an offset of the group")
            yield placed


def without_end(text: str) -> object:
    """mqadmin forgets the end of the line here."""
    return whole(text)


def settings(text: str) -> object:
    """The lines with settings, sorted; times of the broker's log change at every look."""
    return sorted(line for line in text.splitlines() if "=" in line and "Timestamp" not in line)


_MAP: Final = re.compile(r"\{([^{}]*)\}")


def sorted_maps(text: str) -> object:
    """Java writes maps in hash order."""
    return whole(_MAP.sub(lambda found: f"{{{', '.join(sorted(found[1].split(', ')))}}}", text))


COMMANDS: Final[list[tuple[str, View]]] = [
    ("updateTopic -b {address} -t Direct -r 4 -w 4 -p 6", whole),
    ("updateTopic -c {cluster} -t Clustered -r 4 -w 4", whole),
    ("updatetopic -c {cluster} -t Unit -r 1 -w 1 -u true -s true", whole),
    ("updateTopic -c {cluster} -t Ordered -r 4 -w 4 -o true", whole),
    ("updateTopic -b {address} -t Ordered -r 4 -w 4 -o true", whole),
    ("updateOrderConf -m get -t Ordered", without_end),
    ("updateTopic -c {cluster} -t Attributed -a +message.type=FIFO", sorted_maps),
    ("updateTopicList -c {cluster} -f {files}/topics.json", lambda text: whole(text)[:1]),
    ("updateTopicList -b {address} -f {files}/topics.json", whole),
    ("topicRoute -t Listed2", whole),
    ("updateTopicPerm -b {address} -t Direct -p 6", whole),
    ("updateTopicPerm -c {cluster} -t Unit -p 2", lambda text: re.sub(r"from \d", "from", text)),
    ("updateTopicPerm -b {address} -t Unit -p 2", whole),
    ("topicStatus -t Held", whole),
    ("topicStatus -t Held -c {cluster}", whole),
    ("topicStatus -t Clustered", whole),
    ("statsAll -t Held", unordered_without_figures),
    ("statsAll", unordered_without_figures),
    ("statsAll -a", unordered_without_figures),
    ("queryCq -t Held -q 0 -i 0", whole),
    ("queryCq -t Held -q 0 -i 0 -c 1 -g rig-online", lambda text: re.sub(r'"subVersion":\d+', "", text)),
    ("updateSubGroup -c {cluster} -g GroupA", sorted_maps),
    ("updateSubGroup -b {address} -g GroupA -s true -m true -d true -o true -q 2 -r 3 -i 0 -w 1 -a false", sorted_maps),
    ("updateSubGroupList -b {address} -f {files}/groups.json", whole),
    ("setConsumeMode -c {cluster} -t Held -g GroupA -m POP", whole),
    ("setConsumeMode -b {address} -t Held -g GroupA -m PULL -q 1", whole),
    ("getConsumerConfig -g GroupA", whole),
    ("getConsumerConfig -g rig-online", whole),
    ("producer -b {address}", unordered),
    ("producerConnection -g rig-online -t Held", whole),
    ("consumerConnection -g rig-online", unordered),
    ("consumerConnection -g rig-online -b {address}", unordered),
    ("consumerStatus -g rig-online", lambda text: re.sub(r"\d{13}/", "<ms>/", text)),
    ("cloneGroupOffset -s rig-online -d GroupA -t Held", without_end),
    ("brokerConsumeStats -b {address}", unordered),
    ("updateBrokerConfig -c {cluster} -k fileReservedTime -v 48", whole),
    ("updateBrokerConfig -b {address} -k fileReservedTime -v 49", whole),
    ("updateBrokerConfig -c {cluster} -a true -k fileReservedTime -v 50", whole),
    ("getBrokerConfig -b {address}", settings),
    ("getBrokerConfig -c {cluster}", settings),
    ("brokerStatus -b {address}", names_only),
    ("brokerStatus -c {cluster}", names_only),
    ("clusterList", columns(5)),
    ("clusterList -m", columns(2)),
    ("cleanExpiredCQ -c {cluster}", without_end),
    ("cleanExpiredCQ", without_end),
    ("deleteExpiredCommitLog -b {address}", without_end),
    ("cleanUnusedTopic -c {cluster}", without_end),
    ("haStatus -c {cluster}", whole),
    ("haStatus -b {address}", whole),
    ("exportMetadata -c {cluster} -f {folder}", whole),
    ("exportMetadata -c {cluster} -t -f {folder}", whole),
    ("exportConfigs -c {cluster} -f {folder}", without_end),
    ("exportMetrics -c {cluster} -f {folder}", without_end),
    ("deleteSubGroup -b {address} -g ListedGroup", whole),
    ("deleteSubGroup -c {cluster} -g GroupA -r true", whole),
    ("deleteTopic -c {cluster} -t Direct", whole),
    ("deletetopic -c {cluster} -t Ordered", whole),
    ("topicList", unordered),
]


@pytest.mark.parametrize(("line", "view"), COMMANDS, ids=[f"{at}-{line}" for at, (line, _) in enumerate(COMMANDS)])
def test_prints_what_mqadmin_prints(place: Place, line: str, view: View) -> None:
    theirs, ours = place.run(line)

    assert (ours.code, ours.err) == (0, "")
    assert view(ours.out) == view(theirs)


def test_what_a_consumer_says_is_laid_out_the_same(place: Place) -> None:
    """Digits count as equal: times and rates change from one look to the next."""
    members = place.ours("consumerConnection", "-g", GROUP, "-n", place.name_server, "-o", "json").json
    theirs, ours = place.run(f"consumerStatus -g {GROUP} -i {members['connections'][0]['client_id']}")

    assert ours.code == 0
    assert sorted(re.sub(r"\d", "0", ours.out).splitlines()) == sorted(re.sub(r"\d", "0", theirs).splitlines())


def without_empty(document: Any) -> Any:
    """mqadmin writes Java's defaults for members that a broker does not send; they are empty."""
    if isinstance(document, dict):
        members = {name: without_empty(value) for name, value in document.items()}
        return {name: value for name, value in members.items() if value not in ({}, [], None)}
    return document


@pytest.mark.parametrize(
    ("name", "varying"),
    [
        ("exportMetadata", r'"exportTime":\s*\d+'),
        ("exportConfigs", "$^"),
        ("exportMetrics", r'"(?:\w+Tps|\w+DiskRatio|messageAverageSize|\w+Num)":\s*"?[\d.E-]+"?'),
    ],
)
def test_exports_hold_the_same(place: Place, name: str, varying: str) -> None:
    place.run(f"{name} -c {{cluster}} -f {{folder}}")
    file = {"exportMetadata": "metadata.json", "exportConfigs": "configs.json", "exportMetrics": "metrics.json"}[name]
    texts = [(place.folder / tool / file).read_text(encoding="utf-8") for tool in ("java", "ours")]
    theirs, ours = (without_empty(json.loads(re.sub(varying, '"varies":0', text))) for text in texts)

    assert ours == theirs


FAILURES: Final[list[tuple[str, int]]] = [
    ("topicStatus -t Unknown", 66),
    ("updateTopic -c NoCluster -t Nowhere", 66),
    ("updateTopicPerm -b {address} -t Unknown -p 4", 66),
    ("deleteTopic -c NoCluster -t Nowhere", 66),
    ("updateSubGroup -c NoCluster -g Nowhere", 66),
    ("getBrokerConfig -c NoCluster", 66),
    ("brokerStatus -c NoCluster", 66),
    ("haStatus -c NoCluster", 66),
    ("exportConfigs -c NoCluster", 66),
    ("getConsumerConfig -g Unknown", 66),
    ("consumerConnection -g Unknown", 66),
    ("consumerConnection -g Unknown -b {address}", 66),
    ("consumerStatus -g Unknown", 66),
    ("producerConnection -g Unknown -t Held", 66),
    ("queryCq -t Unknown -q 0 -i 0", 66),
    ("cloneGroupOffset -s rig-online -d GroupA -t Unknown", 66),
]


@pytest.mark.parametrize(("line", "code"), FAILURES, ids=[f"{at}-{line}" for at, (line, _) in enumerate(FAILURES)])
def test_fails_where_mqadmin_says_that_something_is_wrong(place: Place, line: str, code: int) -> None:
    """mqadmin ends with 0 whatever happened; what it says tells, or that it says nothing where it should."""
    theirs, ours = place.run(line)

    assert ours.code == code, ours.err
    assert ours.out == ""
    assert ours.err.startswith("error[NS-")
    assert "  do:  " in ours.err
    has_result = bool(theirs.strip()) and not re.search(r"Exception|\[error\]|usage:|CODE: ", theirs)
    assert not has_result, theirs
