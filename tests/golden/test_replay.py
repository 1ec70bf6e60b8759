"""Recorded requests, sent to our server one after another: what it answers is what the real one answered."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
from tests.golden.off_the_record import OffTheRecord
from tests.support import wire
from tests.support.builders import AsyncWire, running
from tests.support.golden import Exchanged, Recording, recording, recording_names, spelled, without_order

COMPATIBILITY: Final = Path(__file__).resolve().parents[2] / "docs" / "compatibility.md"

# What the NameServers of the recordings were started with, as far as it shows in answers.
SETTINGS: Final[dict[str, dict[str, Any]]] = {"acting-master-5.5.0": {"support_acting_master": True}}

# Members of GET_NAMESRV_CONFIG that are about the place, not about behaviour.
PLACES: Final = frozenset({"rocketmqHome", "kvConfigPath", "configStorePath", "listenPort", "bindAddress"})

_BARE_KEY: Final = re.compile(rb"([{,])(-?[0-9]+):")

Rule = Callable[[Exchanged, wire.Answer], frozenset[str]]
"""Tells which fields of an answer may differ from the recorded one, by this difference."""

NONE: Final = frozenset[str]()


def _mirrors_codec(exchanged: Exchanged, ours: wire.Answer) -> frozenset[str]:
    theirs = _answer(exchanged)
    is_mirrored = (theirs.codec, ours.codec) == ("JSON", "ROCKETMQ") == ("JSON", exchanged.request.command.codec)
    return frozenset({"codec"}) if is_mirrored else NONE


def _empty_ext_in_binary(exchanged: Exchanged, ours: wire.Answer) -> frozenset[str]:
    theirs = _answer(exchanged)
    is_lost = bool(_mirrors_codec(exchanged, ours)) and theirs.ext == {} and ours.ext is None
    return frozenset({"ext"}) if is_lost else NONE


def _sniffs_compression(exchanged: Exchanged, ours: wire.Answer) -> frozenset[str]:
    request, theirs = exchanged.request.command, _answer(exchanged)
    is_mislabelled = (
        request.code == 103 and request.body[:1] == b"\x78" and (request.ext or {})["compressed"] == "false"
    )
    is_taken = is_mislabelled and (theirs.code, ours.code) == (1, 0) and "Failed to decode" in (theirs.remark or "")
    return frozenset({"code", "remark", "ext", "body"}) if is_taken else NONE


def _brokers_of_it(exchanged: Exchanged, ours: wire.Answer) -> frozenset[str]:
    """Brokers that were taken are listed."""
    theirs = _answer(exchanged)
    if exchanged.request.command.code != 106:
        return NONE
    more, fewer = ours.json()["brokerAddrTable"], theirs.json()["brokerAddrTable"]
    added = set(more) - set(fewer)
    is_same = all(more[name] == {"enableActingMaster": False} | data for name, data in fewer.items())
    return frozenset({"body"}) if added in ({"gold-a"}, {"gold-b"}) and is_same else NONE


def _standard_listings(exchanged: Exchanged, ours: wire.Answer) -> frozenset[str]:
    is_listing = exchanged.request.command.code in (106, 901)
    return frozenset({"body"}) if is_listing and _same_body(_quoted(_answer(exchanged).body), ours.body) else NONE


def _names_unknown_keys(exchanged: Exchanged, ours: wire.Answer) -> frozenset[str]:
    is_named = exchanged.request.command.code == 318 and (ours.remark or "").startswith("unknown, not stored: ")
    return frozenset({"remark"}) if is_named and _answer(exchanged).code == ours.code == 0 else NONE


DIFFERENCES: Final[dict[str, Rule]] = {
    "answers-mirror-codec": _mirrors_codec,
    "restart-needed-is-said": _names_unknown_keys,
    "empty-ext-in-binary": _empty_ext_in_binary,
    "listings-in-standard-json": _standard_listings,
    "compressed-body-sniffed": lambda *seen: _sniffs_compression(*seen) | _brokers_of_it(*seen),
}
"""Differences from 5.5.0 that are wanted, by their names in docs/compatibility.md."""


def _older_number(exchanged: Exchanged, ours: wire.Answer) -> frozenset[str]:
    return frozenset({"version"}) if (_answer(exchanged).version, ours.version) == (407, 513) else NONE


def _acting_master_member(exchanged: Exchanged, ours: wire.Answer) -> frozenset[str]:
    theirs = _answer(exchanged)
    if exchanged.request.command.code not in (105, 106) or theirs.code != 0:
        return NONE
    member = b',"enableActingMaster":false'
    assert member in ours.body
    expected = _quoted(theirs.body) if exchanged.request.command.code == 106 else theirs.body
    return frozenset({"body"}) if _same_body(expected, ours.body.replace(member, b"")) else NONE


def _state_version_member(exchanged: Exchanged, ours: wire.Answer) -> frozenset[str]:
    is_version = exchanged.request.command.code == 322 and bool(_answer(exchanged).body)
    same = is_version and _same_body(_answer(exchanged).body, ours.body.replace(b'"stateVersion":0,', b""))
    return frozenset({"body"}) if same else NONE


def _newer_address_of_help(exchanged: Exchanged, ours: wire.Answer) -> frozenset[str]:
    theirs = _answer(exchanged)
    older = (ours.remark or "").replace(
        "https://rocketmq.apache.org/docs/bestPractice/06FAQ", "http://rocketmq.apache.org/docs/faq/"
    )
    return frozenset({"remark"}) if theirs.code == ours.code == 17 and theirs.remark == older else NONE


def _more_configuration(exchanged: Exchanged, ours: wire.Answer) -> frozenset[str]:
    if exchanged.request.command.code != 319:
        return NONE
    theirs, listed = _listing(_answer(exchanged).body), _listing(ours.body)
    return frozenset({"body"}) if {key: listed[key] for key in theirs} == theirs else NONE


def _newer_remark_of_black_list(exchanged: Exchanged, ours: wire.Answer) -> frozenset[str]:
    remarks = (_answer(exchanged).remark, ours.remark)
    is_it = remarks == ("Can not update config path", "Can not update config in black list.")
    return frozenset({"remark"}) if is_it else NONE


RELEASE_DIFFERENCES: Final[dict[str, Rule]] = {
    "version-of-the-release": _older_number,
    "enableActingMaster-since-5.0": _acting_master_member,
    "stateVersion-since-5.0": _state_version_member,
    "faq-address-since-5.1": _newer_address_of_help,
    "configuration-keys-since-5.0": _more_configuration,
    "black-list-remark-since-5.x": _newer_remark_of_black_list,
}
"""How 4.9.7 differs from 5.x (specification 7.11, 5.10, 4.2), where we follow 5.x."""


def _answer(exchanged: Exchanged) -> wire.Answer:
    assert exchanged.answer is not None
    return exchanged.answer.command


def _quoted(body: bytes) -> bytes:
    """Give the same document with quoted integer keys."""
    return _BARE_KEY.sub(rb'\1"\2":', body)


def _same_body(theirs: bytes, ours: bytes) -> bool:
    """Compare two documents down to how each token is spelled; Java's order is that of its hash tables."""
    if not theirs or not ours:
        return theirs == ours
    return bool(without_order(spelled(theirs)) == without_order(spelled(ours)))


