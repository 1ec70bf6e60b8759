"""What tools ask of one consumer, passed on to it: 307, 309.

Owns: which client is meant; what a tool is told when there is no answer.
Must not know: what is asked, beyond the message that is to be consumed.
"""

from typing import Final

from cosmodrome.broker.clock import Clock
from cosmodrome.broker.members import Members
from cosmodrome.broker.outbox import Outbox
from cosmodrome.broker.refusals import refused
from cosmodrome.protocol.codes import ClientRequestCode, ResponseCode
from cosmodrome.protocol.command import RemotingCommand, response_to
from cosmodrome.protocol.command import request as new_request
from cosmodrome.protocol.ext_fields import decode_ext_fields, require
from cosmodrome.protocol.headers.relays import (
    ConsumeMessageDirectlyResultRequestHeader,
    GetConsumerRunningInfoRequestHeader,
)
from cosmodrome.protocol.messages.ids import decode_offset_msg_id
from cosmodrome.store.reading import Reader
from cosmodrome.transport.dispatch import LATER, Peer

RELAY_TIMEOUT_S: Final = 10.0


class RelayProcessor:
    """Asks a consumer, and gives its answer as it is."""

    def __init__(self, members: Members, reader: Reader, outbox: Outbox, clock: Clock) -> None:
        """Use these parts."""
        self._members = members
        self._reader = reader
        self._outbox = outbox
        self._clock = clock

    def get_consumer_running_info(self, request: RemotingCommand, peer: Peer) -> RemotingCommand:
        """307."""
        header = decode_ext_fields(GetConsumerRunningInfoRequestHeader, request.ext_fields)
        require(header, "consumer_group", "client_id")
        asked = new_request(ClientRequestCode.GET_CONSUMER_RUNNING_INFO, request.ext_fields)
        return self._relay(request, peer, (header.consumer_group or "", header.client_id or ""), asked)

    def consume_message_directly(self, request: RemotingCommand, peer: Peer) -> RemotingCommand:
        """309: the message is the one whose id the broker gave."""
        header = decode_ext_fields(ConsumeMessageDirectlyResultRequestHeader, request.ext_fields)
        require(header, "consumer_group", "client_id", "msg_id")
        found = decode_offset_msg_id(header.msg_id or "")
        view = None if found is None else self._reader.record_at(found.commit_log_offset)
        if view is None:
            raise refused(ResponseCode.SYSTEM_ERROR, f"there is no message {header.msg_id} here")
        fields = {**(request.ext_fields or {}), "topicSysFlag": "0", "groupSysFlag": "0"}
        asked = new_request(ClientRequestCode.CONSUME_MESSAGE_DIRECTLY, fields, bytes(view))
        return self._relay(request, peer, (header.consumer_group or "", header.client_id or ""), asked)

    def _relay(
        self, request: RemotingCommand, peer: Peer, member: tuple[str, str], asked: RemotingCommand
    ) -> RemotingCommand:
        group, client_id = member
        client = self._members.consumer_by_id(group, client_id)
        if client is None:
            raise refused(ResponseCode.SYSTEM_ERROR, f"The Consumer <{group}> <{client_id}> not online")

        def heard(answer: RemotingCommand | None) -> None:
            if answer is None:
                remark = f"consumer <{group}> <{client_id}> Timeout: no answer in {RELAY_TIMEOUT_S:g} s"
                told = response_to(request, ResponseCode.CONSUME_MSG_TIMEOUT, remark)
            else:
                told = response_to(request, answer.code, answer.remark, answer.ext_fields, answer.body)
            self._outbox.answer(peer.connection_id, request, told)

        deadline_s = self._clock.steady_ms() / 1000 + RELAY_TIMEOUT_S
        self._outbox.ask(client.connection, asked, deadline_s, heard)
        return LATER
