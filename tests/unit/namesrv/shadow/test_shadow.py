"""What shadow mode asks, when it counts, and what it leaves alone; the other server is one in this process."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from cosmodrome.errors import RequestRefusedError
from cosmodrome.namesrv.events import Event, ShadowDifference, ShadowSummary
from cosmodrome.namesrv.shadow.shadow import MARK, READS, Shadow, ShadowLimits
from cosmodrome.namesrv.shadow.tally import Report
from cosmodrome.protocol.codes import FLAG_ONEWAY, RequestCode
from cosmodrome.protocol.command import RemotingCommand, request, response_to
from cosmodrome.protocol.frame import Frame, FrameDecoder
from cosmodrome.transport.client import RemotingClient
from cosmodrome.transport.dispatch import Answer, Dispatcher, Peer, Processor
from cosmodrome.transport.server import ListenOptions, RemotingServer

ROUTE = RequestCode.GET_ROUTEINFO_BY_TOPIC
PEER = Peer(1, "10.0.0.9:1")
NOBODY = "127.0.0.1:1"
QUICK = ShadowLimits(second_look_s=0.05, pause_s=0.05, timeout_s=5, share=1)


def replying(body: bytes, code: int = 0) -> Processor:
    return lambda command, _: response_to(command, code, None, None, body)


def ask(topic: str = "T", **header: Any) -> RemotingCommand:
    return request(ROUTE, {"topic": topic}).replaced(**header)


class Other:
    """Another NameServer: what it was asked, and what it answers."""

    def __init__(self) -> None:
        self.asked: list[RemotingCommand] = []
        self.reply: Processor = replying(b"{}")
        self.address = ""

    def answer(self, command: RemotingCommand, peer: Peer) -> Answer:
        self.asked.append(command)
        return self.reply(command, peer)


@pytest.fixture
async def other() -> AsyncIterator[Other]:
    other = Other()
    server = RemotingServer(Dispatcher(dict.fromkeys(READS, other.answer)), ListenOptions(host="127.0.0.1", port=0))
    await server.start()
    other.address = server.address
    yield other
    await server.close()


@pytest.fixture
def events() -> list[Event]:
    return []


@pytest.fixture
def shadowing(other: Other, events: list[Event]) -> Callable[..., Any]:
    """Run a shadow of the other server for as long as `async with` lasts."""

    @asynccontextmanager
    async def run(ours: Processor, limits: ShadowLimits = QUICK, address: str | None = None) -> AsyncIterator[Shadow]:
        processors = dict.fromkeys(map(int, [*READS, RequestCode.QUERY_DATA_VERSION]), ours)
        shadow = Shadow(address or other.address, RemotingClient(), processors, events.append, limits)
        shadow.start()
        yield shadow
        await shadow.stop()

    return run


@asynccontextmanager
async def black_hole() -> AsyncIterator[tuple[str, list[Frame]]]:
    """Listen and never answer; gives the address, and the frames that came."""
    frames: list[Frame] = []

    async def swallow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        decoder = FrameDecoder()
        while data := await reader.read(65536):
            decoder.feed(data)
            while (frame := decoder.next_frame()) is not None:
                frames.append(frame)
        writer.close()

    async with await asyncio.start_server(swallow, "127.0.0.1", 0) as server:
        host, port = server.sockets[0].getsockname()
        yield f"{host}:{port}", frames


async def until(claim: Callable[[], bool]) -> None:
    """Wait for something that the event loop does."""
    async with asyncio.timeout(20):
        while not claim():  # noqa: ASYNC110  # a count goes up, nothing is signalled
            await asyncio.sleep(0.002)


async def settled(shadow: Shadow) -> Report:
    await until(lambda: shadow.report().pending == 0)
    return shadow.report()


class TestOutcomes:
    async def test_the_same_answer(self, shadowing: Callable[..., Any], events: list[Event]) -> None:
        async with shadowing(replying(b"{}")) as shadow:
            answer = shadow.dispatcher.dispatch(ask(), PEER)
            report = await settled(shadow)

        assert answer == response_to(ask(), 0, None, None, b"{}")
        assert (report.reads, report.same, report.different) == (1, 1, 0)
        assert [type(event) for event in events] == [ShadowSummary]

    async def test_a_difference_counts_when_it_is_there_twice(
        self, shadowing: Callable[..., Any], other: Other, events: list[Event]
    ) -> None:
        async with shadowing(replying(b'{"ours":1}')) as shadow:
            shadow.dispatcher.dispatch(ask(), PEER)
            report = await settled(shadow)

        assert (report.same, report.different, len(other.asked)) == (0, 1, 2)
        (found,) = report.differences
        assert (found.ours.body, found.theirs.body) == ({"ours": 1}, {})
        assert events[0] == ShadowDifference(code=105, question="topic=T", where=("body.ours",), other=other.address)

    async def test_a_difference_that_goes_away_is_none(self, shadowing: Callable[..., Any], other: Other) -> None:
        answers = iter([b'{"old":1}', b'{"new":1}', b'{"new":1}'])

        def ours(command: RemotingCommand, peer: Peer) -> Answer:
            return replying(next(answers))(command, peer)

        other.reply = replying(b'{"new":1}')
        async with shadowing(ours) as shadow:
            shadow.dispatcher.dispatch(ask(), PEER)
            report = await settled(shadow)

        assert (report.same, report.different, len(other.asked)) == (1, 0, 2)

    async def test_reads_of_one_question_wait_for_one_second_look(
        self, shadowing: Callable[..., Any], other: Other
    ) -> None:
        async with shadowing(replying(b"[]"), replace(QUICK, second_look_s=0.5)) as shadow:
            for _ in range(5):
                shadow.dispatcher.dispatch(ask(), PEER)
            report = await settled(shadow)

        assert (report.different, len(other.asked), len(report.differences)) == (5, 6, 1)

    async def test_a_refusal_is_an_answer(self, shadowing: Callable[..., Any], other: Other) -> None:
        def refuse(_: RemotingCommand, __: Peer) -> Answer:
            raise RequestRefusedError(17, "no such topic")

        other.reply = refuse
        async with shadowing(refuse) as shadow:
            assert shadow.dispatcher.dispatch(ask(), PEER).code == 17
            assert (await settled(shadow)).same == 1

    async def test_what_our_policy_refuses_is_nobody_else_s_affair(
        self, shadowing: Callable[..., Any], other: Other
    ) -> None:
        async with shadowing(replying(b"", code=16)) as shadow:
            shadow.dispatcher.dispatch(ask(), PEER)
            assert (await settled(shadow)).reads == 0
        assert other.asked == []

    async def test_an_answer_that_comes_later_is_compared_too(self, shadowing: Callable[..., Any]) -> None:
        async def later(command: RemotingCommand) -> RemotingCommand:
            await asyncio.sleep(0)
            return response_to(command, 0, None, None, b"[]")

        async with shadowing(lambda command, _: later(command)) as shadow:
            answer = shadow.dispatcher.dispatch(ask(), PEER)
            assert isinstance(answer, Awaitable)
            assert (await answer).body == b"[]"
            assert (await settled(shadow)).different == 1

    async def test_large_answers_are_compared_as_well(self, shadowing: Callable[..., Any], other: Other) -> None:
        body = b'{"topicList":["a","b"]}'
        other.reply = replying(b'{"topicList":["b","a"]}')
        async with shadowing(replying(body), replace(QUICK, large_bytes=10)) as shadow:
            shadow.dispatcher.dispatch(ask(), PEER)
            assert (await settled(shadow)).same == 1


class TestQuestions:
    async def test_the_other_server_gets_the_very_question_and_a_mark(
        self, shadowing: Callable[..., Any], other: Other
    ) -> None:
        async with shadowing(replying(b"{}")) as shadow:
            shadow.dispatcher.dispatch(ask(version=63, flag=0), PEER)
            shadow.dispatcher.dispatch(RemotingCommand(RequestCode.GET_BROKER_CLUSTER_INFO), PEER)
            await settled(shadow)

        first = next(each for each in other.asked if each.code == ROUTE)
        assert first.ext_fields == {"topic": "T", MARK: "true"}
        assert first.version == 63
        assert {each.code for each in other.asked} == {105, 106}

    @pytest.mark.parametrize(
        "command",
        [
            RemotingCommand(RequestCode.QUERY_DATA_VERSION, ext_fields={"topic": "T"}),
            RemotingCommand(ROUTE, flag=FLAG_ONEWAY, ext_fields={"topic": "T"}),
            RemotingCommand(ROUTE, ext_fields={"topic": "T", MARK: "true"}),
            RemotingCommand(999),
        ],
        ids=["not a read", "nobody waits", "from a shadow", "unknown"],
    )
    async def test_what_is_not_asked(self, shadowing: Callable[..., Any], command: RemotingCommand) -> None:
        async with shadowing(replying(b"{}")) as shadow:
            shadow.dispatcher.dispatch(command, PEER)
            assert shadow.report().reads == 0

    async def test_nothing_is_asked_while_clients_are_sent_away(self, shadowing: Callable[..., Any]) -> None:
        async with shadowing(replying(b"{}")) as shadow:
            shadow.dispatcher.drain()
            shadow.dispatcher.dispatch(ask(), PEER)
            assert shadow.report().reads == 0


class TestFailures:
    async def test_a_server_that_is_down_is_left_alone_for_a_while(self, shadowing: Callable[..., Any]) -> None:
        async with shadowing(replying(b"{}"), replace(QUICK, pause_s=60), NOBODY) as shadow:
            for _ in range(50):
                shadow.dispatcher.dispatch(ask(), PEER)
            await until(lambda: shadow.report().failed > 0)

            report = shadow.report()
            assert report.failed <= QUICK.in_flight
            assert "cannot connect to 127.0.0.1:1" in (report.last_failure or "")
        assert shadow.report().dropped == 50 - report.failed

    async def test_it_is_asked_again_after_the_pause(self, shadowing: Callable[..., Any], other: Other) -> None:
        async with shadowing(replying(b"{}"), address=NOBODY) as shadow:
            for _ in range(50):
                shadow.dispatcher.dispatch(ask(), PEER)
            assert (await settled(shadow)).failed == 50

    @pytest.mark.parametrize(("code", "text"), [(2, "answered 2"), (1500, "answered 1500")])
    async def test_busy_is_no_answer(self, shadowing: Callable[..., Any], other: Other, code: int, text: str) -> None:
        other.reply = replying(b"", code)
        async with shadowing(replying(b"{}")) as shadow:
            shadow.dispatcher.dispatch(ask(), PEER)
            report = await settled(shadow)

        assert report.failed == 1
        assert text in (report.last_failure or "")

    async def test_silence_fails_in_time(self, shadowing: Callable[..., Any]) -> None:
        async with (
            black_hole() as (address, _),
            shadowing(replying(b"{}"), replace(QUICK, timeout_s=0.05, in_flight=3, queued=4), address) as shadow,
        ):
            for number in range(10):
                shadow.dispatcher.dispatch(ask(f"T{number}"), PEER)
            assert shadow.report().dropped == 6
            report = await settled(shadow)

        assert report.failed == 4
        assert "did not answer" in (report.last_failure or "")

    async def test_a_slow_server_is_compared_at_its_own_pace(self, shadowing: Callable[..., Any], other: Other) -> None:
        async def slowly(command: RemotingCommand) -> RemotingCommand:
            await asyncio.sleep(0.01)
            return response_to(command, 0, None, None, b"{}")

        other.reply = lambda command, _: slowly(command)
        async with shadowing(replying(b"{}"), replace(QUICK, queued=20)) as shadow:
            for _ in range(50):
                shadow.dispatcher.dispatch(ask(), PEER)
            report = await settled(shadow)

        assert (report.same, report.dropped, report.failed) == (20, 30, 0)

    async def test_a_bug_costs_one_read(
        self, shadowing: Callable[..., Any], other: Other, caplog: pytest.LogCaptureFixture
    ) -> None:
        """A document nested too deeply to be walked."""
        deep = 900
        other.reply = replying(b"[" * deep + b'"a"' + b"]" * deep)
        async with shadowing(replying(b"[" * deep + b'"b"' + b"]" * deep)) as shadow:
            shadow.dispatcher.dispatch(ask(), PEER)
            assert (await settled(shadow)).failed == 1
            other.reply = replying(b"[]")
            shadow.dispatcher.dispatch(ask(), PEER)
            await settled(shadow)

        assert "could not be compared" in caplog.text


class TestBounds:
    async def test_no_more_are_under_way_than_may_be(self, shadowing: Callable[..., Any]) -> None:
        async with (
            black_hole() as (address, asked),
            shadowing(replying(b"{}"), replace(QUICK, timeout_s=60, in_flight=3), address) as shadow,
        ):
            for number in range(10):
                shadow.dispatcher.dispatch(ask(f"T{number}"), PEER)
            await until(lambda: len(asked) == 3)
            assert shadow.report().pending == 10
        assert len(asked) == 3

    async def test_more_than_may_wait_are_dropped_at_once(self, shadowing: Callable[..., Any]) -> None:
        async with shadowing(replying(b"x" * 1000), replace(QUICK, queued=10_000, queued_bytes=5000)) as shadow:
            for _ in range(20):
                shadow.dispatcher.dispatch(ask(), PEER)
            assert shadow.report().dropped == 16

    async def test_a_huge_question_is_not_kept(self, shadowing: Callable[..., Any]) -> None:
        async with shadowing(replying(b"")) as shadow:
            shadow.dispatcher.dispatch(ask("x" * 5000), PEER)
            shadow.dispatcher.dispatch(ask(body=b"x" * 5000), PEER)
            assert shadow.report().dropped == 2

    async def test_second_looks_are_bounded(self, shadowing: Callable[..., Any]) -> None:
        async with shadowing(replying(b"[]"), replace(QUICK, second_looks=2)) as shadow:
            for number in range(5):
                shadow.dispatcher.dispatch(ask(f"T{number}"), PEER)
            report = await settled(shadow)

        assert (report.different, report.dropped) == (2, 3)

    async def test_a_second_look_that_finds_no_place_is_dropped(
        self, shadowing: Callable[..., Any], other: Other
    ) -> None:
        async with shadowing(replying(b"[]"), replace(QUICK, queued=1, in_flight=1)) as shadow:
            shadow.dispatcher.dispatch(ask("differs"), PEER)
            await until(lambda: len(other.asked) == 1)
            never: asyncio.Future[RemotingCommand] = asyncio.get_running_loop().create_future()
            other.reply = lambda _, __: never
            shadow.dispatcher.dispatch(ask("hangs"), PEER)
            await until(lambda: len(other.asked) == 2)
            shadow.dispatcher.dispatch(ask("waits"), PEER)
            await until(lambda: shadow.report().dropped == 1)
            never.cancel()

    async def test_it_takes_its_share_of_the_time_and_no_more(self, shadowing: Callable[..., Any]) -> None:
        """Each question is charged a tenth of a second, of which it may have half: five a second."""
        limits = replace(QUICK, share=0.5, ask_cost_s=0.1, in_flight=1)
        async with shadowing(replying(b"{}"), limits) as shadow:
            begin_s = asyncio.get_running_loop().time()
            for _ in range(4):
                shadow.dispatcher.dispatch(ask(), PEER)
            await settled(shadow)
            assert asyncio.get_running_loop().time() - begin_s >= 3 * 0.2


class TestLife:
    async def test_summaries_come_regularly(self, shadowing: Callable[..., Any], events: list[Event]) -> None:
        async with shadowing(replying(b"{}"), replace(QUICK, summary_s=0.02)):
            await until(lambda: len(events) >= 3)

        assert {type(event) for event in events} == {ShadowSummary}

    async def test_the_last_summary_leaves_nothing_open(
        self, shadowing: Callable[..., Any], events: list[Event]
    ) -> None:
        async with shadowing(replying(b"[]"), replace(QUICK, second_look_s=0.01, share=0.01)) as shadow:
            for number in range(20):
                shadow.dispatcher.dispatch(ask(f"T{number}"), PEER)
        await shadow.stop()

        (summary,) = (event for event in events if isinstance(event, ShadowSummary))
        assert summary.reads == summary.same + summary.different + summary.dropped + summary.failed == 20

    async def test_one_that_was_never_started_is_stopped_in_peace(self, other: Other, events: list[Event]) -> None:
        shadow = Shadow(other.address, RemotingClient(), {}, events.append)

        await shadow.stop()

        assert events == []

    async def test_a_second_look_due_after_the_end_is_none(self, shadowing: Callable[..., Any], other: Other) -> None:
        async with shadowing(replying(b"[]"), replace(QUICK, second_look_s=0.1)) as shadow:
            shadow.dispatcher.dispatch(ask(), PEER)
            await until(lambda: len(other.asked) == 1)
        end_s = asyncio.get_running_loop().time() + 0.2
        await until(lambda: asyncio.get_running_loop().time() >= end_s)

        assert len(other.asked) == 1
        assert shadow.report().pending == 0
