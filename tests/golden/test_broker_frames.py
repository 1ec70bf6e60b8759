"""Headers and bodies that real clients and brokers exchanged: each is read, and written again with the same meaning."""

import base64
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
from tests.support.golden_broker import BrokerFrame, broker_frames

from cosmodrome.errors import MalformedBodyError
from cosmodrome.protocol.acl import ACCESS_KEY, SIGNATURE
from cosmodrome.protocol.bodies import (
    broker_stats,
    cluster,
    consumer_running_info,
    consumers,
    groups,
    heartbeat,
    locks,
    offsets,
    pop,
    topics,
)
from cosmodrome.protocol.codes import BrokerRequestCode, ClientRequestCode, ResponseCode
from cosmodrome.protocol.command import decode_command
from cosmodrome.protocol.ext_fields import HeaderFields, decode_ext_fields, encode_ext_fields
from cosmodrome.protocol.frame import FrameDecoder
from cosmodrome.protocol.headers import (
    group_admin,
    members,
    pull,
    queries,
    relays,
    replies,
    send,
    statistics,
    topic_admin,
    transactions,
)
from cosmodrome.protocol.headers import offsets as offset_headers
from cosmodrome.protocol.headers import pop as pop_headers
from cosmodrome.protocol.json_keys import parse_keyed
from cosmodrome.protocol.json_structs import decode_body, encode_body
from cosmodrome.protocol.pop_info import (
    decode_message_offsets,
    decode_receipt_handle,
    decode_start_offsets,
    encode_message_offsets,
    encode_receipt_handle,
    encode_start_offsets,
)

SENDS: Final = {10, 310, 320, 324, 325}

