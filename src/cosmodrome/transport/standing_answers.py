"""Questions that are asked again and again, answered by their bytes.

Owns: which questions are known by their bytes, and the bytes around the opaque of their answers.
Must not know: what is asked; how the body of an answer is made, or when it is no longer true.

A client asks for the route of a topic every 30 seconds in the same words: its frames differ in the opaque alone. The first
one is read and answered like any request. If the body of its answer stands until it is withdrawn, the next one needs no
reading: its bytes before and behind the opaque are looked up, and the same answer is sent with the new opaque.
"""

import time
from collections.abc import Callable
from typing import Final, Protocol

from cosmodrome.protocol.command import RemotingCommand
from cosmodrome.protocol.frame import Frame, body_of, encode_frame, frame_bytes
from cosmodrome.protocol.opaque_place import (
    SHORTEST_BYTES,
    cut_at_opaque,
    is_proved,
    joined,
)
from cosmodrome.transport.traffic import Durations

LONGEST_QUESTION_BYTES: Final = 1024
MOST_QUESTIONS: Final = 16_384
"""About ten megabytes with names of usual length."""
TIMED_EACH: Final = 64
_MOST_ANSWERED_BYTES: Final = 16 * 1024
"""So that what comes in one piece is answered in less than a millisecond."""


class Standing(Protocol):
    """The body of an answer, kept by who made it."""

    @property
    def body(self) -> bytes | None:
        """The body, as long as it is the answer; None from then on, for good."""


class _Known:
    """The answer to one question but for its opaque and its body."""

    __slots__ = ("before", "behind", "opaque_bytes", "standing")

    def __init__(self, before: bytes, behind: bytes, opaque_bytes: int, standing: Standing) -> None:
        self.before = before
        self.behind = behind
        self.opaque_bytes = opaque_bytes
        self.standing = standing


class StandingAnswers:
    """Answers of one request code to whoever asks; who asks must not matter.

    Args:
        code: Only such requests are learnt.
        find: Gives the standing body of the answer to a request, or None when it has none.
    """

    def __init__(self, code: int, find: Callable[[RemotingCommand], Standing | None]) -> None:
        self.code: Final = code
        self.answered_count = 0
        """How many questions were answered here."""
        self.body_bytes = 0
        """How many bytes the bodies of these answers had."""
        self.durations = Durations()
        """One in TIMED_EACH of them is timed, and stands for all."""
        self._find = find
        self._known: dict[tuple[bytes, bytes], _Known] = {}
        self._is_closed = False

    def answer(self, data: bytes) -> bytes | None:
        """Give the answers to what was received if it is whole questions, a few, that are known, else None."""
        if self.answered_count % TIMED_EACH == 0:
            return self._timed(data)
        return self._answer_one(data) or self._answer_each(data)

    def _timed(self, data: bytes) -> bytes | None:
        begun_s, before = time.perf_counter(), self.answered_count
        answer = self._answer_one(data) or self._answer_each(data)
        if self.answered_count != before:
            self.durations.add(time.perf_counter() - begun_s, TIMED_EACH)
        return answer

    def _answer_each(self, data: bytes) -> bytes | None:
        """Answer several questions that came in one piece, all or none."""
        if len(data) < 2 * SHORTEST_BYTES or frame_bytes(data, 0) >= len(data):
            return None
        counted = self.answered_count, self.body_bytes
        answers: list[bytes] = []
        start = size = 0
        while start < len(data):
            end = start + frame_bytes(data, start)
            answer = self._answer_one(data[start:end])
            if answer is None or size + len(answer) > _MOST_ANSWERED_BYTES:
                self.answered_count, self.body_bytes = counted
                return None
            answers.append(answer)
            size += len(answer)
            start = end
        return b"".join(answers)

    def _answer_one(self, data: bytes) -> bytes | None:
        if not SHORTEST_BYTES <= len(data) <= LONGEST_QUESTION_BYTES:
            return None
        before, opaque, behind = cut_at_opaque(data)
        known = self._known.get((before, behind))
        if known is None or len(opaque) != known.opaque_bytes:
            return None
        body = known.standing.body
        if body is None:
            del self._known[before, behind]
            return None
        self.answered_count += 1
        self.body_bytes += len(body)
        return b"".join((known.before, opaque, known.behind, body))

    def learn(self, request: RemotingCommand, frame: Frame, answer: bytes) -> None:
        """Take note of a request that was answered at once, if its answer stands: its frame, and the encoded answer."""
        if self._is_closed or len(frame.header) + len(frame.body) > LONGEST_QUESTION_BYTES:
            return
        standing = self._find(request)
        body = None if standing is None else standing.body
        if standing is None or body is None or body_of(answer) != body:
            return
        question = encode_frame(frame.serialize_type, frame.header, frame.body)
        cut, answer_cut = cut_at_opaque(question), cut_at_opaque(answer[: len(answer) - len(body)])
        if cut[1] != answer_cut[1] or not is_proved(cut, request):
            return
        before, behind = joined(answer_cut, request.serialize_type)
        while len(self._known) >= MOST_QUESTIONS:
            del self._known[next(iter(self._known))]
        self._known[cut[0], cut[2]] = _Known(before, behind, len(cut[1]), standing)

    def clear(self) -> None:
        """Forget all questions: what their answers rest on, beside their bodies, has changed."""
        self._known.clear()

    def close(self) -> None:
        """Answer nothing any more, unless `open` is called."""
        self._is_closed = True
        self.clear()

    def open(self) -> None:
        """Learn and answer again."""
        self._is_closed = False
