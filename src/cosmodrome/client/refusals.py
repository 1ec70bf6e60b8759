"""What an answer that is not SUCCESS means.

Owns: which error it is.
Must not know: what was asked; credentials (requests.py).
"""

from collections.abc import Mapping
from typing import Final

from cosmodrome.errors import NotFoundError, NotPermittedError, NotReadyError, NotSupportedError, RefusedError
from cosmodrome.protocol.codes import ResponseCode
from cosmodrome.protocol.command import RemotingCommand

_REFUSALS: Final[Mapping[int, type[RefusedError]]] = {
    ResponseCode.TOPIC_NOT_EXIST: NotFoundError,
    ResponseCode.QUERY_NOT_FOUND: NotFoundError,
    ResponseCode.NO_PERMISSION: NotPermittedError,
    ResponseCode.SYSTEM_BUSY: NotReadyError,
    ResponseCode.GO_AWAY: NotReadyError,
    ResponseCode.REQUEST_CODE_NOT_SUPPORTED: NotSupportedError,
}
# SYSTEM_ERROR says what it means in its remark only.
_REMARKS: Final[Mapping[str, type[RefusedError]]] = {
    "name server not ready": NotReadyError,
    "disable": NotSupportedError,
}


def refusal(address: str, answer: RemotingCommand) -> RefusedError:
    """Give the error for an answer that is not SUCCESS."""
    remark = (answer.remark or "").strip()
    kind = _REFUSALS.get(answer.code) or _REMARKS.get(remark, RefusedError)
    return kind(address, answer.code, remark)
