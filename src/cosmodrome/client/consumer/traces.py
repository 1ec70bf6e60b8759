"""What the traces of a consumer say: that a message is being handled, and how that ended.

Owns: the fields of both; which messages are traced.
Must not know: when traces are sent.
"""

import asyncio
import secrets
import threading
import time
from collections.abc import Iterable
from typing import Final

from cosmodrome.client.message import ReceivedMessage
from cosmodrome.client.observing import Ended, ObservedProcess, Observer
from cosmodrome.client.traces import Trace, Tracer, record
from cosmodrome.protocol.messages.properties import MSG_REGION, TRACE_ON

# What Java's clients write as contextCode.
_DONE: Final = 0
_RAISED: Final = 2
_LATER: Final = 4
# COMPAT: Java writes this for no keys, and its reader fails on an empty text at the end of a record.
_NO_KEYS: Final = "null"


class ConsumeTraces(Observer):
    """Traces what a consumer handles. It is called on the event loop and in the threads of handlers."""

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()

    def processing(self, process: ObservedProcess) -> Ended | None:
        """Trace one message, unless its broker wants none."""
        message = process.message
        if message.properties.get(TRACE_ON) == "false":
            return None
        request_id = secrets.token_hex(16).upper()
        begun_ns = time.monotonic_ns()
        self._add(before(process.group, request_id, message, _wall_ms()))

        def end() -> None:
            cost_ms = (time.monotonic_ns() - begun_ns) // 1_000_000
            self._add(after(process, request_id, cost_ms, _wall_ms()))

        return end

    def _add(self, trace: Trace) -> None:
        if threading.get_ident() == self._thread:
            self._tracer.add(trace)
        elif not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._tracer.add, trace)


def before(group: str, request_id: str, message: ReceivedMessage, now_ms: int) -> Trace:
    """Give the trace of a message whose handling begins."""
    return record(
        _found_by(message),
        "SubBefore",
        str(now_ms),
        message.properties.get(MSG_REGION, ""),
        group,
        request_id,
        message.msg_id,
        str(message.reconsume_times),
        _keys(message.keys),
    )


def after(process: ObservedProcess, request_id: str, cost_ms: int, now_ms: int) -> Trace:
    """Give the trace of a message whose handling ended."""
    message = process.message
    code = _DONE if process.is_done else _LATER if process.error is None else _RAISED
    return record(
        _found_by(message),
        "SubAfter",
        request_id,
        message.msg_id,
        str(cost_ms),
        "true" if process.is_done else "false",
        _keys(message.keys),
        str(code),
        str(now_ms),
        process.group,
    )


def _found_by(message: ReceivedMessage) -> tuple[str, ...]:
    return (message.msg_id, *message.keys)


def _keys(keys: Iterable[str]) -> str:
    return " ".join(keys) or _NO_KEYS


def _wall_ms() -> int:
    return time.time_ns() // 1_000_000
