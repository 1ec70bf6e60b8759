"""Requests of clients, by hand.

Owns: the header of a send and of a pull, the body of a heartbeat, with everything defaulted.
Must not know: the package under test; who answers.
"""

from typing import Any

from tests.support import wire
from tests.support.builders import AsyncWire
from tests.support.faulty_broker.records import encode_properties


def send_ext(key: str = "ID", topic: str = "T", **more: str) -> dict[str, str | None]:
    """Give the header of a send (310) to queue 1."""
    named = {"UNIQ_KEY": key} | {name: value for name, value in more.items() if name.isupper()}
    ext = {"a": "pg", "b": topic, "c": "TBW102", "d": "4", "e": "1", "f": "0", "g": "1", "h": "0"}
    ext |= {name: value for name, value in more.items() if not name.isupper()}
    return {**ext, "i": encode_properties(named).decode()}


def pull_ext(offset: int = 0, topic: str = "T", **more: str) -> dict[str, str | None]:
    """Give the header of a pull that brings its own subscription to everything."""
    ext = {"consumerGroup": "g", "topic": topic, "queueId": "1", "queueOffset": str(offset), "maxMsgNums": "32"}
    ext |= {
        "sysFlag": "6",
        "commitOffset": "0",
        "suspendTimeoutMillis": "15000",
        "subVersion": "0",
        "subscription": "*",
    }
    return {**ext, **more}


def heartbeat(client_id: str, group: str | None = None, **subscriptions: str) -> bytes:
    """Give the body of a heartbeat of a producer of group pg and, with `group`, of a consumer."""
    data: dict[str, Any] = {"clientID": client_id, "producerDataSet": [{"groupName": "pg"}], "consumerDataSet": []}
    if group is not None:
        topics = [{"topic": topic, "subString": text, "subVersion": 1} for topic, text in subscriptions.items()]
        data["consumerDataSet"].append({"groupName": group, "messageModel": 1, "subscriptionDataSet": topics})
    return wire.dump(data)


async def sent(peer: AsyncWire, key: str = "ID", body: bytes = b"hello", **more: str) -> wire.Answer:
    """Send one message (310) and give the answer."""
    return await peer.request(310, send_ext(key, **more), body)
