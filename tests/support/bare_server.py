"""A server process whose streams, rights and surroundings a test chooses.

Owns: starting it, learning its address by a descriptor of its own, ending it for certain.
Must not know: what it is run in; what a test asks of it.
"""

import contextlib
import os
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.support.server_process import COMMAND, STOP_S, server_environment


@contextlib.contextmanager
def program(folder: Path, *flags: str, prefix: Sequence[str] = (), **more: Any) -> Iterator[subprocess.Popen[bytes]]:
    """Run a server in a working folder, on a free port of 127.0.0.1 and with `<folder>/data` unless `flags` differ.

    `prefix` is a command that runs a command; `more` are further arguments of Popen.
    """
    usual = {"--listenPort": "0", "--bindAddress": "127.0.0.1", "--data-dir": str(folder / "data")}
    given = [part for flag, value in usual.items() if flag not in flags for part in (flag, value)]
    options: dict[str, Any] = {"cwd": folder, "env": server_environment(folder), "stdin": subprocess.DEVNULL} | more
    child = subprocess.Popen([*prefix, *COMMAND, "namesrv", *given, *flags], **options)
    try:
        yield child
    finally:
        if child.poll() is None:
            child.kill()
        child.wait()


@contextlib.contextmanager
def announced(folder: Path, *flags: str, **more: Any) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """Run such a server, and give it with its address, whatever becomes of its output."""
    ready, its_end = os.pipe()
    with os.fdopen(ready, "rb") as reader:
        try:
            context = program(folder, *flags, "--ready-fd", str(its_end), pass_fds=(its_end,), **more)
            child = context.__enter__()
        finally:
            os.close(its_end)
        with contextlib.ExitStack() as stack:
            stack.push(context)
            line = reader.readline()
            assert line, f"it ended with {child.wait(STOP_S)}"
            yield child, line.decode().strip()
