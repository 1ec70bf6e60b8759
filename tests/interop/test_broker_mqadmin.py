"""Apache's mqadmin and our broker."""

from collections.abc import Iterator
from dataclasses import dataclass

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
            yield Place(name_server, broker, stage.mqadmin(request.param), sent[0].msg_id)


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
