"""Shadow mode: every read that we answer is put to another NameServer too, and the answers are compared.

Owns: which requests are reads; the queue between answering and comparing, and every bound on what comparing costs.
Must not know: what makes answers differ (comparison.py); what an answer means.
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from cosmodrome.errors import ConnectError, RemotingError
from cosmodrome.namesrv.events import Publish, ShadowDifference, ShadowSummary
from cosmodrome.namesrv.shadow.tally import Both, Outcome, Question, Report, Tally, question_of
from cosmodrome.protocol.answer_differences import Difference, differences
from cosmodrome.protocol.codes import FLAG_ONEWAY, RequestCode, ResponseCode
from cosmodrome.protocol.command import RemotingCommand
from cosmodrome.transport.client import RemotingClient
from cosmodrome.transport.dispatch import OURSELVES, Answer, Dispatcher, Peer, Processor

logger = logging.getLogger(__name__)

READS: Final = frozenset(
    {
        RequestCode.GET_KV_CONFIG,
        RequestCode.GET_ROUTEINFO_BY_TOPIC,
        RequestCode.GET_BROKER_CLUSTER_INFO,
        RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER,
        RequestCode.GET_KVLIST_BY_NAMESPACE,
        RequestCode.GET_TOPICS_BY_CLUSTER,
        RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_NS,
        RequestCode.GET_UNIT_TOPIC_LIST,
        RequestCode.GET_HAS_UNIT_SUB_TOPIC_LIST,
        RequestCode.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST,
        RequestCode.GET_BROKER_MEMBER_GROUP,
    }
)
"""Requests that change nothing and mean the same on every NameServer. Not 322, which renews a broker's liveness."""

MARK: Final = "__SHADOW"
"""A header field of requests that come from a shadow: they are answered, not put to anybody else. Java ignores it."""

# Answers that only say that there is none now.
_NO_ANSWER: Final = frozenset({ResponseCode.SYSTEM_BUSY, ResponseCode.GO_AWAY})


@dataclass(frozen=True, slots=True, kw_only=True)
class ShadowLimits:
    """What shadow mode may take up.

    Attributes:
        in_flight: Questions to the other server at any moment.
        queued: Reads that wait to be compared; further ones are dropped.
        queued_bytes: Requests and bodies that wait.
        question_bytes: The largest request that is put to the other server; names are far shorter.
        second_looks: Different questions that wait to be asked again.
        timeout_s: How long the other server has for an answer.
        second_look_s: After how long what differs is asked again. Both servers look for silent brokers every 5 s.
        pause_s: How long nothing is asked after the other server could not be reached.
        summary_s: Time between two summaries.
        share: Part of the event loop's time that comparing may take.
        ask_cost_s: What one question costs the event loop besides comparing, measured.
        large_bytes: Bodies from this size on, of both answers together, are compared in a thread.
    """

    in_flight: int = 8
    queued: int = 1000
    queued_bytes: int = 16 * 1024 * 1024
    question_bytes: int = 4096
    second_looks: int = 200
    timeout_s: float = 3.0
    second_look_s: float = 6.0
    pause_s: float = 1.0
    summary_s: float = 60.0
    share: float = 0.1
    ask_cost_s: float = 0.000_2
    large_bytes: int = 32 * 1024


_LIMITS: Final = ShadowLimits()
_NO_FIELDS: Final[Mapping[str, str | None]] = {}
# Waiting for less is not worth a timer.
_SHORTEST_REST_S: Final = 0.01


class _Read(NamedTuple):
    """A read to compare. Without an answer it is a second look: both servers are asked."""

    request: RemotingCommand
    answer: RemotingCommand | None
    size: int = 0


class _ObservedDispatcher(Dispatcher):
    """A dispatcher whose answers to reads, refusals among them, are shown to somebody before they are sent."""

    def __init__(
        self, processors: Mapping[int, Processor], observe: Callable[[RemotingCommand, Answer], Answer]
    ) -> None:
        super().__init__(processors)
        self._observe = observe

    def dispatch(self, request: RemotingCommand, peer: Peer) -> Answer:
        """As Dispatcher."""
        answer = super().dispatch(request, peer)
        if request.code in READS and not self.is_draining:
            return self._observe(request, answer)
        return answer

    def answer_again(self, request: RemotingCommand) -> Answer:
        """Answer as things are now, unobserved; in events the peer is called `shadow`."""
        return self._answered(request, Peer(OURSELVES, "shadow"))


