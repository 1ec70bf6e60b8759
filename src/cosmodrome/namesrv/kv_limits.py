"""How much the KV config may hold, since anybody who may write it could fill the memory and the disk.

Owns: how entries are counted, the ceilings, the refusals.
Must not know: where the entries are kept.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, Self

from cosmodrome.errors import RequestRefusedError
from cosmodrome.protocol.codes import ResponseCode

_MIB = 1024 * 1024


class KVSize(NamedTuple):
    """Entries, and the UTF-8 bytes of their keys and values. A namespace counts as an entry: an emptied one stays."""

    entries: int
    size_bytes: int

    @classmethod
    def of(cls, tables: Mapping[str, Mapping[str, str]]) -> Self:
        """Count everything."""
        parts = [part for table in tables.values() for item in table.items() for part in item]
        return cls(len(tables) + len(parts) // 2, sum(map(_bytes_of, [*tables, *parts])))

    def changed(self, *, added: tuple[str, ...] = (), removed: tuple[str, ...] = (), entries: int = 0) -> Self:
        """Count texts that come and go; `entries` is how many more there are."""
        return type(self)(
            self.entries + entries, self.size_bytes + sum(map(_bytes_of, added)) - sum(map(_bytes_of, removed))
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class KVLimits:
    """Ceilings of the whole store, and of one value; what is at a ceiling is accepted."""

    value_bytes: int = 256 * 1024
    entries: int = 100_000
    total_bytes: int = 8 * _MIB

    def check(self, before: KVSize, after: KVSize, value: str) -> None:
        """Refuse a change by which the store grows beyond a ceiling, or whose value is too long.

        A store that was read from a file may be above; it may shrink, and its entries may be replaced by smaller ones.

        Raises:
            RequestRefusedError: SYSTEM_ERROR; the remark names the ceiling.
        """
        if _bytes_of(value) > self.value_bytes:
            raise _refused(f"a KV value of more than {self.value_bytes} bytes")
        if after.entries > max(self.entries, before.entries):
            raise _refused(f"the KV config holds {self.entries} entries already")
        if after.size_bytes > max(self.total_bytes, before.size_bytes):
            raise _refused(f"the KV config would hold more than {self.total_bytes} bytes")


def _refused(remark: str) -> RequestRefusedError:
    return RequestRefusedError(ResponseCode.SYSTEM_ERROR, remark, cause="over_limit")


def _bytes_of(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
