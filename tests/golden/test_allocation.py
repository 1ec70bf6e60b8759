"""Every recorded allocation of Java's strategies is what ours give."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from cosmodrome.client.consumer.allocation import (
    AllocationStrategy,
    Averagely,
    ByCircle,
    ConsistentHash,
    FixedQueues,
    MachineRoom,
    NearbyRooms,
    Queue,
)
from cosmodrome.client.message import MessageQueue

RECORDING: Final = json.loads((Path(__file__).parent / "rebalance" / "rebalance.json").read_text(encoding="utf-8"))
CASES: Final[list[dict[str, Any]]] = RECORDING["cases"]
PLAIN: Final[Mapping[str, AllocationStrategy]] = {"AVG": Averagely(), "AVG_BY_CIRCLE": ByCircle()}


def room_of_queue(queue: Queue) -> str:
    return queue.broker_name.partition("-")[0]


def room_of_member(member: str) -> str:
    return member.partition("-")[0]


def strategy_of(case: Mapping[str, Any]) -> AllocationStrategy:
    params = case["params"]
    match case["strategy"]:
        case "CONSISTENT_HASH":
            return ConsistentHash(params["virtualNodes"])
        case "MACHINE_ROOM":
            return MachineRoom(params["rooms"])
        case "CONFIG":
            return FixedQueues(MessageQueue(*queue) for queue in params["list"])
        case "MACHINE_ROOM_NEARBY":
            return NearbyRooms(PLAIN[params["inner"]], room_of_queue, room_of_member)
        case name:
            return PLAIN[name]


@pytest.mark.parametrize("number", range(len(CASES)))
def test_gives_what_java_gave(number: int) -> None:
    """Where Java raises for an empty list or an empty id, ours gives no queue."""
    case = CASES[number]
    queues = [MessageQueue(*queue) for queue in case["queues"]]
    strategy = strategy_of(case)

    assert strategy.name == case["name"]
    for member, indexes in case["result"].items():
        expected = [] if isinstance(indexes, dict) else [queues[index] for index in indexes]
        assert strategy.allocate(member, case["clients"], queues) == expected
