"""Who gets which queues, and whether a group pops: 400, 401, 402 (Java: QueryAssignmentProcessor).

Owns: what is refused; the answer to a client that is not known.
Must not know: how queues are shared out; files.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from cosmodrome.broker.config import BrokerConfig
from cosmodrome.broker.members import Members
from cosmodrome.broker.pop.assignments import TopicQueues, assigned
from cosmodrome.broker.pop.modes import RequestModes
from cosmodrome.broker.refusals import refused
from cosmodrome.broker.topics import Topics
from cosmodrome.protocol.bodies.heartbeat import MessageModel
from cosmodrome.protocol.bodies.message_queue import MessageQueue
from cosmodrome.protocol.bodies.pop import (
    MessageQueueAssignment,
    MessageRequestMode,
    QueryAssignmentRequestBody,
    QueryAssignmentResponseBody,
    SetMessageRequestModeRequestBody,
)
from cosmodrome.protocol.codes import ResponseCode
from cosmodrome.protocol.command import RemotingCommand, response_to
from cosmodrome.protocol.json_structs import decode_body, encode_body
from cosmodrome.protocol.messages.checks import RETRY_PREFIX
from cosmodrome.transport.dispatch import Peer

Keep = Callable[[], Awaitable[None]]
_NO_STRATEGY: Final = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignmentParts:
    """What is assigned with. `keep` returns when the table of modes is on disk."""

    topics: Topics
    members: Members
    modes: RequestModes
    queues: TopicQueues
    keep: Keep


class AssignmentProcessor:
    """Tells members what they have to read, and how."""

    def __init__(self, config: BrokerConfig, parts: AssignmentParts) -> None:
        """Use these parts."""
        self._config = config
        self._parts = parts

    def configure(self, config: BrokerConfig) -> None:
        """Use other settings from now on."""
        self._config = config

    def query_assignment(self, request: RemotingCommand, _: Peer) -> Awaitable[RemotingCommand]:
        """400."""
        return self._answered(request, decode_body(QueryAssignmentRequestBody, request.body))

    async def _answered(self, request: RemotingCommand, body: QueryAssignmentRequestBody) -> RemotingCommand:
        mode = self._parts.modes.get(body.topic, body.consumer_group) or self._default(body)
        queues = await self._parts.queues.of(body.topic)
        given = self._given(body, mode, queues) if queues else None
        assignments = None
        if given is not None:
            assignments = tuple(MessageQueueAssignment(message_queue=each, mode=mode.mode) for each in given)
        answer = encode_body(QueryAssignmentResponseBody(message_queue_assignments=assignments))
        return response_to(request, ResponseCode.SUCCESS, body=answer)

    def _given(
        self,
        body: QueryAssignmentRequestBody,
        mode: SetMessageRequestModeRequestBody,
        queues: tuple[MessageQueue, ...],
    ) -> tuple[MessageQueue, ...] | None:
        if body.message_model is MessageModel.BROADCASTING:
            return queues
        members = sorted({each.client_id for each in self._parts.members.consumers(body.consumer_group)})
        if not members:
            return None
        return assigned(mode, body.strategy_name or _NO_STRATEGY, body.client_id, members, queues)

    def _default(self, body: QueryAssignmentRequestBody) -> SetMessageRequestModeRequestBody:
        """COMPAT: a retry topic is pulled, whatever the other topics of a group are."""
        mode, share = MessageRequestMode.PULL, 0
        if not body.topic.startswith(RETRY_PREFIX):
            mode = MessageRequestMode(self._config.default_message_request_mode)
            share = self._config.default_pop_share_queue_num
        return SetMessageRequestModeRequestBody(
            topic=body.topic, consumer_group=body.consumer_group, mode=mode, pop_share_queue_num=share
        )

    def set_message_request_mode(self, request: RemotingCommand, _: Peer) -> Awaitable[RemotingCommand]:
        """401."""
        body = decode_body(SetMessageRequestModeRequestBody, request.body)
        if body.topic.startswith(RETRY_PREFIX):
            raise refused(ResponseCode.NO_PERMISSION, "retry topic is not allowed to set mode")
        if body.topic not in self._parts.topics:
            raise refused(ResponseCode.TOPIC_NOT_EXIST, f"topic[{body.topic}] not exist")
        self._parts.modes.put(body)
        return self._kept(request)

    async def _kept(self, request: RemotingCommand) -> RemotingCommand:
        await self._parts.keep()
        return response_to(request, ResponseCode.SUCCESS)

    def get_all_message_request_mode(self, request: RemotingCommand, _: Peer) -> RemotingCommand:
        """402."""
        return response_to(request, ResponseCode.SUCCESS, body=encode_body(self._parts.modes.table()))
