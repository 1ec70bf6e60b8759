"""Brokers themselves, and NameServers."""

import pytest
from tests.support.faulty_broker import CloseUnanswered, Refuse, Reply
from tests.unit.client.admin.conftest import Place

from cosmodrome import AdminClient, BrokersFailedError, RefusedError
from cosmodrome.errors import NotFoundError, NotPermittedError


async def test_where_they_are(place: Place) -> None:
    found = await place.admin.brokers.list()

    assert [(each.cluster, each.name, each.id, each.address) for each in found] == [
        ("DefaultCluster", "broker-a", 0, place.a.address),
        ("DefaultCluster", "broker-b", 0, place.b.address),
    ]
    assert set((await place.admin.brokers.cluster_info()).broker_addr_table) == {"broker-a", "broker-b"}


async def test_how_they_are(place: Place) -> None:
    place.b.faults.add(CloseUnanswered(), 28)
    info = await place.admin.brokers.runtime_info()

    assert info.values["broker-a"]["brokerVersionDesc"] == "V5_5_0"
    assert set(info.failures) == {"broker-b"}


async def test_settings_are_read_and_changed(place: Place) -> None:
    config = (await place.admin.brokers.config(broker="broker-a")).one()
    assert config["path"] == r"C:\users\x"
    await place.admin.brokers.update_config({"fileReservedTime": "48"}, cluster="DefaultCluster")
    assert [each.config["fileReservedTime"] for each in place.administered] == ["48", "48"]
    with pytest.raises(ValueError, match="no setting"):
        await place.admin.brokers.update_config({})
    place.a.faults.add(Refuse(16, "not from here"), 25)
    with pytest.raises(NotPermittedError) as error:
        await place.admin.brokers.update_config({"a": "b"}, broker="broker-a")
    assert error.value.address == place.a.address
    assert any(note.startswith("do: ") for note in error.value.__notes__)


async def test_a_counter_that_counted_nothing_yet_is_no_failure(place: Place) -> None:
    body = b'{"statsMinute":{"sum":6,"tps":0.1,"avgpt":1.0}}'
    place.a.works[315] = lambda _: Reply(0, None, None, body)
    place.b.works[315] = lambda _: Reply(1, "The stats <TOPIC_PUT_NUMS> <T> not exist")
    found = (await place.admin.brokers.counter("TOPIC_PUT_NUMS", "T")).whole()

    counted = found.values["broker-a"]
    assert counted is not None
    assert counted.stats_minute is not None
    assert counted.stats_minute.sum == 6
    assert found.values["broker-b"] is None
    place.b.works[315] = lambda _: Reply(1, "java.lang.NullPointerException")
    with pytest.raises(RefusedError):
        await place.admin.brokers.counter("TOPIC_PUT_NUMS", "T", broker="broker-b")


async def test_progress_of_all_groups_of_a_broker(place: Place) -> None:
    body = b'{"brokerAddr":"a","consumeStatsList":[{"g":[]}],"totalDiff":3}'
    place.a.works[317] = lambda _: Reply(0, None, None, body)
    found = (await place.admin.brokers.consume_stats(only_ordered=True, broker="broker-a")).one()

    assert found.total_diff == 3
    assert place.a.journal.requests(317)[0].ext["isOrder"] == "true"


async def test_name_servers(place: Place) -> None:
    admin = place.admin.name_servers
    address = place.cluster.name_server
    assert (await admin.config()).one()["listenPort"]
    assert (await admin.update_config({"deleteTopicWithBrokerRegistration": "true"})).values.keys() == {address}
    await admin.kv_put("N", "k", "v")
    assert dict(await admin.kv_list("N")) == {"k": "v"}
    await admin.kv_delete("N", "k")
    with pytest.raises(NotFoundError):
        await admin.kv_get("N", "k")
    assert (await admin.wipe_write_perm("broker-a")).one() > 0
    assert (await admin.add_write_perm("broker-a")).one() > 0


async def test_a_change_at_a_name_server_that_is_down_is_an_error(place: Place) -> None:
    async with AdminClient(namesrv=[place.cluster.name_server, "127.0.0.1:1"]) as admin:
        with pytest.raises(BrokersFailedError, match=r"127\.0\.0\.1:1") as error:
            await admin.name_servers.kv_put("N", "k", "v")
        assert error.value.done == (place.cluster.name_server,)
        assert await admin.name_servers.kv_get("N", "k") == "v"
