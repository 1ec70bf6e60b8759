"""Requests spelled out by a script: well-formed in all but what the script spoils.

Owns: which requests, names and bodies a script can choose from.
Must not know: what is answered.
"""

import zlib
from typing import Final, NamedTuple

from tests.support import wire

from fuzz.script import Script

TABLE_CODES: Final = (103, 105, 104, 904, 322, 106, 901, 205, 327, 206, 216, 217, 224, 304, 311, 312, 313)
"""Requests about the tables; each is answered at once unless it is long work."""
FILE_CODES: Final = (100, 101, 102, 219, 318, 319, 9999, -5)
"""Requests about what is on disk, and two that nobody serves."""
CHANGING: Final = frozenset({103, 104, 205, 216, 217, 322, 327, 904})

_VERSIONS: Final = (513, 401, 400, 317, 36, 0, -1, 700)
_NAMES: Final = (
    "brokerName", "brokerAddr", "clusterName", "haServerAddr", "brokerId", "heartbeatTimeoutMillis",
    "enableActingMaster", "compressed", "bodyCrc32", "__ZONE_NAME", "__ZONE_MODE", "topic", "cluster",
    "acceptStandardJsonOnly", "namespace", "key", "value",
)  # fmt: skip
_VALUES: Final = (
    "a", "b", "C", "D", "10.0.0.1:10911", "x:1", "0", "1", "-1", "true", "false", "T1", "T2", "", "9" * 30, "+5", "1.5",
    "ORDER_TOPIC_CONFIG", "rmq_sys_SYNC_BROKER_MEMBER_a", "\u00e9" * 40, "2147483648",
)  # fmt: skip
_TOPICS: Final = [wire.topic_config("T1"), wire.topic_config("T2", perm=4, sys_flag=3)]
_MAPPINGS: Final = [wire.mapping_info("T1", "a", {0: 0, 1: 1})]
_MANY: Final = [wire.topic_config(f"many-{number}") for number in range(40)]
_BODIES: Final = (
    b"",
    wire.register_body(_TOPICS, mappings=_MAPPINGS, filter_servers=["f:1"]),
    wire.compressed_register_body(_TOPICS, mappings=_MAPPINGS),
    wire.old_register_body(_TOPICS),
    wire.register_body(_TOPICS[:1], wire.data_version(7, state_version=9)),
    wire.register_body(_MANY),
    wire.compressed_register_body(_MANY),
    wire.dump(wire.data_version()),
    b'{"queueDatas":[{"brokerName":"a","perm":6,"readQueueNums":4,"writeQueueNums":4}]}',
    b"listenPort=1\nserverChannelMaxIdleTimeSeconds=120\n",
    b"null",
)
_BROKERS: Final = (
    wire.Broker(name="a"),
    wire.Broker(name="a", id=1, addr="10.0.0.2:10911"),
    wire.Broker(name="b", addr="10.0.0.3:10911", cluster="D", zone="z"),
    wire.Broker(name="a", addr="10.0.0.1:10911", heartbeat_timeout_millis=-1, enable_acting_master=True),
)
_OWN_TEXT: Final = 200
"""From this number on, a script spells a value itself."""


class Asked(NamedTuple):
    """A request as its parts."""

    code: int
    fields: dict[str, str | None] | None
    body: bytes
    version: int
    flag: int
    codec: wire.Codec


def asked(script: Script, codes: tuple[int, ...]) -> Asked:
    """Take one request from a script."""
    code, kind, plan, form = (script.byte() for _ in range(4))
    body = _body(script, form)
    fields: dict[str, str | None] = dict(wire.registration_ext(_BROKERS[plan % 4], crc=wire.crc32_masked(body)))
    fields |= {"topic": "T1", "cluster": "DefaultCluster", "namespace": "n", "key": "k", "value": "v"}
    for _ in range(plan >> 5):
        name = script.choice(_NAMES)
        fields[name] = _value(script)
    is_oneway, is_response = kind & 7 == 7, kind & 0x38 == 0x38
    return Asked(
        code=codes[code % len(codes)],
        fields=None if plan & 0x1C == 0x1C else fields,
        body=body,
        version=_VERSIONS[form >> 5],
        flag=wire.FLAG_ONEWAY * is_oneway | wire.FLAG_RESPONSE * is_response,
        codec="ROCKETMQ" if kind & 0x40 else "JSON",
    )


def _value(script: Script) -> str | None:
    number = script.byte()
    if number >= _OWN_TEXT:
        return script.short().decode("utf-8", "replace")
    return None if number == _OWN_TEXT - 1 else _VALUES[number % len(_VALUES)]


def _body(script: Script, form: int) -> bytes:
    number = form & 0x0F
    body = _BODIES[number] if number < len(_BODIES) else script.long()
    if form & 0x10:
        place, byte = script.word(), script.byte()
        body = body[: place % (len(body) + 1)] + bytes([byte]) + body[place % (len(body) + 1) + 1 :]
    return zlib.compress(body) if number == 0x0F else body
