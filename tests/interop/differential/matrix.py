"""Every request code with everything that can be wrong with it, one thing at a time.

Owns: a good request of each code, and the histories that hold its odd variants.
Must not know: what is answered.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from tests.interop.differential.history import Body, History, Request, Topic
from tests.interop.differential.oddities import (
    BODIES,
    HEADERS,
    HUGE,
    LANGUAGE_BYTES,
    ODD_TEXTS,
    OTHER_TYPES,
    UNKNOWN_CODES,
    VERSIONS,
    is_harmless,
)

IDENTITY: Final = {"brokerName": "b9~", "brokerAddr": "@8", "clusterName": "c9~", "brokerId": "0"}
REGISTRATION: Final = {
    "brokerName": "b1~",
    "brokerAddr": "@1",
    "clusterName": "c1~",
    "haServerAddr": "@1",
    "brokerId": "0",
    "heartbeatTimeoutMillis": "120000",
    "compressed": "false",
    "bodyCrc32": "0",
}
TABLE: Final = Body(form="json", topics=(Topic("t1~"), Topic("t2~")))
FIELDS: Final[dict[int, dict[str, str]]] = {
    100: {"namespace": "ns~", "key": "k~", "value": "v"},
    101: {"namespace": "ns~", "key": "k~"},
    102: {"namespace": "ns~", "key": "k~"},
    104: IDENTITY,
    105: {"topic": "t1~", "acceptStandardJsonOnly": "true"},
    106: {},
    205: {"brokerName": "b9~"},
    206: {},
    216: {"topic": "t9~", "clusterName": "c9~"},
    217: {"topic": "t9~"},
    219: {"namespace": "ns~"},
    224: {"cluster": "c1~"},
    304: {},
    311: {},
    312: {},
    313: {},
    319: {},
    322: IDENTITY,
    327: {"brokerName": "b9~"},
    901: {"clusterName": "c1~", "brokerName": "b1~"},
    904: IDENTITY,
}
ZONED_ROUTE: Final = {"topic": "t1~", "__ZONE_MODE": "true", "__ZONE_NAME": "z1"}
"""Beside 5.x only: 4.9.7 knows no zones."""

UNIQUE: Final = frozenset({"brokerName", "clusterName", "brokerAddr", "namespace", "key"})
"""Fields of which something may stay behind, so a name of the play must be in them."""

MATRIX_SEED: Final = 0


def odd_histories(*, is_old: bool = False) -> Iterator[History]:
    """Yield one history of odd requests for each code, and one for each odd registration."""
    number = 0
    for code, fields in [*FIELDS.items(), *([] if is_old else [(105, ZONED_ROUTE)])]:
        body = Body(form="text", text='{"counter": 1}') if code == 322 else Body()
        good = Request(connection="client", code=code, ext=fields, body=body, is_translatable=True)
        yield _history(number, [_registration(), *_variants(good, is_old=is_old)], is_old=is_old)
        number += 1
    yield _history(number, [Request(connection="client", code=code) for code in UNKNOWN_CODES], is_old=is_old)
    for each in _odd_registrations():
        number += 1
        reads = [Request(connection="client", code=code) for code in (106, 206)]
        route = Request(connection="client", code=105, ext={"topic": "t1~"})
        yield _history(number, [each, *reads, route], is_old=is_old)


def _history(number: int, steps: list[Request], *, is_old: bool) -> History:
    return History(seed=MATRIX_SEED, number=number, setting=(), steps=tuple(steps), is_old=is_old)


def _registration() -> Request:
    return Request(connection="broker", code=103, ext=REGISTRATION, body=TABLE, is_translatable=True)


def _variants(good: Request, *, is_old: bool) -> Iterator[Request]:
    yield good
    yield replace(good, codec="ROCKETMQ")
    yield from (replace(good, version=version) for version in VERSIONS)
    yield from (replace(good, more_flags=flags) for flags in (1, 4, 8, 1 << 30))
    yield from (replace(good, body=Body(form="text", text=text)) for text in BODIES)
    yield from _fields_varied(good)
    if is_harmless(good):
        yield from (replace(good, more_flags=flags) for flags in (2, 3))
        yield from _headers_varied(good, is_old=is_old)


def _headers_varied(good: Request, *, is_old: bool) -> Iterator[Request]:
    for header in HEADERS:
        # 4.9.7 reads every language; what fastjson 1 makes of other oddities is not of interest.
        if not is_old or header[0] in ("unknown", "remark", "serializeTypeCurrentRPC"):
            yield replace(good, header=(header,), connection="odd")
    for language in LANGUAGE_BYTES:
        yield replace(good, header=(("language", language),), codec="ROCKETMQ", connection="odd")


def _fields_varied(good: Request) -> Iterator[Request]:
    fields = dict(good.ext or {})
    yield replace(good, ext=None)
    yield replace(good, ext={})
    for name in fields:
        yield replace(good, ext={key: value for key, value in fields.items() if key != name})
        for text in (*ODD_TEXTS, *(f"{'x' * (size - 10)}~" for size in HUGE)):
            if name not in UNIQUE or text.endswith("~") or good.code != 100:
                yield replace(good, ext={**fields, name: text})
                yield replace(good, ext={**fields, name: text}, codec="ROCKETMQ")
        for value in OTHER_TYPES:
            yield replace(good, ext={**fields, name: value})


def _odd_registrations() -> Iterator[Request]:
    good = _registration()
    for each in _fields_varied(good):
        changed = {name: value for name, value in (each.ext or {}).items() if value != REGISTRATION.get(name)}
        if all(_stays_in_play(name, value) for name, value in changed.items()):
            yield each
    yield from (replace(good, version=version) for version in VERSIONS if version >= 37)


def _stays_in_play(name: str, value: Any) -> bool:
    return name not in UNIQUE or value is None or (isinstance(value, str) and value.endswith("~"))
