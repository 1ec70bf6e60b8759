"""The lines of the audit log."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from cosmodrome.audit.file import AuditFile
from cosmodrome.audit.log import LONGEST_LINE, NOTES_PER_MINUTE
from cosmodrome.errors import StorageError
from cosmodrome.namesrv.audit import AuditLog, audit_log, request_name
from cosmodrome.namesrv.config import NamesrvConfig
from cosmodrome.namesrv.events import AuditFailed, BrokerIdentityMoved, Event, RequestDenied, ServerStopped


class Scene:
    """An audit log in a folder, with clocks that stand still."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "audit.jsonl"
        self.events: list[Event] = []
        self.now_s = 1000.0
        file = AuditFile(self.path, max_bytes=1_000_000, files_kept=1)
        self.log = AuditLog(file, self.events.append, (lambda: 0.5, lambda: self.now_s))

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.path.read_text("utf-8").splitlines()]


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


async def test_a_line_is_there_when_it_is_recorded(scene: Scene) -> None:
    line_id = await scene.log.record({"event": "change", "key": "\ud800\n"})

    assert scene.lines() == [{"time": "1970-01-01T00:00:00.500Z", "id": line_id, "event": "change", "key": "\ud800\n"}]
    await scene.log.close()


async def test_ids_are_in_order_though_the_clock_stands(scene: Scene) -> None:
    ids = [await scene.log.record({"event": "change"}) for _ in range(40)]

    assert ids == sorted(set(ids))
    assert ids[0] == "000000apsw"
    await scene.log.close()


async def test_long_values_are_cut_and_say_so(scene: Scene) -> None:
    await scene.log.record({"text": "x" * 5000, "map": {str(n): n for n in range(80)}, "list": list(range(80))})

    (line,) = scene.lines()
    assert line["text"] == "x" * 1000 + "... (5000 characters)"
    assert len(line["map"]) == 51
    assert line["map"]["..."] == 30
    assert line["list"][50:] == ["... 30 more"]
    await scene.log.close()


async def test_a_line_is_bounded_and_what_it_changes_is_cut_first(scene: Scene) -> None:
    """A peer may choose names of a thousand characters, each of which takes twelve bytes here."""
    brokers = {f"{n}-" + "\U0001f600" * 990: {"perm": n} for n in range(500)}
    target = {"topic": "\U0001f600" * 1000}
    await scene.log.record({"event": "change", "target": target, "before": {"b": {"perm": 6}}, "after": brokers})
    await scene.log.record({"event": "change", "target": target | {"cluster": "\U0001f600" * 1000}, "before": brokers})

    first, second = scene.path.read_bytes().splitlines(keepends=True)
    assert max(len(first), len(second)) <= LONGEST_LINE
    line = json.loads(first)
    whole = json.dumps(brokers).encode()
    assert line["target"] == target
    assert line["before"] == {"b": {"perm": 6}}
    assert line["after"]["bytes"] == len(whole)
    assert line["after"]["sha256"] == hashlib.sha256(whole).hexdigest()[:16]
    assert whole.startswith(line["after"]["cut"].encode())
    assert set(json.loads(second)["target"]) == set(json.loads(second)["before"]) == {"cut", "bytes", "sha256"}
    await scene.log.close()


async def test_a_line_of_long_fields_only_is_bounded_too(scene: Scene) -> None:
    fields = ("peer", "proxy", "claimed_access_key", "reason", "cause", "access_key", "target", "before", "after")
    await scene.log.record(dict.fromkeys(fields, '"' * 100_000 + "\U0001f600" * 1000) | {"event": "denied"})

    assert len(scene.path.read_bytes()) <= LONGEST_LINE
    assert scene.lines()[0]["event"] == "denied"
    await scene.log.close()


async def test_refusals_do_not_hide_a_broker_that_moved(scene: Scene) -> None:
    for _ in range(NOTES_PER_MINUTE + 7):
        scene.log.take(RequestDenied(code=100, peer="p:1", reason="r", cause="c"))
    moved = BrokerIdentityMoved(cluster="C", broker="b", id=0, addr="a:1", old_addr="a:2", peer="p:1", old_peer="p:2")
    scene.log.take(moved)
    await scene.log.close()

    lines = scene.lines()
    assert lines[-1]["event"] == "broker_moved"
    assert "others" not in lines[-1], "those are refusals"


async def test_what_peers_may_cause_at_will_is_counted(scene: Scene) -> None:
    for _ in range(NOTES_PER_MINUTE + 7):
        scene.log.take(RequestDenied(code=100, peer="p:1", reason="r", cause="c"))
    scene.log.take(ServerStopped(reason="not for this log"))
    scene.now_s += 60
    scene.log.take(RequestDenied(code=100, peer="p:1", reason="r", cause="c"))
    await scene.log.close()

    lines = scene.lines()
    assert len(lines) == NOTES_PER_MINUTE + 1
    assert lines[0]["request"] == "PUT_KV_CONFIG"
    assert "others" not in lines[0]
    assert lines[-1]["others"] == 7


async def test_a_line_that_cannot_be_written_is_told_and_refused(tmp_path: Path) -> None:
    (tmp_path / "in the way").touch()
    scene = Scene(tmp_path / "in the way")

    scene.log.start()
    with pytest.raises(StorageError):
        await scene.log.record({"event": "change"})
    scene.log.note({"event": "not_made"})
    await scene.log.close()

    assert [type(event) for event in scene.events] == [AuditFailed] * 3


@pytest.mark.parametrize("word", ["off", "OFF", "Off"])
def test_it_can_be_off(tmp_path: Path, word: str) -> None:
    assert audit_log(NamesrvConfig(audit_log=word), lambda _: None) is None
    assert audit_log(NamesrvConfig(data_dir=str(tmp_path)), lambda _: None) is not None


def test_unknown_codes_are_numbers() -> None:
    assert request_name(318) == "UPDATE_NAMESRV_CONFIG"
    assert request_name(9999) == "9999"
