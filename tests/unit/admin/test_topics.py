"""What a topic's name says about it."""

import pytest

from cosmodrome.admin.topics import TopicKind, kind_of, unknown_cluster

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


def test_an_unknown_cluster_is_told_with_the_known_ones() -> None:
    assert unknown_cluster("X", ["b", "a"]).why == "known are: a, b."
    assert unknown_cluster("X", []).why == "no broker is registered."
