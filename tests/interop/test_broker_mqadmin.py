"""Apache's mqadmin and our broker: every command of daily operations does what it is for.

Outputs are compared with those beside Apache's broker in test_broker_commands.py.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest
from tests.interop.conftest import StageMaker
from tests.interop.rig.jars import V4_9, V5_5
from tests.interop.rig.message_clients import MessageClients
from tests.interop.rig.mqadmin import MqAdmin
from tests.interop.rig.name_servers import NameServer
from tests.interop.rig.our_broker import OurBroker

COUNT = 12


@dataclass(frozen=True)
class Place:
    """A broker with some messages of topic T that group G has consumed, and a tool of one release."""

    name_server: NameServer
    broker: OurBroker
    admin: MqAdmin
    msg_id: str
    offset_id: str

    def run(self, *words: str) -> str:
        return self.admin.run(*words, "-n", self.name_server.address)


@pytest.fixture(scope="module", params=[V5_5, V4_9])
def place(request: pytest.FixtureRequest, new_stage: StageMaker) -> Iterator[Place]:
    with new_stage(f"our-mqadmin-{request.param}") as stage:
        name_server = stage.name_server()
        with OurBroker("broker-a", name_server.address) as broker:
            broker.create_topic("T", 2)
            clients: MessageClients = stage.message_clients(request.param)
            clients.producer("producer", name_server.address, "senders")
            sent = clients.send("producer", "T", "m", keys="k1", count=COUNT)
            clients.consumer("consumer", name_server.address, "G", "T")
            clients.wait_seen("consumer", COUNT)
            clients.end("consumer")
            clients.consumer("stays", name_server.address, "G2", "T")
            clients.wait_seen("stays", COUNT)
            yield Place(name_server, broker, stage.mqadmin(request.param), sent[0].msg_id, sent[0].offset_msg_id or "")


def test_cluster_and_broker(place: Place) -> None:
    assert place.broker.broker.address in place.run("clusterList")
    status = place.run("brokerStatus", "-b", place.broker.broker.address)
    assert "msgPutTotalTodayNow" in status


def test_topics(place: Place) -> None:
    place.run("updateTopic", "-b", place.broker.broker.address, "-t", "Made", "-r", "3", "-w", "3")
    assert "Made" in place.run("topicList")
    status = place.run("topicStatus", "-t", "T")
    rows = [line.split() for line in status.splitlines() if line.startswith("broker-a")]
    assert sum(int(row[3]) - int(row[2]) for row in rows) == COUNT
    place.run("deleteTopic", "-c", "DefaultCluster", "-t", "Made")
    assert "Made" not in place.run("topicList")


def test_groups(place: Place) -> None:
    progress = place.run("consumerProgress", "-g", "G")
    assert "Diff Total: 0" in progress.replace("Consume ", "")
    place.run("updateSubGroup", "-b", place.broker.broker.address, "-g", "Fresh", "-r", "3")
    assert "Fresh" in place.run("getConsumerConfig", "-g", "Fresh")


def test_messages(place: Place) -> None:
    assert place.msg_id in place.run("queryMsgByKey", "-t", "T", "-k", "k1")
    assert "CLUSTER=DefaultCluster" in place.run("queryMsgByUniqueKey", "-t", "T", "-i", place.msg_id).replace(" ", "")


COMMANDS: Final = {
    "updateTopicPerm": ("updateTopicPerm -b {address} -t Permitted -p 4", "from 6 to 4 in {address} success."),
    "updateBrokerConfig": ("updateBrokerConfig -b {address} -k fileReservedTime -v 48", "success"),
    "getBrokerConfig": ("getBrokerConfig -b {address}", "fileReservedTime"),
    "queryMsgByOffset": ("queryMsgByOffset -t T -b broker-a -i 0 -o 0", "k1"),
    "producerConnection": ("producerConnection -g senders -t T", "127.0.0.1:"),
    "consumerConnection": ("consumerConnection -g G2", "T"),
    "consumerStatus": ("consumerStatus -g G2", "Rebalance OK"),
    "consumerProgress": ("consumerProgress", "G2"),
    "producer": ("producer -b {address}", "senders"),
    "statsAll": ("statsAll -t T", "G"),
    "sendMessage": ("sendMessage -t T -p hello -b broker-a -i 0", "SEND_OK"),
    "consumeMessage": ("consumeMessage -t T -b broker-a -i 0 -o 0 -c 1", "Consume ok"),
    "exportMetadata": ("exportMetadata -c DefaultCluster -f {folder}", "success"),
    "exportConfigs": ("exportConfigs -c DefaultCluster -f {folder}", "success"),
    "exportMetrics": ("exportMetrics -c DefaultCluster -f {folder}", "success"),
    "brokerConsumeStats": ("brokerConsumeStats -b {address}", "G2"),
    "queryCq": ("queryCq -t T -q 0 -i 0", "min: 0"),
    "cleanUnusedTopic": ("cleanUnusedTopic -b {address}", "success"),
    "cleanExpiredCQ": ("cleanExpiredCQ -b {address}", "success"),
    "resetOffsetByTime": ("resetOffsetByTime -g G2 -t T -s now -f true", "T"),
    "skipAccumulatedMessage": ("skipAccumulatedMessage -g G2 -t T -f true", "#brokerName"),
    "cloneGroupOffset": ("cloneGroupOffset -s G2 -d G3 -t T", "clone group offset success"),
    "deleteSubGroup": ("deleteSubGroup -b {address} -g Fresh2", "delete subscription group [Fresh2]"),
}
"""Lines as they are typed, and what they print when they have worked."""


def test_a_message_by_its_id(place: Place) -> None:
    """The tool of 4.9.7 ends its JVM with this command; its view of a message is that of 33 in the other tests."""
    if place.admin.release == V5_5:
        assert "OffsetID" in place.run("queryMsgById", "-t", "T", "-i", place.offset_id)
    else:
        assert place.msg_id in place.run("queryMsgByKey", "-t", "T", "-k", "k1")


@pytest.mark.parametrize("name", COMMANDS)
def test_daily_operations(place: Place, name: str, tmp_path: Path) -> None:
    line, says = COMMANDS[name]
    address = place.broker.broker.address
    if name == "updateTopicPerm":
        place.run("updateTopic", "-b", address, "-t", "Permitted", "-r", "1", "-w", "1", "-p", "6")
    if name == "cloneGroupOffset":
        place.run("updateSubGroup", "-b", address, "-g", "G3")
    if name == "deleteSubGroup":
        place.run("updateSubGroup", "-b", address, "-g", "Fresh2")
    places = {"address": address, "folder": str(tmp_path)}
    printed = place.run(*(word.format_map(places) for word in line.split()))
    assert says.format_map(places) in printed
    assert "Exception" not in printed
