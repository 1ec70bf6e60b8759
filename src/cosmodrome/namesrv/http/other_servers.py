"""The other NameServers of the configuration, and how they are asked.

Owns: which they are; how long one may take; what is said of one that gives no good answer.
Must not know: what they are asked, and why.
"""

from collections.abc import Callable, Collection
from typing import Final, NamedTuple, TypeVar

from cosmodrome.errors import MalformedBodyError, RemotingError
from cosmodrome.namesrv.config import NamesrvConfig
from cosmodrome.namesrv.view import View
from cosmodrome.protocol.codes import ResponseCode
from cosmodrome.protocol.command import RemotingCommand

TIMEOUT_S: Final = 2.0
MOST: Final = 32

ValueT = TypeVar("ValueT")


def peer_servers(config: NamesrvConfig) -> list[str]:
    """Give the addresses of peerServers, each once, in their order."""
    words = config.peer_servers.replace(",", ";").split(";")
    return list(dict.fromkeys(word.strip() for word in words if word.strip()))


class Unanswered(NamedTuple):
    """Why a server gave no good answer."""

    fault: str


async def ask_server(
    view: View,
    address: str,
    question: RemotingCommand,
    read: Callable[[RemotingCommand], ValueT],
    accepted: Collection[int] = (ResponseCode.SUCCESS,),
) -> ValueT | Unanswered:
    """Ask one server, and read an answer with one of these codes."""
    try:
        answer = await view.client.request(address, question, TIMEOUT_S)
        if answer.code not in accepted:
            return Unanswered(f"it answers {answer.code}: {answer.remark or ''}")
        return read(answer)
    except (RemotingError, MalformedBodyError, ValueError, OSError) as error:
        return Unanswered(str(error) or type(error).__name__)
