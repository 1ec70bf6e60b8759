"""Files that survive a crash at any instant.

Owns: how a file is replaced, what is left behind for a person to go back to, and what an interrupted write leaves.
Must not know: what the file holds; who may write it.
"""

import contextlib
import errno
import logging
import os
import re
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from cosmodrome.errors import StorageDoubtError, StorageError

logger = logging.getLogger(__name__)

# The name must be new: nobody can have put a link there for us to follow.
_CREATE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
_MODE_OF_NEW: Final = 0o666
_MODE_UNTIL_COPIED: Final = 0o600
# What a file system answers that has no way to sync a folder; there, the rename itself is all there is.
_CANNOT_SYNC_FOLDERS: Final = frozenset({errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP})


Stamp = tuple[int, int, int]
"""What tells one content of a file from another without reading it."""


def stamp_of(path: Path) -> Stamp | None:
    """Give the stamp of a file, or of what a link names; None when there is none that can be seen."""
    try:
        seen = path.stat()
    except OSError:
        return None
    return seen.st_ino, seen.st_size, seen.st_mtime_ns


def replace_file(path: Path, data: bytes) -> None:
    """Make `path` hold `data`, on disk before this returns; its previous content stays as `<path>.bak`.

    At every instant `path` holds the old content whole or the new content whole, whoever else writes it too: the last
    writer wins. A symbolic link stays, and what it points to is replaced. Permissions stay, and the owner if this
    user may give files away. Missing folders are made.

    Raises:
        StorageError: Nothing was changed; `path` holds what it held.
        StorageDoubtError: The new content was in place when the disk failed. The old one was put back as far as that
            was possible, and which of the two a restart finds is not known until a later write succeeds.
    """
    target = real_path(path)
    try:
        _refuse_what_is_no_file(target)
        _remove_files_of_the_gone(target)
        make_folder(target.parent)
        with _opened(target.parent) as folder:
            _replace(target, data, folder)
    except OSError as error:
        raise StorageError(
            f"cannot write {path}: {error.strerror or error}.",
            why="the change was refused and nothing was changed.",
            remedy=_remedy(error),
        ) from error


def real_path(path: Path) -> Path:
    """Give the path of the file itself, which a symbolic link at `path` names."""
    return Path(os.path.realpath(path))


def backup_path(path: Path) -> Path:
    """Give the path under which the previous content of `path` is kept."""
    target = real_path(path)
    return target.with_name(f"{target.name}.bak")


def aside_path(path: Path, wall_ms: int) -> Path:
    """Give the name of a file that was found damaged at a time in milliseconds since the epoch."""
    target = real_path(path)
    return target.with_name(f"{target.name}.damaged-{wall_ms}")


def is_special(path: Path) -> bool:
    """Whether something other than a file is there: a folder, a device, a pipe. Such a thing is never replaced."""
    try:
        return not stat.S_ISREG(path.stat().st_mode)
    except OSError:
        return False


def make_folder(folder: Path) -> None:
    """Make a folder and those above it, so that they survive a crash too.

    Raises:
        OSError: One of them cannot be made.
    """
    missing = []
    while not folder.exists():
        missing.append(folder)
        folder = folder.parent
    for each in reversed(missing):
        each.mkdir(exist_ok=True)
        with _opened(each.parent) as parent:
            _sync_folder(parent)


def set_aside(path: Path, wall_ms: int) -> Path:
    """Rename a damaged file so that nothing of it is lost, and give its new name.

    Raises:
        StorageError: The folder does not allow it.
    """
    target, aside = real_path(path), aside_path(path, wall_ms)
    try:
        target.replace(aside)
    except OSError as error:
        raise StorageError(
            f"cannot set the damaged file {path} aside: {error.strerror or error}.",
            remedy="move it away by hand, or make its folder writable.",
        ) from error
    return aside


def remove_leftovers(path: Path, *, is_ours: bool) -> None:
    """Remove what interrupted writes of `path` left, before this process writes it. What cannot be removed stays.

    `is_ours` tells that no other process can be writing it. Else what belongs to one that runs is left alone; one that
    ran in a container may have had this process's id.
    """
    for leftover, pid in _leftovers(real_path(path)):
        if is_ours or pid == os.getpid() or not _is_running(pid):
            _remove(leftover)


