"""The inside of a strict container, without a container runtime.

Owns: how a command is run as an arbitrary user without rights, with nothing to write to but one folder, behind a filter
    of system calls; how that is approximated where the system does not let us.
Must not know: what is run in it.
"""

import functools
import platform
import subprocess
import sys
from pathlib import Path
from typing import Final

USER: Final = 54_321
"""An id that no user of this machine has."""

_READ_ONLY: Final = """
set -eu
writable=$1; shift
[ "$writable" = - ] || mount --bind "$writable" "$writable"
while read -r _ _ _ _ point _; do
    case $point in "$writable"|/proc|/proc/*) continue ;; esac
    mount -o remount,bind,ro "$point" 2>/dev/null || :
done < /proc/self/mountinfo
user=$1; shift
exec unshare --user --map-user="$user" --map-group="$user" setpriv --no-new-privs --inh-caps=-all "$@"
"""

# What container runtimes refuse by default: mount and its kind, tracing, keys, modules, time, namespaces, io_uring, ...
_REFUSED_ON_X86_64: Final = (
    101, 134, 135, 136, 139, 155, 163, 164, 165, 166, 167, 168, 169, 172, 173, 175, 176, 179, 212, 227, 237, 238, 239,
    246, 248, 249, 250, 272, 279, 298, 303, 304, 308, 310, 311, 312, 321, 323, 425, 426, 427,
)  # fmt: skip
_FILTERED: Final = """
import ctypes, os, struct, sys
refused = {refused}
load, equal, give = 0x20, 0x15, 0x06
program = [(load, 0, 0, 0)]
program += [(equal, len(refused) - at, 0, number) for at, number in enumerate(refused)]
program += [(give, 0, 0, 0x7FFF0000), (give, 0, 0, 0x00050001)]
code = b"".join(struct.pack("HBBI", *each) for each in program)
held = ctypes.create_string_buffer(code, len(code))
whole = struct.pack("HxxxxxxP", len(program), ctypes.addressof(held))
if ctypes.CDLL(None, use_errno=True).prctl(22, 2, whole, 0, 0):
    raise OSError(ctypes.get_errno(), "prctl")
os.execv(sys.argv[1], sys.argv[1:])
"""


def inside(writable: Path | None) -> list[str]:
    """Give the words to put before a command, whose program is named by its path.

    Only below `writable` can anything be written. Where the system has no namespaces for us, it is no more than the
    command itself: whoever relies on the rest asks `is_real`.
    """
    if not is_real():
        return []
    where = "-" if writable is None else str(writable)
    return [*_namespaces(where), *_system_calls()]


@functools.cache
def is_real() -> bool:
    """Tell whether this system lets us make namespaces and filter system calls."""
    if sys.platform != "linux":
        return False
    try:
        command = [*_namespaces("-"), *_system_calls(), sys.executable, "-S", "-c", "pass"]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def _namespaces(writable: str) -> list[str]:
    shell = ["sh", "-c", _READ_ONLY, "sh", writable, str(USER)]
    return ["unshare", "--user", "--map-root-user", "--mount", *shell]


def _system_calls() -> list[str]:
    if platform.machine() != "x86_64":
        return []
    return [sys.executable, "-S", "-c", _FILTERED.format(refused=_REFUSED_ON_X86_64)]
