"""Observers: what they are told, and that one that fails harms nothing but itself."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.consuming import GROUP, TOPIC, Seen, consumer, fill
from tests.support.faulty_broker import SENDS, FaultyCluster, Refuse, faulty_cluster

from cosmodrome import (
    ClientConfig,
    ClientSession,
    Consumer,
    Later,
    LitePullConsumer,
    Message,
    MessageError,
    ObservedProcess,
    ObservedReceive,
    ObservedSend,
    Observer,
    Producer,
    RefusedError,
    TransactionState,
)
from cosmodrome.client.observing import NOBODY, Observers
from cosmodrome.errors import ConfigError


class Noting(Observer):
    """Notes everything, and adds a property to what is sent."""

    def __init__(self) -> None:
        self.sends: list[ObservedSend] = []
        self.receives: list[ObservedReceive] = []
        self.processes: list[ObservedProcess] = []
        self.begun = 0

    def sending(self, send: ObservedSend) -> Callable[[], None]:
        self.begun += 1
        send.messages = tuple(
            each.replaced(properties={**each.properties, "added": "x" * 10}) for each in send.messages
        )
        return lambda: self.sends.append(send)

    def receiving(self, receive: ObservedReceive) -> Callable[[], None]:
        self.begun += 1
        return lambda: self.receives.append(receive)

    def processing(self, process: ObservedProcess) -> Callable[[], None]:
        self.begun += 1
        return lambda: self.processes.append(process)


class Failing(Observer):
    """Fails whenever it is told something."""

    def __init__(self, *, at_the_end: bool) -> None:
        self._at_the_end = at_the_end

    def sending(self, send: ObservedSend) -> Callable[[], None]:
        return self._fail

    def receiving(self, receive: ObservedReceive) -> Callable[[], None]:
        return self._fail

    def processing(self, process: ObservedProcess) -> Callable[[], None]:
        return self._fail

    @property
    def _fail(self) -> Callable[[], None]:
        def fail() -> None:
            raise LookupError("an observer's own fault")

        if not self._at_the_end:
            fail()
        return fail


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[FaultyCluster]:
    async with faulty_cluster(tmp_path, topics={TOPIC: 1}) as one:
        yield one


def stored(cluster: FaultyCluster) -> list[Any]:
    return cluster.broker.store.messages(TOPIC)


async def test_every_call_that_sends_is_told_with_its_result(cluster: FaultyCluster) -> None:
    noting = Noting()
    message = Message(topic=TOPIC, body=b"1", properties={"own": "p"})
    settings: dict[str, Any] = {
        "namesrv": cluster.name_server,
        "observers": [noting],
        "check_transaction": lambda _: None,
    }
    async with Producer("pg", **settings) as producer:
        one = await producer.send(message)
        await producer.send_oneway(message)
        batch = await producer.send_batch([message, message])
        half = await producer.send_transaction(message, lambda *_: TransactionState.COMMIT)
        client_id = producer.client_id
    assert [(send.operation, send.result, send.error) for send in noting.sends] == [
        ("send", one, None),
        ("send_oneway", None, None),
        ("send_batch", batch, None),
        ("send_transaction", half.send_result, None),
    ]
    assert {(send.group, send.client_id) for send in noting.sends} == {("pg", client_id)}
    await cluster.broker.journal.until(lambda: len(stored(cluster)) == 5, "all of them", 10)
    assert {(each.named["own"], each.named["added"]) for each in stored(cluster)} == {("p", "x" * 10)}
    assert message.properties == {"own": "p"}


async def test_a_send_that_fails_is_told_with_its_error(cluster: FaultyCluster) -> None:
    noting = Noting()
    cluster.broker.faults.add(Refuse(13, "illegal"), SENDS, times=None)
    async with Producer("pg", namesrv=cluster.name_server, observers=[noting]) as producer:
        with pytest.raises(RefusedError) as refused:
            await producer.send(Message(topic=TOPIC, body=b"1"))
    assert [(send.result, send.error) for send in noting.sends] == [(None, refused.value)]


async def test_what_an_observer_adds_is_left_out_where_there_is_no_room(cluster: FaultyCluster) -> None:
    full = Message(topic=TOPIC, body=b"1", properties={"k": "v" * 32_600})
    noting = Noting()
    async with Producer("pg", namesrv=cluster.name_server, observers=[noting], max_message_bytes=33_000) as producer:
        await producer.send(full)
        with pytest.raises(MessageError):
            await producer.send(Message(topic=TOPIC, body=b"1", properties={"k": "v" * 32_760}))
        splits = (producer.split_batch([full, Message(topic=TOPIC, body=b"x" * size)]) for size in range(400, 0, -1))
        batch = next(pieces[0] for pieces in splits if len(pieces) == 1)
        await producer.send_batch(batch)
    assert len(stored(cluster)) == 3
    assert not [each for each in stored(cluster) if "added" in each.named]
    assert noting.sends[-1].messages == batch.messages


@pytest.mark.parametrize("is_async", [True, False])
async def test_handlers_are_told_with_their_ends(cluster: FaultyCluster, *, is_async: bool) -> None:
    fill(cluster.broker, 3)
    noting = Noting()

    def act(message: Any) -> object:
        if message.body == b"0.1":
            raise KeyError("no such order")
        return Later(-1) if message.body == b"0.2" else None

    seen = Seen(act)
    handler = seen if is_async else act
    async with consumer(cluster, handler, observers=[noting]) as reader:
        await cluster.broker.journal.until(lambda: len(noting.processes) >= 3, "three handlings", 10)
        client_id = reader.status().client_id
    ends = {process.message.body: (process.is_done, type(process.error)) for process in noting.processes}
    assert ends == {b"0.0": (True, type(None)), b"0.1": (False, KeyError), b"0.2": (False, type(None))}
    assert {(each.by, each.group, each.client_id, each.is_broadcasting) for each in noting.processes} == {
        ("handler", GROUP, client_id, False)
    }
    assert not noting.receives


async def test_iterating_is_told_and_each_message_until_it_is_settled(cluster: FaultyCluster) -> None:
    fill(cluster.broker, 3)
    noting = Noting()
    async with consumer(cluster, None, observers=[noting]) as reader:
        messages = [await anext(reader) for _ in range(3)]
        assert [receive.messages[0].body for receive in noting.receives] == [b"0.0", b"0.1", b"0.2"]
        assert not noting.processes
        await messages[0].ack()
        await messages[0].ack()
        await messages[1].retry(3)
    told = [(process.by, process.message.body, process.is_done) for process in noting.processes]
    assert told == [("next", b"0.0", True), ("next", b"0.1", False)]
    assert cluster.broker.groups.offsets[GROUP, TOPIC, 0] == 2


async def test_polling_is_told_and_what_it_gave_until_the_next_poll(cluster: FaultyCluster) -> None:
    fill(cluster.broker, 4)
    noting = Noting()
    options: dict[str, Any] = {"subscriptions": {TOPIC: None}, "consume_from": "first", "observers": [noting]}
    async with LitePullConsumer(GROUP, namesrv=cluster.name_server, **options) as reader:
        messages = await reader.poll(10, 3)
        assert [len(receive.messages) for receive in noting.receives] == [3]
        assert not noting.processes
        (queue,) = reader.assignment()
        await reader.seek(queue, 3)
        assert {process.is_done for process in noting.processes} == {False}
        assert [each.body for each in await reader.poll(10)] == [b"0.3"]
        await reader.commit()
    assert len(messages) == 3
    assert [(process.by, process.is_done) for process in noting.processes] == [("poll", False)] * 3 + [("poll", True)]


async def test_the_observers_of_a_session_are_told_of_all_its_clients(cluster: FaultyCluster) -> None:
    noting = Noting()
    config = ClientConfig(namesrv=cluster.name_server, observers=[noting])
    session = ClientSession(config)
    seen = Seen()
    async with (
        Producer("pg", session=session) as producer,
        Consumer(GROUP, subscriptions={TOPIC: None}, handler=seen, session=session, consume_from="first"),
    ):
        await producer.send(Message(topic=TOPIC, body=b"1"))
        await seen.came(1)
    assert (len(noting.sends), len(noting.processes)) == (1, 1)


@pytest.mark.parametrize("at_the_end", [False, True])
async def test_an_observer_that_fails_harms_nothing_but_itself(
    cluster: FaultyCluster, caplog: pytest.LogCaptureFixture, *, at_the_end: bool
) -> None:
    noting = Noting()
    observers = [Failing(at_the_end=at_the_end), noting]
    async with Producer("pg", namesrv=cluster.name_server, observers=observers) as producer:
        await producer.send(Message(topic=TOPIC, body=b"1"))
        await producer.send(Message(topic=TOPIC, body=b"2"))
    async with consumer(cluster, None, observers=observers) as reader:
        await (await anext(reader)).ack()
    async with consumer(cluster, seen := Seen(), observers=observers):
        await seen.came(1)
    assert (len(noting.sends), len(noting.receives)) == (2, 1)
    assert "an observer failed" in caplog.text
    assert "an observer's own fault" in caplog.text
    caplog.clear()


async def test_what_is_no_observer_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"observers.*no Observer"):
        Producer("pg", namesrv="127.0.0.1:1", observers=[print])  # type: ignore[list-item]


async def test_methods_that_are_not_overridden_are_not_called() -> None:
    assert not NOBODY
    assert not Observers((Observer(),), "g", "id")
    assert Observers((Noting(),), "g", "id")


async def test_a_handler_that_is_cut_off_is_told_as_not_done(cluster: FaultyCluster) -> None:
    fill(cluster.broker, 1)
    noting = Noting()
    began = asyncio.Event()

    async def never(_: Any) -> None:
        began.set()
        await asyncio.Event().wait()

    async with consumer(cluster, never, observers=[noting], close_timeout_s=0.1):
        await began.wait()
    assert [(process.is_done, process.error) for process in noting.processes] == [(False, None)]
