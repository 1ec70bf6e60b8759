"""What clients ask brokers, and what a refusal of a broker means.

Owns: commands of ours; the requests that producers and consumers share.
Must not know: which broker to ask; connections (RemotingClient); the requests of consumers (client/consumer).
"""

from collections.abc import Mapping
from typing import Any

from cosmodrome.client import refusals
from cosmodrome.client.credentials import is_about_credentials
from cosmodrome.errors import AuthenticationError, RefusedError
from cosmodrome.protocol.bodies.heartbeat import HeartbeatData
from cosmodrome.protocol.codes import FLAG_ONEWAY, BrokerRequestCode, LanguageCode, ResponseCode
from cosmodrome.protocol.command import RemotingCommand
from cosmodrome.protocol.ext_fields import decode_ext_fields, encode_ext_fields
from cosmodrome.protocol.headers.members import UnregisterClientRequestHeader
from cosmodrome.protocol.headers.replies import RecallMessageRequestHeader, RecallMessageResponseHeader
from cosmodrome.protocol.headers.transactions import EndTransactionRequestHeader
from cosmodrome.protocol.json_structs import encode_body
from cosmodrome.protocol.versions import SERVER_VERSION
from cosmodrome.transport.client import RemotingClient


class BrokerRequests:
    """Requests to any broker, over the connections that a session shares.

    Every method raises, beside what it names: ConnectError and RequestTimeoutError without an answer, RefusedError
    (or a subclass) for an answer that is not SUCCESS.

    Args:
        remoting: Who made it closes it; it signs.
        timeout_s: For one request, connecting included.
    """

    def __init__(self, remoting: RemotingClient, timeout_s: float) -> None:
        self._remoting = remoting
        self._timeout_s = timeout_s

    async def ask(
        self, address: str, code: int, header: Any = None, body: bytes = b"", *, timeout_s: float | None = None
    ) -> RemotingCommand:
        """Give the answer to a request, whose header is a struct, a mapping of fields, or None."""
        answer = await self.ask_any(address, code, header, body, timeout_s=timeout_s)
        if answer.code != ResponseCode.SUCCESS:
            raise refusal(address, answer)
        return answer

    async def ask_any(
        self, address: str, code: int, header: Any = None, body: bytes = b"", *, timeout_s: float | None = None
    ) -> RemotingCommand:
        """Give the answer whatever its code, but credentials that are refused are always an error."""
        limit_s = self._timeout_s if timeout_s is None else timeout_s
        answer = await self._remoting.request(address, command(code, header, body), limit_s)
        if is_about_credentials(answer.code, answer.remark):
            raise refusal(address, answer)
        return answer

    async def tell(self, address: str, code: int, header: Any = None, body: bytes = b"") -> None:
        """Send a oneway; returns when its bytes are handed to the connection."""
        await self._remoting.send_oneway(address, command(code, header, body, is_oneway=True), self._timeout_s)

    async def heartbeat(self, address: str, data: HeartbeatData) -> None:
        """Tell a broker of this client's groups."""
        await self.ask(address, BrokerRequestCode.HEART_BEAT, None, encode_body(data))

    async def unregister(
        self, address: str, client_id: str, *, producer_group: str | None = None, consumer_group: str | None = None
    ) -> None:
        """Leave groups at a broker."""
        header = UnregisterClientRequestHeader(
            client_id=client_id, producer_group=producer_group, consumer_group=consumer_group
        )
        await self.ask(address, BrokerRequestCode.UNREGISTER_CLIENT, header)

    async def end_transaction(self, address: str, header: EndTransactionRequestHeader, remark: str | None) -> None:
        """Say how a transaction ended, oneway: an unknown end is answered by no broker."""
        told = command(BrokerRequestCode.END_TRANSACTION, header, is_oneway=True).replaced(remark=remark)
        await self._remoting.send_oneway(address, told, self._timeout_s)

    async def recall(self, address: str, header: RecallMessageRequestHeader) -> str:
        """Take back a timer message, and give its id.

        Raises:
            NotPermittedError: The broker does not allow it (the default of Apache's brokers).
        """
        answer = await self.ask(address, BrokerRequestCode.RECALL_MESSAGE, header)
        return decode_ext_fields(RecallMessageResponseHeader, answer.ext_fields).msg_id or ""


def command(code: int, header: Any = None, body: bytes = b"", *, is_oneway: bool = False) -> RemotingCommand:
    """Make a request of a client's: its header is a struct, a mapping of fields, or None."""
    fields = header if header is None or isinstance(header, Mapping) else encode_ext_fields(header)
    flag = FLAG_ONEWAY if is_oneway else 0
    return RemotingCommand(code, 0, flag, SERVER_VERSION, LanguageCode.PYTHON, ext_fields=fields, body=body)


def refusal(address: str, answer: RemotingCommand) -> RefusedError:
    """Give the error for an answer that is not SUCCESS."""
    if is_about_credentials(answer.code, answer.remark):
        return AuthenticationError(address, answer.code, (answer.remark or "").strip())
    return refusals.refusal(address, answer)
