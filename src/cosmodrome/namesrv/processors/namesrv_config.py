"""Requests about the configuration.

Owns: reading and checking the requests, and the answers.
Must not know: who may ask (policy/); how a change is stored.
"""

from typing import Final

from cosmodrome.errors import ConfigError, RequestRefusedError
from cosmodrome.namesrv import properties
from cosmodrome.namesrv.config import ConfigChange, blacklisted, render_listing
from cosmodrome.namesrv.events import ConfigChanged, Publish, RequestDenied
from cosmodrome.namesrv.live_config import LiveConfig
from cosmodrome.protocol.codes import ResponseCode
from cosmodrome.protocol.command import RemotingCommand, response_to
from cosmodrome.transport.dispatch import Peer

_NAMES_SHOWN: Final = 10
_NAME_SHOWN: Final = 60


class NamesrvConfigProcessor:
    """Answers requests about the configuration."""

    def __init__(self, config: LiveConfig, publish: Publish) -> None:
        self._config = config
        self._publish = publish

    def get_namesrv_config(self, request: RemotingCommand, _: Peer) -> RemotingCommand:
        """319."""
        body = render_listing(self._config.current).encode()
        return response_to(request, ResponseCode.SUCCESS, None, None, body)

    async def update_namesrv_config(self, request: RemotingCommand, peer: Peer) -> RemotingCommand:
        """318. All of a request or nothing; on disk before it is answered."""
        if not request.body:
            return response_to(request, ResponseCode.SUCCESS)
        changes = _read_properties(request.body)
        forbidden = blacklisted(self._config.started_with, changes)
        if forbidden:
            reason = f"{', '.join(forbidden)} may not be changed by requests"
            denied = RequestDenied(
                code=request.code, peer=peer.address, cause="black_list", reason=reason, proxy=peer.proxy
            )
            self._publish(denied)
            raise RequestRefusedError(
                ResponseCode.NO_PERMISSION, "Can not update config in black list.", is_fault=False
            )
        try:
            change, overridden = await self._config.change(changes)
        except ConfigError as error:
            raise RequestRefusedError(ResponseCode.SYSTEM_ERROR, error.what, cause="bad_config") from error
        if change.texts:
            event = ConfigChanged(applied=change.applied, restart=change.needs_restart, peer=peer.address)
            self._publish(event)
        return response_to(request, ResponseCode.SUCCESS, _told(change, overridden))


def _read_properties(body: bytes) -> dict[str, str]:
    try:
        return properties.last_values(properties.parse(body.decode("utf-8", "replace")))
    except ConfigError as error:
        remark = "string2Properties error"
        raise RequestRefusedError(ResponseCode.SYSTEM_ERROR, remark, cause="bad_properties") from error


def _told(change: ConfigChange, overridden: tuple[str, ...]) -> str | None:
    """Say which keys did not take effect now; nothing when all did, as in Java.

    COMPAT: a request with unknown keys is answered SUCCESS, as in Java; the remark says that nothing happened.
    """
    parts = []
    if change.needs_restart:
        parts.append(f"in effect after a restart: {', '.join(change.needs_restart)}")
    if change.unknown:
        parts.append(f"unknown, not stored: {_some_of(change.unknown)}")
    if change.without_effect:
        parts.append(f"kept without effect: {', '.join(change.without_effect)}")
    if overridden:
        parts.append(f"environment or command line will override at the next start: {', '.join(overridden)}")
    return "; ".join(parts) or None


def _some_of(names: tuple[str, ...]) -> str:
    """Show names that may be anything, and any number."""
    shown = ", ".join(name[:_NAME_SHOWN] for name in names[:_NAMES_SHOWN])
    more = len(names) - _NAMES_SHOWN
    return f"{shown} and {more} more" if more > 0 else shown
