"""Options of accepted sockets, and how their addresses are written.

Owns: what is set on each socket, and how a vanished host is noticed; whether some are unread; `host:port`.
Must not know: what is sent over a socket.
"""

import contextlib
import socket
import struct
import sys
from typing import Final

_KEEP_ALIVE: Final = {"TCP_KEEPIDLE": 30, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3, "TCP_USER_TIMEOUT": 60_000}
"""How soon a vanished host is noticed: seconds, seconds, probes, and milliseconds for what was sent; where known."""
_NUMBER: Final = struct.Struct("i")
_LINGER_RESET: Final = struct.pack("ii", 1, 0)


def set_socket_options(sock: socket.socket, send_buffer_bytes: int, receive_buffer_bytes: int) -> None:
    """Set what every connection has, and the sizes of the system's buffers; 0 leaves the system's choice."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # asyncio does so for some sockets, not for ours
    for name, value in _KEEP_ALIVE.items():
        if hasattr(socket, name):
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
    if send_buffer_bytes:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, send_buffer_bytes)
    if receive_buffer_bytes:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer_bytes)


def reset_when_closed(sock: socket.socket) -> None:
    """Have closing the socket reset the connection, whatever is unsent."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_RESET)


def has_unread_bytes(sock: socket.socket) -> bool:
    """Whether bytes are here that were not read; where the system does not tell, there may be."""
    if sys.platform == "linux":
        import fcntl  # noqa: PLC0415 -- does not exist everywhere
        import termios  # noqa: PLC0415

        with contextlib.suppress(OSError):
            (count,) = _NUMBER.unpack(fcntl.ioctl(sock.fileno(), termios.FIONREAD, _NUMBER.pack(0)))
            return bool(count)
    return True


def format_address(name: object) -> str:
    """Give a socket name as `host:port`, IPv6 hosts in brackets, IPv4 ones that came over IPv6 as IPv4."""
    if not isinstance(name, tuple) or len(name) < 2:
        return "unknown"
    host, port = str(name[0]).split("%")[0].removeprefix("::ffff:"), name[1]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
