"""Files that survive a crash at any instant.

Owns: how a file is replaced, and what is left behind for a person to go back to.
Must not know: what the file holds.
"""

import contextlib
import glob
import os
import stat
from pathlib import Path

from cosmodrome.errors import StorageError


def replace_file(path: Path, data: bytes) -> None:
    """Make `path` hold `data`, on disk before this returns; its previous content stays as `<path>.bak`.

    At every instant `path` holds the old content whole or the new content whole, whoever else writes it too: the last
    writer wins. Its permissions stay. Missing folders are made.

    Raises:
        StorageError: Nothing was changed; `path` holds what it held.
    """
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _remove_leftovers(path)
        with temporary.open("wb") as file:
            _copy_mode(path, temporary)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        _keep_previous(path)
        temporary.replace(path)
        _sync_folder(path.parent)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise StorageError(
            f"cannot write {path}: {error.strerror or error}.",
            why="the change was refused and nothing was changed.",
            remedy="free some space, or make the folder writable; the next write succeeds without a restart.",
        ) from error


def backup_path(path: Path) -> Path:
    """Give the path under which the previous content of `path` is kept."""
    return path.with_name(f"{path.name}.bak")


def set_aside(path: Path, wall_ms: int) -> Path:
    """Rename a damaged file so that nothing of it is lost, and give its new name.

    Raises:
        StorageError: The folder does not allow it.
    """
    aside = path.with_name(f"{path.name}.damaged-{wall_ms}")
    try:
        path.replace(aside)
    except OSError as error:
        raise StorageError(
            f"cannot set the damaged file {path} aside: {error.strerror or error}.",
            remedy="move it away by hand, or make its folder writable.",
        ) from error
    return aside


def _keep_previous(path: Path) -> None:
    """Give the current content of `path` the name of its backup too, never a moment without `path`."""
    backup = backup_path(path)
    staging = path.with_name(f"{path.name}.bak.{os.getpid()}.tmp")
    staging.unlink(missing_ok=True)
    try:
        os.link(path, staging)
    except FileNotFoundError:
        return
    except OSError:  # a file system without hard links
        staging.write_bytes(path.read_bytes())
        _copy_mode(path, staging)
    staging.replace(backup)


def _remove_leftovers(path: Path) -> None:
    """Remove what processes that are gone had begun to write."""
    for leftover in path.parent.glob(f"{glob.escape(path.name)}.*.tmp"):
        pid = leftover.name.rpartition(".tmp")[0].rpartition(".")[2]
        if pid.isdecimal() and not _is_running(int(pid)):
            leftover.unlink(missing_ok=True)


def _is_running(pid: int) -> bool:
    if os.name == "nt":  # there, asking would end the process
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def _copy_mode(original: Path, copy: Path) -> None:
    with contextlib.suppress(FileNotFoundError):
        copy.chmod(stat.S_IMODE(original.stat().st_mode))


def _sync_folder(folder: Path) -> None:
    """Put the folder's entries on disk where the system can (Windows cannot open folders)."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
