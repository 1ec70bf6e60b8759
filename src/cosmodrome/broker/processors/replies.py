"""Replies to requests of producers: 324, 325; what is pushed to the requester, 326 (Java: ReplyMessageProcessor).

Owns: whom a reply goes to; what the replier is told.
Must not know: who asked for what.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from cosmodrome.broker.clock import Clock
from cosmodrome.broker.intake import Intake
from cosmodrome.broker.members import Members
from cosmodrome.broker.messages import OwnProperties, properties_of, with_properties
from cosmodrome.broker.outbox import Outbox
from cosmodrome.broker.refusals import no_topic_for_send, not_available
from cosmodrome.broker.topics import Topics
from cosmodrome.broker.turn import Stored
from cosmodrome.protocol.codes import ClientRequestCode, ResponseCode
from cosmodrome.protocol.command import RemotingCommand, response_to
from cosmodrome.protocol.command import request as new_request
from cosmodrome.protocol.ext_fields import encode_ext_fields, require
from cosmodrome.protocol.headers.replies import ReplyMessageRequestHeader
from cosmodrome.protocol.headers.send import SendMessageRequestHeader, decode_send_header
from cosmodrome.protocol.messages.hosts import decode_host
from cosmodrome.protocol.messages.properties import (
    PUSH_REPLY_TIME,
    REPLY_TO_CLIENT,
    properties_bytes,
    properties_text,
)
from cosmodrome.store.appending import NewMessage, Position
from cosmodrome.transport.dispatch import LATER, Peer

PUSH_TIMEOUT_S: Final = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyParts:
    """What replies are passed on with. `store_host` is the broker's, `born_host` makes that of an address."""

    topics: Topics
    members: Members
    intake: Intake
    outbox: Outbox
    own: OwnProperties
    store_host: bytes
    born_host: Callable[[str], bytes]


@dataclass(frozen=True, slots=True)
class _Reply:
    """A reply, who brought it, and where it is stored; None when it is not."""

    request: RemotingCommand
    peer: Peer
    header: SendMessageRequestHeader
    message: NewMessage
    position: Position | None


class ReplyProcessor:
    """Stores replies, and pushes each to the producer that waits for it."""

    def __init__(self, clock: Clock, parts: ReplyParts, *, is_storing: bool) -> None:
        """Use these parts."""
        self._clock = clock
        self._parts = parts
        self.is_storing = is_storing

    def send_reply_message(self, request: RemotingCommand, peer: Peer) -> RemotingCommand:
        """324, 325. The replier is answered when the requester has answered."""
        header = decode_send_header(request.ext_fields)
        require(header, "topic", "queue_id", "born_timestamp")
        topic = header.topic or ""
        if topic not in self._parts.topics:
            raise no_topic_for_send(topic)
        sent = NewMessage(
            topic, max(header.queue_id or 0, 0), request.body, properties_bytes(header.properties or ""),
            header.born_timestamp or 0, self._parts.born_host(peer.address), header.sys_flag or 0, header.flag or 0,
            header.reconsume_times or 0,
        )  # fmt: skip
        message = with_properties(sent, self._parts.own.answer_fields)
        if not self.is_storing:
            self._push(_Reply(request, peer, header, message, None))
            return LATER

        def settle(stored: Stored) -> None:
            if stored is Stored.FAILED:
                refusal = not_available("the disk refuses to take messages")
                answer = response_to(request, refusal.code, refusal.remark)
                self._parts.outbox.answer(peer.connection_id, request, answer)
            else:
                self._push(_Reply(request, peer, header, message, position))

        position = self._parts.intake.put(message, settle)
        return LATER

    def _push(self, reply: _Reply) -> None:
        client_id = properties_of(reply.message).get(REPLY_TO_CLIENT)
        if client_id is None:
            self._answer(reply, "reply message properties[REPLY_TO_CLIENT] is null")
            return
        client = self._parts.members.producer_by_id(client_id)
        if client is None:
            self._answer(reply, f"push reply message fail, channel of <{client_id}> not found.")
            return

        def heard(answer: RemotingCommand | None) -> None:
            is_taken = answer is not None and answer.code == ResponseCode.SUCCESS
            self._answer(reply, None if is_taken else f"push reply message to {client_id}fail.")

        deadline_s = self._clock.steady_ms() / 1000 + PUSH_TIMEOUT_S
        self._parts.outbox.ask(client.connection, self._pushed(reply), deadline_s, heard)

    def _pushed(self, reply: _Reply) -> RemotingCommand:
        header, now_ms = reply.header, self._clock.wall_ms()
        fields = ReplyMessageRequestHeader(
            producer_group=header.producer_group,
            topic=header.topic,
            default_topic=header.default_topic,
            default_topic_queue_nums=header.default_topic_queue_nums,
            queue_id=header.queue_id,
            sys_flag=header.sys_flag,
            born_timestamp=header.born_timestamp,
            flag=header.flag,
            properties=properties_text(with_properties(reply.message, {PUSH_REPLY_TIME: str(now_ms)}).properties),
            reconsume_times=header.reconsume_times,
            unit_mode=header.unit_mode,
            born_host=str(decode_host(reply.message.born_host)),
            store_host=str(decode_host(self._parts.store_host)),
            store_timestamp=now_ms if reply.position is None else reply.position.store_timestamp_ms,
        )
        code = ClientRequestCode.PUSH_REPLY_MESSAGE_TO_CLIENT
        return new_request(code, encode_ext_fields(fields), reply.message.body)

    def _answer(self, reply: _Reply, failure: str | None) -> None:
        """A failure too says where the reply is stored."""
        position = reply.position
        msg_id = "0"
        if position is not None:
            msg_id = f"{self._parts.store_host.hex().upper()}{position.commit_log_offset:016X}"
        fields: dict[str, str | None] = {
            "msgId": msg_id,
            "queueId": str(reply.message.queue_id),
            "queueOffset": "0" if position is None else str(position.queue_offset),
            **self._parts.own.answer_fields,
        }
        code = ResponseCode.SUCCESS if failure is None else ResponseCode.SYSTEM_ERROR
        answer = response_to(reply.request, code, failure, fields)
        self._parts.outbox.answer(reply.peer.connection_id, reply.request, answer)
