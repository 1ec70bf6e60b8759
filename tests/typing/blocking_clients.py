"""The clients for plain threads as users write them: read by type checkers, run by nobody."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import assert_type

from cosmodrome import Message, MessageQueue, MessageView, SendResult, TransactionResult, TransactionState, sync
from cosmodrome import ReceivedMessage as HandedMessage
from cosmodrome.protocol.bodies.route import TopicRouteData
from cosmodrome.sync import AdminClient, Consumer, LitePullConsumer, NameServer, Producer, ReceivedMessage


def producing() -> None:
    """Sends of every kind."""
    with Producer("orders", namesrv="127.0.0.1:9876", retries=3) as producer:
        assert_type(producer, Producer)
        message = Message(topic="order-events", body=b"...")
        assert_type(producer.send(message, timeout=1.0), SendResult)
        assert_type(producer.send_oneway(message), str)
        assert_type(producer.queues("order-events"), tuple[MessageQueue, ...])
        for batch in producer.split_batch([message]):
            producer.send_batch(batch)
        assert_type(producer.send_transaction(message, lambda *_: TransactionState.COMMIT), TransactionResult)
        producer.send(message.body)  # type: ignore[arg-type]  # no message
        producer.send(message, tomorrow=True)  # type: ignore[call-arg]  # no such keyword


def consuming() -> None:
    """Consumers of every kind."""
    with Consumer("billing", namesrv="127.0.0.1:9876", subscriptions={"order-events": "*"}) as consumer:
        for message in consumer:
            assert_type(message, ReceivedMessage)
            assert_type(message.body, bytes)
            message.ack()
            message.retry(3)

    def handle(message: HandedMessage) -> None:
        assert_type(message.topic, str)

    with Consumer("billing", subscriptions={"T": None}, handler=handle, concurrency=4) as consumer:
        assert_type(consumer.wait(timeout=1.0), bool)
        consumer.subscribe("U", "a || b")
    with LitePullConsumer("poll", subscriptions={"T": None}) as polling:
        assert_type(polling.poll(timeout_s=1.0), list[HandedMessage])
        assert_type(polling.assignment(), tuple[MessageQueue, ...])


def administering() -> None:
    """The admin client."""
    with AdminClient(namesrv="127.0.0.1:9876") as admin:
        admin.topics.create("orders", queues=4, cluster="DefaultCluster")
        assert_type(admin.topics.route("orders"), TopicRouteData)
        assert_type(admin.offsets.progress("billing").lag, int)
        assert_type(admin.offsets.reset("billing", "orders", datetime.now(UTC)), Mapping[MessageQueue, int])
        assert_type(admin.messages.by_key("orders", "42").whole().messages, tuple[MessageView, ...])
        admin.topics.create(42)  # type: ignore[arg-type]  # no name
        admin.offsets.reset("billing", "orders", "middle")  # type: ignore[arg-type]  # no moment


def a_name_server() -> None:
    """A NameServer in a program."""
    with NameServer(port=0) as name_server, sync.Producer("pg", namesrv=name_server.address):
        assert_type(name_server.address, str)