REQUEST_HEADERS: Final[Mapping[int, type[HeaderFields]]] = {
    11: pull.PullMessageRequestHeader,
    12: queries.QueryMessageRequestHeader,
    14: offset_headers.QueryConsumerOffsetRequestHeader,
    15: offset_headers.UpdateConsumerOffsetRequestHeader,
    17: topic_admin.CreateTopicRequestHeader,
    21: topic_admin.GetAllTopicConfigRequestHeader,
    29: offset_headers.SearchOffsetRequestHeader,
    30: offset_headers.GetMaxOffsetRequestHeader,
    31: offset_headers.QueueRequestHeader,
    32: offset_headers.QueueRequestHeader,
    33: queries.ViewMessageRequestHeader,
    35: members.UnregisterClientRequestHeader,
    36: send.ConsumerSendMsgBackRequestHeader,
    37: transactions.EndTransactionRequestHeader,
    38: members.ConsumerGroupRequestHeader,
    39: transactions.CheckTransactionStateRequestHeader,
    40: members.ConsumerGroupRequestHeader,
    201: group_admin.GetAllSubscriptionGroupRequestHeader,
    202: topic_admin.TopicRequestHeader,
    203: members.ConsumerGroupRequestHeader,
    204: members.GetProducerConnectionListRequestHeader,
    207: group_admin.DeleteSubscriptionGroupRequestHeader,
    208: group_admin.GetConsumeStatsRequestHeader,
    215: topic_admin.TopicRequestHeader,
    220: relays.ResetOffsetRequestHeader,
    221: members.GroupTopicRequestHeader,
    222: relays.ResetOffsetRequestHeader,
    223: relays.GetConsumerStatusRequestHeader,
    300: topic_admin.TopicRequestHeader,
    303: members.GroupTopicRequestHeader,
    307: relays.GetConsumerRunningInfoRequestHeader,
    308: group_admin.QueryCorrectionOffsetRequestHeader,
    309: relays.ConsumeMessageDirectlyResultRequestHeader,
    314: offset_headers.CloneGroupOffsetRequestHeader,
    315: statistics.ViewBrokerStatsDataRequestHeader,
    317: statistics.GetConsumeStatsInBrokerHeader,
    321: queries.QueryConsumeQueueRequestHeader,
    323: transactions.ResumeCheckHalfMessageRequestHeader,
    326: replies.ReplyMessageRequestHeader,
    343: group_admin.GroupRequestHeader,
    345: members.GroupTopicRequestHeader,
    351: topic_admin.TopicRequestHeader,
    352: group_admin.GroupRequestHeader,
    361: pull.PullMessageRequestHeader,
    370: replies.RecallMessageRequestHeader,
    200050: pop_headers.PopMessageRequestHeader,
    200051: pop_headers.AckMessageRequestHeader,
    200053: pop_headers.ChangeInvisibleTimeRequestHeader,
    200054: pop_headers.NotificationRequestHeader,
    200055: pop_headers.PollingInfoRequestHeader,
}
ANSWER_HEADERS: Final[Mapping[int, type[HeaderFields]]] = {
    **dict.fromkeys(SENDS, send.SendMessageResponseHeader),
    11: pull.PullMessageResponseHeader,
    12: queries.QueryMessageResponseHeader,
    14: offset_headers.OffsetResponseHeader,
    21: topic_admin.GetAllTopicConfigResponseHeader,
    29: offset_headers.OffsetResponseHeader,
    30: offset_headers.OffsetResponseHeader,
    31: offset_headers.OffsetResponseHeader,
    32: offset_headers.GetEarliestMsgStoretimeResponseHeader,
    34: members.HeartbeatResponseHeader,
    201: group_admin.GetAllSubscriptionGroupResponseHeader,
    361: pull.PullMessageResponseHeader,
    370: replies.RecallMessageResponseHeader,
    200050: pop_headers.PopMessageResponseHeader,
    200053: pop_headers.ChangeInvisibleTimeResponseHeader,
    200054: pop_headers.NotificationResponseHeader,
    200055: pop_headers.PollingInfoResponseHeader,
}
REQUEST_BODIES: Final[Mapping[int, type[msgspec.Struct]]] = {
    34: heartbeat.HeartbeatData,
    41: locks.LockBatchRequestBody,
    42: locks.LockBatchRequestBody,
    46: heartbeat.CheckClientRequestBody,
    200: groups.SubscriptionGroupConfig,
    220: offsets.ResetOffsetBody,
    400: pop.QueryAssignmentRequestBody,
    401: pop.SetMessageRequestModeRequestBody,
}
ANSWER_BODIES: Final[Mapping[int, type[msgspec.Struct]]] = {
    21: topics.BrokerTopicTable,
    38: consumers.GetConsumerListByGroupResponseBody,
    41: locks.LockBatchResponseBody,
    43: offsets.ConsumerOffsetTable,
    45: offsets.DelayOffsetTable,
    61: broker_stats.TimerMetrics,
    201: groups.SubscriptionGroupTable,
    202: offsets.TopicStatsTable,
    203: consumers.ConsumerConnection,
    204: consumers.ProducerConnection,
    208: offsets.ConsumeStats,
    221: offsets.GetConsumerStatusBody,
    222: offsets.ResetOffsetBody,
    223: offsets.GetConsumerStatusBody,
    303: offsets.QueryConsumeTimeSpanBody,
    307: consumer_running_info.ConsumerRunningInfo,
    308: offsets.QueryCorrectionOffsetBody,
    309: consumer_running_info.ConsumeMessageDirectlyResult,
    315: broker_stats.BrokerStatsData,
    317: offsets.ConsumeStatsList,
    321: broker_stats.QueryConsumeQueueResponseBody,
    328: consumers.ProducerTableInfo,
    345: consumers.QuerySubscriptionResponseBody,
    351: topics.BrokerTopicConfig,
    352: groups.SubscriptionGroupConfig,
    400: pop.QueryAssignmentResponseBody,
    402: pop.MessageRequestModeTable,
    907: broker_stats.HaRuntimeInfo,
}
# Codes whose answers other modules read.
READ_ELSEWHERE: Final[Mapping[int, Callable[[bytes], object]]] = {
    300: cluster.decode_group_list,
    305: cluster.decode_topic_list,
    343: cluster.decode_topic_list,
}


UNREAD: Final = {ACCESS_KEY, SIGNATURE, "OnsChannel"}


def signed_requests() -> list[dict[str, Any]]:
    """Give the signed requests of real clients, each line of the recording."""
    lines = SIGNED.read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def told(header: HeaderFields) -> dict[str, str | None]:
    return encode_ext_fields(header)


SIGNED: Final = Path(__file__).resolve().parent / "acl" / "signed-requests.jsonl"
RESET_LIST: Final = b'{"offsetTable":['
"""How the body of 220 begins for C++ clients."""


@pytest.fixture(scope="module")
def frames() -> tuple[BrokerFrame, ...]:
    found = broker_frames()
    assert len(found) > 500
    return found


def is_answer(frame: BrokerFrame) -> bool:
    return not frame.is_request and frame.command.code == ResponseCode.SUCCESS


def test_every_code_is_known(frames: tuple[BrokerFrame, ...]) -> None:
    """But those that are asked to see what an unknown one is answered, and those of other software."""
    not_ours = {24, 27, 50, 60, 902, 3001, 3006, 102, 103, 318}
    known = set(BrokerRequestCode) | set(ClientRequestCode) | not_ours

    assert {frame.code for frame in frames} <= known
    assert {frame.command.code for frame in frames if not frame.is_request} <= set(ResponseCode)


def test_headers_of_requests(frames: tuple[BrokerFrame, ...]) -> None:
    seen = set()
    for frame in frames:
        ext = frame.command.ext
        if frame.is_request and frame.code in REQUEST_HEADERS and ext:
            assert told(decode_ext_fields(REQUEST_HEADERS[frame.code], ext)) == readable(ext), frame
            seen.add(frame.code)

    assert seen == REQUEST_HEADERS.keys()


