"""Encoded routes, kept until the topic's route changes."""

from cosmodrome.namesrv.routing.encoded_routes import EncodedRoutes
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
    assert kept.size_bytes == 2


def test_dropping() -> None:
    kept = EncodedRoutes()
    for dialect in JsonDialect:
        kept.put("T", dialect, None, b"123")
        kept.put("U", dialect, None, b"4")

    kept.drop(["T", "?"])

    assert kept.get("T", PLAIN, None) is kept.get("T", STANDARD, None) is None
    assert kept.size_bytes == 2
    kept.clear()
    assert kept.size_bytes == 0
    assert kept.get("U", PLAIN, None) is None


def test_the_oldest_go_when_there_is_no_room() -> None:
    kept = EncodedRoutes(max_bytes=10)
    for number in range(7):
        kept.put(f"T{number}", PLAIN, None, b"123")

    assert kept.size_bytes == 9
    assert [kept.get(f"T{number}", PLAIN, None) is not None for number in range(7)] == [False] * 4 + [True] * 3


def test_a_body_larger_than_all_room_is_not_kept() -> None:
    kept = EncodedRoutes(max_bytes=10)
    kept.put("T", STANDARD, None, b"12")
    kept.put("U", PLAIN, None, b"x" * 11)

    assert kept.size_bytes <= 10
    assert kept.get("U", PLAIN, None) is None
