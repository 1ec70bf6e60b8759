"""What the administration commands ask brokers.

Owns: those requests and the reading of their answers.
Must not know: how a broker was found.
"""

from collections.abc import Mapping

from cosmodrome.client.refusals import refusal
from cosmodrome.errors import MalformedBodyError, UnreadableAnswerError
from cosmodrome.protocol.bodies.cluster import decode_group_list, decode_kv_table
from cosmodrome.protocol.codes import BrokerRequestCode, ResponseCode
from cosmodrome.protocol.command import RemotingCommand, request
from cosmodrome.transport.client import RemotingClient


class BrokerClient:
    """One broker. Raises as NameServerClient does."""

    def __init__(self, remoting: RemotingClient, address: str, timeout_s: float) -> None:
        self._remoting = remoting
        self.address = address
        self._timeout_s = timeout_s

    async def runtime_info(self) -> Mapping[str, str]:
        """Give version, load and totals by their Java names; which ones depends on the release."""
        answer = await self._ask(request(BrokerRequestCode.GET_BROKER_RUNTIME_INFO))
        try:
            return decode_kv_table(answer.body)
        except MalformedBodyError as error:
            raise UnreadableAnswerError(self.address, f"cannot read its answer: {error}") from error

    async def consumer_groups(self, topic: str) -> tuple[str, ...]:
        """Give the consumer groups that consume a topic."""
        answer = await self._ask(request(BrokerRequestCode.QUERY_TOPIC_CONSUME_BY_WHO, {"topic": topic}))
        try:
            return decode_group_list(answer.body)
        except MalformedBodyError as error:
            raise UnreadableAnswerError(self.address, f"cannot read its answer: {error}") from error

    async def _ask(self, command: RemotingCommand) -> RemotingCommand:
        answer = await self._remoting.request(self.address, command, self._timeout_s)
        if answer.code != ResponseCode.SUCCESS:
            raise refusal(self.address, answer)
        return answer
