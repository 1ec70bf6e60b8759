"""Batches: several messages of one topic in one request.

Owns: which messages may travel together; where a long list is cut.
Must not know: how a batch is sent.
"""

from collections.abc import Sequence
from typing import NamedTuple

from cosmodrome.client.message import Message
from cosmodrome.client.producer.outgoing import Outgoing, Preparer
from cosmodrome.errors import MessageError
from cosmodrome.protocol.messages.batch import BatchEntry, encode_batch, split_batch
from cosmodrome.protocol.messages.checks import RETRY_PREFIX, check_body, check_properties_length


class Batch(NamedTuple):
    """Messages that fit into one request. `first` is the place of the first one in the list that was cut."""

    first: int
    messages: tuple[Message, ...]


def prepared_batch(preparer: Preparer, messages: Sequence[Message] | Batch, max_bytes: int) -> Outgoing:
    """Check messages and make one request of them.

    Raises:
        MessageError: There is none, or one that cannot be in this batch; it names the index.
    """
    batch = messages if isinstance(messages, Batch) else Batch(0, tuple(messages))
    if not batch.messages:
        raise MessageError("a batch without a message")
    entries, ids = _entries(preparer, batch, max_bytes)
    total = sum(entry.encoded_bytes for entry in entries)
    if total > max_bytes:
        index = batch.first if len(entries) == 1 else None
        raise MessageError(f"the batch has {total} bytes, of at most {max_bytes}: use split_batch", index)
    head = batch.messages[0]
    wait = f"WAIT\x01{'true' if head.wait_for_store else 'false'}\x02"
    topic = preparer.wire_topic(head.topic)
    return Outgoing(encode_batch(entries), wait, 0, 0, topic, ",".join(ids), is_batch=True)


def split(preparer: Preparer, messages: Sequence[Message], max_bytes: int) -> list[Batch]:
    """Cut messages, in their order, into batches of at most `max_bytes` as they are encoded.

    One that is larger by itself is alone in its batch, which is refused when it is sent.

    Raises:
        MessageError: One cannot be in a batch; it names the index.
    """
    entries, _ = _entries(preparer, Batch(0, tuple(messages)), None)
    batches: list[Batch] = []
    first = 0
    for piece in split_batch(entries, max_bytes):
        batches.append(Batch(first, tuple(messages[first : first + len(piece)])))
        first += len(piece)
    return batches


def _entries(preparer: Preparer, batch: Batch, max_bytes: int | None) -> tuple[list[BatchEntry], list[str]]:
    head = batch.messages[0] if batch.messages else None
    entries: list[BatchEntry] = []
    ids: list[str] = []
    for index, message in enumerate(batch.messages, start=batch.first):
        _check_company(message, head, index)
        text, msg_id = preparer.properties_of(message)
        try:
            check_body(message.body, len(message.body) if max_bytes is None else max_bytes)
            properties = check_properties_length(text)
        except MessageError as error:
            raise MessageError(str(error), index, code=error.code) from None
        entries.append(BatchEntry(message.body, properties, message.flag))
        ids.append(msg_id)
    return entries, ids


def _check_company(message: Message, head: Message | None, index: int) -> None:
    if not isinstance(message, Message):
        raise MessageError(f"of type {type(message).__name__}, not Message", index)
    if message.topic.startswith(RETRY_PREFIX):
        raise MessageError("a retry topic takes no batches", index)
    if message.is_delayed:
        raise MessageError("a delayed message cannot be in a batch: brokers do not delay it", index)
    if head is not None and message.topic != head.topic:
        raise MessageError(f"the topic is {message.topic}, not {head.topic} as of the first one", index)
    if head is not None and message.wait_for_store != head.wait_for_store:
        raise MessageError("wait_for_store differs from that of the first one", index)
