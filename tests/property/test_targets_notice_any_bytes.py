"""The fuzz targets notice: with a fault planted, one of their first inputs shows it."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any
from unittest import mock

import pytest
from fuzz.seeds import seeds
from fuzz.targets import TARGETS
from fuzz.virtual_loop import NothingToDoError, VirtualLoop
from msgspec import structs

from cosmodrome.namesrv.processors.broker import BrokerProcessor
from cosmodrome.protocol import header_binary, header_json
from cosmodrome.protocol.command import RemotingCommand, encode_command
from cosmodrome.protocol.frame import FrameDecoder
from cosmodrome.protocol.greeting import Greeting, recognise
from cosmodrome.protocol.header import Header
from cosmodrome.protocol.json_keys import object_keyed
from cosmodrome.protocol.messages import batch, compression, properties, record
from cosmodrome.protocol.messages.batch import BatchEntry
from cosmodrome.protocol.messages.record import StoredMessage


def after(function: Callable[..., Any], change: Callable[..., Any]) -> Callable[..., Any]:
    """Give a function that changes what another one gives; `change` sees that, and what was asked."""
    return lambda *args, **how: change(function(*args, **how), *args)


def without_every_third(encoded: bytes, answer: RemotingCommand) -> bytes:
    return b"" if answer.opaque % 3 == 2 else encoded


def twice(encoded: bytes, _: RemotingCommand) -> bytes:
    return encoded * 2


def to_another(_: bytes, answer: RemotingCommand) -> bytes:
    return encode_command(answer.replaced(opaque=answer.opaque + 1))


def in_the_other_codec(_: bytes, answer: RemotingCommand) -> bytes:
    return encode_command(answer.replaced(serialize_type=type(answer.serialize_type)(1 - answer.serialize_type)))


def forgetful(self: FrameDecoder, data: bytes) -> None:
    self._buffer, self._offset = data, 0


def leaky(self: BrokerProcessor, *asked: Any) -> Any:
    self._tables.delete_topic("T1", None)
    return MEMBER_GROUP(self, *asked)


def with_a_remark(header: Header) -> bytes:
    return ENCODE_BINARY(header.replaced(remark="x"))


def too_early(data: bytes) -> Greeting | None:
    return recognise(data) or Greeting.REMOTING


def with_another_opaque(encoded: bytes, _: Header) -> bytes:
    return encoded.replace(b'"opaque":', b'"opaque":1')


def without_the_last_entry(entries: list[BatchEntry], _: bytes) -> list[BatchEntry]:
    return entries[:-1]


def with_the_first_of_a_name(found: dict[str, str], text: str) -> dict[str, str]:
    first = dict(reversed([entry.split("\1") for entry in text.split("\2") if entry.count("\1") == 1]))
    return {name: first[name] for name in found}


def of_another_queue(records: list[StoredMessage], _: bytes) -> list[StoredMessage]:
    return [structs.replace(record, queue_id=record.queue_id + 1) for record in records]


MEMBER_GROUP = BrokerProcessor.get_broker_member_group
ENCODE_BINARY = header_binary.encode_header
WRITE = "cosmodrome.transport.connection.encode_command"
FEED = "cosmodrome.protocol.frame.FrameDecoder.feed"
FAULTS = {
    "an answer is missing": ("connection", WRITE, after(encode_command, without_every_third)),
    "an answer comes twice": ("connection", WRITE, after(encode_command, twice)),
    "an answer is another's": ("connection", WRITE, after(encode_command, to_another)),
    "an answer in the other codec": ("connection", WRITE, after(encode_command, in_the_other_codec)),
    "bytes are lost": ("frame_decoder", FEED, forgetful),
    "bytes are lost below a connection": ("connection", FEED, forgetful),
    "a KV entry is not on disk": (
        "connection", "cosmodrome.namesrv.kv_config.encode_kv_file", lambda _: b'{"configTable":{}}',
    ),
    "a question forgets a topic": (
        "requests", "cosmodrome.namesrv.processors.broker.BrokerProcessor.get_broker_member_group", leaky,
    ),
    "JSON headers lose the opaque": (
        "json_header", "cosmodrome.protocol.header_json.encode_header",
        after(header_json.encode_header, with_another_opaque),
    ),
    "binary headers have another remark": (
        "binary_header", "cosmodrome.protocol.header_binary.encode_header", with_a_remark,
    ),
    "a greeting is decided too early": ("greeting", "cosmodrome.transport.entrance.recognise", too_early),
    "a page says another length": (
        "port_page", "cosmodrome.transport.port_pages._wire",
        lambda *_, **__: b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\nConnection: close\r\n\r\nok",
    ),
    "topics lose their names": (
        "registration_body", "cosmodrome.protocol.bodies.text_table.intern", lambda _: "",
    ),
    "values are not escaped": (
        "properties_file", "cosmodrome.namesrv.properties.escape_value", lambda value: value,
    ),
    "records are of another queue": (
        "store_records", "fuzz.targets.messages.decode_records", after(record.decode_records, of_another_queue),
    ),
    "a batch loses a message": (
        "batch_body", "fuzz.targets.messages.decode_batch", after(batch.decode_batch, without_the_last_entry),
    ),
    "of two properties of a name the first counts": (
        "message_properties", "fuzz.targets.messages.decode_properties",
        after(properties.decode_properties, with_the_first_of_a_name),
    ),
    "there is no ceiling": (
        "compressed_body", "fuzz.targets.messages.inflate",
        lambda body, flag, _ceiling=0: compression.inflate(body, flag, 100_000),
    ),
    "a map with objects as keys loses an entry": (
        "broker_bodies", "cosmodrome.protocol.json_structs.object_keyed",
        lambda members: object_keyed(list(members)[1:]),
    ),
    "NOT of a filter is no opposite": (
        "sql_filter", "cosmodrome.broker.filters.expressions._inverse", lambda inner: inner,
    ),
    "every signature fits": ("acl_signature", "hmac.compare_digest", lambda _one, _other: True),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(fault: str) -> None:
    target, place, wrong = FAULTS[fault]
    with mock.patch(place, wrong), pytest.raises(AssertionError):
        _try_all(target)


def _try_all(target: str) -> None:
    for data in seeds(target):
        TARGETS[target](data)


def test_a_virtual_loop_says_when_everything_waits() -> None:
    loop = VirtualLoop()
    with pytest.raises(NothingToDoError):
        loop.run_until_complete(loop.create_future())
    loop.close()


def test_a_virtual_loop_tells_what_failed_unseen() -> None:
    async def fail() -> None:
        raise LookupError

    async def main(*, is_seen: bool) -> None:
        task = loop.create_task(fail())
        with suppress(LookupError):
            await (task if is_seen else loop.create_task(_nothing()))

    async def _nothing() -> None:
        return

    for is_seen, failures in ((True, []), (False, ["LookupError()"])):
        loop = VirtualLoop()
        loop.run_until_complete(main(is_seen=is_seen))
        assert loop.failures() == failures
        loop.close()
