"""Messages found by id, key, place and time."""

from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest
from tests.support.faulty_broker import Refuse, Reply, Silence
from tests.unit.client.admin.conftest import Place, placed

from cosmodrome import BrokersFailedError, MessageQueue, RefusedError
from cosmodrome.errors import ConnectError, NotFoundError, UnreadableAnswerError
from cosmodrome.protocol.bodies.consumer_running_info import ConsumeResult
from cosmodrome.protocol.messages.ids import offset_msg_id

A0, B1 = MessageQueue("T", "broker-a", 0), MessageQueue("T", "broker-b", 1)
UNIQUE = "7F0000010A1B18B4AAC2" + "0" * 12


async def test_by_the_id_of_a_broker(place: Place) -> None:
    place.b.put("T", b"first", 1)
    record = place.b.put("T", b"x", 1, UNIQ_KEY=UNIQUE)
    message = await place.admin.messages.by_offset_id(offset_msg_id("127.0.0.1", place.b.port, record.offset))

    assert (message.body, message.queue, message.queue_offset, message.msg_id) == (b"x", B1, 1, UNIQUE)
    with pytest.raises(NotFoundError, match="can not find message by the offset, 7"):
        await place.admin.messages.by_offset_id(offset_msg_id("127.0.0.1", place.b.port, 7))
    # What Apache's brokers say of a place in the middle of a record.
    remark = "java.lang.IllegalArgumentException: newLimit < 0: (-1558141068 < 0), java.base/java.nio.Buffer"
    place.b.faults.add(Refuse(1, remark), 33)
    with pytest.raises(NotFoundError):
        await place.admin.messages.by_offset_id(offset_msg_id("127.0.0.1", place.b.port, 7))
    place.b.faults.add(Refuse(1, "java.io.IOException: disk error"), 33)
    with pytest.raises(RefusedError, match="disk error"):
        await place.admin.messages.by_offset_id(offset_msg_id("127.0.0.1", place.b.port, 7))
    with pytest.raises(ValueError, match="by_unique_key"):
        await place.admin.messages.by_offset_id("abc")


async def test_an_id_with_an_address_that_nobody_has_is_looked_for_at_all_brokers_c054(tmp_path: Path) -> None:
    """A broker behind NAT writes its own address into ids; nothing outside the cluster is ever asked."""
    inside = ("172.17.0.5", 10911)
    async for place in placed(tmp_path, store_host=inside):
        place.a.put("T", b"of a", 0)
        record = place.b.put("T", b"of b, which is longer", 1)
        place.b.store.drop_before("T", 1, 1)
        record = place.b.put("T", b"x", 1)
        msg_id = offset_msg_id(*inside, record.offset)
        for topic in (None, "T"):
            assert (await place.admin.messages.by_offset_id(msg_id, topic=topic)).queue == B1
        with pytest.raises(NotFoundError, match="by the offset, 7"):
            await place.admin.messages.by_offset_id(offset_msg_id(*inside, 7))
        place.a.faults.add(Refuse(1, "disk error"), 33)
        with pytest.raises(BrokersFailedError, match="disk error"):
            await place.admin.messages.by_offset_id(offset_msg_id(*inside, 7))


async def test_more_or_less_than_one_record_is_not_the_message(place: Place) -> None:
    record = place.a.put("T", b"x")
    place.a.works[33] = lambda _: Reply(0, None, None, record.encode() * 2)
    with pytest.raises(UnreadableAnswerError, match="2 messages"):
        await place.admin.messages.by_offset_id(offset_msg_id("127.0.0.1", place.a.port, 0))
    place.a.works[33] = lambda _: Reply(0, None, None, record.encode()[:50])
    with pytest.raises(UnreadableAnswerError):
        await place.admin.messages.by_offset_id(offset_msg_id("127.0.0.1", place.a.port, 0))


async def test_by_either_kind_of_id(place: Place) -> None:
    record = place.a.put("T", b"x", UNIQ_KEY=UNIQUE)
    of_broker = offset_msg_id("127.0.0.1", place.a.port, record.offset)

    for msg_id in (UNIQUE, of_broker):
        found = await place.admin.messages.by_id(msg_id, topic="T")
        assert [each.msg_id for each in found.messages] == [UNIQUE]
    with pytest.raises(NotFoundError):
        await place.admin.messages.by_id(offset_msg_id("127.0.0.1", place.a.port, 7), topic="T")
    looks_like_a_brokers = offset_msg_id("127.0.0.1", 1, 5)
    place.b.put("T", b"y", UNIQ_KEY=looks_like_a_brokers)
    found = await place.admin.messages.by_id(looks_like_a_brokers, topic="T")
    assert [each.body for each in found.messages] == [b"y"]


async def test_a_message_that_was_sent_twice_is_there_twice_c003(place: Place) -> None:
    place.a.put("T", b"x", 0, UNIQ_KEY=UNIQUE)
    place.b.put("T", b"x", 1, UNIQ_KEY=UNIQUE)
    found = (await place.admin.messages.by_unique_key("T", UNIQUE)).whole()

    assert {each.queue for each in found.messages} == {A0, B1}
    assert all(each.ext["_UNIQUE_KEY_QUERY"] == "true" for each in place.a.journal.requests(12))


