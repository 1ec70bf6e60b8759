"""How much work may wait, and when more of it is refused."""

from collections.abc import Callable

import pytest

from cosmodrome.errors import RequestRefusedError
from cosmodrome.namesrv.brake import BUSY_REMARK, NO_LIMIT, Brake, Room
from cosmodrome.namesrv.events import Event
from cosmodrome.protocol.codes import ResponseCode


def refused(take: Callable[[], None]) -> bool:
    try:
        take()
    except RequestRefusedError as error:
        return (error.code, error.remark, error.is_fault) == (ResponseCode.SYSTEM_BUSY, BUSY_REMARK, False)
    return False


@pytest.mark.parametrize(
    ("room", "size_bytes", "allowed"), [(Room(pieces=3), 100, 3), (Room(size_bytes=300), 100, 3), (NO_LIMIT, 10**9, 50)]
)
def test_as_many_wait_as_there_is_room_for(room: Room, size_bytes: int, allowed: int) -> None:
    brake = Brake("work", room, lambda _: None)

    for _ in range(allowed):
        brake.take(size_bytes)

    assert (brake.pending_count, brake.pending_bytes) == (allowed, allowed * size_bytes)
    assert room == NO_LIMIT or refused(lambda: brake.take(size_bytes))
    assert (brake.pending_count, brake.pending_bytes) == (allowed, allowed * size_bytes), "a refusal takes no room"


def test_favoured_work_has_twice_the_room() -> None:
    brake = Brake("work", Room(pieces=2), lambda _: None)
    for _ in range(4):
        brake.take(is_favoured=True)

    assert refused(lambda: brake.take(is_favoured=True))
    assert refused(brake.take)
    assert brake.refused_count == 2


def test_one_piece_always_has_room() -> None:
    """Else what is larger than all room would be refused for ever."""
    brake = Brake("work", Room(size_bytes=10), lambda _: None)

    brake.take(1000)

    assert refused(lambda: brake.take(1))
    brake.give_back(1000)
    brake.take(1)


def test_when_refusing_begins_and_ends_is_told_once() -> None:
    events: list[Event] = []
    brake = Brake("registrations", Room(pieces=4), events.append)
    engaged: list[bool] = []

    def release() -> None:
        brake.release_if_free()
        engaged.append(brake.is_engaged)

    for _ in range(4):
        brake.take(10)
    release()
    assert refused(brake.take)
    assert refused(brake.take)
    for _ in range(2):
        release()
        brake.give_back(10)
    release()
    release()

    assert engaged == [False, True, True, False, False], "while it is more than half full"
    assert [event.NAME for event in events] == ["brake.engaged", "brake.released"]
    began, ended = (dict(event.fields()) for event in events)
    assert began == {"work": "registrations", "pending": 4, "pending_bytes": 40}
    assert (ended["work"], ended["refused"]) == ("registrations", 2)

    for _ in range(2):
        brake.take()
    assert refused(brake.take)
    assert [event.NAME for event in events][2:] == ["brake.engaged"]
    assert brake.refused_count == 3
