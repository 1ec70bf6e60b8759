"""Request code → processor, and exception → response, once.

Owns: which processor serves a code; what the peer is told when it fails.
Must not know: what a processor does; how a response is sent.
"""

import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Final, NamedTuple

from cosmodrome.errors import MalformedBodyError, RequestRefusedError, StorageError
from cosmodrome.protocol.codes import ResponseCode
from cosmodrome.protocol.command import RemotingCommand, response_to
from cosmodrome.protocol.frame import Frame
from cosmodrome.protocol.versions import V5_3_1
from cosmodrome.transport.standing_answers import StandingAnswers
from cosmodrome.transport.traffic import NO_ANSWER, UNSERVED, Traffic

logger = logging.getLogger(__name__)


OURSELVES: Final = 0
"""The connection of what this server asks itself; those of peers have other numbers."""


class Peer(NamedTuple):
    """Who sent a request.

    `connection_id` names the connection. `address` is the peer as `host:port`, as a PROXY header names it if there
    was one; `socket_address` is the other end of the socket, which nobody can invent. `is_source_withheld` tells that
    there was a PROXY header without an address: the other end of the socket speaks for somebody unknown.
    """

    connection_id: int
    address: str
    socket_address: str = ""
    is_source_withheld: bool = False

    @property
    def proxy(self) -> str | None:
        """The other end of the socket when it is not the peer itself."""
        return self.socket_address if self.socket_address not in ("", self.address) else None


Answer = RemotingCommand | Awaitable[RemotingCommand]
Processor = Callable[[RemotingCommand, Peer], Answer]
"""A processor answers at once, or gives something to wait for, or LATER; it refuses by raising."""

LATER: Final = RemotingCommand(-1)
"""What a processor gives that sends its answer itself (RemotingServer.send), or none. Other requests go on meanwhile."""

Express = Callable[[Frame, Peer], bool]
"""Takes a frame whose answer it sends itself, or says that it is not for it: then the frame is read as all others."""

GO_AWAY_REMARK: Final = "please go away"
LONGEST_REMARK: Final = 200
"""The remark of a fault has fewer characters; a refusal by policy may have more. What a question that has no answer is told may repeat the question."""

INTERNAL_REMARK: Final = "internal error, see the server's log"
"""What a peer is told of a bug of ours."""

UNKNOWN_CODE: Final = "unknown_code"
STORAGE: Final = "storage"
INTERNAL: Final = "internal"
"""Causes of faults that are not named by the error: what nobody serves, our disk, a bug of ours."""


class Fault(NamedTuple):
    """A request that could not be served: who sent what, and why not, in one word that never changes and in a sentence."""

    peer: Peer
    request: RemotingCommand
    cause: str
    reason: str