def _listing(body: bytes) -> dict[str, str]:
    pairs = (line.partition("=")[::2] for line in body.decode().splitlines())
    return {key: value for key, value in pairs if key not in PLACES}


def differing(exchanged: Exchanged, ours: wire.Answer) -> set[str]:
    """Give the fields in which our answer is not the recorded one."""
    theirs = _answer(exchanged)
    fields = ("code", "flag", "opaque", "language", "version", "remark", "ext", "codec")
    found = {field for field in fields if getattr(theirs, field) != getattr(ours, field)}
    is_same = _listing if exchanged.request.command.code == 319 else None
    same = is_same(theirs.body) == is_same(ours.body) if is_same else _same_body(theirs.body, ours.body)
    return found if same else found | {"body"}


class Replay:
    """The requests of a recording, sent over as many connections as they came over."""

    def __init__(self, recorded: Recording, rules: dict[str, Rule]) -> None:
        self.recorded = recorded
        self._rules = rules
        self._connections: dict[int, AsyncWire] = {}
        self.seen: set[str] = set()
        """Names of the differences that were met."""

    async def play(self, folder: Path) -> None:
        exchanges = self.recorded.exchanges()
        last_use = {each.request.connection: at for at, each in enumerate(exchanges)}
        async with running(folder, **SETTINGS.get(self.recorded.name, {})) as run:
            around = OffTheRecord(run, self.recorded)
            for at, exchanged in enumerate(exchanges):
                await around.before(at)
                connection = exchanged.request.connection
                if connection not in self._connections:
                    self._connections[connection] = await run.wire()
                expected = around.topic_count((exchanged.request.command.ext or {}).get("brokerName", ""))
                await self._step(at, exchanged, expected)
                await around.after(at)
                if last_use[connection] == at:
                    await self._connections[connection].close()

    async def _step(self, at: int, exchanged: Exchanged, topic_count: int | None) -> None:
        connection = self._connections[exchanged.request.connection]
        connection.send(exchanged.request.data)
        if exchanged.request.command.flag & wire.FLAG_ONEWAY:
            await connection.settled()
            return
        ours = await connection.answer()
        if exchanged.answer is None:  # the peer was gone before it came
            return
        fields = differing(exchanged, ours)
        for name, rule in self._rules.items():
            explained = fields and rule(exchanged, ours) & fields
            if explained:
                self.seen.add(name)
                fields -= explained
        if exchanged.request.command.code in (205, 327) and topic_count is not None:
            # The recording does not show all topics of this broker.
            assert ours.ext is not None
            assert list(ours.ext.values()) == [str(topic_count)]
            fields -= {"ext"}
        place = f"{self.recorded.name}, request {at} ({exchanged.request.command.code})"
        assert not fields, f"{place}: {fields}\ntheirs: {exchanged.answer.command}\nours:   {ours}"


