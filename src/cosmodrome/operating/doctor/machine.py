"""Checks of the machine, whatever runs on it.

Owns: versions, descriptors, clocks, memory, addresses.
Must not know: which server is to run.
"""

import ctypes
import importlib.metadata
import platform
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from cosmodrome.operating.doctor.finding import Finding, fail, ok, warn

_ENOUGH_DESCRIPTORS: Final = 65_536
_TOO_FEW_DESCRIPTORS: Final = 1_024
_LIBRARIES: Final = ("uvloop", "msgspec", "click")
_LOOK_AT_CLOCKS_S: Final = 0.2
_CLOCKS_APART_S: Final = 0.02
_UNSYNCHRONISED: Final = 5
_TIMEX_BYTES: Final = 1024
"""More than the structure has anywhere."""
_LITTLE_MEMORY_KB: Final = 256 * 1024
_HUGE_PAGES: Final = Path("/sys/kernel/mm/transparent_hugepage/enabled")
_MEMORY: Final = Path("/proc/meminfo")


def versions() -> Iterator[Finding]:
    """Look at Python and what the servers need."""
    found = {name: _version(name) for name in _LIBRARIES}
    what = ", ".join(
        [f"Python {platform.python_version()}", *(f"{name} {text}" for name, text in found.items() if text)]
    )
    if not found["uvloop"] and sys.platform != "win32":
        yield warn(
            "python",
            f"{what}; no uvloop",
            "the event loop of asyncio takes about twice the time.",
            "pip install uvloop",
        )
    else:
        yield ok("python", what)


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""


def descriptors() -> Iterator[Finding]:
    """Look how many descriptors a process of this user may have; a server raises its own limit to that."""
    if sys.platform == "win32":
        return
    import resource  # noqa: PLC0415 -- does not exist everywhere

    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard == resource.RLIM_INFINITY or hard >= _ENOUGH_DESCRIPTORS:
        yield ok("open files", f"{'any number' if hard == resource.RLIM_INFINITY else hard} at most")
        return
    why = "each connection takes one, and peers beyond the limit are refused."
    do = f"LimitNOFILE={_ENOUGH_DESCRIPTORS} in the systemd unit, --ulimit nofile={_ENOUGH_DESCRIPTORS} for a container"
    yield (fail if hard < _TOO_FEW_DESCRIPTORS else warn)("open files", f"{hard} at most (hard limit)", why, do)


def clocks() -> Iterator[Finding]:
    """Look whether the clock of the day runs as the steady one, and whether anybody sets it right."""
    wall_s, steady_s = time.time(), time.monotonic()
    time.sleep(_LOOK_AT_CLOCKS_S)
    apart_s = abs((time.time() - wall_s) - (time.monotonic() - steady_s))
    if apart_s > _CLOCKS_APART_S:
        yield warn(
            "clock",
            f"it moved by {apart_s * 1000:.0f} ms against the steady clock in {_LOOK_AT_CLOCKS_S:g} s",
            "stored times, delays and searches by time are those of this clock; routes and expiry are not.",
            "have it slewed, not set: chrony or systemd-timesyncd",
        )
    elif _is_unsynchronised():
        yield warn(
            "clock",
            "runs evenly, and nobody keeps it right",
            "messages are stored and searched with times of this clock.",
            "run chrony or systemd-timesyncd",
        )
    else:
        yield ok("clock", "runs evenly, and is kept right" if sys.platform == "linux" else "runs evenly")


def _is_unsynchronised() -> bool:
    if sys.platform != "linux":
        return False
    found = getattr(ctypes.CDLL(None), "adjtimex", None)
    return found is not None and found(ctypes.create_string_buffer(_TIMEX_BYTES)) == _UNSYNCHRONISED


def memory(info: Path = _MEMORY, huge_pages: Path = _HUGE_PAGES) -> Iterator[Finding]:
    """Look at what is free, at swap, and at huge pages."""
    sizes = _sizes_kb(info)
    if "MemAvailable" not in sizes:
        return
    available, swapped = sizes["MemAvailable"], sizes.get("SwapTotal", 0) - sizes.get("SwapFree", 0)
    what = f"{available // 1024} MiB available, {swapped // 1024} MiB swapped out"
    if available < _LITTLE_MEMORY_KB:
        yield warn(
            "memory", what, "a server that is swapped out, or ended by the system, serves nobody.", "give it more"
        )
    elif swapped > available:
        yield warn(
            "memory", what, "a heartbeat that waits for the disk may come too late.", "more memory, or vm.swappiness=1"
        )
    else:
        yield ok("memory", what)
    if "[always]" in _text(huge_pages):
        yield warn(
            "huge pages",
            "transparent huge pages are always used",
            "the kernel stops a process now and then to make some, and memory is given back late.",
            f"echo madvise > {huge_pages}",
        )


def _sizes_kb(info: Path) -> dict[str, int]:
    sizes = {}
    for line in _text(info).splitlines():
        words = line.split()
        if len(words) >= 2 and words[1].isdecimal():
            sizes[words[0].rstrip(":")] = int(words[1])
    return sizes


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""


def addresses(own_address: str) -> Iterator[Finding]:
    """Look at IPv6, and at the address by which others reach this host."""
    has_ipv6 = _has_ipv6()
    what = f"others reach this host by {own_address}; IPv6 is {'there' if has_ipv6 else 'not there'}"
    if own_address.startswith("127."):
        yield warn(
            "addresses",
            f"no way out of this host but loopback; IPv6 is {'there' if has_ipv6 else 'not there'}",
            "a broker here would tell clients an address that only this host reaches.",
            "set brokerIP1, or connect the network",
        )
    else:
        yield ok("addresses", what)


def _has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6, socket.SOCK_STREAM) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True
