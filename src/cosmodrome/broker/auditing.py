"""Changes are written down, then made.

Owns: that there is no change without its line, and that one that fails is followed by `not_made`; the form of the lines.
Must not know: who may pass (gate.py); what a request changes (changes.py); how a file is written.
"""

import asyncio
import logging
from pathlib import Path
from typing import Any, Final

from cosmodrome.audit.file import AuditFile
from cosmodrome.audit.log import AuditLog
from cosmodrome.broker.changes import Changes
from cosmodrome.broker.config import OFF, BrokerConfig
from cosmodrome.errors import RequestRefusedError, StorageError
from cosmodrome.protocol.codes import BrokerRequestCode, ResponseCode
from cosmodrome.protocol.command import RemotingCommand
from cosmodrome.transport.dispatch import LATER, Peer, Processor

logger = logging.getLogger(__name__)

FILE_NAME: Final = "audit.jsonl"
"""In the folder of the store, unless told."""
_MAX_BYTES: Final = 16 * 1024 * 1024
_FILES_KEPT: Final = 10


def audit_log(config: BrokerConfig, folder: Path) -> AuditLog | None:
    """Give the audit log of a broker whose store is in a folder; None when it is off."""
    if config.audit_log.lower() == OFF:
        return None
    path = Path(config.audit_log).expanduser() if config.audit_log else folder / FILE_NAME
    return AuditLog(AuditFile(path, max_bytes=_MAX_BYTES, files_kept=_FILES_KEPT), _failed)


def _failed(reason: str) -> None:
    logger.error("changes are refused: %s", reason)


class Auditing:
    """Lets changes be made one after another, so that each line says what really was before."""

    def __init__(self, log: AuditLog, changes: Changes) -> None:
        """Write to this what these tell."""
        self._log = log
        self._changes = changes
        self._changing = asyncio.Lock()

    async def carry_out(self, processor: Processor, request: RemotingCommand, peer: Peer, name: str) -> RemotingCommand:
        """Write down what a request is about to change, and let it be done; `name` is who signed it, if somebody did.

        Raises:
            StorageError: It could not be written down, and was not done.
        """
        async with self._changing:
            change = self._changes.of(request)
            said = {"target": change.target, "before": change.before, "after": change.after}
            await self._log.record(_line("change", request, peer, name) | said)
            reason = "it failed, see the broker's log"
            try:
                answer = processor(request, peer)
                answer = answer if isinstance(answer, RemotingCommand) else await answer
                reason = (
                    "" if answer is LATER or answer.code == ResponseCode.SUCCESS else answer.remark or str(answer.code)
                )
            except RequestRefusedError as error:
                reason = error.remark
                raise
            except StorageError as error:
                reason = error.what
                raise
            finally:
                if reason:
                    not_made = {"target": change.target, "reason": reason}
                    self._log.note(_line("not_made", request, peer, name) | not_made)
            return answer

    def refused(self, request: RemotingCommand, peer: Peer, reason: str) -> None:
        """Note that a request was refused, if it is one of the first this minute."""
        self._log.note_some("denied", _line("denied", request, peer, "") | {"reason": reason})


def _line(event: str, request: RemotingCommand, peer: Peer, name: str) -> dict[str, Any]:
    line: dict[str, Any] = {"event": event, "code": request.code, "request": _request_name(request.code)}
    line["peer"] = peer.address
    if peer.proxy is not None:
        line["proxy"] = peer.proxy
    return line | ({"user": name} if name else {})


def _request_name(code: int) -> str:
    try:
        return BrokerRequestCode(code).name
    except ValueError:
        return str(code)
