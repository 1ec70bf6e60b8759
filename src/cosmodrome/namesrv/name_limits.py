"""How long a name in a request may be.

Owns: the check, before a processor sees the request.
Must not know: what a name names; the names inside bodies (protocol/limits.py).
"""

from collections.abc import Mapping
from typing import Final

from cosmodrome.errors import RequestRefusedError
from cosmodrome.protocol.codes import RequestCode, ResponseCode
from cosmodrome.protocol.command import RemotingCommand
from cosmodrome.transport.dispatch import Answer, Peer, Processor

# A route of a name that is too long is not there, and the answer says so; values of KV entries have a limit of their own.
_UNCHECKED: Final = frozenset({RequestCode.GET_ROUTEINFO_BY_TOPIC})
_NO_NAMES: Final[Mapping[RequestCode, str]] = {RequestCode.PUT_KV_CONFIG: "value"}


class NameLimits:
    """Lets requests through whose header fields are no longer than names may be, in characters."""

    def __init__(self, max_length: int) -> None:
        self._max_length = max_length

    def guarded(self, processors: Mapping[RequestCode, Processor]) -> dict[RequestCode, Processor]:
        """Give the same table with the check before each processor."""
        return {
            code: processor if code in _UNCHECKED else self._checked(processor, _NO_NAMES.get(code))
            for code, processor in processors.items()
        }

    def _checked(self, processor: Processor, no_name: str | None) -> Processor:
        max_length = self._max_length

        def checked(request: RemotingCommand, peer: Peer) -> Answer:
            for field, text in (request.ext_fields or {}).items():
                if text is not None and len(text) > max_length and field != no_name:
                    remark = f"a header field of more than {max_length} characters"
                    raise RequestRefusedError(ResponseCode.SYSTEM_ERROR, remark, cause="long_name")
            return processor(request, peer)

        return checked
