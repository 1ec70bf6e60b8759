"""Who is connected."""

from typing import Any

import pytest
from tests.support.faulty_broker import FaultyBroker, Refuse, Reply
from tests.unit.client.admin.conftest import Place

from cosmodrome import BrokersFailedError, Consumer, Message, MessageQueue, Producer, RefusedError
from cosmodrome.errors import NotFoundError

RUNNING = b'{"mqTable":{{"brokerName":"broker-a","queueId":0,"topic":"T"}:{"commitOffset":4}},"properties":{"P":"v"}}'
HELD = b'{"consumerTable":{"c1":{{"brokerName":"broker-a","queueId":0,"topic":"T"}:5}}}'


async def seen(broker: FaultyBroker, group: str) -> None:
    await broker.journal.until(lambda: broker.groups.groups.get(group), f"group {group}")


async def test_members_of_groups(place: Place) -> None:
    options: dict[str, Any] = {"namesrv": place.cluster.name_server}
    async with Consumer("g", subscriptions={"T": "a || b"}, **options), Producer("pg", **options) as producer:
        await producer.queues("T")
        for broker in (place.a, place.b):
            await seen(broker, "g")
        members = (await place.admin.clients.consumers("g")).whole()
        assert len(members.members) == 1
        assert set(members.connections) == {"broker-a", "broker-b"}
        assert members.subscriptions["T"].sub_string == "a || b"
        client_id = next(iter(members.members))
        place.a.works[307] = place.b.works[307] = lambda _: Reply(0, None, None, RUNNING)
        info = await place.admin.clients.running_info("g", client_id)
        assert info.mq_table[MessageQueue("T", "broker-a", 0)].commit_offset == 4
        asked = [*place.a.journal.requests(307), *place.b.journal.requests(307)]
        assert [(each.ext["clientId"], each.ext["jstackEnable"]) for each in asked] == [(client_id, "false")]


async def test_producers(place: Place) -> None:
    assert (await place.admin.clients.producers("pg")).whole().members == {}
    async with Producer("pg", namesrv=place.cluster.name_server) as producer:
        await producer.send(Message(topic="T", body=b"x"), queue=MessageQueue("T", "broker-a", 0))
        await place.a.journal.arrived(34)
        members = await place.admin.clients.producers("pg")
        assert list(members.members) == [producer.client_id]


async def test_a_group_that_is_offline_has_no_members_and_a_refusal_is_something_else_c065(place: Place) -> None:
    members = (await place.admin.clients.consumers("nobody")).whole()
    assert members.members == {}
    assert members.consume_type is None
    for code, ask in ((203, place.admin.clients.consumers), (204, place.admin.clients.producers)):
        place.a.faults.add(Refuse(1, "no"), code)
        assert (await ask("g")).is_partial
        for broker in (place.a, place.b):
            broker.faults.add(Refuse(1, "no"), code)
        with pytest.raises(BrokersFailedError):
            await ask("g")


async def test_a_client_that_is_not_there_is_named(place: Place) -> None:
    with pytest.raises(NotFoundError, match="no member c9 of group g is online; there are: none"):
        await place.admin.clients.running_info("g", "c9")
    place.a.faults.add(Refuse(1, "no"), 203)
    with pytest.raises(BrokersFailedError):
        await place.admin.clients.running_info("g", "c9")


async def test_offsets_that_members_hold(place: Place) -> None:
    place.a.works[223] = place.b.works[223] = lambda _: Reply(0, None, None, HELD)
    held = (await place.admin.clients.held_offsets("g", "T", client_id="c1")).whole()

    assert held.values["broker-a"]["c1"] == {MessageQueue("T", "broker-a", 0): 5}
    place.a.faults.add(Refuse(207, "Timeout"), 223)
    place.b.faults.add(Refuse(206, "not online"), 223)
    with pytest.raises(BrokersFailedError, match="Timeout"):
        await place.admin.clients.held_offsets("g", "T")


async def test_all_producers_of_a_broker(place: Place) -> None:
    table = b'{"data":{"pg":[{"clientId":"c","remoteIP":"/127.0.0.1:1","language":"JAVA","version":1}]}}'
    place.a.works[328] = lambda _: Reply(0, None, None, table)
    found = (await place.admin.clients.all_producers(broker="broker-a")).one()

    assert [each.client_id for each in found.data["pg"]] == ["c"]
    with pytest.raises(RefusedError):
        await place.admin.clients.all_producers(broker="broker-b")
