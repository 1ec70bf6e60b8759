"""Objects as Java's toString() writes them, which mqadmin prints.

Owns: these texts; the order of the entries of a HashMap.
Must not know: when they are printed.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from cosmodrome.client.message import MessageQueue, MessageView, SendResult
from cosmodrome.protocol.bodies.consumer_running_info import ConsumeMessageDirectlyResult
from cosmodrome.protocol.messages.hosts import Host
from cosmodrome.protocol.messages.properties import TRAN_MSG, UNIQ_KEY
from cosmodrome.protocol.messages.record import HEADS, StoredMessage
from cosmodrome.protocol.messages.sys_flag import BORN_HOST_V6, STORE_HOST_V6
from cosmodrome.shown_text import shown

_TABLE_SIZE: Final = 128
"""Of the map into which Java's clients read properties."""
_WORD: Final = 0xFFFFFFFF
_LENGTHS_BYTES: Final = 2
"""Of the length of the properties, behind that of the topic."""


def queue_text(queue: MessageQueue) -> str:
    """Write a MessageQueue."""
    return f"MessageQueue [topic={queue.topic}, brokerName={queue.broker_name}, queueId={queue.queue_id}]"


def map_text(entries: Mapping[str, str]) -> str:
    """Write a HashMap, in the order in which Java goes through the one of a message."""
    inner = ", ".join(f"{name}={entries[name]}" for name in hash_order(entries))
    return f"{{{inner}}}"


def hash_order(names: Iterable[str]) -> list[str]:
    """Sort by the buckets of Java's HashMap, and in a bucket as they came."""
    listed = list(names)
    size = _TABLE_SIZE
    while len(listed) > size * 3 // 4:
        size *= 2
    return sorted(listed, key=lambda name: _bucket(name, size))


def message_text(message: MessageView, properties: Mapping[str, str], body: bytes) -> str:
    """Write a MessageExt with these properties; `body` is inflated."""
    stored = message.stored
    transaction_id = properties.get(UNIQ_KEY) if properties.get(TRAN_MSG) == "true" else None
    inner = (
        f"Message{{topic='{stored.topic}', flag={stored.flag}, properties={map_text(properties)}, "
        f"body=[{', '.join(map(str, _signed(body)))}], transactionId='{_java(transaction_id)}'}}"
    )
    return shown(
        f"MessageExt [brokerName={message.queue.broker_name}, queueId={stored.queue_id}, "
        f"storeSize={store_size(stored)}, queueOffset={stored.queue_offset}, sysFlag={stored.sys_flag}, "
        f"bornTimestamp={stored.born_timestamp_ms}, bornHost=/{host_text(stored.born_host)}, "
        f"storeTimestamp={stored.store_timestamp_ms}, storeHost=/{host_text(stored.store_host)}, "
        f"msgId={stored.offset_msg_id}, commitLogOffset={stored.commit_log_offset}, bodyCRC={stored.body_crc}, "
        f"reconsumeTimes={stored.reconsume_times}, "
        f"preparedTransactionOffset={stored.prepared_transaction_offset}, toString()={inner}]"
    )


def store_size(stored: StoredMessage) -> int:
    """Give how many bytes of the log a record takes."""
    head = HEADS[stored.sys_flag & (BORN_HOST_V6 | STORE_HOST_V6)].size
    topic = (2 if stored.is_v2 else 1) + len(stored.topic.encode())
    return head + len(stored.body) + topic + _LENGTHS_BYTES + len(stored.properties_bytes)


def host_text(host: Host) -> str:
    """Write an address as Java does: an IPv6 one in full, without leading zeros."""
    if ":" not in host.ip:
        return str(host)
    import ipaddress  # noqa: PLC0415  # few brokers have such addresses

    groups = ipaddress.IPv6Address(host.ip).exploded.split(":")
    return f"[{':'.join(f'{int(group, 16):x}' for group in groups)}]:{host.port}"


def result_text(result: SendResult) -> str:
    """Write a SendResult."""
    return (
        f"SendResult [sendStatus={send_status(result)}, msgId={result.msg_id}, offsetMsgId={result.offset_msg_id}, "
        f"messageQueue={queue_text(result.queue)}, queueOffset={result.queue_offset}, "
        f"recallHandle={_java(result.recall_handle)}]"
    )


def send_status(result: SendResult) -> str:
    """Write a SendStatus."""
    return "SEND_OK" if result.status.name == "OK" else result.status.name


def direct_result_text(result: ConsumeMessageDirectlyResult) -> str:
    """Write a ConsumeMessageDirectlyResult."""
    outcome = None if result.consume_result is None else result.consume_result.name
    return shown(
        f"ConsumeMessageDirectlyResult [order={_java(result.order)}, autoCommit={_java(result.auto_commit)}, "
        f"consumeResult={_java(outcome)}, remark={_java(result.remark)}, spentTimeMills={result.spent_time_mills}]"
    )


def _java(value: Any) -> str:
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _bucket(name: str, size: int) -> int:
    code = 0
    units = name.encode("utf-16-be", "surrogatepass")
    for high, low in zip(units[::2], units[1::2], strict=True):
        code = (31 * code + (high << 8 | low)) & _WORD
    return (code ^ code >> 16) & (size - 1)


def _signed(body: bytes) -> Iterable[int]:
    return (byte - 256 if byte > 127 else byte for byte in body)  # a byte of Java's has a sign
