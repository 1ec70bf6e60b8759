"""A folder for the files of one process.

Owns: where it is, that it is empty, and its end.
Must not know: what is put into it.
"""

import atexit
import os
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import Final

_MEMORY: Final = Path("/dev/shm")  # noqa: S108 -- folders of our own are made in it
PLACE: Final = "COSMODROME_FUZZ_FOLDER"
"""Names a folder whose end is somebody else's business: a process under atheris has no time to tidy up."""


def empty_folder() -> Path:
    """Give a folder without files, the same one in each call, in memory where that is possible."""
    folder = _own_folder()
    for entry in folder.iterdir():
        entry.unlink()
    return folder


def folder_for_another() -> "tempfile.TemporaryDirectory[str]":
    """Make a folder for a process that is told its name by PLACE; it ends with the context."""
    return tempfile.TemporaryDirectory(prefix="cosmodrome-fuzz-", dir=_parent())


@cache
def _own_folder() -> Path:
    if PLACE in os.environ:
        return Path(os.environ[PLACE])
    folder = Path(tempfile.mkdtemp(prefix="cosmodrome-fuzz-", dir=_parent()))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _parent() -> Path | None:
    return _MEMORY if _MEMORY.is_dir() else None