class Shadow:
    """Compares our answers with those of the NameServer at `other`.

    Answering pays for one look at the request and one append. Everything else happens in a fixed number of tasks that
    rest as soon as they have had their share of the time. What differs is asked again once, of both, a short while
    later: brokers register with the two servers at different moments.

    Args:
        other: The other server, `host:port`.
        client: Reaches it; closed by `stop`.
        processors: Make our answers.
        publish: Told of differences and of summaries.
        limits: What this may take up.
    """

    def __init__(
        self,
        other: str,
        client: RemotingClient,
        processors: Mapping[int, Processor],
        publish: Publish,
        limits: ShadowLimits = _LIMITS,
    ) -> None:
        self.dispatcher: Final = _ObservedDispatcher(processors, self._observe)
        self._other = other
        self._client = client
        self._publish = publish
        self._limits = limits
        self._tally = Tally(time.time())
        self._queue: deque[_Read] = deque()
        self._queued_bytes = 0
        self._is_filled = False
        self._filled = asyncio.Event()
        self._turn = asyncio.Lock()
        self._second_looks: dict[Question, int] = {}
        self._paid_until_s = 0.0
        self._work: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to compare. What was answered before is in the queue already."""
        self._work = asyncio.ensure_future(self._compare_all())

    async def stop(self) -> None:
        """Compare no more, and publish a last summary. May be called again."""
        if self._work is None:
            return
        work, self._work = self._work, None
        work.cancel()
        await asyncio.wait({work})
        await self._client.close()
        self._tally.give_up()
        self._summarise()

    def report(self) -> Report:
        """Give everything found so far."""
        return self._tally.report(self._other, time.time())

    def _observe(self, request: RemotingCommand, answer: Answer) -> Answer:
        """Take note of an answer that is about to be sent, and give it back. This is what shadow mode costs a client."""
        fields = request.ext_fields or _NO_FIELDS
        if request.flag & FLAG_ONEWAY or MARK in fields:
            return answer
        if not isinstance(answer, RemotingCommand):
            return self._observe_later(request, answer)
        if answer.code == ResponseCode.NO_PERMISSION:  # by our policy, which the other one has not
            return answer
        limits, tally = self._limits, self._tally
        tally.reads += 1
        if len(self._queue) >= limits.queued:
            tally.turned_away += 1
            return answer
        question_bytes = len(request.body)
        for name in fields:
            question_bytes += len(name) + len(fields[name] or "")
        size = question_bytes + len(answer.body)
        if question_bytes > limits.question_bytes or self._queued_bytes + size > limits.queued_bytes:
            tally.turned_away += 1
            return answer
        self._queued_bytes += size
        self._queue.append(_Read(request, answer, size))
        if not self._is_filled:
            self._wake()
        return answer

    async def _observe_later(self, request: RemotingCommand, answer: Awaitable[RemotingCommand]) -> RemotingCommand:
        settled = await answer
        self._observe(request, settled)
        return settled

    def _wake(self) -> None:
        self._is_filled = True
        self._filled.set()

    async def _next_read(self) -> _Read:
        """Wait until there is a read, and until more work is our due; one task at a time does."""
        async with self._turn:
            await self._rest()
            while not self._queue:
                self._is_filled = False
                self._filled.clear()
                await self._filled.wait()
            read = self._queue.popleft()
        self._queued_bytes -= read.size
        return read

    async def _compare_all(self) -> None:
        async with asyncio.TaskGroup() as group:
            for _ in range(self._limits.in_flight):
                group.create_task(self._compare_queued())
            group.create_task(self._summarise_regularly())

    async def _compare_queued(self) -> None:
        while True:
            read = await self._next_read()
            try:
                await self._compare_one(read)
            except Exception:
                logger.exception("request %d could not be compared", read.request.code)
                self._settle(read, Outcome.FAILED)

    async def _compare_one(self, read: _Read) -> None:
        theirs = await self._ask_other(read.request)
        if theirs is None:
            self._settle(read, Outcome.FAILED)
            return
        both = Both(read.answer or await self._ask_ourselves(read.request), theirs)
        found = await self._differences(both)
        if not found:
            self._settle(read, Outcome.SAME)
        elif read.answer is not None:
            self._look_again_later(read.request)
        else:
            self._report_difference(read, both, found)

    async def _ask_other(self, request: RemotingCommand) -> RemotingCommand | None:
        marked = request.replaced(ext_fields={**(request.ext_fields or {}), MARK: "true"})
        try:
            theirs = await self._client.request(self._other, marked, self._limits.timeout_s)
        except RemotingError as error:
            self._tally.last_failure = str(error)
            if isinstance(error, ConnectError):
                self._pause()
            return None
        self._pay(self._limits.ask_cost_s)
        if theirs.code in _NO_ANSWER:
            self._tally.last_failure = f"{self._other} answered {theirs.code} {theirs.remark or ''}".rstrip()
            return None
        return theirs

    async def _ask_ourselves(self, request: RemotingCommand) -> RemotingCommand:
        answer = self.dispatcher.answer_again(request)
        return answer if isinstance(answer, RemotingCommand) else await answer

    async def _differences(self, both: Both) -> list[Difference]:
        begin_s = time.perf_counter()
        if both.ours.body == both.theirs.body or len(both.ours.body) + len(both.theirs.body) < self._limits.large_bytes:
            found = differences(*both)
        else:
            found = await asyncio.to_thread(differences, *both)
        self._pay(time.perf_counter() - begin_s)
        return found

    def _look_again_later(self, request: RemotingCommand) -> None:
        """Ask again in a while; reads with the same question meanwhile get the outcome of that."""
        question = question_of(request)
        if question in self._second_looks:
            self._second_looks[question] += 1
        elif len(self._second_looks) < self._limits.second_looks:
            self._second_looks[question] = 1
            asyncio.get_running_loop().call_later(self._limits.second_look_s, self._look_again, request)
        else:
            self._tally.count(Outcome.DROPPED)

    def _look_again(self, request: RemotingCommand) -> None:
        read = _Read(request, None)
        if len(self._queue) >= self._limits.queued:
            self._settle(read, Outcome.DROPPED)
        elif self._work is not None:
            self._queue.append(read)
            self._wake()

    def _settle(self, read: _Read, outcome: Outcome) -> None:
        """Count an outcome; that of a second look is also that of the reads that waited for it."""
        reads = self._second_looks.pop(question_of(read.request), 0) if read.answer is None else 1
        self._tally.count(outcome, reads)

    def _report_difference(self, read: _Read, both: Both, found: list[Difference]) -> None:
        self._settle(read, Outcome.DIFFERENT)
        self._tally.keep(read.request, both, found, time.time())
        question = str(question_of(read.request))
        where = tuple(each.where for each in found)
        self._publish(ShadowDifference(code=read.request.code, question=question, where=where, other=self._other))

    async def _summarise_regularly(self) -> None:
        while True:
            await asyncio.sleep(self._limits.summary_s)
            self._summarise()

    def _summarise(self) -> None:
        report = self.report()
        self._publish(
            ShadowSummary(
                other=self._other,
                reads=report.reads,
                same=report.same,
                different=report.different,
                dropped=report.dropped,
                failed=report.failed,
                last_failure=report.last_failure,
            )
        )

    def _pay(self, cost_s: float) -> None:
        """Put off further work until what this cost is only our share of the time."""
        now_s = asyncio.get_running_loop().time()
        self._paid_until_s = max(self._paid_until_s, now_s) + cost_s / self._limits.share

    def _pause(self) -> None:
        """Leave a server alone for a while that could not be reached."""
        self._paid_until_s = max(self._paid_until_s, asyncio.get_running_loop().time() + self._limits.pause_s)

    async def _rest(self) -> None:
        left_s = self._paid_until_s - asyncio.get_running_loop().time()
        if left_s > _SHORTEST_REST_S:
            await asyncio.sleep(left_s)
