"""Groups of two brokers."""

import pytest
from tests.support.faulty_broker import Refuse
from tests.unit.client.admin.conftest import Place

from cosmodrome import BrokersFailedError
from cosmodrome.errors import MessageError
from cosmodrome.protocol.bodies.groups import SubscriptionGroupConfig


async def test_a_group_is_made_changed_listed_and_deleted(place: Place) -> None:
    await place.admin.groups.create("g", retry_max_times=2)
    found = (await place.admin.groups.config("g")).whole()
    assert [each and each.retry_max_times for each in found.values.values()] == [2, 2]
    await place.admin.groups.create(SubscriptionGroupConfig(group_name="h", consume_enable=False), broker="broker-b")
    assert (await place.admin.groups.names()).names == ("g", "h")
    assert "h" in (await place.admin.groups.configs(broker="broker-b")).one()
    assert "%RETRY%g" in await place.admin.topics.names()

    place.a.groups.commit(("g", "T", 0), 5)
    await place.admin.groups.delete("g")
    assert (await place.admin.groups.config("g")).values == {"broker-a": None, "broker-b": None}
    assert not place.a.groups.offsets
    assert [each.ext["topic"] for each in place.a.journal.requests(215)] == ["%RETRY%g", "%DLQ%g"]
    assert "%RETRY%g" not in await place.admin.topics.names()


async def check_offsets(each: Place) -> None:
    for clean, left in ((False, {("g", "T", 0): 5}), (True, {})):
        await each.admin.groups.create("g")
        each.a.groups.commit(("g", "T", 0), 5)
        await each.admin.groups.delete("g", clean_offsets=clean, broker="broker-a")
        assert each.a.groups.offsets == left


async def test_offsets_stay_if_they_are_to(place: Place) -> None:
    await check_offsets(place)


async def test_offsets_stay_at_old_brokers_if_they_are_to(old_place: Place) -> None:
    await check_offsets(old_place)


async def test_asking_for_a_group_makes_none(place: Place) -> None:
    assert (await place.admin.groups.config("nobody", broker="broker-a")).one() is None
    assert not place.a.journal.requests(352)


async def test_a_group_that_was_not_made_everywhere_is_an_error(place: Place) -> None:
    place.a.faults.add(Refuse(1, "disk full"), 200)
    with pytest.raises(BrokersFailedError, match=r"group g was not made: broker-a: .*disk full") as error:
        await place.admin.groups.create("g")
    assert error.value.done == ("broker-b",)
    with pytest.raises(MessageError):
        await place.admin.groups.create("")
