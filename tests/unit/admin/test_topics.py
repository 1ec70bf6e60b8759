"""What a topic's name says about it."""

import pytest

from cosmodrome.admin.name_servers import NameServers
from cosmodrome.admin.topics import TopicKind, kind_of, unknown_cluster
from cosmodrome.client.addresses import Servers, parse_addresses
from cosmodrome.transport.client import RemotingClient

OWN = {"DefaultCluster", "broker-a"}


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("order-events", TopicKind.USER),
        ("%RETRY%group", TopicKind.RETRY),
        ("%DLQ%group", TopicKind.DLQ),
        ("TBW102", TopicKind.SYSTEM),
        ("SCHEDULE_TOPIC_XXXX", TopicKind.SYSTEM),
        ("rmq_sys_wheel_timer", TopicKind.SYSTEM),
        ("DefaultCluster", TopicKind.SYSTEM),
        ("broker-a", TopicKind.SYSTEM),
        ("DefaultCluster_REPLY_TOPIC", TopicKind.SYSTEM),
        ("my_REPLY_TOPIC", TopicKind.USER),
        ("broker-b", TopicKind.USER),
        ("RETRY%", TopicKind.USER),
    ],
)
def test_kinds(name: str, kind: TopicKind) -> None:
    assert kind_of(name, OWN) is kind


async def test_an_unknown_cluster_is_told_with_the_known_ones() -> None:
    remoting = RemotingClient()
    servers = NameServers(remoting, Servers(parse_addresses("h:1"), {}), 1.0)
    found = unknown_cluster(servers, "X", ["b", "a"])
    await remoting.close()

    assert found.why == "known are: a, b."
    assert found.remedy == "check the spelling: cosmodrome admin clusterList -n h:1"
    assert unknown_cluster(servers, "X", []).why == "no broker is registered."
