"""Sending back, the copy instead of it, and giving up."""

from typing import Any, cast

import pytest
from tests.unit.client.consumer.stored import stored

from cosmodrome.client.consumer import backoff
from cosmodrome.client.consumer.failed_messages import DropWithWord, SendBack, TryAgainInOrder
from cosmodrome.client.consumer.requests import ConsumerRequests
from cosmodrome.client.message import MessageQueue
from cosmodrome.client.routes import TopicRoutes
from cosmodrome.errors import ConnectError, NoRouteError, RefusedError
from cosmodrome.protocol.headers.send import ConsumerSendMsgBackRequestHeader, SendMessageRequestHeader
from cosmodrome.protocol.messages.properties import decode_properties

QUEUE = MessageQueue("T", "broker-a", 0)
RETRY_QUEUE = MessageQueue("%RETRY%G", "broker-b", 0)


class Requests:
    def __init__(self) -> None:
        self.backs: list[tuple[str, ConsumerSendMsgBackRequestHeader]] = []
        self.copies: list[tuple[str, SendMessageRequestHeader]] = []
        self.back_failure: Exception | None = None
        self.copy_failure: Exception | None = None

    async def send_back(self, address: str, header: ConsumerSendMsgBackRequestHeader) -> None:
        self.backs.append((address, header))
        if self.back_failure is not None:
            raise self.back_failure

    async def send(self, address: str, header: SendMessageRequestHeader, body: bytes) -> None:
        assert body == b"x"
        self.copies.append((address, header))
        if self.copy_failure is not None:
            raise self.copy_failure


class Routes:
    def __init__(self) -> None:
        self.masters = {"broker-a": "a:1", "broker-b": "b:1"}
        self.has_retry_topic = True

    def master_address(self, broker_name: str) -> str | None:
        return self.masters.get(broker_name)

    async def route(self, topic: str) -> Any:
        if not self.has_retry_topic:
            raise NoRouteError(topic, "not there")

        class Route:
            publish_queues = (RETRY_QUEUE,)

        return Route


class Rig:
    def __init__(self, limit: int = 16) -> None:
        self.requests = Requests()
        self.routes = Routes()
        self.send_back = SendBack(cast("ConsumerRequests", self.requests), cast("TopicRoutes", self.routes), "G", limit)

    @property
    def copy(self) -> tuple[str, SendMessageRequestHeader, dict[str, str]]:
        address, header = self.requests.copies[-1]
        return address, header, decode_properties(header.properties or "")


async def test_c054_a_message_goes_back_to_its_brokers_master_in_the_route() -> None:
    rig = Rig(limit=7)

    assert await rig.send_back.take(QUEUE, stored(3, properties={"UNIQ_KEY": "ID"}), 5)

    address, header = rig.requests.backs[0]
    assert (address, header.offset, header.group, header.delay_level) == ("a:1", 3000, "G", 5)
    assert (header.origin_msg_id, header.origin_topic, header.max_reconsume_times) == ("ID", "T", 7)
    assert rig.requests.copies == []


async def test_c054_without_its_master_a_copy_goes_to_the_retry_topic() -> None:
    rig = Rig()
    del rig.routes.masters["broker-a"]
    message = stored(3, properties={"UNIQ_KEY": "ID", "DELAY": "9"}, reconsume_times=2)

    assert await rig.send_back.take(QUEUE, message, None)

    address, header, properties = rig.copy
    assert (address, header.topic, header.queue_id, header.broker_name) == ("b:1", "%RETRY%G", 0, "broker-b")
    assert (header.reconsume_times, header.max_reconsume_times) == (3, 16)
    assert properties == {
        "UNIQ_KEY": "ID", "RETRY_TOPIC": "T", "ORIGIN_MESSAGE_ID": message.offset_msg_id, "DELAY": "5",
    }  # fmt: skip


async def test_what_a_message_was_at_first_stays_known() -> None:
    rig = Rig()
    rig.requests.back_failure = RefusedError("a:1", 1, "no")
    first = {"RETRY_TOPIC": "First", "ORIGIN_MESSAGE_ID": "FIRSTID"}

    assert await rig.send_back.take(RETRY_QUEUE, stored(0, topic="%RETRY%G", properties=first), 4)

    properties = rig.copy[2]
    assert (properties["RETRY_TOPIC"], properties["ORIGIN_MESSAGE_ID"], properties["DELAY"]) == (
        "First",
        "FIRSTID",
        "4",
    )
    assert rig.requests.backs[0][1].origin_topic == "First"


@pytest.mark.parametrize("times", [16, 17])
async def test_the_last_copy_is_not_delayed(times: int) -> None:
    """A 4.9 broker would keep it from the dead letters that long."""
    rig = Rig()
    rig.requests.back_failure = ConnectError("gone")

    assert await rig.send_back.take(QUEUE, stored(0, reconsume_times=times), None)

    _, header, properties = rig.copy
    assert (header.reconsume_times, "DELAY" in properties) == (times + 1, False)


@pytest.mark.parametrize("limit", [16, backoff.UNLIMITED])
async def test_to_the_dead_letters_at_once(limit: int) -> None:
    rig = Rig(limit=limit)
    rig.requests.back_failure = ConnectError("gone")

    assert await rig.send_back.take(QUEUE, stored(0), -1)

    _, header, properties = rig.copy
    assert (header.reconsume_times, header.max_reconsume_times, "DELAY" in properties) == (1, 0, False)


async def test_a_group_without_a_retry_topic_yet_sends_to_the_messages_own_broker() -> None:
    rig = Rig()
    rig.routes.has_retry_topic = False
    rig.requests.back_failure = ConnectError("gone")

    assert await rig.send_back.take(QUEUE, stored(0), None)

    assert rig.copy[0] == "a:1"


@pytest.mark.parametrize("failure", [ConnectError("gone"), RefusedError("b:1", 13, "the message is illegal")])
async def test_c010_what_nobody_takes_stays(failure: Exception, caplog: pytest.LogCaptureFixture) -> None:
    rig = Rig()
    rig.requests.back_failure = rig.requests.copy_failure = failure

    assert not await rig.send_back.take(QUEUE, stored(0), None)
    assert str(failure) in caplog.text
    rig.routes.masters.clear()
    assert not await rig.send_back.take(QUEUE, stored(0), None)


async def test_in_order_a_message_is_tried_here_until_it_failed_too_often() -> None:
    rig = Rig(limit=2)
    in_order = TryAgainInOrder(rig.send_back, 2)

    assert [await in_order.take(QUEUE, stored(0, reconsume_times=times), None) for times in (0, 1)] == [False, False]
    assert rig.requests.copies == []
    assert await in_order.take(QUEUE, stored(0, reconsume_times=2), None)
    assert await in_order.take(QUEUE, stored(0), -1)

    assert [header.reconsume_times for _, header in rig.requests.copies] == [3, 1]


async def test_broadcasting_gives_up_with_a_word(caplog: pytest.LogCaptureFixture) -> None:
    assert await DropWithWord().take(QUEUE, stored(0), None)
    assert await TryAgainInOrder(None, 0).take(QUEUE, stored(0), None)
    assert caplog.text.count("broadcasting has no retries") == 2
