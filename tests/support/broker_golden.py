"""Recordings of real brokers, played to a broker under test.

Owns: reading tests/golden/broker_answers; sending each recorded request, holding each answer against the recorded one.
Must not know: the package under test; which broker plays.
"""

import asyncio
import base64
import json
import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

from tests.support import wire
from tests.support.faulty_broker.records import decode_properties, decode_records, offset_of

FOLDER: Final = Path(__file__).resolve().parents[1] / "golden" / "broker_answers"
ANSWER_S: Final = 20.0

_OWN_OPAQUE: Final = 1_000_000
_UNKNOWN_CODE: Final = 29_999
_ADDRESS: Final = re.compile(r"/?\d+\.\d+\.\d+\.\d+(:\d+)?")
_MADE_UP: Final = frozenset(
    {
        "msgId",
        "transactionId",
        "recallHandle",
        "popTime",
        "reviveQid",
        "indexLastUpdateTimestamp",
        "indexLastUpdatePhyoffset",
        "queueId",
        "bornHost",
        "storeHost",
        "bornTimestamp",
        "storeTimestamp",
    }
)
_MADE_UP_IN_BODIES: Final = frozenset({"clientAddr", "remoteIP", "lastUpdateTimestamp"})
_OFFSET_FIELDS: Final = ("offset", "commitLogOffset", "commitOffset")


class Played(NamedTuple):
    """One recorded frame."""

    t_ms: float
    connection: int
    is_from_client: bool
    is_response: bool
    command: wire.Answer


def frames(*scenarios: str) -> list[Played]:
    """Read recordings that were made together, and merge them by time."""
    return sorted((frame for name in scenarios for frame in _read(name)), key=lambda frame: frame.t_ms)


def served(recorded: Iterable[Played], codes: Container[int]) -> list[Played]:
    """Leave out requests of clients with other codes, and their answers."""
    left_out: set[tuple[int, int]] = set()
    kept = []
    for frame in recorded:
        key = (frame.connection, frame.command.opaque)
        if frame.is_from_client and not frame.is_response and frame.command.code not in codes:
            left_out.add(key)
        elif not (frame.is_response and not frame.is_from_client and key in left_out):
            kept.append(frame)
    return kept


def _read(name: str) -> Iterator[Played]:
    for line in (FOLDER / f"{name}.jsonl").read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        command = wire.decode(base64.b64decode(entry["frame_b64"])[4:])
        yield Played(entry["t_ms"], entry["conn"], entry["from"] == "client", entry["dir"] == "response", command)


def is_exception(remark: str | None) -> bool:
    """Say whether a remark is the text of a Java exception, which nobody can be asked to repeat."""
    return bool(remark) and re.match(r"(java|org|com)\.[\w.]+(Exception|Error)", remark or "") is not None


def is_alike(recorded: wire.Answer, got: wire.Answer) -> bool:
    """Say whether an answer says what the recorded one says."""
    if recorded.code == 1 and is_exception(recorded.remark):
        return got.code == 1 and bool(got.remark) and not got.ext
    return said(recorded) == said(got)


def is_alike_for_old_clients(recorded: wire.Answer, got: wire.Answer) -> bool:
    """Say whether a client that was made for 4.9 takes an answer for what it takes the recorded one for.

    It finds every field that it knows, and the same messages and tables. Refusals need not have the same words, and of
    invalid arguments (1, since 5.x 29) not the same code.
    """
    if recorded.code not in _TAKEN:
        return _REFUSAL.get(got.code, got.code) == _REFUSAL.get(recorded.code, recorded.code)
    theirs, ours = said(recorded), said(got)
    is_told = theirs["ext"].items() <= ours["ext"].items()
    return recorded.code == got.code and is_told and _is_within(theirs["body"], ours["body"])


_TAKEN: Final = frozenset({0, 19, 20, 21})
_REFUSAL: Final = {29: 1}


