"""POP mode at a broker of which a test says every word."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.consuming import GROUP, TOPIC, Seen, consumer, undisturbed, until
from tests.support.faulty_broker import CloseUnanswered, FaultyBroker, Refuse, Reply, Silence, Under, faulty_cluster

from cosmodrome.client.config import ClientConfig
from cosmodrome.client.consumer import pop_handle
from cosmodrome.client.consumer.consumer import Consumer
from cosmodrome.client.consumer.handlers import Later
from cosmodrome.client.session import ClientSession
from cosmodrome.errors import AuthenticationError


class Popping:
    """What an early 5.0 broker does in POP mode: each message is popped once, and again when it was made visible."""

    def __init__(self, broker: FaultyBroker, mode: str = "POP") -> None:
        self.acknowledged: list[int] = []
        self.hidden: list[tuple[int, int]] = []
        self._broker = broker
        self._next = 0
        self._mode = mode
        broker.pops.lack_batch_acks()
        broker.works |= {400: self.assign, 200_050: self.pop, 200_051: self.acknowledge, 200_053: self.hide}

    def assign(self, under: Under) -> Reply:
        queue = {"topic": under.arrival.json()["topic"], "brokerName": self._broker.broker_name, "queueId": -1}
        return Reply(
            0,
            None,
            None,
            json.dumps({"messageQueueAssignments": [{"messageQueue": queue, "mode": self._mode}]}).encode(),
        )

    def pop(self, under: Under) -> Reply | None:
        records = self._broker.store.queue(TOPIC, 0).records[self._next :][:5]
        fields = {"popTime": "5", "invisibleTime": "60000", "reviveQid": "1", "restNum": "0"}
        if not records:
            self._broker.later(0.05, lambda: under.answer(Reply(210, "NO_MESSAGE_IN_QUEUE", fields)))
            return None
        fields |= {"startOffsetInfo": f"0 0 {self._next}", "msgOffsetInfo": "0 0 0"}
        self._next += len(records)
        return Reply(0, None, fields, b"".join(record.encode() for record in records))

    def acknowledge(self, under: Under) -> Reply:
        assert under.arrival.ext["extraInfo"].endswith(f" 0 broker-a 0 {under.arrival.ext['offset']}")
        self.acknowledged.append(int(under.arrival.ext["offset"]))
        return Reply(0)

    def hide(self, under: Under) -> Reply:
        self.hidden.append((int(under.arrival.ext["offset"]), int(under.arrival.ext["invisibleTime"])))
        return Reply(0, None, {"popTime": "6", "invisibleTime": "1000", "reviveQid": "1"})


async def test_popped_messages_are_acknowledged_one_by_one(tmp_path: Path) -> None:
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 1}) as cluster:
        popping = Popping(cluster.broker)
        for number in range(12):
            cluster.broker.put(TOPIC, b"%d" % number)
        seen = Seen()
        async with consumer(cluster, seen, pop=True):
            await seen.came(12)
            await until(lambda: len(popping.acknowledged) == 12, "acknowledgements")
        assert seen.counts == {b"%d" % number: 1 for number in range(12)}
        assert sorted(popping.acknowledged) == list(range(12))
        assert not cluster.broker.journal.requests(14, 15, 38)


async def test_a_failed_message_is_hidden_and_not_acknowledged(tmp_path: Path) -> None:
    endings: dict[bytes, Any] = {b"1": Later(), b"2": Later(1), b"3": Later(-1)}
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 1}) as cluster:
        popping = Popping(cluster.broker)
        for number in range(4):
            cluster.broker.put(TOPIC, b"%d" % number)
        seen = Seen(lambda message: endings.get(message.body))
        async with consumer(cluster, seen, pop=True):
            await until(lambda: len(popping.acknowledged) == 2 and len(popping.hidden) == 2, "words about all")
        assert sorted(popping.hidden) == [(1, 10_000), (2, 1000)]
        assert sorted(popping.acknowledged) == [0, 3]
        assert [each.body for each in cluster.broker.store.messages(f"%DLQ%{GROUP}")] == [b"3"]


@pytest.mark.parametrize("code", [200_050, 200_051, 400])
async def test_refusals_of_pop_are_waited_out(tmp_path: Path, code: int) -> None:
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 1}) as cluster:
        popping = Popping(cluster.broker)
        cluster.broker.put(TOPIC, b"0")
        cluster.broker.put(TOPIC, b"1")
        cluster.broker.faults.add(Refuse(1, "not now"), code, times=1)
        seen = Seen()
        async with consumer(cluster, seen, pop=True) as reader:
            if code == 400:
                assert "not now" in str(reader.status().trouble)
                cluster.broker.groups.notify(GROUP)
            await seen.came(2)
            await until(lambda: len(popping.acknowledged) == (1 if code == 200_051 else 2), "acknowledgements")


async def test_a_group_that_is_not_in_pop_mode_is_told_so(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 1}) as cluster:
        Popping(cluster.broker, "PULL")
        async with consumer(cluster, Seen(), pop=True) as reader:
            assert "not in POP mode" in str(reader.status().trouble)
        assert "SET_MESSAGE_REQUEST_MODE" in caplog.text


async def test_iterating_over_popped_messages(tmp_path: Path) -> None:
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 1}) as cluster:
        popping = Popping(cluster.broker)
        for number in range(7):
            cluster.broker.put(TOPIC, b"%d" % number, TAGS="Aa" if number % 2 else "BB")
        bodies = []
        async with consumer(cluster, pop=True, subscriptions={TOPIC: "Aa"}) as reader:
            async for message in reader:
                bodies.append(message.body)
                await message.ack()
                await message.retry()
                if len(bodies) == 3:
                    break
        assert bodies == [b"1", b"3", b"5"]
        assert sorted(popping.acknowledged) == list(range(7))


async def test_topics_of_a_popping_consumer_come_and_go(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 1}) as cluster:
        Popping(cluster.broker)
        cluster.broker.put(TOPIC, b"0")
        seen = Seen()
        async with consumer(cluster, seen, pop=True, subscriptions={"NotThere": None}) as reader:
            assert "topic NotThere is not there yet" in caplog.text
            await reader.subscribe(TOPIC)
            await seen.came(1)
            await reader.unsubscribe(TOPIC)
            pops = len(cluster.broker.journal.requests(200_050))
            cluster.broker.put(TOPIC, b"1")
            await reader.unsubscribe(TOPIC)
            assert len(cluster.broker.journal.requests(200_050)) == pops
        assert seen.bodies == [b"0"]


async def test_c017_wrong_credentials_make_a_popping_consumer_raise(tmp_path: Path) -> None:
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 1}) as cluster:
        cluster.broker.faults.add(Refuse(16, "check signature failed."), times=None)
        with pytest.raises(AuthenticationError):
            await consumer(cluster, Seen(), pop=True).start()


async def test_a_popped_message_whose_time_is_nearly_over_is_not_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cosmodrome.client.consumer.popped.LATE_S", 59.9)
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 1}) as cluster:
        popping = Popping(cluster.broker)
        for number in range(2):
            cluster.broker.put(TOPIC, b"%d" % number)
        seen = Seen(lambda _: asyncio.sleep(0.3))
        async with consumer(cluster, seen, pop=True, concurrency=1) as reader:
            await until(lambda: popping.acknowledged == [0], "an acknowledgement")
            await until(lambda: reader.status().held_bytes == 0, "nothing that is held")
        assert seen.bodies == [b"0"]


async def test_a_message_that_cannot_be_hidden_comes_when_its_time_is_over(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 1}) as cluster:
        popping = Popping(cluster.broker)
        cluster.broker.put(TOPIC, b"0")
        cluster.broker.faults.add(Refuse(1, "not now"), 200_053, times=None)
        seen = Seen(lambda _: Later())
        async with consumer(cluster, seen, pop=True) as reader:
            await until(lambda: "comes again only when its first time is over" in caplog.text, "a word in the log")
            await until(lambda: reader.status().held_bytes == 0, "nothing that is held")
        assert (popping.acknowledged, popping.hidden) == ([], [])


async def test_what_was_not_acknowledged_is_popped_again_by_somebody(tmp_path: Path) -> None:
    """Failed, left by a member that goes, or of a handler that never ends: each message is done in the end."""
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 3}) as cluster:
        broker = cluster.broker
        broker.pops.modes[TOPIC, GROUP] = "POP"
        broker.pops.invisible_s = 0.3
        bodies = [b"%d" % number for number in range(60)]
        for number, body in enumerate(bodies):
            broker.put(TOPIC, body, number % 3)
        failing = set(bodies[-5:])
        seen = Seen(lambda message: Later(1) if message.reconsume_times == 0 and message.body in failing else None)
        async with consumer(cluster, pop=True) as leaving:
            taken = await anext(leaving)
        assert taken.body not in failing
        async with consumer(cluster, seen, pop=True):
            await seen.until(lambda: set(seen.counts) == set(bodies))
            await until(lambda: not broker.pops.invisible, "acknowledgements of all")
        again = {message.body for message in seen.messages if message.reconsume_times > 0}
        assert again >= {taken.body}
        assert {message.topic for message in seen.messages} == {TOPIC}


async def test_what_is_done_at_the_same_time_is_acknowledged_with_one_request(tmp_path: Path) -> None:
    """Of messages that come again too, whose handles name another topic."""
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 2}) as cluster:
        broker = cluster.broker
        broker.pops.modes[TOPIC, GROUP] = "POP"
        for number in range(40):
            broker.put(TOPIC, b"%d" % number, number % 2)
        again = {b"3", b"4"}
        broker.pops.invisible_s = 0.2
        seen = Seen(lambda message: Later(1) if message.body in again and message.reconsume_times == 0 else None)
        async with consumer(cluster, seen, pop=True):
            await seen.came(42)
            await until(lambda: not broker.pops.invisible, "acknowledgements of all")
        assert broker.pops.acknowledged_together + broker.journal.counts[200_051] >= 40
        assert broker.pops.acknowledged_together > 10
        assert broker.journal.counts[200_151] < 10


async def test_a_broker_without_batch_acknowledgements_is_told_one_by_one(tmp_path: Path) -> None:
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 1}) as cluster:
        broker = cluster.broker
        broker.pops.modes[TOPIC, GROUP] = "POP"
        broker.pops.lack_batch_acks()
        for number in range(40):
            broker.put(TOPIC, b"%d" % number)
        async with consumer(cluster, seen := Seen(), pop=True):
            await seen.came(40)
            await until(lambda: not broker.pops.invisible, "acknowledgements of all")
        assert (broker.journal.counts[200_051], broker.journal.counts[200_151]) == (40, 1)


async def test_a_batch_of_acknowledgements_that_fails_is_told_and_comes_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 1}) as cluster:
        broker = cluster.broker
        broker.pops.modes[TOPIC, GROUP] = "POP"
        broker.pops.invisible_s = 0.3
        broker.faults.add(Refuse(1, "not now"), 200_151, times=1)
        for number in range(20):
            broker.put(TOPIC, b"%d" % number)
        async with consumer(cluster, seen := Seen(), pop=True):
            await seen.until(lambda: any(message.reconsume_times for message in seen.messages))
            await until(lambda: not broker.pops.invisible, "acknowledgements of all")
        assert "were not acknowledged and come again" in caplog.text


def in_order(seen: Seen) -> dict[int, list[int]]:
    """Give the offsets of each queue in the order in which they came."""
    found: dict[int, list[int]] = {}
    for message in seen.messages:
        found.setdefault(message.queue.queue_id, []).append(message.queue_offset)
    return found


async def test_orderly_pops_keep_the_order_of_each_queue(tmp_path: Path) -> None:
    """One at a time of a queue, those of other queues beside it; two members, one of which goes."""
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 3}) as cluster:
        broker = cluster.broker
        broker.pops.modes[TOPIC, GROUP] = "POP"
        for number in range(120):
            broker.put(TOPIC, b"%d" % number, number % 3)
        busy: set[int] = set()

        async def act(message: Any) -> None:
            assert message.queue.queue_id not in busy
            busy.add(message.queue.queue_id)
            await asyncio.sleep(0)
            busy.discard(message.queue.queue_id)

        seen = Seen(act)
        options: dict[str, Any] = {"pop": True, "orderly": True, "batch_messages": 7}
        async with consumer(cluster, seen, **options):
            async with consumer(cluster, seen, **options):
                await seen.came(30)
            await seen.came(120)
            await until(lambda: not any(each.hidden_until_ms for each in broker.pops.orderly.given.values()), "acks")
        assert in_order(seen) == {queue_id: list(range(40)) for queue_id in range(3)}
        assert {request.ext["order"] for request in broker.journal.requests(200_050)} == {"true"}


async def test_in_orderly_pops_a_failed_message_holds_up_those_behind_it(tmp_path: Path) -> None:
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 1}) as cluster:
        broker = cluster.broker
        broker.pops.modes[TOPIC, GROUP] = "POP"
        for number in range(6):
            broker.put(TOPIC, b"%d" % number)

        def act(message: Any) -> object:
            if message.body == b"2" and message.reconsume_times < 2:
                return Later()
            if message.body == b"4":
                return Later(-1)
            return None

        seen = Seen(act)
        async with consumer(cluster, seen, pop=True, orderly=True, orderly_pause_s=0.05):
            await seen.until(lambda: seen.bodies[-1:] == [b"5"])
        assert seen.bodies == [b"0", b"1", b"2", b"2", b"2", b"3", b"4", b"5"]
        assert [message.reconsume_times for message in seen.messages] == [0, 0, 0, 1, 2, 0, 0, 0]
        assert [each.body for each in broker.store.messages(f"%DLQ%{GROUP}")] == [b"4"]


async def test_in_orderly_pops_a_message_that_always_fails_becomes_a_dead_letter(tmp_path: Path) -> None:
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 1}) as cluster:
        broker = cluster.broker
        broker.pops.modes[TOPIC, GROUP] = "POP"
        for number in range(3):
            broker.put(TOPIC, b"%d" % number)
        seen = Seen(lambda message: Later() if message.body == b"1" else None)
        options: dict[str, Any] = {"pop": True, "orderly": True, "orderly_pause_s": 0.02, "max_reconsume_times": 2}
        async with consumer(cluster, seen, **options):
            await seen.until(lambda: seen.bodies[-1:] == [b"2"])
        assert seen.bodies == [b"0", b"1", b"1", b"1", b"2"]
        assert [each.body for each in broker.store.messages(f"%DLQ%{GROUP}")] == [b"1"]


async def test_what_an_orderly_popping_member_leaves_the_next_one_has_soon(tmp_path: Path) -> None:
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 1}) as cluster:
        broker = cluster.broker
        broker.pops.modes[TOPIC, GROUP] = "POP"
        for number in range(10):
            broker.put(TOPIC, b"%d" % number)
        async with consumer(cluster, pop=True, orderly=True) as first:
            for _ in range(3):
                await (await anext(first)).ack()
            left = await anext(first)
        assert left.body == b"3"
        async with consumer(cluster, seen := Seen(), pop=True, orderly=True):
            await seen.came(7)
        assert seen.bodies == [b"%d" % number for number in range(3, 10)]


async def test_the_same_orderly_pop_again_gets_what_its_lost_answer_held(tmp_path: Path) -> None:
    """The attempt has an id: without it the queue would stand still for a minute."""
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 1}) as cluster:
        broker = cluster.broker
        broker.pops.modes[TOPIC, GROUP] = "POP"
        for number in range(3):
            broker.put(TOPIC, b"%d" % number)
        broker.faults.add(CloseUnanswered(), 200_050, times=1)
        async with consumer(cluster, seen := Seen(), pop=True, orderly=True):
            await seen.came(3)
        attempts = [request.ext["attemptId"] for request in broker.journal.requests(200_050)]
        assert attempts[0] == attempts[1] != attempts[2]


async def test_a_popping_consumer_that_cannot_acknowledge_ends_and_leaves_nothing(tmp_path: Path) -> None:
    """The session is shared and stays open: nothing else would end what is left."""
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 1, "T2": 1}) as cluster:
        Popping(cluster.broker)
        for number in range(5):
            cluster.broker.put(TOPIC, b"%d" % number)
        cluster.broker.faults.add(Silence(), 200_051, times=None)
        config = ClientConfig(namesrv=cluster.name_server, close_timeout_s=0.3, request_timeout_s=30.0)
        async with ClientSession(config) as session:
            before = asyncio.all_tasks()
            topics = {TOPIC: None, "T2": None}
            async with Consumer(GROUP, subscriptions=topics, handler=Seen(), session=session, pop=True):
                await cluster.broker.journal.arrived(200_051)
            await until(lambda: not {each for each in asyncio.all_tasks() - before if _is_ours(each)}, "no task")


def _is_ours(task: asyncio.Task[Any]) -> bool:
    return task.get_name().startswith(("cosmodrome-pop", "cosmodrome-acknowledge"))


async def test_a_fault_of_ours_ends_no_popping(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = pop_handle.receipt_of
    faults = [ZeroDivisionError("ours")]

    def receipt_of(*given: Any) -> Any:
        if faults:
            raise faults.pop()
        return real(*given)

    monkeypatch.setattr("cosmodrome.client.consumer.pop_loop.receipt_of", receipt_of)
    monkeypatch.setattr("cosmodrome.client.consumer.backoff.PULL_FAILED_S", 0.01)
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 1}) as cluster:
        Popping(cluster.broker)
        for number in range(10):
            cluster.broker.put(TOPIC, b"%d" % number)
        seen = Seen()
        async with consumer(cluster, seen, pop=True):
            await seen.came(5)
        assert not faults
