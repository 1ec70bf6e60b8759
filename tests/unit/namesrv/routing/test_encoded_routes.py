"""Encoded routes, kept until the topic's route changes."""

from cosmodrome.namesrv.routing.encoded_routes import PLACE_BYTES, EncodedGroups, EncodedRoutes
from cosmodrome.protocol.json_dialects import JsonDialect

PLAIN, STANDARD = JsonDialect.PLAIN, JsonDialect.STANDARD


def test_a_body_is_kept_for_its_dialect_and_order_configuration() -> None:
    kept = EncodedRoutes()
    kept.put("T", PLAIN, None, b"plain")

    assert kept.get("T", PLAIN, None) == b"plain"
    assert kept.get("T", PLAIN, "a:4") is None
    assert kept.get("T", STANDARD, None) is None
    assert kept.get("U", PLAIN, None) is None


def test_another_order_configuration_takes_the_place() -> None:
    kept = EncodedRoutes()
    kept.put("T", PLAIN, None, b"1234")
    kept.put("T", PLAIN, "a:4", b"12")

    assert kept.get("T", PLAIN, None) is None
    assert kept.size_bytes == 2 + PLACE_BYTES


def test_dropping() -> None:
    kept = EncodedRoutes()
    for dialect in JsonDialect:
        kept.put("T", dialect, None, b"123")
        kept.put("U", dialect, None, b"4")

    kept.drop(["T", "?"])

    assert kept.get("T", PLAIN, None) is kept.get("T", STANDARD, None) is None
    assert kept.size_bytes == 1 + len(JsonDialect) * PLACE_BYTES
    kept.clear()
    assert kept.size_bytes == 0
    assert kept.get("U", PLAIN, None) is None


def test_the_oldest_go_when_there_is_no_room() -> None:
    kept = EncodedRoutes(max_bytes=3 * (3 + PLACE_BYTES) + 1)
    for number in range(7):
        kept.put(f"T{number}", PLAIN, None, b"12%d" % number)

    assert kept.size_bytes == 3 * (3 + PLACE_BYTES)
    assert [kept.get(f"T{number}", PLAIN, None) is not None for number in range(7)] == [False] * 4 + [True] * 3


def test_a_body_larger_than_all_room_is_not_kept() -> None:
    kept = EncodedRoutes(max_bytes=PLACE_BYTES + 10)
    kept.put("T", STANDARD, None, b"12")
    kept.put("U", PLAIN, None, b"x" * 11)

    assert kept.size_bytes <= PLACE_BYTES + 10
    assert kept.get("U", PLAIN, None) is None


def test_topics_with_the_same_body_share_it() -> None:
    kept = EncodedRoutes()
    for number in range(10):
        kept.put(f"T{number}", PLAIN, None, bytes([120]) * 1000)

    assert len({id(kept.get(f"T{number}", PLAIN, None)) for number in range(10)}) == 1
    assert kept.size_bytes == 1000 + 10 * PLACE_BYTES
    kept.drop([f"T{number}" for number in range(9)])
    assert kept.get("T9", PLAIN, None) == b"x" * 1000
    assert kept.size_bytes == 1000 + PLACE_BYTES
    kept.drop(["T9"])
    assert kept.size_bytes == 0
    assert kept.dropped_bytes == 1000 + 10 * PLACE_BYTES


def test_a_body_may_be_put_again_in_its_own_place() -> None:
    kept = EncodedRoutes()
    for _ in range(2):
        kept.put("T", PLAIN, None, b"123")

    assert kept.get("T", PLAIN, None) == b"123"
    assert kept.size_bytes == 3 + PLACE_BYTES


def test_groups_are_kept_for_their_dialect_and_revision() -> None:
    groups = EncodedGroups()
    groups.put(("a", "b"), PLAIN, 1, b"part")

    assert groups.get(("a", "b"), PLAIN, 1) == b"part"
    assert groups.get(("b", "a"), PLAIN, 1) is None
    assert groups.get(("a", "b"), STANDARD, 1) is None
    assert groups.get(("a", "b"), PLAIN, 2) is None


def test_groups_of_another_revision_take_the_place_of_all() -> None:
    groups = EncodedGroups()
    groups.put(("a",), PLAIN, 1, b"old")
    groups.put(("b",), PLAIN, 2, b"new")

    assert groups.get(("a",), PLAIN, 2) is None
    assert groups.get(("b",), PLAIN, 2) == b"new"


def test_only_so_many_groups_are_kept() -> None:
    groups = EncodedGroups()
    for number in range(1000):
        groups.put((f"b{number}",), PLAIN, 1, b"part")
    kept = [number for number in range(1000) if groups.get((f"b{number}",), PLAIN, 1)]

    assert 0 < len(kept) < 100
    assert kept[-1] == 999
