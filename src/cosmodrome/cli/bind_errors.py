"""Why an address cannot be listened on, and what to do about it.

Owns: the text for a port that is taken, for a foreign address and for a port that needs a right.
Must not know: how the listener is opened.
"""

import contextlib
import errno
import socket
from typing import Final

from cosmodrome.errors import BindError
from cosmodrome.namesrv.config import NamesrvConfig
from cosmodrome.namesrv.port_owner import find_port_owner

_OTHER_PORTS: Final = range(10, 110, 10)
"""How far from a taken port the proposed one is."""


def explained(error: BindError, config: NamesrvConfig) -> BindError:
    """Give the same error with a reason and an advice, as far as they can be found out."""
    if error.remedy:
        return error
    number = getattr(error.__cause__, "errno", None)
    why, remedy = error.why, None
    if number == errno.EADDRINUSE:
        owner = find_port_owner(config.listen_port)
        why = (
            f"pid {owner.pid} ({owner.command}) is listening there." if owner else "another process is listening there."
        )
        port = _other_port(config)
        remedy = f"stop it, or choose a port: cosmodrome namesrv --listenPort {port}"
    elif number == errno.EADDRNOTAVAIL:
        why = f"{config.bind_address} is not an address of this host."
        remedy = "choose one, or all of them: cosmodrome namesrv --bindAddress 0.0.0.0"
    elif number == errno.EACCES:
        why = "this user may not listen on a port that low."
        remedy = f"choose a port from 1024 on: cosmodrome namesrv --listenPort {NamesrvConfig().listen_port}"
    return BindError(error.what, why=why, remedy=remedy)


def _other_port(config: NamesrvConfig) -> int:
    """Give a port near the configured one that is free now."""
    candidates = [config.listen_port + step for step in _OTHER_PORTS if config.listen_port + step < 65_536]
    return next((port for port in candidates if _is_free(config.bind_address, port)), 0)


def _is_free(host: str, port: int) -> bool:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with contextlib.suppress(OSError), socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((host, port))
        return True
    return False
