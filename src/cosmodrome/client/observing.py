"""Watching what clients do: for metrics, for spans, for whatever a program wants to know.

Owns: what observers are told, and when; that one that fails harms nothing but itself.
Must not know: what is done with it.
"""

import contextlib
import logging
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, Literal

import msgspec

from cosmodrome.client.message import Message, ReceivedMessage, SendResult

logger = logging.getLogger(__name__)

Ended = Callable[[], None]
"""Called when what an observer was told of has ended, in the same task or thread."""


class ObservedSend(msgspec.Struct, kw_only=True):
    """A call that sends, as a program sees it: all its tries together.

    Attributes:
        operation: Which call.
        group: The producer group.
        client_id: By which brokers know the client.
        messages: What is sent. While `sending` runs it may be replaced, message by message, by copies with more
            properties (`message.replaced(properties=...)`); topics and bodies stay.
        result: What the broker said, once it did; of `send_oneway` always None.
        error: What was raised instead.
    """

    operation: Literal["send", "send_oneway", "send_batch", "send_transaction", "request", "reply"]
    group: str
    client_id: str
    messages: tuple[Message, ...]
    result: SendResult | None = None
    error: BaseException | None = None


class ObservedReceive(msgspec.Struct, kw_only=True):
    """A wait for messages: the next step of an iteration, or a poll. Handlers are called and receive nothing.

    Attributes:
        operation: Which of both.
        group: The consumer group.
        client_id: By which brokers know the client.
        messages: What came, at the end; none when the time was over.
    """

    operation: Literal["next", "poll"]
    group: str
    client_id: str
    messages: tuple[ReceivedMessage, ...] = ()


class ObservedProcess(msgspec.Struct, kw_only=True):
    """The time in which a program has a message: while its handler runs, or else until the message is settled.

    Attributes:
        by: How the program got it. With "handler" the observer runs in the task or thread of the handler.
        group: The consumer group.
        client_id: By which brokers know the client.
        is_broadcasting: Whether every member of the group gets it.
        message: The message.
        is_done: False, at the end, when it comes again or goes to the dead letters.
        error: What the handler raised.
    """

    by: Literal["handler", "next", "poll"]
    group: str
    client_id: str
    message: ReceivedMessage
    is_broadcasting: bool = False
    is_done: bool = True
    error: BaseException | None = None


class Observer:
    """Is told what a client does. Subclass it and override what is of interest; the rest is not told.

    Each method is called when something begins, and may return a function, which is called when it has ended. They
    are called on the event loop, but those of plain handlers in the handler's thread, and must not block. What they
    raise is logged and goes no further.
    """

    def sending(self, send: ObservedSend) -> Ended | None:
        """A call that sends begins. It ends with `send.result` or `send.error` set."""

    def receiving(self, receive: ObservedReceive) -> Ended | None:
        """A wait for messages begins. It ends with `receive.messages` set."""

    def processing(self, process: ObservedProcess) -> Ended | None:
        """A message is with the program. It ends with `process.is_done` and `process.error` set."""


class Observers:
    """The observers of one client; it is false when there is nobody to be told."""

    def __init__(
        self, observers: Sequence[Observer], group: str, client_id: str, *, is_broadcasting: bool = False
    ) -> None:
        self._senders: Final = [each.sending for each in observers if _overrides(each, "sending")]
        self._receivers: Final = [each.receiving for each in observers if _overrides(each, "receiving")]
        self._processors: Final = [each.processing for each in observers if _overrides(each, "processing")]
        self._group: Final = group
        self._client_id: Final = client_id
        self._is_broadcasting: Final = is_broadcasting

    def __bool__(self) -> bool:
        return bool(self._senders or self._receivers or self._processors)

    @contextlib.contextmanager
    def sending(self, operation: Any, messages: Sequence[Message]) -> Iterator[ObservedSend]:
        """Tell of a call that sends, and of its end; the block sets `result`."""
        send = ObservedSend(operation=operation, group=self._group, client_id=self._client_id, messages=tuple(messages))
        ends = _begun(self._senders, send)
        try:
            yield send
        except BaseException as error:
            send.error = error
            raise
        finally:
            _end(ends)

    @contextlib.contextmanager
    def receiving(self, operation: Any) -> Iterator[ObservedReceive]:
        """Tell of a wait for messages, and of its end; the block sets `messages`."""
        receive = ObservedReceive(operation=operation, group=self._group, client_id=self._client_id)
        ends = _begun(self._receivers, receive)
        try:
            yield receive
        finally:
            _end(ends)

    def processing(self, by: Any, message: ReceivedMessage) -> "Processing":
        """Tell that a message is with the program; the caller ends it."""
        process = ObservedProcess(
            by=by,
            group=self._group,
            client_id=self._client_id,
            message=message,
            is_broadcasting=self._is_broadcasting,
        )
        return Processing(process, _begun(self._processors, process))


class Processing(msgspec.Struct):
    """A message that is with the program."""

    _process: ObservedProcess
    _ends: list[Ended] = msgspec.field(default_factory=list)

    def end(self, *, is_done: bool, error: BaseException | None = None) -> None:
        """Tell how it ended. A second call is of no effect."""
        ends, self._ends = self._ends, []
        if not ends:
            return
        self._process.is_done = is_done
        self._process.error = error
        _end(ends)


def _overrides(observer: Observer, name: str) -> bool:
    return getattr(type(observer), name) is not getattr(Observer, name)


def _begun(tellers: Sequence[Callable[[Any], Ended | None]], told: Any) -> list[Ended]:
    ends = []
    for tell in tellers:
        try:
            end = tell(told)
        except Exception:
            logger.exception("an observer failed at the beginning of a %s", type(told).__name__.lower())
        else:
            if end is not None:
                ends.append(end)
    return ends


def _end(ends: Sequence[Ended]) -> None:
    for end in reversed(ends):
        try:
            end()
        except Exception:
            logger.exception("an observer failed at an end")


NOBODY: Final = Observers((), "", "")
