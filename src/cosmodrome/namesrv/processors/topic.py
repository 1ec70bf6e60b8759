"""Requests that change topics: registering and deleting them.

Owns: reading and checking the requests, and the answers.
Must not know: how the tables keep their state.
"""

from collections.abc import Callable

from cosmodrome.namesrv.routing.effects import Effects
from cosmodrome.namesrv.routing.tables import RouteTables
from cosmodrome.protocol.bodies.route import decode_queue_datas
from cosmodrome.protocol.codes import ResponseCode
from cosmodrome.protocol.command import RemotingCommand, response_to
from cosmodrome.protocol.ext_fields import decode_ext_fields
from cosmodrome.protocol.headers.topic import (
    DeleteTopicFromNamesrvRequestHeader,
    RegisterTopicRequestHeader,
)
from cosmodrome.protocol.limits import DEFAULT_LIMITS, BodyLimits
from cosmodrome.transport.dispatch import Peer


class TopicProcessor:
    """Changes topics. `carry_out` does what a change asks for; `limits` are those of a body."""

    def __init__(
        self, tables: RouteTables, carry_out: Callable[[Effects], None], limits: BodyLimits = DEFAULT_LIMITS
    ) -> None:
        self._tables = tables
        self._limits = limits
        self._carry_out = carry_out

    def register_topic_in_namesrv(self, request: RemotingCommand, _: Peer) -> RemotingCommand:
        """217. A request without topic or body is answered SUCCESS and does nothing: very old clients mean 101 by it."""
        header = decode_ext_fields(RegisterTopicRequestHeader, request.ext_fields)
        if request.body:
            queue_datas = decode_queue_datas(request.body, self._limits)
            if header.topic:
                self._carry_out(self._tables.register_topic(header.topic, queue_datas))
        return response_to(request, ResponseCode.SUCCESS)

    def delete_topic_in_namesrv(self, request: RemotingCommand, _: Peer) -> RemotingCommand:
        """216."""
        header = decode_ext_fields(DeleteTopicFromNamesrvRequestHeader, request.ext_fields)
        if header.topic is not None:
            self._carry_out(self._tables.delete_topic(header.topic, header.cluster_name))
        return response_to(request, ResponseCode.SUCCESS)
