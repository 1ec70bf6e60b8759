"""What every client asks a NameServer: routes.

Owns: that request; how a NameServer is asked and its answers are read.
Must not know: what else NameServers can be asked (name_server.py); which of several to ask; connections.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from cosmodrome.client.refusals import refusal
from cosmodrome.errors import MalformedBodyError, UnreadableAnswerError
from cosmodrome.protocol.bodies.route import TopicRouteData, decode_topic_route
from cosmodrome.protocol.codes import RequestCode, ResponseCode
from cosmodrome.protocol.command import RemotingCommand, request
from cosmodrome.protocol.ext_fields import encode_ext_fields
from cosmodrome.protocol.headers.route import GetRouteInfoRequestHeader
from cosmodrome.transport.client import RemotingClient

ValueT = TypeVar("ValueT")


class RouteSource:
    """One NameServer, of any release.

    Every method raises, beside what it names: ConnectError and RequestTimeoutError without an answer,
    RefusedError (or a subclass) for an answer that is not SUCCESS, UnreadableAnswerError for a body that is
    not what the request asks for. Each may be called again; none is retried here.

    Args:
        remoting: Shared by all clients of a program; who made it closes it.
        address: `host:port`.
        timeout_s: For one request, connecting included.
    """

    def __init__(self, remoting: RemotingClient, address: str, timeout_s: float) -> None:
        self._remoting = remoting
        self.address = address
        self._timeout_s = timeout_s

    async def topic_route(self, topic: str) -> TopicRouteData:
        """Give the route of a topic.

        Raises:
            NotFoundError: It has none.
            NotReadyError: The server was started a short while ago.
        """
        header = GetRouteInfoRequestHeader(topic=topic, accept_standard_json_only=True)
        answer = await self._ask(RequestCode.GET_ROUTEINFO_BY_TOPIC, header)
        return self._read(decode_topic_route, answer)

    async def _ask(self, code: RequestCode, header: Any = None, body: bytes = b"") -> RemotingCommand:
        fields = None if header is None else encode_ext_fields(header)
        answer = await self._remoting.request(self.address, request(code, fields, body), self._timeout_s)
        if answer.code != ResponseCode.SUCCESS:
            raise refusal(self.address, answer)
        return answer

    def _read(self, decode: Callable[[bytes], ValueT], answer: RemotingCommand) -> ValueT:
        try:
            return decode(answer.body)
        except MalformedBodyError as error:
            raise UnreadableAnswerError(self.address, f"cannot read its answer: {error}") from error
