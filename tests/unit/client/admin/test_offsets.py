"""How far groups are, and how they are moved."""

from datetime import UTC, datetime, timedelta

import pytest
from tests.support.faulty_broker import Alter, Refuse
from tests.unit.client.admin.conftest import Place

from cosmodrome import BrokersFailedError, MessageQueue, NoRouteError
from cosmodrome.errors import RefusedError, UnreadableAnswerError

A0, B1 = MessageQueue("T", "broker-a", 0), MessageQueue("T", "broker-b", 1)


async def filled(place: Place) -> None:
    for number in range(3):
        place.a.put("T", b"%d" % number, 0)
    place.b.put("T", b"x", 1)
    await place.admin.groups.create("g")


async def test_progress_of_all_brokers(place: Place) -> None:
    await filled(place)
    place.a.groups.commit(("g", "T", 0), 1)
    progress = (await place.admin.offsets.progress("g")).whole()

    assert list(progress.queues) == [A0]
    assert (progress.lag, progress.lag_of(A0), progress.tps) == (2, 2, 3.0)
    assert (await place.admin.offsets.progress("g", "T")).lag == 3
    assert (await place.admin.offsets.progress("nobody")).queues == {}
    with pytest.raises(NoRouteError):
        await place.admin.offsets.progress("g", "nowhere")


async def test_a_progress_that_is_not_whole_is_marked_and_not_copied(place: Place) -> None:
    await filled(place)
    place.a.groups.commit(("g", "T", 0), 1)
    place.b.faults.add(Refuse(1, "no"), 208, times=2)
    progress = await place.admin.offsets.progress("g", "T")

    assert set(progress.failures) == {"broker-b"}
    with pytest.raises(BrokersFailedError):
        await place.admin.offsets.clone("g", "h", "T")
    assert {group for group, _, _ in place.a.groups.offsets} == {"g"}


async def test_stored_offsets_and_bounds(place: Place) -> None:
    await filled(place)
    place.a.store.drop_before("T", 0, 1)
    assert await place.admin.offsets.committed("g", A0) is None
    await place.admin.offsets.commit("g", A0, 2)
    assert await place.admin.offsets.committed("g", A0) == 2
    bounds = await place.admin.offsets.bounds(A0)
    assert (bounds.min_offset, bounds.max_offset) == (1, 3)
    with pytest.raises(NoRouteError, match="broker-z"):
        await place.admin.offsets.committed("g", MessageQueue("T", "broker-z", 0))


async def test_an_answer_without_an_offset_is_not_the_offset_zero(place: Place) -> None:
    place.a.faults.add(Alter(lambda reply: reply._replace(ext={})), 30)
    with pytest.raises(UnreadableAnswerError, match="no offset"):
        await place.admin.offsets.bounds(A0)


async def test_moments_have_a_time_zone_c051(place: Place) -> None:
    naive = datetime.now()  # noqa: DTZ005 -- what is refused
    with pytest.raises(ValueError, match="no time zone"):
        await place.admin.offsets.at_time(A0, naive)
    with pytest.raises(ValueError, match="no time zone"):
        await place.admin.offsets.reset("g", "T", naive)
    assert not place.a.journal.requests(222)


async def test_a_reset_moves_every_queue_of_every_broker(place: Place) -> None:
    await filled(place)
    moved = await place.admin.offsets.reset("g", "T", "last")

    assert (moved[A0], moved[B1], len(moved)) == (3, 1, 4)
    assert set((await place.admin.offsets.reset("g", "T", "first")).values()) == {0}
    later = datetime.now(UTC) + timedelta(hours=1)
    assert (await place.admin.offsets.reset("g", "T", later))[A0] == 3
    ext = place.a.journal.requests(222)[0].ext
    assert (ext["timestamp"], ext["isForce"], ext["queueId"], ext["offset"]) == ("-1", "true", "-1", "-1")


async def test_old_brokers_without_members_get_offsets_stored(old_place: Place) -> None:
    await filled(old_place)
    moved = await old_place.admin.offsets.reset("g", "T", "last")

    assert (moved[A0], moved[B1], len(moved)) == (3, 1, 4)
    assert old_place.a.groups.offsets["g", "T", 0] == 3
    assert (await old_place.admin.offsets.reset("g", "T", "first"))[A0] == 0
    moved = await old_place.admin.offsets.reset("g", "T", datetime.now(UTC) - timedelta(hours=1))
    assert moved[A0] == 0


async def test_old_brokers_that_miss_an_offset_of_a_group_that_is_offline_get_them_stored(old_place: Place) -> None:
    await filled(old_place)
    missing = Refuse(1, "THe consumer group <g> not exist")
    old_place.a.faults.add(missing, 222)
    assert (await old_place.admin.offsets.reset("g", "T", "last"))[A0] == 3
    old_place.a.faults.add(missing, 222)
    old_place.a.faults.add(Refuse(0, None, body=b"{}"), 203)
    with pytest.raises(BrokersFailedError, match="not exist"):
        await old_place.admin.offsets.reset("g", "T", "last")


async def test_a_refused_reset_says_where_it_was_done(place: Place) -> None:
    await filled(place)
    place.b.faults.add(Refuse(26, "Group g does not exist"), 222)
    with pytest.raises(BrokersFailedError, match=r"broker-b: .*code 26") as error:
        await place.admin.offsets.reset("g", "T", "last")
    assert error.value.done == ("broker-a",)
    assert isinstance(error.value.failures["broker-b"], RefusedError)


async def test_one_queue_is_reset_within_its_bounds(place: Place) -> None:
    await filled(place)
    await place.admin.offsets.reset_queue("g", A0, 2)

    assert place.a.groups.offsets == {("g", "T", 0): 2}
    ext = place.a.journal.requests(222)[0].ext
    assert (ext["queueId"], ext["offset"]) == ("0", "2")
    with pytest.raises(ValueError, match="0 to 3"):
        await place.admin.offsets.reset_queue("g", A0, 4)


async def test_one_queue_of_an_old_broker_is_not_reset_by_a_request_that_moves_all(old_place: Place) -> None:
    await filled(old_place)
    await old_place.admin.offsets.reset_queue("g", A0, 2)

    assert old_place.a.groups.offsets == {("g", "T", 0): 2}
    assert not old_place.a.journal.requests(222)


async def test_offsets_are_copied(place: Place) -> None:
    await filled(place)
    await place.admin.groups.create("h")
    place.a.groups.commit(("g", "T", 0), 2)
    place.b.groups.commit(("g", "T", 1), 1)
    copied = await place.admin.offsets.clone("g", "h", "T")

    assert (copied[A0], copied[B1]) == (2, 1)
    assert place.a.groups.offsets["h", "T", 0] == 2
    assert place.b.groups.offsets["h", "T", 1] == 1