class Dispatcher:
    """The protocol surface of a server, as a table. `on_fault` is told of each request that could not be served."""

    def __init__(self, processors: Mapping[int, Processor]) -> None:
        self._processors = dict(processors)
        self.on_fault: Callable[[Fault], None] = lambda _: None
        self.is_draining = False
        self.traffic = Traffic()
        """What was dispatched; what is answered elsewhere (standing, express) is counted there."""
        self.in_flight_count = 0
        """Requests whose answers are being worked on; those that are answered at once never are."""
        self.standing: StandingAnswers | None = None
        """Answers that connections give by themselves, without asking here."""
        self.express: Express | None = None
        """Asked first with each frame of a peer that has sent a request which is served."""

    def serve(self, processors: Mapping[int, Processor]) -> None:
        """Serve these too, from now on."""
        self._processors.update(processors)

    def drain(self) -> None:
        """Send newer clients away from now on."""
        self.is_draining = True
        if self.standing is not None:
            self.standing.close()

    def resume(self) -> None:
        """Send nobody away any more."""
        self.is_draining = False
        if self.standing is not None:
            self.standing.open()

    def serves(self, code: int) -> bool:
        """Whether there is a processor for requests of this code."""
        return code in self._processors

    def is_served_by(self, code: int, processor: Processor) -> bool:
        """Whether requests of this code go to this processor, with nothing before it."""
        return self._processors.get(code) == processor

    def dispatch(self, request: RemotingCommand, peer: Peer) -> Answer:
        """Give the response to a request; never raises an Exception. Waiting, if any, ends in a response too."""
        begun_s = time.perf_counter()
        answer = self._answered(request, peer)
        if answer is LATER:
            return answer
        if isinstance(answer, RemotingCommand):
            self._count(request, answer, begun_s)
            return answer
        return self._counted(answer, request, begun_s)

    async def _counted(
        self, answer: Awaitable[RemotingCommand], request: RemotingCommand, begun_s: float
    ) -> RemotingCommand:
        self.in_flight_count += 1
        try:
            response = await answer
        finally:
            self.in_flight_count -= 1
        self._count(request, response, begun_s)
        return response

    def _count(self, request: RemotingCommand, response: RemotingCommand, begun_s: float) -> None:
        code = request.code if request.code in self._processors else UNSERVED
        response_code = NO_ANSWER if request.is_oneway else response.code
        sizes = len(request.body), len(response.body)
        self.traffic.answered(code, response_code, sizes, time.perf_counter() - begun_s)

    def _answered(self, request: RemotingCommand, peer: Peer) -> Answer:
        if self.is_draining and request.version > V5_3_1:
            return response_to(request, ResponseCode.GO_AWAY, GO_AWAY_REMARK)
        processor = self._processors.get(request.code)
        if processor is None:
            # COMPAT: the remark begins with a blank, as in Java.
            remark = f" request type {request.code} not supported"
            self.on_fault(Fault(peer, request, UNKNOWN_CODE, remark.strip()))
            return response_to(request, ResponseCode.REQUEST_CODE_NOT_SUPPORTED, remark)
        try:
            answer = processor(request, peer)
        except Exception as error:  # noqa: BLE001 -- the one place where a processor's failure becomes an answer
            return self._failed(request, peer, error)
        if isinstance(answer, RemotingCommand):
            return answer
        return self._settled(answer, request, peer)

    async def _settled(
        self, answer: Awaitable[RemotingCommand], request: RemotingCommand, peer: Peer
    ) -> RemotingCommand:
        try:
            return await answer
        except Exception as error:  # noqa: BLE001 -- as in dispatch
            return self._failed(request, peer, error)

    def _failed(self, request: RemotingCommand, peer: Peer, error: Exception) -> RemotingCommand:
        response = self._refusal(request, peer, error)
        _forget_frames(error)
        return response

    def _refusal(self, request: RemotingCommand, peer: Peer, error: Exception) -> RemotingCommand:
        """Say to the peer what went wrong. Only what was not foreseen is logged with a traceback."""
        if isinstance(error, RequestRefusedError):
            if not error.is_fault:
                return response_to(request, error.code, error.remark, error.ext_fields)
            self.on_fault(Fault(peer, request, error.cause, error.remark))
            return response_to(request, error.code, _short(error.remark), error.ext_fields)
        if isinstance(error, MalformedBodyError):
            self.on_fault(Fault(peer, request, error.cause, str(error)))
            return response_to(request, ResponseCode.SYSTEM_ERROR, _short(str(error)))
        if isinstance(error, StorageError):
            self.on_fault(Fault(peer, request, STORAGE, error.what))
            return response_to(request, ResponseCode.SYSTEM_ERROR, error.REMARK)
        self.on_fault(Fault(peer, request, INTERNAL, f"{type(error).__name__}, see the traceback"))
        logger.error("request %d (opaque %d) of %s failed", request.code, request.opaque, peer.address, exc_info=error)
        return response_to(request, ResponseCode.SYSTEM_ERROR, INTERNAL_REMARK)


def _forget_frames(error: BaseException | None) -> None:
    """Free what the functions that failed had in their hands, such as a body.

    The future of a waiting request holds the error, whose frames hold the future: it would stay until cycles are
    looked for, which may be after hundreds of such bodies.
    """
    seen = set[int]()
    while error is not None and id(error) not in seen:
        seen.add(id(error))  # one that was raised from itself is its own cause
        error.__traceback__ = None
        error = error.__cause__ or error.__context__


def _short(remark: str) -> str:
    return remark if len(remark) < LONGEST_REMARK else f"{remark[: LONGEST_REMARK - 4]}..."
