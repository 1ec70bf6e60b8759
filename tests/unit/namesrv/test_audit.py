"""The lines of the audit log."""

import json
from pathlib import Path
from typing import Any

import pytest

from cosmodrome.errors import StorageError
from cosmodrome.namesrv.audit import NOTES_PER_MINUTE, AuditLog, audit_log, request_name
from cosmodrome.namesrv.audit_file import AuditFile
from cosmodrome.namesrv.config import NamesrvConfig
from cosmodrome.namesrv.events import AuditFailed, Event, RequestDenied, ServerStopped


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
    await scene.log.record({"event": "change", "key": "\ud800\n"})

    assert scene.lines() == [{"time": "1970-01-01T00:00:00.500Z", "event": "change", "key": "\ud800\n"}]
    await scene.log.close()


async def test_long_values_are_cut_and_say_so(scene: Scene) -> None:
    await scene.log.record({"text": "x" * 5000, "map": {str(n): n for n in range(80)}, "list": list(range(80))})

    (line,) = scene.lines()
    assert line["text"] == "x" * 1000 + "... (5000 characters)"
    assert len(line["map"]) == 51
    assert line["map"]["..."] == 30
    assert line["list"][50:] == ["... 30 more"]
    await scene.log.close()


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


def test_it_can_be_off(tmp_path: Path) -> None:
    assert audit_log(NamesrvConfig(audit_log="off"), lambda _: None) is None
    assert audit_log(NamesrvConfig(data_dir=str(tmp_path)), lambda _: None) is not None


def test_unknown_codes_are_numbers() -> None:
    assert request_name(318) == "UPDATE_NAMESRV_CONFIG"
    assert request_name(9999) == "9999"
