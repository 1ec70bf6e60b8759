"""Routes as tables, and queues dealt out to consumers."""

from dataclasses import dataclass

import pytest

from cosmodrome.admin.routes import MessageQueue, allocated_averagely, message_queues
from cosmodrome.protocol.bodies.route import QueueData, TopicQueueMappingInfo, TopicRouteData


def queues(count: int) -> list[MessageQueue]:
    return [MessageQueue("a", number) for number in range(count)]


def queue_data(broker_name: str, reads: int, perm: int = 6) -> QueueData:
    return QueueData(broker_name=broker_name, perm=perm, read_queue_nums=reads, topic_sys_flag=0, write_queue_nums=9)


def route(*datas: QueueData, mappings: "dict[str, TopicQueueMappingInfo] | None" = None) -> TopicRouteData:
    return TopicRouteData(
        broker_datas=(), queue_datas=datas, filter_server_table={}, topic_queue_mapping_by_broker=mappings
    )


@dataclass(frozen=True, slots=True)
class Deal:
    """How many queues the consumers get."""

    queues: int
    sizes: list[int]


@pytest.mark.parametrize(
    "deal",
    [
        Deal(8, [4, 4]),
        Deal(8, [3, 3, 2]),
        Deal(16, [6, 5, 5]),
        Deal(2, [1, 1, 0]),
        Deal(0, [0, 0]),
        Deal(3, [3]),
    ],
    ids=str,
)
def test_queues_are_dealt_in_runs_of_about_equal_length(deal: Deal) -> None:
    clients = [f"c{number}" for number in range(len(deal.sizes))]
    dealt = allocated_averagely(queues(deal.queues), clients)

    assert [len(dealt[client]) for client in clients] == deal.sizes
    assert [queue for client in clients for queue in dealt[client]] == queues(deal.queues)


def test_only_queues_that_may_be_read_are_dealt_in_consumers_order() -> None:
    found = message_queues(route(queue_data("b", 2), queue_data("a", 1), queue_data("written", 3, perm=2)))

    assert found == [MessageQueue("a", 0), MessageQueue("b", 0), MessageQueue("b", 1)]


def test_a_static_topic_has_logical_queues_of_its_newest_mapping() -> None:
    def info(epoch: int, total: int, scope: str | None = "__global__") -> TopicQueueMappingInfo:
        return TopicQueueMappingInfo(topic="T", bname="a", curr_id_map={}, epoch=epoch, scope=scope, total_queues=total)

    mappings = {"a": info(1, 9), "b": info(2, 2), "c": info(1, 5, None)}
    found = message_queues(route(queue_data("a", 5), mappings=mappings))

    assert found == [MessageQueue("__syslo__global__", 0), MessageQueue("__syslo__global__", 1)]
