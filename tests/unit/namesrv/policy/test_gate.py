"""The gate before the processors."""

import asyncio
import ipaddress
import json
from pathlib import Path
from typing import Any

import pytest

from cosmodrome.audit.file import AuditFile
from cosmodrome.errors import RequestRefusedError, StorageError
from cosmodrome.namesrv.audit import AuditLog
from cosmodrome.namesrv.config import NamesrvConfig
from cosmodrome.namesrv.config_keys import AdminPolicy
from cosmodrome.namesrv.events import Event, RequestDenied
from cosmodrome.namesrv.kv_config import KVConfigStore
from cosmodrome.namesrv.live_config import LiveConfig
from cosmodrome.namesrv.policy.accounts import AccountFile
from cosmodrome.namesrv.policy.changes import Changes
from cosmodrome.namesrv.policy.gate import Auditing, Gate
from cosmodrome.namesrv.policy.rules import Rules, RuleSettings
from cosmodrome.namesrv.routing.tables import RouteTables
from cosmodrome.protocol.codes import RequestCode
from cosmodrome.protocol.command import RemotingCommand, response_to
from cosmodrome.transport.dispatch import Peer, Processor

STRANGER = Peer(1, "192.0.2.1:5", "192.0.2.9:5")
PUT = RemotingCommand(100, ext_fields={"namespace": "N", "key": "K", "value": "V"})


class Scene:
    """A gate with an audit log before processors that only answer."""

    def __init__(self, folder: Path, policy: AdminPolicy, *, is_audited: bool = True) -> None:
        self.path = folder / "audit.jsonl"
        self.events: list[Event] = []
        self.log = AuditLog(AuditFile(self.path, max_bytes=10**6, files_kept=1), self.events.append)
        tables = RouteTables()
        store = KVConfigStore(folder / "kvConfig.json")
        changes = Changes(store, LiveConfig(NamesrvConfig(), None), tables.read)
        settings = RuleSettings(policy=policy, admin_allow=(ipaddress.ip_network("10.0.0.0/8"),))
        auditing = Auditing(self.log, changes) if is_audited else None
        self.gate = Gate(Rules(settings, tables.read), AccountFile("", lambda _: None), self.events.append, auditing)

    def guarding(self, processor: Processor) -> dict[int, Processor]:
        return self.gate.guarding(dict.fromkeys(RequestCode, processor))

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.path.read_text("utf-8").splitlines()]


def succeeding(request: RemotingCommand, _: Peer) -> RemotingCommand:
    return response_to(request, 0)


@pytest.mark.parametrize("policy", AdminPolicy)
def test_what_is_open_and_changes_nothing_pays_nothing(tmp_path: Path, policy: AdminPolicy) -> None:
    """Above all routes: their processor is the very same one."""
    audited = {100, 102, 104, 205, 216, 217, 318, 327}
    table = Scene(tmp_path, policy).guarding(succeeding)
    untouched = {int(code) for code, processor in table.items() if processor is succeeding}

    assert {103, 105, 322, 901, 904} <= untouched
    assert not untouched & audited
    if policy is AdminPolicy.OPEN:
        assert set(Scene(tmp_path, policy, is_audited=False).guarding(succeeding).values()) == {succeeding}


def test_a_refusal_is_told_and_nothing_is_asked_of_the_processor(tmp_path: Path) -> None:
    scene = Scene(tmp_path, AdminPolicy.HARDENED)

    def never(request: RemotingCommand, _: Peer) -> RemotingCommand:
        raise AssertionError(request)

    request = PUT.replaced(ext_fields={"AccessKey": "ops", "Signature": "x"})
    with pytest.raises(RequestRefusedError, match=r"request 100 is refused: .* adminAllow .* aclFile") as caught:
        scene.guarding(never)[100](request, STRANGER)

    assert caught.value.code == 16
    (event,) = scene.events
    assert isinstance(event, RequestDenied)
    assert (event.peer, event.proxy, event.claimed_access_key) == ("192.0.2.1:5", "192.0.2.9:5", "ops")
    assert "192.0.2.9:5" in event.reason


async def test_a_line_is_on_disk_before_the_change_is_made(tmp_path: Path) -> None:
    scene = Scene(tmp_path, AdminPolicy.OPEN)
    seen: list[dict[str, Any]] = []

    def making(request: RemotingCommand, _: Peer) -> RemotingCommand:
        seen.extend(scene.lines())
        return response_to(request, 0)

    answer = scene.guarding(making)[100](PUT, STRANGER)
    assert not isinstance(answer, RemotingCommand)
    assert (await answer).code == 0

    (line,) = seen
    assert (line["event"], line["request"], line["peer"], line["proxy"]) == (
        "change", "PUT_KV_CONFIG", "192.0.2.1:5", "192.0.2.9:5",
    )  # fmt: skip
    await scene.log.close()


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (RequestRefusedError(1, "too large"), "too large"),
        (StorageError("cannot write x."), "cannot write x."),
        (KeyError("x"), "it failed, see the server's log"),
    ],
)
async def test_a_change_that_fails_is_taken_back_in_the_log(tmp_path: Path, error: Exception, reason: str) -> None:
    scene = Scene(tmp_path, AdminPolicy.OPEN)

    async def failing(_: RemotingCommand) -> RemotingCommand:
        raise error

    answer = scene.guarding(lambda request, _: failing(request))[100](PUT, STRANGER)
    assert not isinstance(answer, RemotingCommand)
    with pytest.raises(type(error)):
        await answer
    await scene.log.close()

    assert [(line["event"], line.get("reason")) for line in scene.lines()] == [("change", None), ("not_made", reason)]


async def test_changes_are_made_one_after_another(tmp_path: Path) -> None:
    scene = Scene(tmp_path, AdminPolicy.OPEN)
    steps: list[str] = []

    async def slowly(request: RemotingCommand) -> RemotingCommand:
        steps.append(f"begin {request.opaque}")
        await asyncio.sleep(0)
        steps.append(f"end {request.opaque}")
        return response_to(request, 0)

    processor = scene.guarding(lambda request, _: slowly(request))[100]
    answers = [processor(PUT.replaced(opaque=number), STRANGER) for number in range(3)]
    await asyncio.gather(*(answer for answer in answers if not isinstance(answer, RemotingCommand)))
    await scene.log.close()

    assert steps == [f"{what} {number}" for number in range(3) for what in ("begin", "end")]