async def test_keys_in_the_order_of_storing_and_none_of_the_same_hash(place: Place) -> None:
    now_ms = 1_800_000_000_000
    for broker, at_ms, keys in ((place.a, 3, "k other"), (place.b, 1, "k"), (place.b, 2, "k2")):
        broker.clock = partial(int, now_ms + at_ms)
        broker.put("T", keys.encode(), KEYS=keys)
    place.a.works[12] = lambda _: Reply(0, None, {}, b"".join(each.encode() for each in place.a.store.messages("T")))
    place.a.put("T", b"collides", KEYS="kk")
    found = await place.admin.messages.by_key("T", "k", since=datetime.fromtimestamp(0, UTC), until=datetime.now(UTC))

    assert [each.body for each in found.messages] == [b"k other"]
    found = await place.admin.messages.by_key("T", "k")
    assert [each.body for each in found.messages] == [b"k", b"k other"]
    assert not found.may_be_more


async def test_a_full_answer_may_not_be_all(place: Place) -> None:
    for _ in range(3):
        place.a.put("T", b"x", KEYS="k")
    assert (await place.admin.messages.by_key("T", "k", limit=2)).may_be_more
    assert not (await place.admin.messages.by_key("T", "k", limit=4)).may_be_more


async def test_a_refusal_is_never_an_empty_list_c065(place: Place) -> None:
    place.a.put("T", b"x", KEYS="k")
    place.b.faults.add(Refuse(1, "the index is broken"), 12)
    found = await place.admin.messages.by_key("T", "k")
    assert [each.body for each in found.messages] == [b"x"]
    assert "the index is broken" in str(found.failures["broker-b"])
    with pytest.raises(BrokersFailedError):
        found.whole()

    place.a.faults.add(Refuse(1, "the index is broken"), 12)
    place.b.faults.add(Silence(), 12)
    with pytest.raises(BrokersFailedError) as error:
        await place.admin.messages.by_key("T", "k")
    assert set(error.value.failures) == {"broker-a", "broker-b"}


async def test_one_broker_that_is_down_marks_the_result_c065(place: Place) -> None:
    await place.b.die()
    found = await place.admin.messages.by_key("T", "k")

    assert found.messages == ()
    assert isinstance(found.failures["broker-b"], ConnectError)


async def test_at_a_place(place: Place) -> None:
    place.a.put("T", b"0")
    place.a.put("T", b"1")
    assert (await place.admin.messages.at(A0, 1)).body == b"1"
    with pytest.raises(NotFoundError, match="no message at 2"):
        await place.admin.messages.at(A0, 2)
    place.a.store.drop_before("T", 0, 1)
    with pytest.raises(NotFoundError, match="no message at 0, the next one is at 1"):
        await place.admin.messages.at(A0, 0)
    assert not place.a.groups.offsets


async def test_from_a_place_on(place: Place) -> None:
    for number in range(70):
        place.a.put("T", b"%d" % number)
    assert [each.queue_offset for each in await place.admin.messages.from_offset(A0, 0, limit=50)] == list(range(50))
    assert [each.queue_offset for each in await place.admin.messages.from_offset(A0, 68)] == [68, 69]
    place.a.store.drop_before("T", 0, 69)
    assert [each.queue_offset for each in await place.admin.messages.from_offset(A0, 0)] == [69]
    assert await place.admin.messages.from_offset(B1, 0) == ()


async def check_moments(each: Place) -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    for minute in range(3):
        at_ms = int((start + timedelta(minutes=minute)).timestamp() * 1000)
        each.a.clock = partial(int, at_ms)
        each.a.put("T", b"%d" % minute)
    found = await each.admin.messages.from_time(A0, start + timedelta(seconds=20))
    assert [message.body for message in found] == [b"1", b"2"]
    assert await each.admin.messages.from_time(A0, start + timedelta(hours=1)) == ()


async def test_from_a_moment_on(place: Place) -> None:
    await check_moments(place)


async def test_from_a_moment_on_at_old_brokers_which_give_the_nearest_message(old_place: Place) -> None:
    await check_moments(old_place)


async def test_a_consumer_consumes_a_message_at_once(place: Place) -> None:
    place.a.put("T", b"x")
    message = await place.admin.messages.at(A0, 0)
    place.a.works[309] = lambda _: Reply(0, None, None, b'{"consumeResult":"CR_LATER","spentTimeMills":3}')
    result = await place.admin.messages.consume_directly("g", "client", message)

    assert result.consume_result is ConsumeResult.CR_LATER
    ext = place.a.journal.requests(309)[0].ext
    assert (ext["consumerGroup"], ext["clientId"], ext["msgId"]) == ("g", "client", message.offset_msg_id)
    place.a.faults.add(Refuse(207, "consumer <g> <client> Timeout"), 309)
    with pytest.raises(RefusedError, match="Timeout"):
        await place.admin.messages.consume_directly("g", "client", message)
