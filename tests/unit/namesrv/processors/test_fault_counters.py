"""Each fault has a counter, and a flood of them is a few events."""

import logging
from collections import Counter
from pathlib import Path

import pytest
from tests.support import wire
from tests.support.builders import AsyncWire, Running, running

from cosmodrome.namesrv.routing.tables import RouteTables

TIMES = 200
IDENTITY = {"brokerName": "b", "brokerAddr": "b:1", "clusterName": "C", "brokerId": "0"}
REGISTRATION = {**IDENTITY, "haServerAddr": "h:1"}


async def test_f101_every_fault_is_counted_by_cause(peer: AsyncWire, run: Running) -> None:
    for number in range(TIMES):
        await peer.request(29_000 + number)
        await peer.request(103, REGISTRATION | {"bodyCrc32": "1"}, b"{}")
        await peer.request(103, REGISTRATION, b"{nonsense%d" % number)
        await peer.request(103, IDENTITY, b"{}")
        await peer.request(103, REGISTRATION | {"brokerName": "x" * 40_000}, b"{}")
        await peer.request(103, REGISTRATION | {"brokerId": str(number)}, wire.register_body([wire.topic_config("T")]))
        await peer.request(322, IDENTITY, b" " * 70_000)
        await peer.request(100, {"namespace": "N", "key": "K"})
        await peer.request(100, {"namespace": "N", "value": "V"})
        await peer.request(904, IDENTITY | {"brokerAddr": f"b:{number}"})
        await peer.request(105, {"topic": f"T{number}"})
        bad = await run.wire()
        bad.send(wire.frame(b"no header"))
        await bad.closed()

    assert run.server.counters.snapshot() == {
        "request.failed": {
            "unknown_code": TIMES,
            "wrong_crc": TIMES,
            "malformed_body": TIMES,
            "missing_field": TIMES,
            "long_name": TIMES,
            "over_limit": TIMES,
            "missing_value": TIMES,
            "missing_key": TIMES,
        },
        "broker.refused": {"single_topic_before_broker": TIMES},
        "heartbeat.unknown": {"unknown_broker": TIMES},
        "route.missed": {"unknown_topic": TIMES},
        "connection.refused": {"malformed_header": TIMES},
    }
    told = Counter(run.names())
    assert told["connection.refused"] == 1
    assert told["request.failed"] <= 100 + 8
    assert all(count <= 101 for count in told.values())


async def test_f101_what_was_held_is_told_at_the_stop(tmp_path: Path) -> None:
    async with running(tmp_path) as run:
        peer = await run.wire()
        for _ in range(50):
            await peer.request(105, {"topic": "T"})
        await run.server.stop()

    misses = [event for event in run.events if event.NAME == "route.missed"]
    assert [event.repeated for event in misses] == [None, 49]
    assert run.names()[-1] == "server.stopped"


async def test_f101_a_bug_of_ours_is_one_answer_and_one_count(
    peer: AsyncWire, run: Running, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The place where it happened is in the log, and nothing of it in the answer."""

    def fail(*_: object) -> None:
        raise ZeroDivisionError("a secret")

    monkeypatch.setattr(RouteTables, "unregister_broker", fail)
    with caplog.at_level(logging.ERROR):
        answers = {(await peer.request(104, IDENTITY)).remark for _ in range(TIMES)}

    assert answers == {"internal error, see the server's log"}
    assert run.server.counters.get("request.crashed", "internal") == TIMES
    assert run.names().count("request.crashed") == 1
    assert all(record.exc_info for record in caplog.records)