def _is_within(theirs: Any, ours: Any) -> bool:
    """Whether a body has all that an older one has."""
    if isinstance(theirs, Mapping) and isinstance(ours, Mapping):
        return all(key in ours and _is_within(each, ours[key]) for key, each in theirs.items())
    if isinstance(theirs, list) and isinstance(ours, list):
        return len(theirs) == len(ours) and all(map(_is_within, theirs, ours))
    if isinstance(theirs, tuple) and isinstance(ours, tuple):
        return theirs[:-1] == ours[:-1] and set(theirs[-1]) <= set(ours[-1])
    return bool(theirs == ours)


def said(answer: wire.Answer) -> dict[str, Any]:
    """Give what must be alike in two answers; what a broker makes up is left with its name only."""
    ext: dict[str, Any] = {name: None if name in _MADE_UP else value for name, value in (answer.ext or {}).items()}
    if "properties" in ext:
        ext["properties"] = sorted(decode_properties(ext["properties"]).keys())
    if answer.flag & wire.FLAG_RESPONSE and ext.get("timestamp", "-1") != "-1":
        ext["timestamp"] = None
    remark = _ADDRESS.sub("ADDR", answer.remark or "")
    return {"code": answer.code, "ext": ext, "remark": remark, "body": _body(answer)}


def _body(answer: wire.Answer) -> Any:
    body = answer.body
    if body[:1] in (b"{", b"["):
        return _unordered(wire.parse_body(body))
    if not answer.flag & wire.FLAG_RESPONSE and answer.code != 39:
        return body
    return [
        (each.topic, each.queue_offset, each.body, each.flag, each.sys_flag, each.reconsume_times, sorted(each.named))
        for each in decode_records(body)
    ]


def _unordered(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: None if key in _MADE_UP_IN_BODIES else _unordered(each) for key, each in value.items()}
    if isinstance(value, list):
        return sorted((_unordered(each) for each in value), key=repr)
    return value


