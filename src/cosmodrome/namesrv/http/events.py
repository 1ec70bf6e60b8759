"""What happened: as a stream, and as a history.

Owns: /api/v1/events (server-sent events) and /api/v1/history: their parameters, how a stream is resumed and ends.
Must not know: which events there are; how they are kept.

A stream holds one number and the piece that is being sent. While its reader is slow nothing is read for it, and what
leaves the history meanwhile is told as a gap.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from http import HTTPStatus
from typing import Any, Final, Protocol

import msgspec
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from cosmodrome.http.operations import Asked, Parameter, get
from cosmodrome.http.paging import NUMBERED, page_of
from cosmodrome.http.parameters import TIMES, number_of, patterns_of, time_of
from cosmodrome.http.problems import Problem
from cosmodrome.namesrv.event_filter import EventFilter
from cosmodrome.namesrv.event_form import event_form, gap_form, rfc3339
from cosmodrome.namesrv.event_history import EventHistory
from cosmodrome.protocol.codes import RequestCode

MOST_STREAMS: Final = 64
"""Of 200 connections; probes and scrapes must get in."""
KEEP_ALIVE_S: Final = 15.0
_RETRY_MS: Final = 2000
_PIECE_EVENTS: Final = 200
_PIECE_BYTES: Final = 64 * 1024


_PATTERNS: Final = {"type": "string"}
_CHOSEN: Final = (
    Parameter(
        name="type",
        meaning="names (broker.expiring), families (broker) or patterns; several between commas, or given again",
        schema=_PATTERNS,
    ),
    Parameter(name="topic", meaning="only what is about these topics: names or patterns (order-*)", schema=_PATTERNS),
    Parameter(name="broker", meaning="only what is about these brokers: names or patterns", schema=_PATTERNS),
)
_AFTER: Final = Parameter(
    name="after",
    meaning="begin after the event with this event_id; 0 is all that is kept. The header Last-Event-ID goes before",
    schema={"type": "integer", "minimum": 0},
)


class History(msgspec.Struct, frozen=True, kw_only=True):
    """Events, the oldest first. `oldest` is when the oldest one that is kept was; `is_whole`: it was the first of this run."""

    items: list[dict[str, Any]]
    next_cursor: str | None
    oldest: str | None
    is_whole: bool


class HasHistory(Protocol):
    """What is asked of a server."""

    @property
    def history(self) -> EventHistory:
        """What happened."""


class Events:
    """Answers what happened; a stream is kept alive with a comment every `keep_alive_s` seconds."""

    def __init__(self, view: HasHistory, keep_alive_s: float = KEEP_ALIVE_S) -> None:
        self._history = view.history
        self._keep_alive_s = keep_alive_s

    @get(
        "/api/v1/events",
        answers=dict[str, Any],
        query=(*_CHOSEN, _AFTER),
        like=RequestCode.GET_NAMESRV_CONFIG,
        media_type="text/event-stream",
        problems={HTTPStatus.SERVICE_UNAVAILABLE: "too many streams are read, or the server is stopping"},
    )
    async def events(self, asked: Asked) -> object:
        """Events as they happen (server-sent events), from now on, or after `Last-Event-ID`.

        Nothing is left out without an event `gap` that says so. The names are those of the log, see reference/events.md.
        """
        request = asked.request
        wanted = filter_of(request)
        header = request.headers.get("last-event-id") or request.query_params.get("after") or ""
        after = number_of(header, "Last-Event-ID") if header else self._history.newest
        if after == 0:
            after = self._history.before_first
        if self._history.is_ended:
            raise Problem(HTTPStatus.SERVICE_UNAVAILABLE, "draining", "the server is stopping")
        if self._history.reader_count >= MOST_STREAMS:
            detail = f"{MOST_STREAMS} streams of events are read already"
            raise Problem(
                HTTPStatus.SERVICE_UNAVAILABLE, "too_many_streams", detail, "close one, or read /api/v1/history"
            )
        news = asyncio.Event()
        stop = self._history.listen(news.set)
        return _Stream(self._stream(after, wanted, news), stop)

    @get(
        "/api/v1/history",
        answers=History,
        query=(*TIMES, *_CHOSEN, *NUMBERED),
        like=RequestCode.GET_NAMESRV_CONFIG,
    )
    async def history(self, asked: Asked) -> object:
        """Events of a time, the oldest first, a page at a time; the last 10,000 are kept."""
        request = asked.request
        wanted, page = filter_of(request), page_of(request)
        since, until = time_of(request, "from") or 0.0, time_of(request, "to")
        after = number_of(page.cursor, "cursor") if page.cursor else self._history.oldest - 1
        items: list[dict[str, Any]] = []
        while after < self._history.newest and len(items) <= page.limit:
            part = self._history.after(after, _PIECE_EVENTS)
            for record in part.records:
                is_then = since <= record.time_s and (until is None or record.time_s <= until)
                topics = wanted.topics_of(record) if is_then else None
                if topics is not None:
                    items.append(event_form(record, topics))
            after = part.last
            await asyncio.sleep(0)
        shown = items[: page.limit]
        oldest = next(iter(self._history), None)
        return History(
            items=shown,
            next_cursor=str(shown[-1]["event_id"]) if len(items) > page.limit else None,
            oldest=None if oldest is None else rfc3339(oldest.time_s),
            is_whole=self._history.is_whole,
        )

    async def _stream(self, after: int, wanted: EventFilter, news: asyncio.Event) -> AsyncIterator[bytes]:
        yield f": events\nretry: {_RETRY_MS}\nid: {after}\n\n".encode()
        while True:
            news.clear()
            is_last = self._history.is_ended
            while after != self._history.newest:
                after, data = self._piece(after, wanted)
                if data:
                    yield data
                await asyncio.sleep(0)
            if is_last:
                return
            try:
                async with asyncio.timeout(self._keep_alive_s):
                    await news.wait()
            except TimeoutError:
                yield f": alive\nid: {after}\n\n".encode()

    def _piece(self, after: int, wanted: EventFilter) -> tuple[int, bytes]:
        """Give what to send next of what came after a number, and the number that it reaches to."""
        part = self._history.after(after, _PIECE_EVENTS)
        sent: list[bytes] = [] if part.lost is None else [_message(gap_form(part.lost))]
        size = 0
        for record in part.records:
            topics = wanted.topics_of(record)
            if topics is not None:
                sent.append(_message(event_form(record, topics)))
                size += len(sent[-1])
            if size > _PIECE_BYTES:
                return record.number, b"".join(sent)
        return part.last, b"".join(sent)


class _Stream(StreamingResponse):
    """A stream that says when it ended, whoever ended it."""

    def __init__(self, content: AsyncIterator[bytes], on_end: Callable[[], None]) -> None:
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        super().__init__(content, media_type="text/event-stream", headers=headers)
        self._on_end = on_end

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._on_end()


def filter_of(request: Request) -> EventFilter:
    """Read `type`, `topic` and `broker`.

    Raises:
        Problem: They are too many, or too long.
    """
    return EventFilter(*(patterns_of(request, name) for name in ("type", "topic", "broker")))


def _message(form: dict[str, Any]) -> bytes:
    return b"event: %b\nid: %d\ndata: %b\n\n" % (form["event"].encode(), form["event_id"], msgspec.json.encode(form))