@pytest.mark.parametrize("name", [name for name in recording_names() if recording(name).is_answered_by_550])
async def test_as_the_name_server_of_550(name: str, tmp_path: Path) -> None:
    await Replay(recording(name), DIFFERENCES).play(tmp_path)


@pytest.mark.parametrize("name", [name for name in recording_names() if not recording(name).is_answered_by_550])
async def test_as_the_name_server_of_497_but_for_what_5x_changed(name: str, tmp_path: Path) -> None:
    replay = Replay(recording(name), DIFFERENCES | RELEASE_DIFFERENCES)

    await replay.play(tmp_path)

    assert "version-of-the-release" in replay.seen


def test_deliberate_differences_are_documented() -> None:
    table = COMPATIBILITY.read_text(encoding="utf-8").partition("## Deliberate differences")[2].partition("\n## ")[0]
    names = {line.split("|")[1].strip(" `") for line in table.splitlines() if line.startswith("|")}

    assert set(DIFFERENCES) <= names


async def test_every_difference_is_met_somewhere(tmp_path: Path) -> None:
    """A rule that explains nothing would hide something one day."""
    names = [
        "broker-5.5.0-rocketmq", "broker-5.5.0-compressed", "mqadmin-5.5.0-ns-4.9.7", "client-go-ns-4.9.7",
    ]  # fmt: skip
    seen: set[str] = set()
    for name in names:
        replay = Replay(recording(name), DIFFERENCES | RELEASE_DIFFERENCES)
        await replay.play(tmp_path / name)
        seen |= replay.seen

    assert seen >= set(DIFFERENCES) | set(RELEASE_DIFFERENCES) - {"stateVersion-since-5.0"}


def test_the_comparison_sees_how_things_are_spelled() -> None:
    assert _same_body(b'{"a":[1,2],"b":{0:"x"}}', b'{"b":{0:"x"},"a":[2,1]}')
    assert not _same_body(b'{0:"x"}', b'{"0":"x"}')
    assert not _same_body(b'{"a":"/"}', b'{"a":"\\/"}')
    assert json.loads(b'{"a":"/"}') == json.loads(b'{"a":"\\/"}')
    with pytest.raises(AssertionError, match="no token"):
        spelled(b'{"a": 1}')
