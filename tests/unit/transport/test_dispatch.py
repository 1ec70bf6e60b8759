"""Which processor serves a code, and what a peer is told when it fails."""

import asyncio
import gc
import logging
import weakref
from collections.abc import Awaitable, Callable

import pytest
from tests.support.builders import PEER

from cosmodrome.errors import BodyLimitError, MalformedBodyError, RequestRefusedError, StorageDoubtError, StorageError
from cosmodrome.protocol.codes import SerializeType
from cosmodrome.protocol.command import RemotingCommand, response_to
from cosmodrome.transport.dispatch import (
    INTERNAL,
    LONGEST_REMARK,
    STORAGE,
    UNKNOWN_CODE,
    Answer,
    Dispatcher,
    Fault,
    Peer,
    Processor,
)

REQUEST = RemotingCommand(105, opaque=7, version=513, serialize_type=SerializeType.ROCKETMQ)

FAILURES: list[tuple[Exception, int, str, dict[str, str] | None]] = [
    (RequestRefusedError(17, "no such topic"), 17, "no such topic", None),
    (RequestRefusedError(22, "none", {}), 22, "none", {}),
    (MalformedBodyError("a text does not end"), 1, "a text does not end", None),
    (StorageError("cannot write /secret/path."), 1, "the change could not be stored and was not made", None),
    (ZeroDivisionError("secret"), 1, "internal error, see the server's log", None),
    (StorageDoubtError("cannot make /secret/path safe."), 1, StorageDoubtError.REMARK, None),
]


def failing(error: Exception) -> Processor:
    def fail(_: RemotingCommand, __: Peer) -> Answer:
        raise error

    return fail


def failing_later(error: Exception) -> Processor:
    async def fail(_: RemotingCommand) -> RemotingCommand:
        raise error

    return lambda request, _: fail(request)


async def answer_of(answer: Answer) -> RemotingCommand:
    return answer if isinstance(answer, RemotingCommand) else await answer


async def test_a_processor_gets_the_request_and_who_sent_it() -> None:
    seen: list[tuple[RemotingCommand, Peer]] = []

    def processor(request: RemotingCommand, peer: Peer) -> Answer:
        seen.append((request, peer))
        return response_to(request, 0)

    answer = Dispatcher({105: processor}).dispatch(REQUEST, PEER)

    assert seen == [(REQUEST, PEER)]
    assert answer == response_to(REQUEST, 0)


async def test_an_unknown_code() -> None:
    """The remark begins with a blank, as in Java."""
    answer = await answer_of(Dispatcher({}).dispatch(REQUEST, PEER))

    assert (answer.code, answer.remark) == (3, " request type 105 not supported")
    assert (answer.opaque, answer.flag, answer.serialize_type) == (7, 1, SerializeType.ROCKETMQ)


@pytest.mark.parametrize(("error", "code", "remark", "ext"), FAILURES)
@pytest.mark.parametrize("make", [failing, failing_later])
async def test_a_failure_is_an_answer(
    make: Callable[[Exception], Processor], error: Exception, code: int, remark: str, ext: dict[str, str] | None
) -> None:
    """Nothing of a traceback, nothing of what is inside."""
    answer = await answer_of(Dispatcher({105: make(error)}).dispatch(REQUEST, PEER))

    assert (answer.code, answer.remark, answer.ext_fields) == (code, remark, ext)
    assert (answer.opaque, answer.flag, answer.body) == (7, 1, b"")


@pytest.mark.parametrize(("error", "logged"), [(FAILURES[0][0], 0), (FAILURES[2][0], 0), (FAILURES[4][0], 1)])
def test_only_what_was_not_foreseen_is_logged_with_a_traceback(
    error: Exception, logged: int, caplog: pytest.LogCaptureFixture
) -> None:
    Dispatcher({105: failing(error)}).dispatch(REQUEST, PEER)

    assert [record.levelno for record in caplog.records] == [logging.ERROR] * logged
    assert all(record.exc_info for record in caplog.records)


@pytest.mark.parametrize(
    ("error", "fault"),
    [
        (RequestRefusedError(17, "no such topic", is_fault=False), None),
        (RequestRefusedError(1, "brokerName is null", cause="missing"), ("missing", "brokerName is null")),
        (MalformedBodyError("a text does not end"), ("malformed_body", "a text does not end")),
        (BodyLimitError("more than 3 topics"), ("over_limit", "more than 3 topics")),
        (StorageError("cannot write kv.json."), (STORAGE, "cannot write kv.json.")),
    ],
)
def test_faults_are_told(error: Exception, fault: tuple[str, str] | None, caplog: pytest.LogCaptureFixture) -> None:
    """With a cause that is counted; an ordinary no is no fault. What was told is not logged again."""
    told: list[Fault] = []
    dispatcher = Dispatcher({105: failing(error)})
    dispatcher.on_fault = told.append
    dispatcher.dispatch(REQUEST, PEER)
    dispatcher.dispatch(REQUEST.replaced(code=999), PEER)

    assert told.pop() == Fault(PEER, REQUEST.replaced(code=999), UNKNOWN_CODE, "request type 999 not supported")
    assert told == ([] if fault is None else [Fault(PEER, REQUEST, *fault)])
    assert not caplog.records


