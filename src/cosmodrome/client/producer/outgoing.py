"""A message as it goes out: its properties text, its flags, its body compressed or not.

Owns: what a producer adds to a message; the checks of its size; message ids and the month that they count from.
Must not know: where it goes; connections.
"""

import os
import secrets
import time
from collections.abc import Mapping
from datetime import datetime
from typing import Final

from cosmodrome.client.message import Message
from cosmodrome.client.producer.settings import COMPRESSIONS, ProducerSettings
from cosmodrome.protocol.messages import checks
from cosmodrome.protocol.messages import properties as names
from cosmodrome.protocol.messages.compression import compress
from cosmodrome.protocol.messages.ids import UniqueIds
from cosmodrome.protocol.messages.sys_flag import compressed
from cosmodrome.protocol.send_template import Content

SURELY_FITS: Final = names.MAX_PROPERTIES_BYTES // 4
"""Characters that have no more bytes than properties may have, whatever they are."""
OVERHEAD_BYTES: Final = 1024
"""About what an open send holds beside its texts."""
_FIRST_DAY: Final = 1
_REMEMBERED_TOPICS: Final = 10_000


class Outgoing(Content, gc=False):
    """One request to be sent: a message, or a batch of them. The same in every try.

    Attributes:
        topic: As it travels.
        msg_id: The id, of a batch all of them with commas.
        is_reply: Whether it goes to a requester, past the queues.
    """

    topic: str
    msg_id: str
    is_batch: bool = False
    is_reply: bool = False

    @property
    def size(self) -> int:
        """About how many bytes are held until it is answered."""
        return len(self.body) + len(self.properties) + OVERHEAD_BYTES


class MessageIds:
    """Ids of the messages of one producer."""

    __slots__ = ("_ids", "_month_end_ms", "_month_start_ms")

    def __init__(self, ip: str) -> None:
        self._ids = UniqueIds(ip, os.getpid(), secrets.randbits(32))
        self._month_start_ms = self._month_end_ms = 0

    def next(self, now_ms: int) -> str:
        """Give an id."""
        if not self._month_start_ms <= now_ms < self._month_end_ms:
            self._month_start_ms, self._month_end_ms = month_around(now_ms)
        return self._ids.next(now_ms, self._month_start_ms)


class Preparer:
    """Makes requests of messages, by one producer's settings."""

    def __init__(self, settings: ProducerSettings, ids: MessageIds) -> None:
        self._ids = ids
        self._max_bytes = settings.max_message_bytes
        over = settings.compress_over_bytes
        self.compress_over_bytes = settings.max_message_bytes + 1 if over is None else over
        """From this size on bodies are compressed."""
        self._compression = COMPRESSIONS[settings.compression]
        self._level = settings.compression_level
        self._wrap = settings.wrap if settings.namespace else None
        self._topics: dict[str, str] = {}
        instance = f"{names.INSTANCE_ID}\x01{settings.namespace}\x02" if settings.namespace else ""
        self._wait, self._no_wait = f"WAIT\x01true\x02{instance}", f"WAIT\x01false\x02{instance}"

    def prepared(self, message: Message, extra: Mapping[str, str] | None = None) -> Outgoing:
        """Check a message and make its request, with more properties if given; the body is not compressed yet.

        Raises:
            MessageError: The topic, the body or the properties cannot be sent.
        """
        topic, body = message.topic, message.body
        if not body or len(body) > self._max_bytes:
            checks.check_body(body, self._max_bytes)
        checked = self._topics.get(topic)
        if checked is None:
            checked = self.wire_topic(topic)
        text, msg_id = self.properties_of(message, extra)
        if len(text) > SURELY_FITS:
            checks.check_properties_length(text)
        return Outgoing(body, text, 0, message.flag, checked, msg_id)

    def wire_topic(self, topic: str) -> str:
        """Give the name of a topic as it travels.

        Raises:
            MessageError: No broker accepts it.
        """
        checks.check_topic_is_open(topic)
        wire = topic if self._wrap is None else self._wrap(topic)
        checks.check_topic(wire)
        if len(self._topics) < _REMEMBERED_TOPICS:
            self._topics[topic] = wire
        return wire

    def properties_of(self, message: Message, extra: Mapping[str, str] | None = None) -> tuple[str, str]:
        """Give the properties text of a message, and its id. All texts were checked when the message was made."""
        msg_id = message.msg_id or self._ids.next(time.time_ns() // 1_000_000)
        text = f"UNIQ_KEY\x01{msg_id}\x02{self._wait if message.wait_for_store else self._no_wait}"
        if message.tag is not None:
            text += f"TAGS\x01{message.tag}\x02"
        if message.keys:
            text += f"KEYS\x01{' '.join(message.keys)}\x02"
        if message.sharding_key is not None:
            text += f"__SHARDINGKEY\x01{message.sharding_key}\x02"
        if message.delay_level or message.delay is not None or message.deliver_at is not None:
            text += "{}\x01{}\x02".format(*message.delay_property() or ())
        if message.properties:
            text += "".join([f"{name}\x01{value}\x02" for name, value in message.properties.items()])
        if extra:
            text += "".join([f"{name}\x01{value}\x02" for name, value in extra.items()])
        return text, msg_id

    def wants_compression(self, outgoing: Outgoing) -> bool:
        """Tell whether a body is large enough to be compressed."""
        return len(outgoing.body) >= self.compress_over_bytes and not outgoing.is_batch

    def compress(self, outgoing: Outgoing) -> None:
        """Compress the body, unless that makes it no smaller. Takes time: of megabytes a tenth of a second.

        Raises:
            MissingLibraryError: The codec's library is not installed.
        """
        body = compress(outgoing.body, self._compression, self._level)
        if len(body) < len(outgoing.body):
            outgoing.body = body
            outgoing.sys_flag = compressed(outgoing.sys_flag, self._compression)


def month_around(now_ms: int) -> tuple[int, int]:
    """Give when the month of a moment began and when it ends, by local time."""
    now = datetime.fromtimestamp(now_ms / 1000).astimezone()
    first = datetime(now.year, now.month, _FIRST_DAY).astimezone()
    year, month = (now.year + 1, 1) if now.month == 12 else (now.year, now.month + 1)
    following = datetime(year, month, _FIRST_DAY).astimezone()
    return int(first.timestamp() * 1000), int(following.timestamp() * 1000)
