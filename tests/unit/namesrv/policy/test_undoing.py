"""Undoing a change, while others are made. What it restores is in tests/unit/namesrv/http/test_audit.py."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.builders import identity, registration, topics, version

from cosmodrome.audit.file import AuditFile
from cosmodrome.errors import UndoRefusedError
from cosmodrome.namesrv.audit import AuditLog
from cosmodrome.namesrv.config import NamesrvConfig
from cosmodrome.namesrv.config_keys import AdminPolicy
from cosmodrome.namesrv.events import Event, PermRestored
from cosmodrome.namesrv.kv_config import KVConfigStore
from cosmodrome.namesrv.live_config import LiveConfig
from cosmodrome.namesrv.policy.accounts import AccountFile
from cosmodrome.namesrv.policy.changes import Changes
from cosmodrome.namesrv.policy.gate import Auditing, Gate
from cosmodrome.namesrv.policy.rules import Rules, RuleSettings
from cosmodrome.namesrv.policy.undoing import Undoing, UndoParts
from cosmodrome.namesrv.processors.kv_config import KVConfigProcessor
from cosmodrome.namesrv.routing.effects import Effects
from cosmodrome.namesrv.routing.tables import RouteTables
from cosmodrome.protocol.codes import RequestCode
from cosmodrome.protocol.command import RemotingCommand, response_to
from cosmodrome.transport.dispatch import Peer

PEER = Peer(1, "192.0.2.1:5")


class Meanwhile(AuditLog):
    """An audit log that lets something happen while a line is written."""

    def __init__(self, file: AuditFile) -> None:
        super().__init__(file, lambda _: None)
        self.happens: list[Any] = []

    async def record(self, line: Any) -> str:
        """Write a line, and then let it happen."""
        line_id = await super().record(line)
        while self.happens:
            self.happens.pop()()
        return line_id


class Scene:
    """A broker with two topics, and the parts that undo needs."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "audit.jsonl"
        self.events: list[Event] = []
        self.log = Meanwhile(AuditFile(self.path, max_bytes=10**6, files_kept=1))
        self.tables = RouteTables()
        self.tables.register_broker(registration(identity("a"), topics("T", "U")), 0)
        store, config = KVConfigStore(folder / "kvConfig.json"), LiveConfig(NamesrvConfig(), None)
        auditing = Auditing(self.log, Changes(store, config, self.tables.read))
        rules = Rules(RuleSettings(policy=AdminPolicy.OPEN, admin_allow=()), self.tables.read)
        gate = Gate(rules, AccountFile("", lambda _: None), self.events.append, auditing)
        kv = KVConfigProcessor(store, self.events.append)
        self.processors = gate.guarding(
            {RequestCode.WIPE_WRITE_PERM_OF_BROKER: self.wipe, RequestCode.PUT_KV_CONFIG: kv.put_kv_config}
        )
        parts = UndoParts(
            processors={RequestCode.DELETE_KV_CONFIG: kv.delete_kv_config},
            kv_config=store,
            config=config,
            tables=self.tables,
            carry_out=self.carry_out,
        )
        self.undoing = Undoing(gate, parts)

    def wipe(self, request: RemotingCommand, _: Peer) -> RemotingCommand:
        self.carry_out(self.tables.wipe_write_perm("a")[1])
        return response_to(request, 0)

    def carry_out(self, effects: Effects) -> None:
        self.events += effects.events

    async def change(self, code: int, **fields: str) -> str:
        answer = self.processors[code](RemotingCommand(code, ext_fields=dict(fields)), PEER)
        assert not isinstance(answer, RemotingCommand)
        assert (await answer).code == 0
        return str(self.lines()[-1]["id"])

    def perms(self) -> dict[str, int]:
        return dict(self.tables.read.perms_of("a"))

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.path.read_text("utf-8").splitlines()]


async def test_what_comes_while_the_line_is_written_is_not_overwritten(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    wiped = await scene.change(205, brokerName="a")
    said = registration(identity("a"), topics("T", "U", perm=2), data_version=version(9))
    scene.log.happens.append(lambda: scene.tables.register_broker(said, 1))

    with pytest.raises(UndoRefusedError) as caught:
        await scene.undoing.undo(wiped, PEER)
    await scene.log.close()

    assert caught.value.cause == "changed_since"
    assert scene.perms() == {"T": 2, "U": 2}
    assert [(line["event"], line.get("undoes")) for line in scene.lines()] == [
        ("change", None), ("change", wiped), ("not_made", wiped),
    ]  # fmt: skip
    made, not_made = scene.lines()[1:]
    assert not_made["change"] == made["id"]
    with pytest.raises(UndoRefusedError):
        await scene.undoing.undo(made["id"], PEER)
    await scene.log.close()


async def test_topics_that_came_later_stay_as_they_are(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    wiped = await scene.change(205, brokerName="a")
    scene.tables.register_broker(
        registration(identity("a"), topics("T", "U", perm=4) | topics("V", perm=4), data_version=version(9)), 1
    )

    await scene.undoing.undo(wiped, PEER)
    await scene.log.close()

    assert scene.perms() == {"T": 6, "U": 6, "V": 4}
    event = scene.events[-1]
    assert isinstance(event, PermRestored)
    assert (event.topics, event.peer) == (2, PEER.address)


async def test_an_undo_has_its_own_line(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    made = await scene.change(100, namespace="N", key="K", value="V")

    done = await scene.undoing.undo(made, PEER)
    with pytest.raises(UndoRefusedError) as caught:
        await scene.undoing.undo(made, PEER)
    await scene.log.close()

    assert caught.value.cause == "undone_already"
    assert scene.lines()[-1] | {"time": ""} == {
        "time": "", "id": done, "event": "change", "code": 102, "request": "DELETE_KV_CONFIG", "peer": PEER.address,
        "undoes": made, "target": {"namespace": "N", "key": "K"}, "before": scene.lines()[0]["after"], "after": None,
    }  # fmt: skip