@dataclass
class Player:
    """Plays recorded requests to the broker at `address` and collects what differs.

    Commit log offsets differ from run to run: they are learnt from the ids in both answers.
    """

    address: str
    differences: list[str] = field(default_factory=list)
    compared: int = 0
    before: Callable[[Played], None] = lambda _: None
    """Called before each request is sent."""
    closes: Mapping[float, int] = field(default_factory=dict)
    """Time of the recording → connection that was closed just before; frames do not tell."""
    alike: Callable[[wire.Answer, wire.Answer], bool] = is_alike
    """Whether an answer says what the recorded one says."""
    _opaques: dict[tuple[int, int], int] = field(default_factory=dict)
    _queues: dict[tuple[int, int], str] = field(default_factory=dict)
    _wires: dict[int, "_Wire"] = field(default_factory=dict)
    _offsets: dict[int, int] = field(default_factory=dict)
    _spoke_last: int | None = None
    """The connection over which the last request went, if its arrival is not known yet."""

    async def play(self, recorded: Iterable[Played]) -> None:
        """Play all of it."""
        recorded = list(recorded)
        for frame in recorded:
            if frame.is_response and "queueId" in (frame.command.ext or {}):
                self._queues[frame.connection, frame.command.opaque] = (frame.command.ext or {})["queueId"]
        try:
            for frame in recorded:
                await self._step(frame)
        finally:
            for wire_ in self._wires.values():
                await wire_.close()

    async def say(self, connection: int, code: int, body: bytes) -> None:
        """Send a request that the recording left out, and wait for its answer."""
        if connection not in self._wires:
            self._wires[connection] = await _Wire.connect(self.address)
        wire_ = self._wires[connection]
        command = wire.decode(wire.encode_request(code, {}, body, opaque=_OWN_OPAQUE)[4:])
        wire_.send(command, is_response=False)
        await wire_.next(command._replace(flag=wire.FLAG_RESPONSE))

    async def _arrived(self, connection: int) -> None:
        """Return when all that was sent over a connection has been read, so that others speak after it."""
        if connection in self._wires:
            await self.say(connection, _UNKNOWN_CODE, b"")

    async def _step(self, frame: Played) -> None:
        closed = self._wires.pop(self.closes.get(frame.t_ms, -1), None)
        if closed is not None:
            await closed.close()
        if frame.connection not in self._wires:
            self._wires[frame.connection] = await _Wire.connect(self.address)
        wire_, command = self._wires[frame.connection], frame.command
        if frame.is_from_client:
            if self._spoke_last not in (None, frame.connection):
                await self._arrived(self._spoke_last)
            self._spoke_last = frame.connection
            self.before(frame)
            command = self._translated(frame.connection, command)
            if frame.is_response:
                opaque = self._opaques.get((frame.connection, command.opaque), command.opaque)
                command = command._replace(opaque=opaque)
            wire_.send(command, is_response=frame.is_response)
            return
        try:
            got = await wire_.next(command)
        except TimeoutError:
            self.differences.append(f"{frame.t_ms:.0f} no answer; recorded {said(command)}")
            return
        self.compared += 1
        if not frame.is_response:
            self._opaques[frame.connection, command.opaque] = got.opaque
        self._learn(command, got)
        if not self.alike(command, got):
            asked = wire_.asked.get(command.opaque)
            self.differences.append(f"{frame.t_ms:.0f} {asked}\n  recorded {said(command)}\n  got      {said(got)}")

    def _learn(self, recorded: wire.Answer, got: wire.Answer) -> None:
        ids = zip(*((answer.ext or {}).get("msgId", "").split(",") for answer in (recorded, got)), strict=False)
        for theirs, ours in ids:
            if len(theirs) == len(ours) == 32:
                self._offsets[offset_of(theirs)] = offset_of(ours)

    def _translated(self, connection: int, command: wire.Answer) -> wire.Answer:
        ext = dict(command.ext or {})
        if ext.get("e") == "-1":  # the broker drew a queue; ours is to draw the same
            ext["e"] = self._queues.get((connection, command.opaque), "-1")
        for name in _OFFSET_FIELDS:
            if command.code in (33, 36, 37) and ext.get(name, "").isdigit():
                ext[name] = str(self._offsets.get(int(ext[name]), int(ext[name])))
        return command._replace(ext=ext if command.ext is not None else None)


class _Wire:
    """One connection of the player; keeps opaques as they were recorded."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._kept: list[wire.Answer] = []
        self.asked: dict[int, str] = {}

    @classmethod
    async def connect(cls, address: str) -> "_Wire":
        host, _, port = address.rpartition(":")
        return cls(*await asyncio.open_connection(host, int(port)))

    def send(self, command: wire.Answer, *, is_response: bool) -> None:
        if not is_response:
            self.asked[command.opaque] = f"{command.code} {command.ext} {command.body[:200]!r}"[:700]
        self._writer.write(
            wire.encode_request(
                command.code, command.ext, command.body, opaque=command.opaque, version=command.version,
                language=command.language or "JAVA", flag=command.flag, codec=command.codec, remark=command.remark,
            )
        )  # fmt: skip

    async def next(self, wanted: wire.Answer) -> wire.Answer:
        """Give the answer with the recorded opaque, or the next request of the broker with the recorded code."""
        is_response = bool(wanted.flag & wire.FLAG_RESPONSE)
        async with asyncio.timeout(ANSWER_S):
            while True:
                for at, each in enumerate(self._kept):
                    is_alike = bool(each.flag & wire.FLAG_RESPONSE) == is_response
                    if is_alike and (each.opaque == wanted.opaque if is_response else each.code == wanted.code):
                        return self._kept.pop(at)
                length = int.from_bytes(await self._reader.readexactly(4))
                self._kept.append(wire.decode(await self._reader.readexactly(length)))

    async def close(self) -> None:
        self._writer.close()
        try:
            await self._writer.wait_closed()
        except ConnectionError:
            return
