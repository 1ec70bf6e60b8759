"""The JSON files beside a store: topics, groups, offsets, delays, as Apache's brokers write and read them.

Owns: their names; the layout of the text; which of a file and its `.bak` is used, and what becomes of damaged ones.
Must not know: what the documents mean.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from cosmodrome.durable_file import backup_path, replace_file, set_aside
from cosmodrome.errors import BodyLimitError, MalformedBodyError, StorageError
from cosmodrome.protocol.json_dialects import encode_json, parse_lenient

logger = logging.getLogger(__name__)

TOPICS: Final = "topics.json"
GROUPS: Final = "subscriptionGroup.json"
CONSUMER_OFFSETS: Final = "consumerOffset.json"
DELAY_OFFSETS: Final = "delayOffset.json"
CONSUMER_FILTERS: Final = "consumerFilter.json"
CONSUMER_ORDER: Final = "consumerOrderInfo.json"
REQUEST_MODES: Final = "messageRequestMode.json"

_BOM: Final = b"\xef\xbb\xbf"
_MAX_VALUES: Final = 20_000_000
"""A file of ours is as large as what it holds; the limit is for a file that is not."""


@dataclass(frozen=True, slots=True)
class ConfigDocument:
    """What was found under a name.

    Attributes:
        value: The document; None when there is none that can be read.
        is_backup: Whether it is the previous version.
        damaged: Where files were put that cannot be read. Nothing writes them again.
    """

    value: dict[str, Any] | None
    is_backup: bool = False
    damaged: tuple[Path, ...] = ()


class ConfigFiles:
    """The files of one store."""

    def __init__(self, root: Path) -> None:
        """Use the folder `config` below a store's root. Nothing is read or made yet."""
        self.folder = root / "config"

    def load(self, name: str, wall_ms: int) -> ConfigDocument:
        """Read a document: from its file, else from its previous version. Integer keys become texts.

        A file that cannot be read is set aside under a name of its own, with the time, so that a save loses nothing.

        Raises:
            StorageError: A damaged file cannot be set aside.
        """
        path = self.folder / name
        damaged: list[Path] = []
        for candidate in (path, backup_path(path)):
            value, fault = _read(candidate)
            if value is not None:
                return ConfigDocument(value, candidate != path, tuple(damaged))
            if fault is not None:
                damaged.append(set_aside(candidate, wall_ms))
                logger.error("%s cannot be used and was set aside as %s: %s", candidate, damaged[-1].name, fault)
        return ConfigDocument(None, damaged=tuple(damaged))

    def save(self, name: str, document: Mapping[str, Any]) -> None:
        """Write a document, on disk before this returns; the previous version stays as `.bak`.

        Maps with integer keys are written with bare keys, as Java's are.

        Raises:
            StorageError: The file is as it was.
            StorageDoubtError: It was written, and is not known to be on disk.
        """
        replace_file(self.folder / name, encode_document(document))


def encode_document(document: Mapping[Any, Any]) -> bytes:
    """Write a document as 5.x does: one member a line, tabs, members in order of their names, numbers in their own."""
    lines: list[bytes] = []
    _write(document, b"\n", lines)
    return b"".join(lines)


def _write(value: Any, line: bytes, pieces: list[bytes]) -> None:
    """Add the pieces of a value; `line` begins a line with the value's indentation."""
    is_map = isinstance(value, Mapping)
    if not value or not (is_map or isinstance(value, list | tuple)):
        pieces.append(encode_json(value))
        return
    inner = line + b"\t"
    entries = sorted(value.items(), key=_order) if is_map else [(None, each) for each in value]
    pieces.append(b"{" if is_map else b"[")
    for at, (key, each) in enumerate(entries):
        pieces.append(b"," + inner if at else inner)
        if is_map:
            pieces.append((b"%d" % key if isinstance(key, int) else encode_json(key)) + b":")
        _write(each, inner, pieces)
    pieces.append(line + (b"}" if is_map else b"]"))


def _order(member: tuple[Any, Any]) -> tuple[bool, Any]:
    key = member[0]
    return not isinstance(key, int), key


def _read(path: Path) -> tuple[dict[str, Any] | None, str | None]:
    """Give the document of a file, or what is wrong with it; neither when there is no file."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None, None
    except OSError as error:
        raise StorageError(f"cannot read {path}: {error.strerror or error}.") from error
    try:
        value = parse_lenient(data.removeprefix(_BOM), _MAX_VALUES)
    except (MalformedBodyError, BodyLimitError) as error:
        return None, str(error)
    return (value, None) if isinstance(value, dict) else (None, "it holds no JSON object")
