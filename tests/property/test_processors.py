"""Whatever a request says, it is answered, and one that is not answered SUCCESS changed nothing."""

import zlib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.property.test_routing_model import snapshot
from tests.support import wire
from tests.support.builders import PEER, settled, surface

from cosmodrome.namesrv.routing.tables import RouteTables
from cosmodrome.protocol.codes import SerializeType
from cosmodrome.protocol.command import RemotingCommand, encode_command

CODES = [103, 104, 105, 106, 205, 206, 216, 217, 224, 304, 311, 312, 313, 322, 327, 901, 904]
CHANGING = {103, 104, 205, 216, 217, 322, 327, 904}

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
values = (
    st.sampled_from(
        [
            "a",
            "b",
            "C",
            "D",
            "10.0.0.1:10911",
            "x:1",
            "0",
            "1",
            "-1",
            "true",
            "false",
            "T1",
            "T2",
            "",
            "9" * 30,
            "+5",
            "1.5",
        ]
    )
    | texts
)
NAMES = [
    "brokerName", "brokerAddr", "clusterName", "haServerAddr", "brokerId", "heartbeatTimeoutMillis",
    "enableActingMaster", "compressed", "bodyCrc32", "__ZONE_NAME", "__ZONE_MODE", "topic", "cluster",
    "acceptStandardJsonOnly",
]  # fmt: skip
TABLE = [wire.topic_config("T1"), wire.topic_config("T2", perm=4)]
BODIES = [
    b"", wire.register_body(TABLE), wire.compressed_register_body(TABLE), wire.old_register_body(TABLE),
    wire.dump(wire.data_version()), b'{"queueDatas":[{"brokerName":"a","perm":6}]}', b"null", b"[]", b"{}",
]  # fmt: skip


@st.composite
def bodies(draw: st.DrawFn) -> bytes:
    body = bytearray(draw(st.sampled_from(BODIES)))
    for _ in range(draw(st.integers(0, 2))):
        if body:
            body[draw(st.integers(0, len(body) - 1))] = draw(st.integers(0, 255))
    return bytes(body) if draw(st.integers(0, 5)) else zlib.compress(bytes(body))


@st.composite
def requests(draw: st.DrawFn) -> RemotingCommand:
    fields: dict[str, str | None] = dict(wire.registration_ext(wire.Broker(name="a"), crc=None))
    fields |= {"topic": "T1", "cluster": "DefaultCluster"}
    fields |= draw(st.dictionaries(st.sampled_from(NAMES), st.none() | values, max_size=4))
    for name in draw(st.lists(st.sampled_from(NAMES), max_size=2)):
        fields.pop(name, None)
    return RemotingCommand(
        draw(st.sampled_from(CODES)),
        opaque=7,
        version=draw(st.sampled_from([513, 513, 401, 400, 317, 36, 0, -1, 700])),
        ext_fields=None if draw(st.integers(0, 9)) == 0 else fields,
        body=draw(bodies()),
        serialize_type=draw(st.sampled_from(SerializeType)),
    )


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(history=st.lists(requests(), min_size=1, max_size=8))
def test_requests_are_answered_and_refusals_change_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, history: list[RemotingCommand]
) -> None:
    tables = RouteTables()
    dispatcher = surface(tables, tmp_path)
    caplog.clear()
    for request in history:
        before = snapshot(tables)
        answer = settled(dispatcher.dispatch(request, PEER))
        assert (answer.opaque, answer.flag, answer.version) == (7, 1, 513)
        assert answer.serialize_type is request.serialize_type
        assert wire.decode(encode_command(answer)[4:]).code == answer.code
        assert answer.remark != "internal error, see the server's log", caplog.text
        if answer.code != 0 or request.code not in CHANGING:
            assert snapshot(tables) == before
        if answer.body:
            wire.parse_body(answer.body)
    assert not caplog.records
