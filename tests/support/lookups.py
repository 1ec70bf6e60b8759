"""What names a server process looks up.

Owns: an audit hook inside the process that records lookups, and makes them hang and fail as a broken resolver does.
Must not know: which lookups are right.
"""

import os
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Final

_HOOK: Final = """
import os, socket, sys, time

if {is_uvloop_hidden}:
    sys.modules["uvloop"] = None

_FILE = os.open({file!r}, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
_LOOKUPS = ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr")


def _is_number(host):
    if host in (None, "", b""):
        return True
    text = host.decode() if isinstance(host, bytes) else host
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            socket.inet_pton(family, text.partition("%")[0])
            return True
        except (OSError, ValueError):
            pass
    return False


def _hook(event, arguments):
    if event in _LOOKUPS and not _is_number(arguments[0]):
        os.write(_FILE, repr(arguments[0]).encode() + b"\\n")
        time.sleep({seconds})
        raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")


sys.addaudithook(_hook)
"""


class Lookups:
    """Names that the process asked a resolver for; numeric addresses are none."""

    def __init__(self, folder: Path, *, seconds: float, is_uvloop_hidden: bool) -> None:
        """Prepare; each lookup hangs for so long and fails then.

        Without uvloop the event loop's own lookups are seen, too.
        """
        hooks = folder / "hooks"
        hooks.mkdir()
        self._file = folder / "lookups"
        source = _HOOK.format(file=str(self._file), seconds=seconds, is_uvloop_hidden=is_uvloop_hidden)
        (hooks / "sitecustomize.py").write_text(textwrap.dedent(source), encoding="utf-8")
        self._hooks = hooks

    @property
    def environment(self) -> Mapping[str, str]:
        """What to lay over the environment of the process."""
        source = Path(__file__).resolve().parents[2] / "src"
        return {"PYTHONPATH": os.pathsep.join((str(self._hooks), str(source)))}

    def names(self) -> list[str]:
        """Return the names in the order of the lookups."""
        assert self._file.exists(), "the hook was not loaded"
        lines = self._file.read_text(encoding="utf-8").splitlines()
        return [line.removeprefix("b").strip("'") for line in lines]
