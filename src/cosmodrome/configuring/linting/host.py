"""This host, as far as lint wants to know it.

Owns: its addresses; on what kind of file system a folder is.
Must not know: any rule.
"""

import contextlib
import os
import socket
import struct
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_ADDRESS_OF_INTERFACE: Final = 0x8915
"""SIOCGIFADDR of Linux."""
_NAME_BYTES: Final = 15
_MOUNTS: Final = Path("/proc/self/mounts")


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """What is known of it.

    Attributes:
        name: Its own name, which a broker without brokerName takes.
        addresses: IPv4 addresses that others can reach perhaps, each with its interface; empty where nobody can tell.
        mounts: Folders at which file systems begin, each with the file system's type.
    """

    name: str = ""
    addresses: tuple[tuple[str, str], ...] = ()
    mounts: tuple[tuple[str, str], ...] = ()

    def file_system(self, folder: str) -> str:
        """Give the type of the file system that a folder is on, or would be; empty when it is not known."""
        path = os.path.realpath(folder)
        holding = [(place, kind) for place, kind in self.mounts if _is_below(path, place)]
        return max(holding, key=lambda each: len(each[0]), default=("", ""))[1]

    def example_address(self) -> str:
        """Give an address of it that clients can perhaps reach."""
        return self.addresses[0][0] if self.addresses else "192.168.1.31"


def this_host() -> Host:
    """Look at this host."""
    return Host(name=socket.gethostname(), addresses=_addresses(), mounts=_mounts())


def _is_below(path: str, place: str) -> bool:
    return place in ("/", path) or path.startswith(f"{place}/")


def _addresses() -> tuple[tuple[str, str], ...]:
    found: list[tuple[str, str]] = []
    if sys.platform != "linux":
        return ()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        for _, name in socket.if_nameindex():
            with contextlib.suppress(OSError):  # an interface without an address
                found.append((_address_of(asking, name), name))
    return tuple(each for each in found if not each[0].startswith("127."))


def _address_of(asking: socket.socket, name: str) -> str:
    import fcntl  # noqa: PLC0415  # not on Windows

    asked = struct.pack("256s", name.encode()[:_NAME_BYTES])
    return socket.inet_ntoa(fcntl.ioctl(asking.fileno(), _ADDRESS_OF_INTERFACE, asked)[20:24])


def _mounts() -> tuple[tuple[str, str], ...]:
    try:
        lines = _MOUNTS.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ()
    fields = (line.split(" ") for line in lines)
    return tuple((each[1].replace("\\040", " "), each[2]) for each in fields if len(each) > 2)
