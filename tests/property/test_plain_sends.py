"""The short way of plain sends comes to the same as the way of all: the same answers, and the same bytes on disk."""

from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import wire
from tests.support.simulated_disk import SimulatedDisk
from tests.support.small_store import HOST, NOW_MS, ROOT, opened

from cosmodrome.broker.clock import Clock
from cosmodrome.broker.config import BrokerConfig
from cosmodrome.broker.intake import Intake
from cosmodrome.broker.messages import OwnProperties
from cosmodrome.broker.outbox import Outbox
from cosmodrome.broker.plain_sends import PlainSendParts, PlainSends
from cosmodrome.broker.processors.send import SendParts, SendProcessor
from cosmodrome.broker.state import new_state
from cosmodrome.broker.statistics import BROKER_PUT_NUMS, TOPIC_PUT_NUMS, TOPIC_PUT_SIZE
from cosmodrome.broker.turn import Turn
from cosmodrome.errors import ProtocolError
from cosmodrome.protocol.command import RemotingCommand, decode_command, encode_command
from cosmodrome.protocol.frame import Frame, FrameDecoder
from cosmodrome.protocol.headers.send import decode_send_header
from cosmodrome.protocol.plain_send import decode_plain_send
from cosmodrome.transport.dispatch import Dispatcher, Peer

SEND: Final = 310
KEY: Final = "7F0000010A2B18B4AAC20000A1B20001"
FIELDS: Final = {
    "a": "group", "b": "Orders", "c": "TBW102", "d": "4", "e": "1", "f": "0", "g": "1700000000000", "h": "0",
    "i": f"UNIQ_KEY\x01{KEY}\x02WAIT\x01true\x02TAGS\x01TagA", "j": "0", "k": "false", "m": "false", "n": "broker-a",
}  # fmt: skip
USUAL: Final = wire.encode_request(SEND, FIELDS, b"body", opaque=7)
TEXTS: Final = (
    *("", "0", "1", "3", "7", "+1", " 1", "01", "1.0", "1e1", "-1", "99", "128", "256", "4", "8", "2147483648", "true"),
    *(
        "TRUE",
        "false",
        "Orders",
        "Unknown",
        "%RETRY%g",
        "%DLQ%g",
        "rmq_sys_x",
        "SCHEDULE_TOPIC_XXXX",
        "TBW102",
        "\u0661",
        "²",
    ),
)
ENTRIES: Final = (
    f"UNIQ_KEY\x01{KEY}", "UNIQ_KEY\x01", "UNIQ_KEY\x01a b", "UNIQ_KEY\x01xDELAYx", "UNIQ_KEY", "XUNIQ_KEY\x01abc", "WAIT\x01false",
    "WAIT\x01true", "TAGS\x01TagA", "TAGS\x01", "TAGS\x01TagB", "KEYS\x01k1 k2", "KEYS\x01 ", "XKEYS\x01a", "DELAY\x012", "DELAY\x01x", "PGROUP\x01g",
    "TRAN_MSG\x01true", "TIMER_DELAY_SEC\x013", "POP_CK\x01x", "a\x01b\x01c", "", "\x00", "ü\x01日本", "CLUSTER\x01mine",
)  # fmt: skip
entries: Final = st.lists(st.sampled_from(ENTRIES), max_size=5)
properties: Final = st.builds(
    lambda before, has_key, behind, end: (
        "\x02".join([*before, *([f"UNIQ_KEY\x01{KEY}"] if has_key else []), *behind]) + end
    ),
    entries, st.booleans(), entries, st.sampled_from(["", "\x02"]),
)  # fmt: skip
changes: Final = st.dictionaries(
    st.sampled_from([*FIELDS, "o"]),
    st.one_of(st.none(), st.sampled_from(TEXTS).filter(lambda text: text != "-1")),
    max_size=2,
)
PEER: Final = Peer(3, "10.0.0.9:4711", "10.0.0.9:4711")


@st.composite
def frames(draw: st.DrawFn) -> bytes:
    """A send with something of it changed, or nothing."""
    fields: dict[str, Any] = {**FIELDS, "i": draw(properties), **draw(changes)}
    return wire.encode_request(
        draw(st.sampled_from([SEND, SEND, SEND, 320, 10])), fields, draw(st.sampled_from([b"body", b"body", b"", b"x" * 5000])),
        opaque=draw(st.integers(0, 5)), flag=draw(st.sampled_from([0, 0, 0, 2])),
        codec=draw(st.sampled_from(["JSON", "JSON", "JSON", "ROCKETMQ"])), remark=draw(st.sampled_from([None, "r"])),
    )  # fmt: skip


