"""The audit log of a NameServer.

Owns: which events are noted beside the changes; the names of requests in it.
Must not know: which requests are changes (policy/changes.py); how lines are written (audit/log.py).
"""

import time
from collections.abc import Callable
from pathlib import Path

from cosmodrome.audit import log
from cosmodrome.audit.file import AuditFile
from cosmodrome.namesrv.config import NamesrvConfig
from cosmodrome.namesrv.events import AuditFailed, BrokerIdentityMoved, Event, Publish, RequestDenied
from cosmodrome.protocol.codes import RequestCode


class AuditLog(log.AuditLog):
    """Takes note of events too. `publish` is told when the file cannot be written."""

    def __init__(
        self,
        file: AuditFile,
        publish: Publish,
        clocks: tuple[Callable[[], float], Callable[[], float]] = (time.time, time.monotonic),
    ) -> None:
        """Write to `file`; `clocks` are wall and steady, in seconds."""
        super().__init__(file, lambda reason: publish(AuditFailed(reason=reason)), clocks)

    def take(self, event: Event) -> None:
        """Note the events that belong here: refusals by policy, and brokers that took the place of others."""
        match event:
            case RequestDenied():
                fields = {**event.fields(), "request": request_name(event.code)}
                self.note_some("denied", fields)
            case BrokerIdentityMoved():
                self.note_some("broker_moved", event.fields())


def audit_log(config: NamesrvConfig, publish: Publish) -> AuditLog | None:
    """Give the audit log of a configuration; None when it is off."""
    if not config.is_audited:
        return None
    path = Path(config.audit_log)
    return AuditLog(
        AuditFile(path, max_bytes=config.audit_file_bytes, files_kept=config.audit_files_kept),
        publish,
    )


def request_name(code: int) -> str:
    """Give the name of a request code, as the Java sources have it."""
    try:
        return RequestCode(code).name
    except ValueError:
        return str(code)
