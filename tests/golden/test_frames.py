"""Frames of real RocketMQ software are read, and written again as they were."""

import json
import zlib

import pytest
from tests.support import wire
from tests.support.golden import RecordedFrame, Recording, manifest, recording, recording_names

from cosmodrome.protocol import header_json
from cosmodrome.protocol.bodies import register_broker
from cosmodrome.protocol.bodies.data_version import decode_data_version, encode_data_version
from cosmodrome.protocol.bodies.register_broker import RegisterBrokerBody, decode_register_broker_body, masked_crc32
from cosmodrome.protocol.bodies.route import decode_queue_datas
from cosmodrome.protocol.command import RemotingCommand, decode_command, encode_command
from cosmodrome.protocol.ext_fields import decode_ext_fields
from cosmodrome.protocol.frame import FrameDecoder
from cosmodrome.protocol.headers.broker import RegisterBrokerRequestHeader
from cosmodrome.protocol.json_dialects import parse_lenient
from cosmodrome.protocol.slices import at_once

OTHER_HEADER_FORMS = {
    "client-go": "Go writes the members in the order of its struct and says nothing of the codec",
    "client-node": "Node.js writes the members in the order in which it sets them and says nothing of the codec",
    "client-py": "the C++ core says nothing of the codec and ends the header with a newline",
}
"""Peers whose requests our writer is not meant to reproduce, with the reason."""

NOW_MS = 1_800_000_000_000


def decoded(data: bytes) -> RemotingCommand:
    decoder = FrameDecoder()
    decoder.feed(data)
    frame = decoder.next_frame()
    assert frame is not None
    assert decoder.next_frame() is None
    assert decoder.buffered_bytes == 0
    return decode_command(frame)


def body_of(frame: RecordedFrame) -> RegisterBrokerBody:
    command = decoded(frame.data)
    header = decode_ext_fields(RegisterBrokerRequestHeader, command.ext_fields)
    is_compressed = bool(header.compressed)
    return decode_register_broker_body(command.body, command.version, is_compressed=is_compressed, now_ms=NOW_MS)


def registrations(name: str) -> list[RecordedFrame]:
    return recording(name).requests(103)


@pytest.fixture(params=recording_names())
def recorded(request: pytest.FixtureRequest) -> Recording:
    return recording(request.param)


def test_every_recording_of_the_manifest_is_here() -> None:
    for file, entry in manifest().items():
        frames = recording(file.removesuffix(".jsonl")).frames
        assert len(frames) == entry["frames"], file
        assert len({frame.connection for frame in frames}) == entry["connections"], file


def test_frames_say_what_the_oracle_reads(recorded: Recording) -> None:
    for frame in recorded.frames:
        command = decoded(frame.data)
        said = frame.command
        assert (command.code, command.flag, command.opaque, command.version) == (
            said.code, said.flag, said.opaque, said.version,
        )  # fmt: skip
        assert (command.remark, command.body) == (said.remark, said.body)
        assert command.ext_fields == said.ext
        assert command.language is not None
        assert command.language.name == said.language
        assert command.serialize_type.name == said.codec


def test_frames_of_java_are_written_again_byte_for_byte(recorded: Recording) -> None:
    for frame in recorded.frames:
        if recorded.is_from_java or not frame.is_request:
            assert encode_command(decoded(frame.data)) == frame.data


@pytest.mark.parametrize("client", OTHER_HEADER_FORMS)
def test_frames_of_other_clients_keep_their_meaning(client: str) -> None:
    requests = [frame for name in recording_names() if name.startswith(client) for frame in recording(name).requests()]

    assert requests
    for frame in requests:
        command = decoded(frame.data)
        written = wire.decode(encode_command(command)[4:])
        ours, theirs = json.loads(written.raw_header), json.loads(frame.command.raw_header)
        assert ours.pop("serializeTypeCurrentRPC") == "JSON"
        assert "serializeTypeCurrentRPC" not in theirs
        assert ours == theirs
        assert encode_command(command) != frame.data, f"{client} is no exception any more"


def test_real_peers_never_need_the_tolerant_readers(recorded: Recording, monkeypatch: pytest.MonkeyPatch) -> None:
    """Headers of all, and registrations in JSON, go the fast way."""

    def fail(*_: object) -> None:
        pytest.fail("the tolerant way was taken")

    monkeypatch.setattr(header_json, "_decode_tolerantly", fail)
    monkeypatch.setattr(register_broker, "_decode_json_tolerantly", fail)
    for frame in recorded.frames:
        command = decoded(frame.data)
        if frame.is_request and command.code == 103 and command.body:
            body_of(frame)


