"""Files that hold secrets.

Owns: that what we write of them is for its owner only, from its first byte on.
Must not know: what they hold.
"""

import os
import stat
from pathlib import Path
from typing import Final

from cosmodrome.durable_file import backup_path, make_folder, replace_file
from cosmodrome.errors import StorageError

_OWNER_ONLY: Final = 0o600
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


def replace_secret_file(path: Path, data: bytes) -> None:
    """Make a file hold `data`, on disk before this returns, readable by its owner only; so is its previous version.

    Raises:
        StorageError: The file is as it was.
    """
    try:
        make_folder(path.parent)
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT, _OWNER_ONLY))
        for each in (path, backup_path(path)):
            if is_open_to_others(each):
                each.chmod(_OWNER_ONLY)
    except OSError as error:
        raise StorageError(f"cannot write {path}: {error.strerror or error}.") from error
    replace_file(path, data)


def is_open_to_others(path: Path) -> bool:
    """Tell whether others than its owner may read or write a file; not where the system has no such rights."""
    try:
        return os.name != "nt" and bool(path.stat().st_mode & _OTHERS)
    except OSError:
        return False