def _replace(target: Path, data: bytes, folder: int | None) -> None:
    temporary, previous = _temporary_paths(target)
    try:
        _write_new(temporary, data, target)
        has_previous = _link_or_copy(target, previous)
        temporary.replace(target)
        try:
            _sync_folder(folder)
        except OSError as error:
            _put_back(target, previous if has_previous else None)
            raise StorageDoubtError(
                f"cannot make {target} safe on disk: {error.strerror or error}.",
                why="the file was written, then the disk failed; until a later write succeeds, a restart may find "
                "either content.",
                remedy="look at the disk and the system's log.",
            ) from error
        if has_previous:
            _keep(previous, backup_path(target))
    finally:
        _remove(temporary)
        _remove(previous)


def _refuse_what_is_no_file(target: Path) -> None:
    """Renaming a file over a device would remove the device from the system."""
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if is_special(target):
        raise OSError(errno.EINVAL, "it is a device or a pipe, not a file")


def _temporary_paths(target: Path) -> tuple[Path, Path]:
    """Give names for the new content and for the previous one; see `_leftovers`."""
    unique = f"{os.getpid()}.{secrets.token_hex(4)}.tmp"
    return target.with_name(f"{target.name}.{unique}"), target.with_name(f"{target.name}.bak.{unique}")


def _write_new(path: Path, data: bytes, original: Path) -> None:
    """Make a file with the rights of `original`, or those of any new file, and put it on disk."""
    try:
        rights = original.stat()
    except FileNotFoundError:
        rights = None
    descriptor = os.open(path, _CREATE, _MODE_OF_NEW if rights is None else _MODE_UNTIL_COPIED)
    try:
        if rights is not None:
            _copy_rights(rights, path, descriptor)
        left = memoryview(data)
        while left:
            left = left[os.write(descriptor, left) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _copy_rights(rights: os.stat_result, path: Path, descriptor: int) -> None:
    if hasattr(os, "fchown"):
        for owner in ((rights.st_uid, rights.st_gid), (-1, rights.st_gid)):
            with contextlib.suppress(PermissionError):
                os.fchown(descriptor, *owner)
                break
    path.chmod(mode_for_group(rights, os.fstat(descriptor).st_gid))


def mode_for_group(rights: os.stat_result, group: int) -> int:
    """Give the permissions for a copy that belongs to `group`; another group than before gets what everybody has."""
    mode = stat.S_IMODE(rights.st_mode)
    return mode if group == rights.st_gid else mode & ~stat.S_IRWXG | (mode & stat.S_IRWXO) << 3


def _link_or_copy(target: Path, previous: Path) -> bool:
    """Give the current content a second name, and tell whether there is any."""
    try:
        os.link(target, previous)
    except FileNotFoundError:
        return False
    except OSError:  # a file system without hard links, or a file of another user
        _write_new(previous, target.read_bytes(), target)
    return True


def _put_back(target: Path, previous: Path | None) -> None:
    with contextlib.suppress(OSError):
        if previous is None:
            target.unlink()
        else:
            previous.replace(target)


def _keep(previous: Path, backup: Path) -> None:
    """Give the previous content its lasting name. The change is on disk already, and stays whatever happens here.

    Only now, so that a write that fails costs no older version, and file and backup are never one and the same.
    """
    try:
        previous.replace(backup)
    except OSError as error:
        logger.warning("the previous version cannot be kept as %s: %s", backup, error.strerror or error)


@contextlib.contextmanager
def _opened(folder: Path) -> Iterator[int | None]:
    """Open a folder in order to sync it; None where the system cannot (Windows)."""
    if os.name == "nt":
        yield None
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _sync_folder(descriptor: int | None) -> None:
    """Put the folder's entries on disk, where that is a thing to ask for."""
    if descriptor is None:
        return
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _CANNOT_SYNC_FOLDERS:
            raise


def _remove_files_of_the_gone(target: Path) -> None:
    for leftover, pid in _leftovers(target):
        if not _is_running(pid):
            _remove(leftover)


def _leftovers(target: Path) -> list[tuple[Path, int]]:
    """Give the temporary files of `target`, each with the process that began to write it."""
    pattern = re.compile(re.escape(target.name) + r"(?:\.bak)?\.(\d{1,10})(?:\.[0-9a-f]{8})?\.tmp")
    with contextlib.suppress(OSError):
        matches = [pattern.fullmatch(each.name) for each in target.parent.iterdir()]
        return [(target.with_name(match[0]), int(match[1])) for match in matches if match]
    return []


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


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()


def _remedy(error: OSError) -> str:
    if error.errno == errno.EBUSY:
        return "it is mounted by itself, and a mounted file cannot be replaced: mount its folder instead."
    return "free some space, or make the folder writable; the next write succeeds without a restart."