def test_a_bug_of_ours_is_told_too() -> None:
    told: list[Fault] = []
    dispatcher = Dispatcher({105: failing(ZeroDivisionError("secret"))})
    dispatcher.on_fault = told.append

    dispatcher.dispatch(REQUEST, PEER)

    assert told == [Fault(PEER, REQUEST, INTERNAL, "ZeroDivisionError, see the traceback")]


@pytest.mark.parametrize("error", [RequestRefusedError(1, "x" * 1000), MalformedBodyError("x" * 1000)])
def test_refusals_are_short(error: Exception) -> None:
    answer = Dispatcher({105: failing(error)}).dispatch(REQUEST, PEER)

    assert isinstance(answer, RemotingCommand)
    assert answer.remark is not None
    assert len(answer.remark) < LONGEST_REMARK


def test_a_no_may_repeat_the_question() -> None:
    error = RequestRefusedError(22, "No config item, Namespace: " + "x" * 1000, is_fault=False)

    answer = Dispatcher({105: failing(error)}).dispatch(REQUEST, PEER)

    assert isinstance(answer, RemotingCommand)
    assert answer.remark == error.remark


@pytest.mark.parametrize(("version", "code"), [(475, 0), (476, 1500), (513, 1500)])
async def test_draining_sends_newer_clients_away(version: int, code: int) -> None:
    """Those above 5.3.1 understand it; the others are served."""
    dispatcher = Dispatcher({105: lambda request, _: response_to(request, 0)})
    dispatcher.drain()

    answer = await answer_of(dispatcher.dispatch(REQUEST.replaced(version=version), PEER))

    assert answer.code == code
    assert answer.remark == ("please go away" if code else None)


async def test_a_processor_that_waits() -> None:
    async def later(request: RemotingCommand) -> RemotingCommand:
        return response_to(request, 0, "waited")

    answer = Dispatcher({105: lambda request, _: later(request)}).dispatch(REQUEST, PEER)

    assert isinstance(answer, Awaitable)
    assert (await answer).remark == "waited"


def test_processors_are_those_of_the_beginning() -> None:
    table: dict[int, Processor] = {}
    dispatcher = Dispatcher(table)
    table[105] = failing(ZeroDivisionError())

    answer = dispatcher.dispatch(REQUEST, PEER)

    assert isinstance(answer, RemotingCommand)
    assert answer.code == 3


@pytest.mark.parametrize("error", [RequestRefusedError(1, "no"), RequestRefusedError(22, "none", is_fault=False)])
async def test_what_a_failing_function_held_is_freed_at_once(error: Exception) -> None:
    """A waiting request's future holds the error: its frames must not hold a body until cycles are looked for."""

    class Body:
        """Megabytes."""

    bodies: list[weakref.ref[Body]] = []
    future: asyncio.Future[RemotingCommand] = asyncio.get_running_loop().create_future()

    def read() -> None:
        body, held_by_a_frame = Body(), future
        bodies.append(weakref.ref(body))
        try:
            int("T")
        except ValueError as cause:
            raise error from cause
        finally:
            assert held_by_a_frame

    try:
        read()
    except type(error) as raised:
        future.set_exception(raised)
    gc.disable()
    try:
        await answer_of(Dispatcher({105: lambda *_: future}).dispatch(REQUEST, PEER))
        assert bodies[0]() is None
    finally:
        gc.enable()


async def test_a_request_is_in_flight_while_its_answer_is_worked_on() -> None:
    release = asyncio.Event()

    async def waiting(request: RemotingCommand) -> RemotingCommand:
        await release.wait()
        return response_to(request, 0)

    dispatcher = Dispatcher({105: lambda request, _: waiting(request), 106: lambda request, _: response_to(request, 0)})
    answer = asyncio.ensure_future(answer_of(dispatcher.dispatch(REQUEST, PEER)))
    await asyncio.sleep(0)
    assert dispatcher.in_flight_count == 1
    release.set()
    await answer
    assert dispatcher.in_flight_count == 0

    cancelled = asyncio.ensure_future(answer_of(dispatcher.dispatch(REQUEST, PEER)))
    release.clear()
    await asyncio.sleep(0)
    cancelled.cancel()
    await asyncio.gather(cancelled, return_exceptions=True)
    assert dispatcher.in_flight_count == 0