class Side:
    """A store and what takes sends for it, with the short way or without."""

    def __init__(self, *, is_short: bool) -> None:
        self.disk = SimulatedDisk()
        self.store = opened(self.disk, segment_bytes=1 << 16)
        self.config = BrokerConfig(max_message_size=4000)
        self.state = new_state(self.config, NOW_MS)
        self.state.topics.make_by_template("Orders", "TBW102", 4, NOW_MS)
        self.calls: list[Any] = []
        self.answers: list[bytes] = []
        self.taken = 0
        clock = Clock(lambda: NOW_MS, lambda: 0)
        turn = Turn(self.store, self.calls.append, clock.steady_ms)
        outbox = Outbox(lambda _, command: self._answered(encode_command(command)))
        intake = Intake(turn, outbox, clock, None)
        own = OwnProperties("C", "R", is_traced=True)
        self.dispatcher = Dispatcher({})
        parts = SendParts(
            topics=self.state.topics, groups=self.state.groups, locks=self.state.locks, intake=intake, own=own,
            store_host=HOST, next_id=lambda: "ID", half_stored=lambda *_: None, statistics=self.state.statistics,
        )  # fmt: skip
        send = SendProcessor(self.config, clock, parts).send_message
        self.dispatcher.serve({10: send, SEND: send, 320: send})
        short = PlainSendParts(
            topics=self.state.topics, intake=intake, turn=turn, own=own, store_host=HOST,
            statistics=self.state.statistics, send_frames=lambda _, frames: self.answers.extend(frames),
        )  # fmt: skip
        self.short = PlainSends(self.config, clock, short) if is_short else None

    def _answered(self, frame: bytes) -> bool:
        self.answers.append(frame)
        return True

    def play(self, frame: bytes) -> None:
        found = frame_of(frame)
        if self.short is not None and self.short.take(found, PEER):
            self.taken += 1
            return
        request = decode_command(found)
        answer = self.dispatcher.dispatch(request, PEER)
        if isinstance(answer, RemotingCommand) and answer.code != -1 and not request.is_oneway:
            self._answered(encode_command(answer))

    def end_turn(self) -> None:
        calls, self.calls[:] = list(self.calls), []
        for call in calls:
            call()

    def seen(self) -> dict[str, Any]:
        """What others see of it: answers, the bytes of the store, and the counters."""
        self.end_turn()
        self.store.reader.last_indexed()
        counted = [
            self.state.statistics.total(name, key)
            for name in (TOPIC_PUT_NUMS, TOPIC_PUT_SIZE, BROKER_PUT_NUMS)
            for key in ("Orders", "Unknown", self.config.broker_cluster_name)
        ]
        paths = [path for path in self.disk.paths(ROOT) if path.parts[2] in {"commitlog", "consumequeue"}]
        index = [bytes(self.disk.content(path)) for path in self.disk.paths(ROOT) if path.parts[2] == "index"]
        return {
            "answers": sorted(self.answers),
            "files": {path: bytes(self.disk.content(path)) for path in paths},
            "index": index,
            "counted": counted,
        }


def frame_of(data: bytes) -> Frame:
    decoder = FrameDecoder()
    decoder.feed(data)
    frame = decoder.next_frame()
    assert frame is not None
    return frame


@given(st.lists(st.lists(frames(), min_size=1, max_size=6), min_size=1, max_size=3))
def test_any_sends_come_to_the_same(turns: list[list[bytes]]) -> None:
    short, usual = Side(is_short=True), Side(is_short=False)
    for turn in turns:
        for side in (short, usual):
            for frame in turn:
                side.play(frame)
            side.end_turn()

    assert short.seen() == usual.seen()


@pytest.mark.parametrize("name", FIELDS)
def test_whatever_one_field_says_comes_to_the_same(name: str) -> None:
    short, usual = Side(is_short=True), Side(is_short=False)
    for number, text in enumerate((None, *TEXTS)):
        fields = {**FIELDS, name: text, **({"i": f"UNIQ_KEY\x01{KEY}\x02{text}\x01{text}"} if name == "i" else {})}
        for side in (short, usual):
            if "-1" not in (fields["e"], fields["b"]):  # which lets the broker choose
                side.play(wire.encode_request(SEND, fields, b"body", opaque=number))
            side.end_turn()

    assert short.seen() == usual.seen()


def test_the_usual_send_goes_the_short_way() -> None:
    short, usual = Side(is_short=True), Side(is_short=False)
    for side in (short, usual):
        side.play(USUAL)

    assert (short.taken, usual.taken) == (1, 0)
    assert short.seen() == usual.seen()
    assert len(short.answers) == 1


@given(frames())
def test_what_the_narrow_decoder_reads_the_full_one_reads_alike(data: bytes) -> None:
    frame = frame_of(data)
    read = decode_plain_send(frame)
    if read is None:
        return
    request = decode_command(frame)
    header = decode_send_header(request.ext_fields)
    assert (request.code, request.flag, header.batch) in {(SEND, 0, False), (SEND, 0, None)}
    assert (read.opaque, read.topic, read.sys_flag, 0, 0) == (
        request.opaque, header.topic, header.sys_flag, header.flag, header.reconsume_times or 0,
    )  # fmt: skip
    assert (read.born_timestamp_ms, read.properties) == (header.born_timestamp, header.properties)


@given(st.data())
def test_a_header_with_any_byte_changed_is_read_alike_or_not_at_all(data: st.DataObject) -> None:
    at = data.draw(st.integers(8, len(USUAL) - 5))
    broken = USUAL[:at] + bytes((data.draw(st.integers(0, 255)),)) + USUAL[at + 1 :]
    read = decode_plain_send(frame_of(broken))
    if read is None:
        return
    request = decode_command(frame_of(broken))
    header = decode_send_header(request.ext_fields)
    assert (read.opaque, read.topic, read.queue, read.properties, request.flag) == (
        request.opaque, header.topic, str(header.queue_id), header.properties, 0,
    )  # fmt: skip


@pytest.mark.parametrize("cut", range(8, 40))
def test_a_header_that_ends_early_is_left_to_the_full_decoder(cut: int) -> None:
    header = frame_of(USUAL).header[:cut]
    frame = frame_of(wire.frame(header, b"body"))
    assert decode_plain_send(frame) is None
    with pytest.raises(ProtocolError):
        decode_command(frame)
