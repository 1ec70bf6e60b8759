"""Files that commands read and write: lists of settings, exports.

Owns: their form, and what is wrong with one.
Must not know: what is in them.
"""

from pathlib import Path
from typing import Final, TypeVar

import msgspec

from cosmodrome.durable_file import replace_file
from cosmodrome.errors import MalformedBodyError, UsageError
from cosmodrome.protocol.json_keys import parse_keyed
from cosmodrome.protocol.json_structs import from_json

StructT = TypeVar("StructT", bound=msgspec.Struct)

LARGEST_FILE_BYTES: Final = 64 * 1024 * 1024


def read_list(path: Path, kind: type[StructT]) -> tuple[StructT, ...]:
    """Read a JSON list of objects, of which there is at least one.

    Raises:
        UsageError: It cannot be read, or is none.
    """
    try:
        with path.open("rb") as file:
            text = file.read(LARGEST_FILE_BYTES + 1)
    except OSError as error:
        raise UsageError(f"cannot read {path}.", why=f"{error}.") from error
    try:
        found = _decoded(text, kind)
    except MalformedBodyError as error:
        raise UsageError(f"{path} is no JSON list of settings.", why=f"{error}.") from error
    if not found:
        raise UsageError(f"{path} is an empty list.")
    return found


def _decoded(text: bytes, kind: type[StructT]) -> tuple[StructT, ...]:
    if len(text) > LARGEST_FILE_BYTES:
        raise MalformedBodyError("it is larger than 64 MiB")
    document = parse_keyed(text)
    if not isinstance(document, list):
        raise MalformedBodyError("it is no list")
    return tuple(from_json(kind, item) for item in document)


def write_export(folder: str, name: str, text: str) -> str:
    """Write a file into a folder, which is made if it is not there, and give its path as mqadmin tells it.

    Raises:
        StorageError: It cannot be written.
    """
    replace_file(Path(folder) / name, text.encode())
    return f"{folder}/{name}"
