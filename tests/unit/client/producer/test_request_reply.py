"""Requests that wait for replies."""

import asyncio
import gc

import pytest

from cosmodrome.client.producer.request_reply import Requests
from cosmodrome.errors import ClientClosedError, ReplyTimeoutError
from cosmodrome.protocol.headers.replies import ReplyMessageRequestHeader
from cosmodrome.protocol.messages.properties import CORRELATION_ID, encode_properties


async def test_a_reply_finds_its_request_once() -> None:
    requests = Requests()
    mine, other = requests.expect(), requests.expect()
    header = ReplyMessageRequestHeader(topic="R", properties=encode_properties({CORRELATION_ID: mine}))

    assert requests.on_reply(header, b"first")
    assert requests.on_reply(header, b"second")
    assert (await requests.reply(mine, 5.0, 5.0)).body == b"first"
    requests.forget(mine)
    assert not requests.on_reply(header, b"late")
    with pytest.raises(ReplyTimeoutError):
        await requests.reply(other, 0.0, 5.0)
    requests.forget(other)
    assert len(requests) == 0


async def test_a_request_that_ends_before_anybody_waits_for_its_reply_is_no_fault_of_anybody() -> None:
    """The loop would tell of an exception that nobody asked for."""
    faults: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: faults.append(context))
    requests = Requests()
    waiting = requests.expect()

    requests.fail(ClientClosedError("closed"))
    requests.forget(waiting)
    requests.forget(waiting)
    gc.collect()

    assert faults == []
