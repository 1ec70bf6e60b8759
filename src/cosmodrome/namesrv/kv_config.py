"""KVConfigStore: namespaces of keys and values (Java: KVConfigManager).

Owns: the entries in memory, and their file in Java's format.
Must not know: who asks, or what the entries mean.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from cosmodrome.durable_file import aside_path, backup_path, is_special, replace_file, set_aside
from cosmodrome.errors import MalformedBodyError, StorageError
from cosmodrome.namesrv.kv_limits import KVLimits, KVSize
from cosmodrome.protocol.json_dialects import encode_json, json_text, parse_lenient

logger = logging.getLogger(__name__)

ORDER_TOPIC_CONFIG: Final = "ORDER_TOPIC_CONFIG"
"""Namespace of ordered topics: topic → `broker:queues;broker:queues`."""

KVTables = Mapping[str, Mapping[str, str]]


class KVConfigStore:
    """Entries that are on disk before they are acknowledged.

    Reads give the last acknowledged state. Writes happen one after another, away from the event loop. `limits` may be
    replaced; what is there already stays.

    Args:
        path: The file; it is made by the first write.
        tables: What it holds, or what it held before it was damaged.
        damaged_ms: When the file was found damaged, since the epoch; it is set aside before the next write.
    """

    def __init__(self, path: Path, tables: KVTables | None = None, *, damaged_ms: int | None = None) -> None:
        self._path = path
        self._damaged_ms = damaged_ms
        self._tables: KVTables = tables or {}
        self._size = KVSize.of(self._tables)
        self.limits = KVLimits()
        self.on_written: Callable[[float, bool], None] = lambda _took_s, _is_done: None
        """Told of each change that was to be written: how long that took, and whether it is on disk."""
        self._writing = asyncio.Lock()

    @property
    def size(self) -> KVSize:
        """How much it holds."""
        return self._size

    def get(self, namespace: str | None, key: str | None) -> str | None:
        """Give a value, or None when there is none."""
        table = self._tables.get(namespace) if namespace is not None else None
        return None if table is None or key is None else table.get(key)

    def table(self, namespace: str | None) -> Mapping[str, str] | None:
        """Give a namespace; None for one that never had an entry, empty for one that lost all."""
        return None if namespace is None else self._tables.get(namespace)

    def namespaces(self) -> list[str]:
        """Give the namespaces that ever had an entry."""
        return list(self._tables)

    async def put(self, namespace: str, key: str, value: str) -> None:
        """Store an entry.

        Raises:
            StorageError: It is not on disk, and not visible either.
            RequestRefusedError: It is beyond `limits`.
        """
        async with self._writing:
            size = self._size_with(namespace, key, value)
            self.limits.check(self._size, size, value)
            table = {**self._tables.get(namespace, {}), key: value}
            await self._replace({**self._tables, namespace: table})
            self._size = size

    async def delete(self, namespace: str, key: str) -> bool:
        """Remove an entry, and tell whether there was one. An emptied namespace stays.

        Raises:
            StorageError: It is still on disk, and still visible.
        """
        async with self._writing:
            table = self._tables.get(namespace, {})
            if key not in table:
                return False
            rest = {name: value for name, value in table.items() if name != key}
            await self._replace({**self._tables, namespace: rest})
            self._size = self._size.changed(removed=(key, table[key]), entries=-1)
            return True

    def _size_with(self, namespace: str, key: str, value: str) -> KVSize:
        table = self._tables.get(namespace)
        if table is None:
            return self._size.changed(added=(namespace, key, value), entries=2)
        old = table.get(key)
        if old is None:
            return self._size.changed(added=(key, value), entries=1)
        return self._size.changed(added=(value,), removed=(old,))

    def repair(self) -> None:
        """Set a damaged file aside and write what is known anew. Before anybody else uses the store.

        Raises:
            StorageError: The disk does not allow it; the next write tries again.
        """
        self._write(self._tables)

    async def _replace(self, tables: KVTables) -> None:
        begun_s = time.perf_counter()
        try:
            await asyncio.to_thread(self._write, tables)
        except StorageError:
            self.on_written(time.perf_counter() - begun_s, False)
            raise
        self.on_written(time.perf_counter() - begun_s, True)
        self._tables = tables

    def _write(self, tables: KVTables) -> None:
        if self._damaged_ms is not None and self._path.exists():
            set_aside(self._path, self._damaged_ms)
        self._damaged_ms = None
        replace_file(self._path, encode_kv_file(tables))


def load_kv_config(path: Path, wall_ms: int) -> KVConfigStore:
    """Read the file of an earlier run; none, an empty one, or a folder in its place mean no entries.

    A damaged file, and an empty or missing one that has a previous version, is set aside under another name, and its
    previous version put in its place, now or as soon as the disk allows it. One log line says so.

    Raises:
        StorageError: The file is there and cannot be read, or it is damaged and has no readable previous
            version. Nothing was lost.
    """
    if is_special(path):
        kind = "folder" if path.is_dir() else "device or a pipe"
        logger.warning("kvConfigPath %s is a %s: KV writes will fail until it is replaced", path, kind)
        return KVConfigStore(path)
    data = _read(path)
    if not data.strip() and _read(backup_path(path)).strip():
        lost = MalformedBodyError("it is missing or empty, and its previous version is not")
        return _recovered(path, lost, wall_ms)
    try:
        return KVConfigStore(path, decode_kv_file(data))
    except MalformedBodyError as damage:
        return _recovered(path, damage, wall_ms)


def check_kv_file(path: Path) -> KVTables:
    """Read the file as a start would, and change nothing.

    Raises:
        StorageError: It is damaged or cannot be read.
    """
    try:
        return {} if is_special(path) else decode_kv_file(_read(path))
    except MalformedBodyError as damage:
        raise StorageError(
            f"the KV file {path} is damaged: {damage}.",
            why=f"a start would set it aside and use {backup_path(path)}, if that can be used.",
            remedy="repair it, or copy it again.",
        ) from damage


def encode_kv_file(tables: KVTables) -> bytes:
    """Write the file as the Java NameServer reads it."""
    return encode_json({"configTable": tables})


def decode_kv_file(data: bytes) -> dict[str, dict[str, str]]:
    """Read the file, ours or Java's; values that are not text become text, nulls are left out.

    Raises:
        MalformedBodyError: It is not such a file.
    """
    if not data.strip():
        return {}
    document = parse_lenient(data, max_values=len(data))
    tables = {} if document is None else _object(document, "the document").get("configTable") or {}
    return {
        namespace: {key: json_text(value) for key, value in _object(table, namespace).items() if value is not None}
        for namespace, table in _object(tables, "configTable").items()
        if table is not None
    }


def _object(value: Any, name: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise MalformedBodyError(f"{name[:60]} is not an object")
    return value


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except (FileNotFoundError, IsADirectoryError):
        return b""
    except OSError as error:
        raise StorageError(
            f"cannot read the KV file {path}: {error.strerror or error}.",
            why="starting without its entries would lose them at the next write.",
            remedy="make it readable, or set kvConfigPath to another file.",
        ) from error


def _recovered(path: Path, damage: MalformedBodyError, wall_ms: int) -> KVConfigStore:
    """Put the previous version in the place of a damaged file, which is kept under another name."""
    backup = backup_path(path)
    data = _read(backup)
    try:
        tables = decode_kv_file(data)
    except MalformedBodyError as error:
        raise _unusable(path, damage, f"its previous version {backup} cannot be used either: {error}.") from damage
    if not data.strip():
        raise _unusable(path, damage, f"there is no previous version {backup}.") from damage
    store = KVConfigStore(path, tables, damaged_ms=wall_ms)
    outcome = f"set aside as {aside_path(path, wall_ms)}" if path.exists() else "written again"
    try:
        store.repair()
    except StorageError as error:
        outcome = f"still to be repaired, {error.what.rstrip('.')}"
    logger.error(
        "KV file %s was damaged (%s): %s; its previous version %s is used, the last change may be missing",
        path,
        damage,
        outcome,
        backup,
    )
    return store


def _unusable(path: Path, damage: MalformedBodyError, why: str) -> StorageError:
    remedy = "repair it, or move it away to start without entries."
    return StorageError(f"the KV file {path} is damaged: {damage}.", why=why, remedy=remedy)