@pytest.mark.parametrize("line", signed_requests(), ids=lambda line: f"{line['client']} {line['code']}")
def test_signed_requests_of_clients_in_several_languages(line: dict[str, Any]) -> None:
    """Those of Node hold bare numbers, and a name of a cloud that no broker reads."""
    decoder = FrameDecoder()
    decoder.feed(base64.b64decode(line["frame_b64"]))
    frame = decoder.next_frame()
    assert frame is not None
    command = decode_command(frame)
    ext = {name: text for name, text in (command.ext_fields or {}).items() if name not in UNREAD and text is not None}

    if command.code in SENDS:
        header = send.decode_send_header(ext)
        encode = send.encode_short_send_header if "a" in ext else encode_ext_fields
        assert encode(header) == ext
    elif command.code in REQUEST_HEADERS:
        assert told(decode_ext_fields(REQUEST_HEADERS[command.code], ext)) == ext
    else:
        assert not ext
        struct_type = REQUEST_BODIES[command.code]
        value = decode_body(struct_type, command.body)
        assert not absences(plain(parse_keyed(command.body)), plain(parse_keyed(encode_body(value))), "$")


def test_headers_of_sends_under_long_and_short_names(frames: tuple[BrokerFrame, ...]) -> None:
    seen = set()
    for frame in frames:
        ext = frame.command.ext
        if frame.is_request and frame.code in SENDS and ext and ext.keys() & {"a", "producerGroup"}:
            header = send.decode_send_header(ext)
            encode = send.encode_short_send_header if "a" in ext else encode_ext_fields
            assert encode(header) == readable(ext), frame
            seen.add((frame.code, "a" in ext))

    assert {(10, False), (310, True), (320, True), (324, False), (325, True)} <= seen


def test_headers_of_answers(frames: tuple[BrokerFrame, ...]) -> None:
    seen = set()
    for frame in frames:
        ext = frame.command.ext
        if not frame.is_request and frame.code in ANSWER_HEADERS and ext:
            assert told(decode_ext_fields(ANSWER_HEADERS[frame.code], ext)) == ext, frame
            seen.add(frame.code)

    assert seen == ANSWER_HEADERS.keys()


def test_no_answer_has_fields_that_are_not_read(frames: tuple[BrokerFrame, ...]) -> None:
    with_fields = {frame.code for frame in frames if not frame.is_request and frame.command.ext}

    assert with_fields - ANSWER_HEADERS.keys() == {103}


def readable(ext: Mapping[str, str]) -> dict[str, str]:
    """Leave out numbers that are none, which some requests of the recording try."""
    return {name: text for name, text in ext.items() if text != "abc"}


def test_bodies_of_requests(frames: tuple[BrokerFrame, ...]) -> None:
    seen = set()
    for frame in frames:
        body = frame.command.body
        is_list = body.startswith(RESET_LIST)
        if frame.is_request and frame.code in REQUEST_BODIES and body and not is_broken(body) and not is_list:
            check_body(frame, REQUEST_BODIES[frame.code])
            seen.add(frame.code)

    assert seen == REQUEST_BODIES.keys()


def test_resets_for_java_and_for_cpp_clients(frames: tuple[BrokerFrame, ...]) -> None:
    bodies = [frame.command.body for frame in frames if frame.is_request and frame.code == 220]
    lists = [body for body in bodies if body.startswith(RESET_LIST)]

    assert lists
    assert len(lists) < len(bodies)
    for body in bodies:
        assert offsets.decode_reset_offset_body(body).offset_table
    for body in lists:
        encoded = offsets.encode_reset_offset_list(offsets.decode_reset_offset_body(body).offset_table)
        assert json.loads(encoded) == json.loads(body)


def is_broken(body: bytes) -> bool:
    """Whether a body is one that the recording's script broke on purpose."""
    try:
        parse_keyed(body)
    except MalformedBodyError:
        return True
    return False


def test_what_is_broken_on_purpose_is_refused_by_real_brokers_too(frames: tuple[BrokerFrame, ...]) -> None:
    broken = [
        frame for frame in frames if frame.is_request and frame.code in REQUEST_BODIES and is_broken(frame.command.body)
    ]

    assert {frame.command.body for frame in broken} <= {b"", b"{nope"}


def test_bodies_of_answers(frames: tuple[BrokerFrame, ...]) -> None:
    seen = set()
    for frame in frames:
        if is_answer(frame) and frame.command.body and frame.code in ANSWER_BODIES:
            check_body(frame, ANSWER_BODIES[frame.code])
            seen.add(frame.code)

    assert seen == ANSWER_BODIES.keys()


