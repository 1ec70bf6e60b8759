"""The asyncio clients as users write them: read by type checkers, run by nobody."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import assert_type

from cosmodrome import (
    AdminClient,
    BrokersFailedError,
    ClientConfig,
    ClientSession,
    Consumer,
    Credentials,
    LitePullConsumer,
    Message,
    MessageQueue,
    MessageView,
    NameServer,
    Producer,
    ReceivedMessage,
    RocketMQError,
    SendError,
    SendResult,
    SendStatus,
    TransactionResult,
    TransactionState,
)
from cosmodrome.protocol.bodies.groups import SubscriptionGroupConfig
from cosmodrome.protocol.bodies.route import TopicRouteData


async def producing() -> None:
    """Sends of every kind."""
    async with Producer(
        group="orders",
        namesrv=["10.0.0.1:9876", "10.0.0.2:9876"],
        retries=3,
        credentials=Credentials("key", "secret"),
        compression="lz4",
        when_full="raise",
        check_transaction=check,
    ) as producer:
        assert_type(producer, Producer)
        message = Message(topic="order-events", body=b"...", tag="paid", keys=["42"], delay=timedelta(minutes=1))
        result = await producer.send(message, timeout=1.0)
        assert_type(result, SendResult)
        assert_type(result.msg_id, str)
        assert_type(result.queue, MessageQueue)
        assert_type(result.queue_offset, int)
        assert_type(result.status, SendStatus)
        await producer.send(message, queue=result.queue)
        await producer.send(message, queue=lambda queues: queues[0])
        for batch in producer.split_batch([message, message]):
            await producer.send_batch(batch)
        done = await producer.send_transaction(message, execute)
        assert_type(done, TransactionResult)
        assert_type(done.state, TransactionState)
        reply = await producer.request(message)
        assert_type(reply, ReceivedMessage)
        try:
            await producer.send(message)
        except SendError as error:
            assert_type(error.is_outcome_unknown, bool)
            assert_type(error.brokers, tuple[str, ...])


def check(message: ReceivedMessage) -> TransactionState:
    """A plain checker."""
    return TransactionState.COMMIT if message.keys else TransactionState.ROLLBACK


async def execute(message: Message, result: SendResult) -> TransactionState:
    """An async local transaction."""
    return TransactionState.COMMIT if message.body and result.msg_id else TransactionState.UNKNOWN


async def consuming() -> None:
    """Consumers of every kind."""
    async with Consumer(
        group="billing",
        namesrv="127.0.0.1:9876",
        subscriptions={"order-events": "paid || refunded"},
        consume_from=datetime(2026, 1, 1, tzinfo=UTC),
    ) as consumer:
        async for message in consumer:
            assert_type(message, ReceivedMessage)
            assert_type(message.body, bytes)
            assert_type(message.properties, Mapping[str, str])
            if message.reconsume_times > 3:
                await message.retry(delay_level=3)
            else:
                await message.ack()

    async def handle(message: ReceivedMessage) -> None:
        assert_type(message.tag, str | None)

    async with (
        ClientSession(ClientConfig(namesrv="127.0.0.1:9876")) as session,
        Consumer("billing", subscriptions={"T": None}, handler=handle, session=session),
        LitePullConsumer("poll", session=session, auto_commit=False) as polling,
    ):
        assert_type(await polling.poll(timeout_s=1.0), list[ReceivedMessage])
        await polling.assign(await polling.queues_of("T"))
        assert_type(await polling.commit(), tuple[MessageQueue, ...])


async def administering() -> None:
    """The admin client."""
    async with AdminClient(namesrv="127.0.0.1:9876", request_timeout_s=5.0) as admin:
        await admin.topics.create("orders", queues=16, attributes={"message.type": "FIFO"}, cluster="DefaultCluster")
        assert_type(await admin.topics.names(), tuple[str, ...])
        assert_type(await admin.topics.route("orders"), TopicRouteData)
        await admin.groups.create(SubscriptionGroupConfig(group_name="billing", retry_max_times=3))
        for name, config in (await admin.groups.config("billing")).values.items():
            assert_type(name, str)
            assert_type(config, SubscriptionGroupConfig | None)
        progress = await admin.offsets.progress("billing")
        assert_type(progress.lag, int)
        assert_type(progress.failures, Mapping[str, RocketMQError])
        moved = await admin.offsets.reset("billing", "orders", datetime.now(UTC) - timedelta(hours=1))
        assert_type(moved, Mapping[MessageQueue, int])
        await admin.offsets.reset("billing", "orders", "first")
        found = (await admin.messages.by_key("orders", "42")).whole()
        assert_type(found.messages, tuple[MessageView, ...])
        info = await admin.brokers.runtime_info(broker="broker-a")
        assert_type(info.one(), Mapping[str, str])
        try:
            await admin.brokers.update_config({"fileReservedTime": "48"})
        except BrokersFailedError as error:
            assert_type(error.done, tuple[str, ...])


async def a_name_server() -> None:
    """A NameServer in a program."""
    async with NameServer(port=0) as name_server:
        assert_type(name_server.address, str)
        assert_type(await name_server.wait_for_route("T", timeout=2), TopicRouteData)
