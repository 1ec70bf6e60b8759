"""Requests with something wrong about them, made from good ones.

Owns: missing fields, fields of other types, odd and huge names, bodies where none belongs, headers
and flags that no peer sends.
Must not know: what is answered to them.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from random import Random
from typing import Any, Final

from tests.interop.differential.history import Body, Request

VERSIONS: Final = (0, 36, 37, 317, 399, 400, 401, 407, 413, 479, 513, 612, 5000)
UNKNOWN_CODES: Final = (-(2**31), -7, -1, 0, 1, 10, 11, 34, 107, 310, 905, 999, 32000, 32767, 32768, 65641, 2**31 - 1)
LARGEST_BINARY_CODE: Final = 32767
HUGE: Final = (255, 900)
"""What our limit on names lets pass, with what a play adds to them; beyond it ours refuses (limits-before-belief)."""
ODD_TEXTS: Final = (
    "",
    " ",
    "n~",
    "é~",
    "\u4e3b\u9898~",
    "\U0001f680~",
    "a\u0000b~",
    "line\nbreak\r\t~",
    '"quoted"~',
    "'single'~",
    "back\\slash~",
    "%RETRY%group~",
    "{}~",
    "null",
    "\u2028\u00a0\ufeff~",
)
OTHER_TYPES: Final[tuple[Any, ...]] = (12, -1, 2**40, True, False, None, 1.5, {"a": 1}, [], [1, "x"])
DEEP: Final = 200
LANGUAGE_BYTES: Final = (12, 13, 14, 99, -1, -128)
BODIES: Final = (
    "null",
    "[]",
    "{}",
    "{",
    '{"a":',
    '"text"',
    "7",
    "true",
    " ",
    "hello",
    "[" * DEEP + "]" * DEEP,
    '{"a":' * DEEP + "1" + "}" * DEEP,
    '{"queueDatas":7}',
    '{"queueDatas":{}}',
    '{"counter":"many"}',
    "\u0000\u0001",
)
HEADERS: Final[tuple[tuple[str, Any], ...]] = (
    ("version", "513"),
    ("version", None),
    ("version", 2**31 - 1),
    ("flag", "0"),
    ("language", "COBOL"),
    ("language", 99),
    ("language", 3),
    ("language", None),
    ("language", ""),
    ("remark", "a remark"),
    ("remark", 7),
    ("serializeTypeCurrentRPC", "ROCKETMQ"),
    ("serializeTypeCurrentRPC", "XML"),
    ("unknown", {"deep": [1, {"er": None}]}),
    ("extFields", None),
    ("extFields", {}),
)
READS: Final = frozenset({101, 105, 106, 206, 219, 224, 304, 311, 312, 313, 319, 901})


def is_harmless(step: Request) -> bool:
    """Return whether a request changes no table, whatever is wrong with it."""
    return step.code in READS


def made_odd(random: Random, step: Request, old: bool) -> Request:  # noqa: FBT001 -- one switch
    """Return a request that changes nothing, with something wrong about it."""
    makers: list[Callable[[Random, Request], Request]] = [without_field, with_odd_text, with_odd_text, with_body]
    makers += [with_other_type, with_other_type, with_flags, with_header, with_more_fields]
    made = random.choice(makers)(random, step)
    if old and any(name == "language" for name, _ in made.header):
        return step
    return made


def without_field(random: Random, step: Request) -> Request:
    """Leave a field out, or all of them."""
    if not step.ext or random.random() < 0.3:
        return replace(step, ext=random.choice((None, {})))
    gone = random.choice(list(step.ext))
    return replace(step, ext={name: value for name, value in step.ext.items() if name != gone})


def with_odd_text(random: Random, step: Request) -> Request:
    """Give a field a name that nobody chose well."""
    return _with_value(random, step, odd_text(random))


def odd_text(random: Random) -> str:
    """Return an odd or a huge name."""
    return "x" * (random.choice(HUGE) - 1) + "~" if random.random() < 0.25 else random.choice(ODD_TEXTS)


def with_other_type(random: Random, step: Request) -> Request:
    """Give a field a value that is no text; the binary codec knows texts only."""
    return replace(_with_value(random, step, random.choice(OTHER_TYPES)), codec="JSON")


def with_json_types(random: Random, step: Request) -> Request:
    """Write some numbers and truth values of the header as such."""
    fields = dict(step.ext or {})
    for name, value in fields.items():
        if isinstance(value, str) and random.random() < 0.7:
            fields[name] = _typed(value)
    return replace(step, ext=fields, codec="JSON")


def _typed(value: str) -> Any:
    if value in ("true", "false"):
        return value == "true"
    return int(value) if value.isdecimal() and str(int(value)) == value else value


def with_body(random: Random, step: Request) -> Request:
    """Send a body along."""
    return replace(step, body=Body(form="text", text=random.choice(BODIES)))


def with_flags(random: Random, step: Request) -> Request:
    """Set flag bits: oneway, an answer to nothing, and bits without a meaning."""
    return replace(step, more_flags=random.choice((1, 2, 3, 4, 8, 1 << 30)))


def with_header(random: Random, step: Request) -> Request:
    """Replace a header member, on a connection that may be closed for it."""
    if step.codec == "ROCKETMQ" and all(isinstance(value, str) for value in (step.ext or {}).values()):
        return replace(step, header=(("language", random.choice(LANGUAGE_BYTES)),), connection="odd")
    return replace(step, header=(random.choice(HEADERS),), codec="JSON", connection="odd")


def with_more_fields(_: Random, step: Request) -> Request:
    """Add fields that hooks of clients add, and some that no one does."""
    more: Mapping[str, Any] = {"AccessKey": "k", "Signature": "s", "é": "é", "brokerId": "x", "": ""}
    return replace(step, ext={**more, **(step.ext or {})})


def _with_value(random: Random, step: Request, value: Any) -> Request:
    if not step.ext:
        return step
    return replace(step, ext={**step.ext, random.choice(list(step.ext)): value})
