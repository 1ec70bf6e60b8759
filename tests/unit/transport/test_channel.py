"""One connection that we opened."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from tests.support import wire
from tests.support.builders import eventually

from cosmodrome.errors import ConnectError, RequestTimeoutError
from cosmodrome.protocol.command import RemotingCommand, encode_command, request
from cosmodrome.protocol.send_answer import SendAnswer
from cosmodrome.transport.channel import Channel, Links, Waiter


class Pipe(asyncio.Transport):
    """A transport that keeps what is written, one entry for each write."""

    def __init__(self) -> None:
        super().__init__()
        self.writes: list[bytes] = []
        self.is_closed = False

    def write(self, data: Any) -> None:
        self.writes.append(bytes(data))

    def is_closing(self) -> bool:
        return self.is_closed

    def close(self) -> None:
        self.is_closed = True

    abort = close


class Line:
    """A channel on a pipe."""

    def __init__(self, links: Links | None = None, idle_limit_s: float = 60) -> None:
        self.lost: list[Channel] = []
        self.pipe = Pipe()
        self.channel = Channel("peer:1", idle_limit_s, links or Links(), self.lost.append)
        self.channel.connection_made(self.pipe)

    def ask(self, code: int = 10, body: bytes = b"", timeout_s: float = 60, sender: object = None) -> Waiter:
        opaque = self.channel.next_opaque()
        frame = encode_command(request(code, None, body, opaque=opaque))
        return self.channel.ask(opaque, frame, asyncio.get_running_loop().time() + timeout_s, sender)

    def requests(self) -> list[wire.Answer]:
        answers, rest = wire.split(b"".join(self.pipe.writes))
        assert rest == b""
        return answers

    def hear(self, opaque: int, flag: int = 1, code: int = 0) -> None:
        self.channel.data_received(wire.encode_request(code, None, b"heard", opaque=opaque, flag=flag))


@pytest.fixture
async def new_line() -> AsyncIterator[Callable[..., Line]]:
    lines: list[Line] = []

    def make(*arguments: Any, **values: Any) -> Line:
        lines.append(Line(*arguments, **values))
        return lines[-1]

    yield make
    for line in lines:
        line.channel.connection_lost(None)
        for waiter in [*line.channel._exchange.abandon()]:
            waiter.cancel()


NewLine = Callable[..., Line]
STORED = {"queueId": "1", "queueOffset": "22", "msgId": "ABC"}


async def test_what_one_turn_sends_leaves_in_one_write(new_line: NewLine) -> None:
    line = new_line()
    waiters = [line.ask(number) for number in range(10)]
    assert line.pipe.writes == []
    await asyncio.sleep(0)
    assert len(line.pipe.writes) == 1
    assert [asked.code for asked in line.requests()] == list(range(10))
    for asked in reversed(line.requests()):
        line.hear(asked.opaque)
    assert [(await waiter).opaque for waiter in waiters] == [asked.opaque for asked in line.requests()]


async def test_much_is_written_at_once_in_order_and_big_frames_alone(new_line: NewLine) -> None:
    line = new_line()
    waiters = [line.ask(1), line.ask(2, bytes(1_000_000)), line.ask(3)]
    assert [len(each) > 1_000_000 for each in line.pipe.writes] == [False, True]
    await asyncio.sleep(0)
    assert len(line.pipe.writes) == 3
    assert [asked.code for asked in line.requests()] == [1, 2, 3]
    for waiter in waiters:
        waiter.cancel()


async def test_an_answer_that_does_not_come_in_time(new_line: NewLine) -> None:
    line = new_line()
    late, patient = line.ask(timeout_s=0.05), line.ask()
    with pytest.raises(RequestTimeoutError, match="peer:1"):
        await late
    assert not patient.done()
    first, second = line.requests()
    line.hear(first.opaque)
    line.hear(second.opaque)
    answer = await patient
    assert isinstance(answer, RemotingCommand)
    assert answer.body == b"heard"


async def test_one_that_is_forgotten_is_dropped(new_line: NewLine) -> None:
    line = new_line()
    waiter = line.ask()
    await asyncio.sleep(0)
    line.channel.forget(line.requests()[0].opaque)
    line.hear(line.requests()[0].opaque)
    assert not waiter.done()
    waiter.cancel()


async def test_a_break_ends_what_waits_and_who_wants_to_write(new_line: NewLine) -> None:
    closed: list[str] = []
    line = new_line(Links(on_closed=closed.append))
    waiter = line.ask()
    line.channel.pause_writing()
    writing = asyncio.ensure_future(line.channel.wait_writable())
    await asyncio.sleep(0)
    line.channel.connection_lost(None)
    for each in (waiter, writing):
        with pytest.raises(ConnectError, match="peer:1 broke"):
            await each
    assert (line.lost, closed) == ([line.channel], ["peer:1"])
    assert not line.channel.is_writable
    with pytest.raises(ConnectError):
        line.channel.tell(request(15, is_oneway=True))
    line.channel.answer(RemotingCommand(0))
    line.channel.close()
    line.channel.abort()


async def test_a_question_on_a_connection_that_has_ended_ends_at_once(new_line: NewLine) -> None:
    """Whoever waited for the connection may get it a turn after it broke; nothing would ever end the wait for an answer."""
    line = new_line()
    line.ask()
    line.channel.connection_lost(None)
    with pytest.raises(ConnectError, match="peer:1 broke"):
        await asyncio.wait_for(line.ask(timeout_s=0.01), 5)


async def test_closing_writes_what_waits_first(new_line: NewLine) -> None:
    line = new_line()
    line.channel.tell(request(15, {"a": "b"}, is_oneway=True))
    line.channel.close()
    assert [asked.flag for asked in line.requests()] == [2]
    assert line.pipe.is_closed
    assert not line.channel.is_writable
    with pytest.raises(ConnectError):
        await line.channel.wait_writable()
    line.channel.resume_writing()
    assert not line.channel.is_writable


async def test_writing_goes_on_when_the_peer_reads(new_line: NewLine) -> None:
    line = new_line()
    await line.channel.wait_writable()
    line.channel.pause_writing()
    writers = [asyncio.ensure_future(line.channel.wait_writable()) for _ in range(3)]
    await asyncio.sleep(0)
    writers[0].cancel()
    line.channel.resume_writing()
    assert await asyncio.gather(*writers[1:]) == [None, None]


async def test_requests_of_the_peer_go_to_the_owner(new_line: NewLine) -> None:
    asked: list[RemotingCommand] = []

    def take(channel: Channel, command: RemotingCommand) -> None:
        asked.append(command)
        channel.answer(RemotingCommand(0, command.opaque, 1, body=b"answer"))

    line = new_line(Links(on_request=take))
    line.hear(7, flag=0, code=307)
    await asyncio.sleep(0)
    assert [each.code for each in asked] == [307]
    assert [(each.opaque, each.flag, each.body) for each in line.requests()] == [(7, 1, b"answer")]


async def test_commands_are_prepared_and_frames_are_not(new_line: NewLine) -> None:
    line = new_line(Links(prepare=lambda command: command.replaced(ext_fields={"signed": str(command.opaque)})))
    asking = asyncio.ensure_future(line.channel.request(request(34), 60))
    await asyncio.sleep(0)
    line.channel.tell(request(15, is_oneway=True))
    line.channel.tell_frame(encode_command(request(10, {"raw": "1"}, is_oneway=True)))
    await eventually(lambda: len(line.requests()) == 3, "the requests")
    first, second, third = line.requests()
    assert (first.ext, second.ext, third.ext) == (
        {"signed": str(first.opaque)},
        {"signed": str(second.opaque)},
        {"raw": "1"},
    )
    line.hear(first.opaque)
    assert (await asking).body == b"heard"


async def test_bytes_that_are_no_frame_end_it(new_line: NewLine) -> None:
    line = new_line()
    line.channel.data_received(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    assert line.pipe.is_closed


async def test_idleness_is_looked_for_also_while_requests_come_and_go(new_line: NewLine) -> None:
    line = new_line(idle_limit_s=0.3)
    waiter = line.ask()
    await asyncio.sleep(0)
    line.hear(line.requests()[0].opaque)
    await waiter
    await eventually(lambda: line.pipe.is_closed, "the idle close")


async def test_answers_of_one_read_to_sends_and_to_others(new_line: NewLine) -> None:
    """In one read: those to sends are read the quick way, up to what is not one, and again after it."""
    line = new_line()
    first, second, third = line.ask(310, sender=line), line.ask(310, sender=line), line.ask(310, sender=line)
    other = asyncio.ensure_future(line.channel.request(request(310), 60))
    await eventually(lambda: len(line.requests()) == 4, "the requests")
    answers = [
        wire.encode_request(0, STORED, b"", opaque=first_opaque, flag=1)
        for first_opaque in (asked.opaque for asked in line.requests())
    ]
    answers[1] = wire.encode_request(14, None, b"", opaque=line.requests()[1].opaque, flag=1)
    whole = b"".join(answers)
    line.channel.data_received(whole[:-5])
    line.channel.data_received(whole[-5:])
    one, refused, another = await first, await second, await third
    assert isinstance(one, SendAnswer)
    assert isinstance(another, SendAnswer)
    assert isinstance(refused, RemotingCommand)
    assert (one.command().ext_fields, another.ext_fields.msg_id, refused.code) == (STORED, "ABC", 14)
    plain = await other
    assert isinstance(plain, RemotingCommand)
    assert plain.ext_fields == STORED


async def test_a_sender_that_is_closed_ends_its_own_sends(new_line: NewLine) -> None:
    line = new_line()
    sender, other = object(), object()
    mine, his, nobodys = line.ask(sender=sender), line.ask(sender=other), line.ask()
    given_up = line.ask(sender=sender)
    given_up.cancel()
    line.channel.abandon(sender)
    with pytest.raises(ConnectError, match="the producer was closed"):
        await mine
    await asyncio.sleep(0)
    for asked in line.requests():
        line.hear(asked.opaque)
    assert {(await waiter).opaque for waiter in (his, nobodys)} == {1, 2}