def test_no_answer_has_a_document_that_is_not_read(frames: tuple[BrokerFrame, ...]) -> None:
    """Codes 25, 26 and 28 are text or tables that others read; 10 and 103 have none."""
    documents = {frame.code for frame in frames if is_answer(frame) and frame.command.body[:1] == b"{"}

    assert documents - ANSWER_BODIES.keys() <= READ_ELSEWHERE.keys()
    for frame in frames:
        if is_answer(frame) and frame.command.body and frame.code in READ_ELSEWHERE:
            value = READ_ELSEWHERE[frame.code](frame.command.body)
            assert value == () or encode(value) == frame.command.body


def encode(value: Any) -> bytes:
    if isinstance(value, cluster.TopicList):
        return cluster.encode_topic_list(value.topic_list, value.broker_addr)
    return cluster.encode_group_list(value)


def check_body(frame: BrokerFrame, struct_type: type[msgspec.Struct]) -> None:
    body = frame.command.body
    value = decode_body(struct_type, body)
    encoded = encode_body(value)

    assert decode_body(struct_type, encoded) == value
    missing = absences(plain(parse_keyed(body)), plain(parse_keyed(encoded)), "$")
    assert not [path for path in missing if not NOT_READ.search(path)], (frame, missing)


# Of static topics, which brokers of ours do not have.
NOT_READ: Final = re.compile(r"^\$\.(mappingDataVersion|topicQueueMapping\w+)$")


ORDINALS: Final = {
    "CONSUME_ACTIVELY": "0", "CONSUME_PASSIVELY": "1", "BROADCASTING": "0", "CLUSTERING": "1",
    "CONSUME_FROM_LAST_OFFSET": "0", "CONSUME_FROM_FIRST_OFFSET": "4", "CONSUME_FROM_TIMESTAMP": "5",
}  # fmt: skip


def plain(document: Any) -> Any:
    """Give a document in which keys that were objects are spelled in one way."""
    if isinstance(document, dict):
        return {key_of(key): plain(value) for key, value in document.items()}
    return [plain(item) for item in document] if isinstance(document, list) else document


def key_of(key: str) -> str:
    return json.dumps(json.loads(key), sort_keys=True) if key.startswith("{") else key


def absences(given: Any, kept: Any, path: str) -> list[str]:
    """Give the paths of what is in a document and not, or differently, in what was made of it."""
    if isinstance(given, dict) and isinstance(kept, dict):
        members = ((f"{path}.{key}", value, kept.get(key)) for key, value in given.items() if value is not None)
        return [found for at, value, other in members for found in absences(value, other, at)]
    if isinstance(given, list) and isinstance(kept, list) and len(given) == len(kept):
        items = zip(given, kept, strict=True)
        return [found for n, (item, other) in enumerate(items) for found in absences(item, other, f"{path}[{n}]")]
    return [] if same(given, kept) else [path]


def same(given: Any, kept: Any) -> bool:
    """Whether two scalars are equal, as numbers in texts and ordinals are to numbers and names."""
    return given == kept or str(given) in (str(kept), ORDINALS.get(str(kept)))


def test_what_java_writes_is_written_alike(frames: tuple[BrokerFrame, ...]) -> None:
    """Down to the quotes: bytes differ in the order of members alone."""
    seen = set()
    for frame in frames:
        is_from_java = frame.command.language == "JAVA" and frame.release == "5.5.0"
        bodies = REQUEST_BODIES if frame.is_request else ANSWER_BODIES
        body = frame.command.body
        is_whole = frame.is_request or is_answer(frame)
        if is_from_java and is_whole and frame.code in bodies.keys() - SCRIPTED - {21} and body:
            encoded = encode_body(decode_body(bodies[frame.code], body))
            assert sorted(encoded) == sorted(body), (encoded, body)
            seen.add((frame.code, frame.is_request))

    assert {(34, True), (41, True), (41, False), (202, False), (208, False), (43, False), (352, False)} <= seen


# What a broker relayed of the recording's script.
SCRIPTED: Final = frozenset({221, 307, 309})


def test_pop_texts(frames: tuple[BrokerFrame, ...]) -> None:
    starts = messages = handles = 0
    for frame in frames:
        ext = frame.command.ext or {}
        if start := ext.get("startOffsetInfo"):
            assert encode_start_offsets(decode_start_offsets(start)) == start
            starts += 1
        if message := ext.get("msgOffsetInfo"):
            assert encode_message_offsets(decode_message_offsets(message)) == message
            messages += 1
        if frame.is_request and (handle := ext.get("extraInfo")) and len(handle.split(" ")) == 8:
            assert encode_receipt_handle(decode_receipt_handle(handle)) == handle
            handles += 1

    assert min(starts, messages, handles) > 0
