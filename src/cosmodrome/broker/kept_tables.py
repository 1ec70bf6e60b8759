"""The tables that a broker keeps below `config`, as Apache's brokers do.

Owns: a table as the document of a file, and back; which files could be read in no version.
Must not know: what a table means; when it is kept.
"""

import logging
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

import msgspec

from cosmodrome.durable_file import remove_leftovers
from cosmodrome.errors import MalformedBodyError
from cosmodrome.protocol.json_structs import from_json
from cosmodrome.store.config_files import CONSUMER_OFFSETS, DELAY_OFFSETS, GROUPS, TOPICS, ConfigFiles

logger = logging.getLogger(__name__)

FILES: Final = (TOPICS, GROUPS, CONSUMER_OFFSETS, DELAY_OFFSETS)
StructT = TypeVar("StructT", bound=msgspec.Struct)


class KeptTables:
    """The files of one broker. `lost` are those that were there and could be read in no version."""

    def __init__(self, files: ConfigFiles, wall_ms: Callable[[], int]) -> None:
        """Use these files."""
        self._files = files
        self._wall_ms = wall_ms
        self.lost: list[str] = []

    def read(self, name: str, kind: type[StructT]) -> StructT | None:
        """Read a table, or its previous version if the file is bad; None when there is none.

        Raises:
            StorageError: The disk does not allow it.
        """
        remove_leftovers(self._files.folder / name, is_ours=True)
        found = self._files.load(name, self._wall_ms())
        if found.value is None:
            if found.damaged:
                self.lost.append(name)
            return None
        try:
            return from_json(kind, found.value)
        except MalformedBodyError as error:
            logger.warning("%s is no table of its kind (%s); it is not used", name, error)
            self.lost.append(name)
            return None

    def write(self, name: str, document: Mapping[str, Any]) -> None:
        """Keep a table, on disk before this returns. May run in another thread.

        Raises:
            StorageError: It is not kept.
        """
        self._files.save(name, document)


def document_of(table: msgspec.Struct) -> dict[str, Any]:
    """Give a table as the document of its file; members that are None are left out."""
    document: dict[str, Any] = _without_none(msgspec.to_builtins(table))
    return document


def _without_none(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_none(each) for key, each in value.items() if each is not None}
    return value
