"""Where a long registration is cut, and what of it is as it was."""

import hashlib
import random

import pytest
from tests.support import wire

from cosmodrome.errors import IrregularTableError
from cosmodrome.protocol.bodies import json_table
from cosmodrome.protocol.bodies.json_table import SHORT_BYTES
from cosmodrome.protocol.bodies.outlined_table import OutlinedTable
from cosmodrome.protocol.bodies.register_broker import decode_register_broker_body, outlined_body_in_slices
from cosmodrome.protocol.bodies.table_outline import Outline, outline_in_slices
from cosmodrome.protocol.bodies.topic_stretches import KnownStretch
from cosmodrome.protocol.limits import DEFAULT_LIMITS, BodyLimits
from cosmodrome.protocol.slices import at_once

KEYED = hashlib.blake2b(b"nobody knows")
MANY = 2500
Known = tuple[KnownStretch, ...]


def configs(numbers: range | list[int] = range(MANY), read: int = 4) -> list[wire.Json]:
    return [wire.topic_config(f"T{number}", read=read) for number in numbers]


def body_of(topics: list[wire.Json], counter: int = 1) -> bytes:
    return wire.register_body(topics, wire.data_version(counter))


def outline_of(body: bytes, known: Known = ()) -> Outline:
    outline = at_once(outline_in_slices(body, known, KEYED))
    assert outline is not None
    return outline


def table_of(body: bytes, known: Known = (), limits: BodyLimits = DEFAULT_LIMITS) -> OutlinedTable:
    table = OutlinedTable(body, outline_of(body, known), limits, frozenset() if known else None)
    assert at_once(outlined_body_in_slices(body, outline_of(body, known), None)).table.topic_configs == {}
    return table


def known_of(body: bytes, known: Known = ()) -> Known:
    table = table_of(body, known)
    return table.known_with([stretch.names for stretch in table])


OLD = body_of(configs())
KNOWN = known_of(OLD)


def new_bytes(body: bytes) -> int:
    """Give how much of a body is not known from OLD."""
    return sum(one.end - one.start for one in outline_of(body, KNOWN).stretches if one.known is None)


def test_all_is_known_of_the_same_table() -> None:
    """Whatever is around it."""
    assert len(KNOWN) > 5
    assert new_bytes(OLD) == new_bytes(body_of(configs(), counter=12345)) == 0


@pytest.mark.parametrize("at", [0, 1, 1234, MANY - 1])
def test_one_change_makes_one_stretch_new(at: int) -> None:
    """Also when it makes the table longer or shorter."""
    longest = max(one.size_bytes for one in KNOWN)
    topics = configs()

    changed = [*topics[:at], wire.topic_config(f"T{at}", read=16), *topics[at + 1 :]]
    inserted = [*topics[:at], wire.topic_config("new"), *topics[at:]]
    removed = [*topics[:at], *topics[at + 1 :]]

    for edited in (changed, inserted, removed):
        assert 0 < new_bytes(body_of(edited)) <= 2 * longest + 200


def test_a_run_that_is_gone_leaves_the_rest_known() -> None:
    topics = configs()
    longest = max(one.size_bytes for one in KNOWN)

    assert new_bytes(body_of(topics[:700] + topics[1400:])) <= 3 * longest


def test_another_order_is_new() -> None:
    shuffled = configs()
    random.Random(1).shuffle(shuffled)
    body = body_of(shuffled)

    assert new_bytes(body) > len(body) * 0.9


def test_stretches_and_commas_are_the_table() -> None:
    body = body_of([*configs(), wire.topic_config("more")])
    outline = outline_of(body, KNOWN)

    texts = [body[one.start : one.end] for one in outline.stretches]
    assert b",".join(texts) == body[outline.start : outline.end]
    read = decode_register_broker_body(body, 513, is_compressed=False, now_ms=1).table.topic_configs
    names = [name for stretch in table_of(body, KNOWN) for name in stretch.names]
    assert names == list(read)


def test_years_of_changes_leave_few_stretches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Topics come in bulk and go again, here and there."""
    monkeypatch.setattr(json_table, "SHORT_BYTES", 0)
    monkeypatch.setattr(json_table, "PIECE_BYTES", 1500)
    chance = random.Random(2)
    numbers, known = list(range(100)), Known()
    for step in range(150):
        at = chance.randrange(len(numbers))
        if step % 2:
            del numbers[at : at + 60]
        else:
            numbers[at:at] = range(1000 * step + 1000, 1000 * step + 1060)
        numbers = numbers or list(range(100))
        body = body_of(configs(numbers))
        known = known_of(body, known)
        assert len(known) <= 4 * (2 + len(body) // 1500)


def test_what_is_not_as_brokers_write_it_has_no_outline() -> None:
    spaced = OLD.replace(b'"topicConfigTable":{', b'"topicConfigTable" : {')

    for body in (body_of(configs(range(10))), spaced, OLD.replace(b"}},", b"} },"), b"x" * 2 * SHORT_BYTES):
        assert at_once(outline_in_slices(body, KNOWN, KEYED)) is None


def test_digests_need_the_key() -> None:
    other = at_once(outline_in_slices(OLD, KNOWN, hashlib.blake2b(b"another")))

    assert other is not None
    assert all(one.known is None for one in other.stretches)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"topicName":"T1500"', b'"topicName":"T1501"'),
        (b'"topicName":"T1500"', b'"topicName":1500'),
        (b'"T1500":{', b'"T1500":['),
    ],
)
def test_an_irregular_stretch_is_told(old: bytes, new: bytes) -> None:
    body = OLD.replace(old, new, 1)
    assert body != OLD

    with pytest.raises(IrregularTableError):
        list(OutlinedTable(body, outline_of(body, KNOWN), DEFAULT_LIMITS, frozenset()))


def test_a_second_table_is_told() -> None:
    """What was cut out is not the table that counts."""
    body = OLD.replace(b'"topicQueueMappingInfoMap":{}', b'"topicQueueMappingInfoMap":{},"topicConfigTable":{}')
    assert body != OLD

    with pytest.raises(IrregularTableError):
        at_once(outlined_body_in_slices(body, outline_of(body, KNOWN), None))


def test_limits_hold_for_what_is_new_and_known_together() -> None:
    with pytest.raises(Exception, match="more than 2499 topics"):
        list(table_of(OLD, KNOWN, BodyLimits(max_topics=2499)))
    with pytest.raises(Exception, match="a name of more than 4 characters"):
        list(table_of(OLD, (), BodyLimits(max_name_length=4)))