def test_registrations_are_read_as_they_were_meant(recorded: Recording) -> None:
    for frame in recorded.requests(103):
        command = decoded(frame.data)
        header = decode_ext_fields(RegisterBrokerRequestHeader, command.ext_fields)
        assert header.body_crc32 == masked_crc32(command.body)
        if command.body[:1] != b"{":
            continue
        document = wire.parse_body(command.body)
        wrapper = document["topicConfigSerializeWrapper"]
        body = body_of(frame)
        assert body.filter_servers == tuple(document["filterServerList"])
        assert body.table.data_version.timestamp == wrapper["dataVersion"]["timestamp"]
        assert body.table.data_version.counter == wrapper["dataVersion"]["counter"]
        assert list(body.table.topic_configs) == list(wrapper["topicConfigTable"])
        for config in body.table.topic_configs.values():
            said = wrapper["topicConfigTable"][config.topic_name]
            assert (config.perm, config.read_queue_nums, config.write_queue_nums, config.topic_sys_flag) == (
                said["perm"], said["readQueueNums"], said["writeQueueNums"], said["topicSysFlag"],
            )  # fmt: skip


def test_the_tolerant_reader_agrees_with_the_fast_one(recorded: Recording) -> None:
    for frame in recorded.requests(103):
        body = decoded(frame.data).body
        if body[:1] == b"{":
            assert at_once(register_broker._decode_json_tolerantly(body, NOW_MS)) == body_of(frame)


@pytest.mark.parametrize(
    ("compressed", "plain"),
    [
        ("broker-4.9.7-compressed", "broker-4.9.7-json"),
        ("broker-5.1.4-compressed", "broker-5.1.4-json"),
        ("broker-5.5.0-compressed", "broker-5.5.0-json"),
        ("ns-4.9.7-broker-4.9.7-compressed", "ns-4.9.7-broker-4.9.7-json"),
        ("ns-4.9.7-broker-5.5.0-compressed", "ns-4.9.7-broker-5.5.0-json"),
    ],
)
def test_compressed_registrations_equal_those_in_json(compressed: str, plain: str) -> None:
    """The same steps of the same broker; versions differ in their time, and sys flags are not in the text form."""
    pairs = list(zip(registrations(compressed), registrations(plain), strict=True))

    for small, large in pairs:
        assert decoded(small.data).body[:1] == b"\x78"
        ours, twin = body_of(small), body_of(large)
        assert ours.filter_servers == twin.filter_servers
        assert ours.table.topic_configs == twin.table.topic_configs
        assert ours.table.topic_queue_mapping_infos == twin.table.topic_queue_mapping_infos
        assert ours.table.data_version.counter == twin.table.data_version.counter
        assert ours.table.data_version.state_version == twin.table.data_version.state_version


def test_compressed_registrations_inflate_to_what_the_oracle_reads() -> None:
    """The first length counts the data version; the texts follow (specification A6)."""
    frame = registrations("broker-5.5.0-compressed")[0]
    inflated = zlib.decompress(decoded(frame.data).body)
    length = int.from_bytes(inflated[:4], "big")

    version = json.loads(inflated[4 : 4 + length])

    assert version["counter"] == body_of(frame).table.data_version.counter


@pytest.mark.parametrize("name", ["broker-4.9.7-query-first", "broker-5.5.0-query-first", "acting-master-5.5.0"])
def test_data_versions(name: str) -> None:
    bodies = [exchanged.request.command.body for exchanged in recording(name).exchanges()
              if exchanged.request.command.code == 322]  # fmt: skip

    assert bodies
    for body in bodies:
        version = decode_data_version(body, NOW_MS)
        assert version is not None
        assert wire.parse_body(encode_data_version(version)) == {"stateVersion": 0} | wire.parse_body(body)


def test_topics_that_brokers_add_by_themselves() -> None:
    """217 of a 5.5.0 broker with enableSingleTopicRegister."""
    requests = recording("broker-5.5.0-single-topic-split").requests(217)

    added = [decode_queue_datas(frame.command.body) for frame in requests]

    assert [[(data.broker_name, data.perm) for data in datas] for datas in added] == [
        [("gold-a", 6)], [("gold-a", 2)], [("gold-a", 4)],
    ]  # fmt: skip


def test_answers_in_json_are_read_alike_by_both_readers(recorded: Recording) -> None:
    for frame in recorded.frames:
        body = frame.command.body
        if body[:1] == b"{":
            assert parse_lenient(body) == wire.parse_body(body)
