"""Topics of two brokers."""

import pytest
from tests.support.faulty_broker import CloseBefore, Garbage, Refuse, Silence
from tests.unit.client.admin.conftest import Place

from cosmodrome import BrokersFailedError, MessageQueue, NoRouteError
from cosmodrome.errors import MessageError, NotFoundError, NotPermittedError, RequestTimeoutError, UnreadableAnswerError
from cosmodrome.protocol.bodies.topics import BrokerTopicConfig


async def test_a_topic_is_made_at_all_masters(place: Place) -> None:
    made = await place.admin.topics.create("orders", queues=3, attributes={"message.type": "FIFO"})

    assert sorted(made.values) == ["broker-a", "broker-b"]
    for broker in (place.a, place.b):
        ext = broker.journal.requests(17)[0].ext
        assert (ext["topic"], ext["readQueueNums"], ext["writeQueueNums"], ext["perm"]) == ("orders", "3", "3", "6")
        assert (ext["defaultTopic"], ext["topicFilterType"], ext["order"]) == ("TBW102", "SINGLE_TAG", "false")
        assert ext["attributes"] == "+message.type=FIFO"


async def test_one_broker_by_name_or_address(place: Place) -> None:
    assert list((await place.admin.topics.create("x", broker="broker-b")).values) == ["broker-b"]
    assert list((await place.admin.topics.create("x", broker=place.b.address)).values) == [place.b.address]
    assert not place.a.journal.requests(17)


@pytest.mark.parametrize(
    ("where", "text"),
    [
        ({"cluster": "moon"}, "no cluster 'moon'; there are: DefaultCluster"),
        ({"broker": "moon"}, "no master of broker 'moon'; there are: broker-a, broker-b"),
        ({"cluster": "DefaultCluster", "broker": "broker-a"}, "not both"),
    ],
)
async def test_a_place_that_is_none_is_named(place: Place, where: dict[str, str], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        await place.admin.topics.create("x", **where)  # type: ignore[arg-type]  # keywords of the call


async def test_names_and_numbers_that_cannot_be_are_refused_before_anything_is_sent(place: Place) -> None:
    with pytest.raises(MessageError, match="illegal characters"):
        await place.admin.topics.create("a b")
    with pytest.raises(ValueError, match="at least one queue"):
        await place.admin.topics.create("x", queues=0)
    with pytest.raises(ValueError, match="perm 9"):
        await place.admin.topics.set_perm("x", 9)
    assert not place.a.journal.arrivals


async def test_a_broker_that_refuses_is_named_with_the_one_that_did_not(place: Place) -> None:
    place.b.faults.add(Refuse(16, "no"), 17)
    with pytest.raises(BrokersFailedError, match=r"broker-b: .*code 16: no") as error:
        await place.admin.topics.create("x")
    assert error.value.done == ("broker-a",)
    assert isinstance(error.value.failures["broker-b"], NotPermittedError)


async def test_an_ordered_topic_is_written_down_at_the_name_servers(place: Place) -> None:
    config = BrokerTopicConfig(topic_name="o", read_queue_nums=2, write_queue_nums=2, order=True)
    await place.admin.topics.update(config)

    assert await place.admin.name_servers.kv_get("ORDER_TOPIC_CONFIG", "o") == "broker-a:2;broker-b:2"
    await place.admin.topics.delete("o")
    with pytest.raises(NotFoundError):
        await place.admin.name_servers.kv_get("ORDER_TOPIC_CONFIG", "o")


async def test_the_permission_alone_changes_where_the_topic_is(place: Place) -> None:
    await place.a.set_topic("only-a", 3, write=2)
    changed = await place.admin.topics.set_perm("only-a", 4)

    assert list(changed.values) == ["broker-a"]
    topic = place.a.store.topics["only-a"]
    assert (topic.read, topic.write, topic.perm) == (3, 2, 4)
    with pytest.raises(NotFoundError, match="no broker has the topic nowhere"):
        await place.admin.topics.set_perm("nowhere", 4)


async def test_settings_at_brokers_that_know_no_single_topic(old_place: Place) -> None:
    found = await old_place.admin.topics.config("T")

    assert {name: each and each.read_queue_nums for name, each in found.values.items()} == {
        "broker-a": 2,
        "broker-b": 2,
    }
    assert (await old_place.admin.topics.config("nowhere", broker="broker-a")).one() is None
    assert old_place.a.journal.requests(21)


async def test_nothing_is_taken_from_name_servers_while_a_broker_has_the_topic(place: Place) -> None:
    place.b.faults.add(CloseBefore(), 215)
    with pytest.raises(BrokersFailedError, match="broker-b"):
        await place.admin.topics.delete("T")
    assert "T" in await place.admin.topics.names()
    await place.admin.topics.delete("T")
    assert "T" not in await place.admin.topics.names()


async def test_stats_of_both_brokers(place: Place) -> None:
    place.a.put("T", b"1", 0)
    place.b.put("T", b"2", 1)
    place.b.put("T", b"3", 1)
    stats = await place.admin.topics.stats("T")

    assert stats.message_count == 3
    assert list(stats.queues) == [MessageQueue("T", f"broker-{name}", number) for name in "ab" for number in (0, 1)]
    assert stats.queues[MessageQueue("T", "broker-b", 1)].max_offset == 2
    assert not stats.is_partial


async def test_a_silent_broker_leaves_a_marked_part(place: Place) -> None:
    place.b.faults.add(Silence(), 202)
    stats = await place.admin.topics.stats("T")

    assert stats.is_partial
    assert isinstance(stats.failures["broker-b"], RequestTimeoutError)
    assert {queue.broker_name for queue in stats.queues} == {"broker-a"}


async def test_an_answer_that_cannot_be_read_is_a_failure(place: Place) -> None:
    place.a.faults.add(Refuse(0, None, body=b'{"offsetTable":[1,2]}'), 202)
    place.b.faults.add(Garbage(), 202)
    with pytest.raises(BrokersFailedError) as error:
        await place.admin.topics.stats("T")
    assert isinstance(error.value.failures["broker-a"], UnreadableAnswerError)
    assert set(error.value.failures) == {"broker-a", "broker-b"}


async def test_routes_clusters_and_groups(place: Place) -> None:
    place.a.groups.commit(("g1", "T", 0), 1)
    place.b.groups.commit(("g2", "T", 0), 1)

    assert {each.broker_name for each in (await place.admin.topics.route("T")).broker_datas} == {"broker-a", "broker-b"}
    assert await place.admin.topics.clusters_of("T") == ("DefaultCluster",)
    assert (await place.admin.topics.groups("T")).names == ("g1", "g2")
    assert "T" in await place.admin.topics.names(cluster="DefaultCluster")
    with pytest.raises(NoRouteError, match="nowhere"):
        await place.admin.topics.route("nowhere")
    everything = (await place.admin.topics.configs(cluster="DefaultCluster")).whole()
    assert everything.values["broker-a"]["T"].perm == 6
