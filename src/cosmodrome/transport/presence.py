"""Whether a peer still waits for its answer, asked of the system: while nothing is read, nobody tells.

Owns: what the system knows about the other end of a connection.
Must not know: what the peer waits for.
"""

import enum
import socket
from typing import Final

_CLOSED: Final = 7
_CLOSE_WAIT: Final = 8


class Presence(enum.Enum):
    """What a peer has done."""

    HERE = "it may send and read"
    FINISHED = "it sends no more; it may read, or have closed"
    GONE = "it reset the connection"


def presence_of(sock: socket.socket) -> Presence:
    """Look up the other end of a connection; where the system does not tell, it is here."""
    if not hasattr(socket, "TCP_INFO"):
        return Presence.HERE
    if sock.fileno() < 0:
        return Presence.GONE
    state = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0]
    if state == _CLOSED:
        return Presence.GONE
    return Presence.FINISHED if state == _CLOSE_WAIT else Presence.HERE
