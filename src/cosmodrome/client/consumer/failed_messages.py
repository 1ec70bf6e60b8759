"""What becomes of messages that could not be handled.

Owns: sending a message back, the copy that is sent when that fails, and when a message is given up.
Must not know: who handles messages; what waits behind a failed one.
"""

import logging
import random
import time
from typing import Final

from cosmodrome.client.consumer import backoff
from cosmodrome.client.consumer.requests import ConsumerRequests
from cosmodrome.client.consumer.start_offset import RETRY_TOPIC_PREFIX
from cosmodrome.client.message import MessageQueue
from cosmodrome.client.routes import TopicRoutes
from cosmodrome.errors import AnswerError, ConnectError, NoRouteError, RemotingError
from cosmodrome.protocol.headers.send import ConsumerSendMsgBackRequestHeader, SendMessageRequestHeader
from cosmodrome.protocol.messages.properties import (
    DELAY,
    MAX_RECONSUME_TIMES,
    ORIGIN_MESSAGE_ID,
    RECONSUME_TIME,
    RETRY_TOPIC,
    encode_properties,
)
from cosmodrome.protocol.messages.record import StoredMessage
from cosmodrome.protocol.messages.sys_flag import COMPRESSED, COMPRESSION_MASK

logger = logging.getLogger(__name__)

DEFAULT_TOPIC: Final = "TBW102"
_DEFAULT_QUEUES: Final = 4
_CANNOT: Final = (RemotingError, AnswerError, NoRouteError, ValueError)


class SendBack:
    """Clustering: the broker delivers the message again later, or puts it to the dead letters.

    It is asked at its address in the route; the one that messages carry may not be reachable. When it cannot be asked,
    a copy goes to the group's retry topic as an ordinary message.
    """

    def __init__(self, requests: ConsumerRequests, routes: TopicRoutes, group: str, max_reconsume_times: int) -> None:
        self._requests = requests
        self._routes = routes
        self._group = group
        self._max_reconsume_times = max_reconsume_times

    async def take(self, queue: MessageQueue, stored: StoredMessage, delay_level: int | None) -> bool:
        """Send a message back; False when nobody would take it."""
        level = backoff.checked_delay_level(delay_level)
        try:
            await self._send_back(queue, stored, level)
        except (RemotingError, AnswerError) as error:
            logger.warning("%s: message %s was not sent back: %s", queue, stored.msg_id, error)
            return await self.send_copy(queue, stored, level)
        return True

    async def send_copy(self, queue: MessageQueue, stored: StoredMessage, level: int) -> bool:
        """Send a failed message to the retry topic as a new one, which with level -1 ends in the dead letters."""
        try:
            target = await self._target(queue)
            header = self._copy_header(stored, target, level)
            address = self._routes.master_address(target.broker_name)
            if address is None:
                raise ConnectError(f"no route to a master of broker {target.broker_name}")
            await self._requests.send(address, header, stored.body)
        except _CANNOT as error:
            logger.error("%s: message %s failed, and no copy of it could be sent: %s", queue, stored.msg_id, error)  # noqa: TRY400 -- the reason says it all
            return False
        return True

    async def _send_back(self, queue: MessageQueue, stored: StoredMessage, level: int) -> None:
        address = self._routes.master_address(queue.broker_name)
        if address is None:
            raise ConnectError(f"no route to a master of broker {queue.broker_name}")
        header = ConsumerSendMsgBackRequestHeader(
            offset=stored.commit_log_offset,
            group=self._group,
            delay_level=level,
            origin_msg_id=stored.msg_id,
            origin_topic=stored.properties.get(RETRY_TOPIC) or stored.topic,
            unit_mode=False,
            max_reconsume_times=self._max_reconsume_times,
            bname=queue.broker_name,
        )
        await self._requests.send_back(address, header)

    async def _target(self, queue: MessageQueue) -> MessageQueue:
        topic = f"{RETRY_TOPIC_PREFIX}{self._group}"
        try:
            queues = (await self._routes.route(topic)).publish_queues
        except NoRouteError:
            queues = ()
        # A broker makes the retry topic when its first message comes.
        return random.choice(queues) if queues else MessageQueue(topic, queue.broker_name, 0)  # noqa: S311 -- spreads load

    def _copy_header(self, stored: StoredMessage, target: MessageQueue, level: int) -> SendMessageRequestHeader:
        properties = dict(stored.properties)
        for name in (DELAY, RECONSUME_TIME, MAX_RECONSUME_TIMES):
            properties.pop(name, None)
        properties.setdefault(RETRY_TOPIC, stored.topic)
        properties.setdefault(ORIGIN_MESSAGE_ID, stored.offset_msg_id)
        times, most = stored.reconsume_times + 1, self._max_reconsume_times
        if level == backoff.TO_DEAD_LETTERS:
            most = min(most, stored.reconsume_times)  # what a broker takes for one time too many
        elif times <= self._max_reconsume_times:
            # Not on the last copy: releases before 5.x would keep it from the dead letters that long.
            properties[DELAY] = str(backoff.retry_level(stored.reconsume_times, level))
        return SendMessageRequestHeader(
            producer_group=self._group,
            topic=target.topic,
            default_topic=DEFAULT_TOPIC,
            default_topic_queue_nums=_DEFAULT_QUEUES,
            queue_id=target.queue_id,
            sys_flag=stored.sys_flag & (COMPRESSED | COMPRESSION_MASK),
            born_timestamp=stored.born_timestamp_ms or int(time.time() * 1000),
            flag=stored.flag,
            properties=encode_properties(properties),
            reconsume_times=times,
            unit_mode=False,
            max_reconsume_times=most,
            batch=False,
            broker_name=target.broker_name,
        )


class DropWithWord:
    """Broadcasting: there is no queue to come back from."""

    async def take(self, queue: MessageQueue, stored: StoredMessage, delay_level: int | None) -> bool:  # noqa: ARG002 -- there is no delay
        """Give the message up."""
        logger.warning("%s: message %s failed, and broadcasting has no retries", queue, stored.msg_id)
        return True


class TryAgainInOrder:
    """In order: the same message again, here, until it has failed too often."""

    def __init__(self, send_back: SendBack | None, max_reconsume_times: int) -> None:
        self._send_back = send_back
        self._max_reconsume_times = max_reconsume_times

    async def take(self, queue: MessageQueue, stored: StoredMessage, delay_level: int | None) -> bool:
        """Send the message to the dead letters when it is time to, or the caller says so (level -1)."""
        is_last = stored.reconsume_times >= self._max_reconsume_times or delay_level == backoff.TO_DEAD_LETTERS
        if not is_last:
            return False
        if self._send_back is None:
            return await DropWithWord().take(queue, stored, delay_level)
        return await self._send_back.send_copy(queue, stored, backoff.TO_DEAD_LETTERS)
