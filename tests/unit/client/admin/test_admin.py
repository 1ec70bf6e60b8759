"""AdminClient: opening, closing, which server is asked."""

import asyncio

import pytest
from tests.support.consuming import undisturbed
from tests.support.faulty_broker import FaultyBroker, Refuse, Silence
from tests.unit.client.admin.conftest import Place

from cosmodrome import AdminClient, BrokersFailedError, ClientClosedError, Credentials
from cosmodrome.errors import AuthenticationError, ConfigError, ConnectError


def test_settings_are_checked_when_it_is_made() -> None:
    with pytest.raises(ConfigError, match="unknown setting namesvr"):
        AdminClient(namesvr="x")  # type: ignore[call-arg]  # what is refused
    with pytest.raises(ConfigError, match="as they travel") as error:
        AdminClient(namesrv="127.0.0.1:9876", namespace="INST")
    assert "INST%orders" in (error.value.remedy or "")


async def test_it_is_opened_once_and_closed_as_often_as_one_likes_c020(place: Place) -> None:
    async with undisturbed():
        for _ in range(10):
            admin = AdminClient(namesrv=place.cluster.name_server)
            with pytest.raises(ClientClosedError, match="not open"):
                await admin.topics.names()
            await admin.start()
            with pytest.raises(RuntimeError, match="open already"):
                await admin.start()
            assert "T" in await admin.topics.names()
            await admin.close()
            await admin.close()
            with pytest.raises(ClientClosedError):
                await admin.topics.names()
            with pytest.raises(ClientClosedError, match="make a new one"):
                await admin.start()


async def test_closing_ends_what_waits(place: Place) -> None:
    place.a.faults.add(Silence(), 202, times=None)
    place.b.faults.add(Silence(), 202, times=None)
    async with AdminClient(namesrv=place.cluster.name_server, request_timeout_s=60) as admin:
        asking = asyncio.create_task(admin.topics.stats("T"))
        await place.a.journal.arrived(202)
        await place.b.journal.arrived(202)
    with pytest.raises(BrokersFailedError):
        await asking


async def test_cancelling_leaves_it_usable(place: Place) -> None:
    place.a.faults.add(Silence(), 202)
    asking = asyncio.create_task(place.admin.topics.stats("T"))
    await place.a.journal.arrived(202)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert not (await place.admin.topics.stats("T")).is_partial


async def test_one_that_is_dropped_warns(place: Place) -> None:
    admins = [AdminClient(namesrv=place.cluster.name_server)]
    await admins[0].start()
    with pytest.warns(ResourceWarning, match="not closed"):
        admins.clear()


async def test_name_servers_are_asked_in_turn(place: Place) -> None:
    async with AdminClient(namesrv=["127.0.0.1:1", place.cluster.name_server]) as admin:
        assert "T" in await admin.topics.names()
    async with AdminClient(namesrv="127.0.0.1:1;127.0.0.1:2") as admin:
        with pytest.raises(ConnectError) as error:
            await admin.topics.names()
        assert error.value.__notes__[0] == "asked: NameServer 127.0.0.1:2"


async def test_no_master_is_an_error_that_says_so(place: Place) -> None:
    await place.a.withdraw()
    await place.b.withdraw()
    with pytest.raises(ValueError, match="no master is registered"):
        await place.admin.groups.create("g")


async def test_slaves_are_read_when_the_master_is_gone(place: Place) -> None:
    async with FaultyBroker(place.cluster.name_server, "broker-a", broker_id=1, store=place.a.store) as slave:
        place.a.put("T", b"x", KEYS="k")
        await place.a.withdraw()
        await place.a.die()
        found = (await place.admin.messages.by_key("T", "k")).whole()
        assert [each.body for each in found.messages] == [b"x"]
        assert slave.journal.requests(12)


async def test_requests_are_signed_and_wrong_credentials_are_named_c016(place: Place) -> None:
    credentials = Credentials("admin", "wrong secret")
    async with AdminClient(namesrv=place.cluster.name_server, credentials=credentials) as admin:
        for broker in (place.a, place.b):
            broker.faults.add(Refuse(16, "check signature failed"), 12)
        with pytest.raises(BrokersFailedError) as error:
            await admin.messages.by_key("T", "k")
    failures = error.value.failures.values()
    assert all(isinstance(each, AuthenticationError) for each in failures)
    assert {"AccessKey", "Signature"} <= place.a.journal.requests(12)[0].ext.keys()
    assert "wrong secret" not in f"{error.value!r}{error.value}{[each.__notes__ for each in failures]}{credentials}"
