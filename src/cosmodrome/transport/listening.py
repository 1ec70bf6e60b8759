"""Listening sockets.

Owns: address families; what a person is told when an address cannot be had.
Must not know: what is done with the socket.
"""

import errno
import os
import socket
from typing import Final

from cosmodrome.errors import BindError

ANY_IPV4: Final = "0.0.0.0"  # noqa: S104 -- named, to be compared with
ANY_IPV6: Final = "::"
_PORTS: Final = range(65536)

_REASONS: Final = {
    errno.EADDRINUSE: "address already in use",
    errno.EACCES: "permission denied",
    errno.EADDRNOTAVAIL: "this host does not have that address",
}


def listening_socket(host: str, port: int) -> socket.socket:
    """Bind, and leave listening to the caller.

    `0.0.0.0` and `::` take IPv4 and IPv6 peers alike where the system can, as the Java server does. A name is
    looked up, an address is not.

    Raises:
        OSError: As the system says.
    """
    if port not in _PORTS:
        raise OSError(errno.EINVAL, f"port {port} is not between 0 and 65535")
    if host in (ANY_IPV4, ANY_IPV6):
        try:
            return _dual_stack_socket(port)
        except OSError as error:
            if host == ANY_IPV6 or error.errno not in (errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL, errno.ENOPROTOOPT):
                raise
    family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    return _bound(socket.socket(family, socket.SOCK_STREAM), address)


def bind_error(host: str, port: int, error: OSError) -> BindError:
    """Say that an address could not be had. What to do about it is for who knows the configuration."""
    reason = _REASONS.get(error.errno or 0) or error.strerror or str(error)
    return BindError(f"cannot listen on {host}:{port}: {reason}.")


def _dual_stack_socket(port: int) -> socket.socket:
    sock = socket.socket(socket.AF_INET6, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    except OSError:
        sock.close()
        raise
    return _bound(sock, (ANY_IPV6, port))


def _bound(sock: socket.socket, address: tuple[object, ...]) -> socket.socket:
    try:
        if os.name == "posix":  # elsewhere the option would let two servers share a port
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(address)
        sock.setblocking(False)
    except OSError:
        sock.close()
        raise
    return sock
