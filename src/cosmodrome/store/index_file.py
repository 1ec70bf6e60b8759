"""One index file: a hash table of keys on disk.

Owns: its header, slots and entries; putting and finding; repairing one that was not closed.
Must not know: messages; which files there are.

Entries are written as they come. The slots of the file that is written are kept in memory and written by `save`, with
the header: a file that was not saved is repaired from its entries.
"""

import sys
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path
from struct import Struct
from typing import Final, NamedTuple

from cosmodrome.store.cold import NotInMemoryError
from cosmodrome.store.files import FileSystem, StoreFile

_HEADER: Final = Struct(">qqqqii")
_ENTRY: Final = Struct(">iqii")
_SLOT: Final = Struct(">i")
_PAGE_BITS: Final = 10
_PAGE_SLOTS: Final = 1 << _PAGE_BITS
_READ_ENTRIES: Final = 8192
_CHAIN_ENTRIES: Final = 256
"""So many entries of one key are read at once by who does not wait for them."""
_MAX_SECONDS: Final = 2**31 - 1


class IndexSizes(NamedTuple):
    """How many slots and entries a file has; entry 0 is not used."""

    slots: int
    entries: int

    @property
    def entries_at(self) -> int:
        """Where entry 0 is."""
        return _HEADER.size + _SLOT.size * self.slots

    @property
    def file_bytes(self) -> int:
        """How long a file is."""
        return self.entries_at + _ENTRY.size * self.entries


class IndexHeader(NamedTuple):
    """The first bytes of a file; `next_entry` is the number of the entry that is written next."""

    begin_ms: int = 0
    end_ms: int = 0
    begin_offset: int = 0
    end_offset: int = 0
    used_slots: int = 0
    next_entry: int = 1


class IndexEntry(NamedTuple):
    """One entry: which key, which record, how many seconds behind the first one, and the entry before it in its slot."""

    key_hash: int
    log_offset: int
    seconds: int
    previous: int


class IndexFile:
    """One file.

    Attributes:
        path: Where it is.
        sizes: How much goes into it.
        is_dirty: Whether something was put since it was saved.
    """

    def __init__(self, files: FileSystem, path: Path, sizes: IndexSizes) -> None:
        """Read the header; a missing file is made.

        Raises:
            OSError: It cannot be opened, or has another size.
        """
        self.path = path
        self.sizes = sizes
        self.is_dirty = False
        self._file: StoreFile = files.open(path, sizes.file_bytes, is_durable=True)
        header = IndexHeader._make(_HEADER.unpack(self._file.read(0, _HEADER.size)))
        self._take_header(header if header.next_entry else IndexHeader())
        self._slots: memoryview | None = None
        self._dirty_pages: set[int] = set()
        self._saving: set[int] = set()
        self._pending: list[bytes] = []

    def _take_header(self, header: IndexHeader) -> None:
        (
            self._begin_ms, self._end_ms, self._begin_offset, self._end_offset, self._used_slots, self._next_entry,
        ) = header  # fmt: skip

    @property
    def header(self) -> IndexHeader:
        """The header, as the entries that are put say."""
        return IndexHeader(
            self._begin_ms, self._end_ms, self._begin_offset, self._end_offset, self._used_slots, self._next_entry
        )

    @property
    def is_sane(self) -> bool:
        """Whether the numbers of the header can be those of a file."""
        return 1 <= self._next_entry <= self.sizes.entries and 0 <= self._begin_offset <= self._end_offset

    @property
    def room(self) -> int:
        """How many entries there is room for."""
        return self.sizes.entries - self._next_entry

    def put(self, records: Sequence[tuple[list[int], int, int]]) -> None:
        """Gather entries of records, hashes of keys with place and store time; there must be room for them, and one record."""
        slots = self._slots if self._slots is not None else self._load_slots()
        number, slot_count = self._next_entry, self.sizes.slots
        if number == 1:
            _, self._begin_offset, self._begin_ms = records[0]
        begin_ms, used, pack = self._begin_ms, 0, _ENTRY.pack
        gather, mark = self._pending.append, self._dirty_pages.add
        for key_hashes, log_offset, store_ms in records:
            seconds = (store_ms - begin_ms) // 1000
            if not 0 <= seconds <= _MAX_SECONDS:
                seconds = min(max(seconds, 0), _MAX_SECONDS)
            for key_hash in key_hashes:
                slot = key_hash % slot_count
                previous = slots[slot]
                gather(pack(key_hash, log_offset, seconds, previous))
                slots[slot] = number
                number += 1
                mark(slot >> _PAGE_BITS)
                if not previous:
                    used += 1
        self._next_entry = number
        self._used_slots += used
        _, self._end_offset, self._end_ms = records[-1]
        self.is_dirty = True

    def write(self) -> None:
        """Write the entries that are gathered.

        Raises:
            OSError: A part of them may be written. Repair the file before it is used again.
        """
        pending = self._pending
        if pending:
            first = self._next_entry - len(pending)
            self._file.write(self.sizes.entries_at + _ENTRY.size * first, b"".join(pending))
            pending.clear()

    def unsaved(self) -> list[tuple[int, bytes]]:
        """Give what `save_pieces` has to write so that the file is whole, the header last: all since `saved`."""
        if not self.is_dirty:
            return []
        slots = self._slots if self._slots is not None else self._load_slots()
        self._saving |= self._dirty_pages
        self._dirty_pages = set()
        pages = sorted(self._saving)
        pieces = [(_HEADER.size + _SLOT.size * _PAGE_SLOTS * page, _page(slots, page)) for page in pages]
        return [*pieces, (0, _HEADER.pack(*self.header))]

    def saved(self) -> None:
        """Be told that what `unsaved` gave last is on disk. What was put since then is not meant."""
        self._saving.clear()
        self.is_dirty = bool(self._dirty_pages)

    def save_pieces(self, pieces: list[tuple[int, bytes]]) -> None:
        """Write what `unsaved` gave, and sync. May run in another thread than the rest.

        Raises:
            OSError: A part of it may be written.
        """
        for position, data in pieces:
            self._file.write(position, data)
        self._file.sync()

    def close(self) -> None:
        """Close the file, without saving. May be called again."""
        self._file.close()

    def find(self, key_hash: int, begin_ms: int, end_ms: int, *, may_wait: bool = True) -> Iterator[int]:
        """Give the places of records with that key and a time in the range, the newest first.

        A chain that turns back on itself or leaves the file ends there.

        Raises:
            NotInMemoryError: It may not wait for the disk, and would have to.
            OSError: It cannot be read.
        """
        slot = key_hash % self.sizes.slots
        number = self._slots[slot] if self._slots is not None else self._stored_slot(slot, may_wait=may_wait)
        count = self._next_entry
        while 0 < number < count:
            entry = self._entry(number, may_wait=may_wait)
            if entry.key_hash == key_hash:
                # The time is cut to seconds: what is in the range may seem to be just before it.
                at_ms = self._begin_ms + entry.seconds * 1000
                if begin_ms - 1000 < at_ms <= end_ms:
                    yield entry.log_offset
            if entry.previous >= number:
                return
            number = entry.previous

    def _stored_slot(self, slot: int, *, may_wait: bool) -> int:
        at = _HEADER.size + _SLOT.size * slot
        if not may_wait and not self._file.is_in_memory(at, _SLOT.size):
            raise NotInMemoryError(lambda: self._read_chain(int(_SLOT.unpack(self._file.read(at, _SLOT.size))[0])))
        return int(_SLOT.unpack(self._file.read(at, _SLOT.size))[0])

    def _entry(self, number: int, *, may_wait: bool) -> IndexEntry:
        first_pending = self._next_entry - len(self._pending)
        if number >= first_pending:
            return IndexEntry._make(_ENTRY.unpack(self._pending[number - first_pending]))
        if not may_wait and not self._file.is_in_memory(self._place(number), _ENTRY.size):
            raise NotInMemoryError(lambda: self._read_chain(number))
        return self._stored_entry(number)

    def _place(self, number: int) -> int:
        return self.sizes.entries_at + _ENTRY.size * number

    def _stored_entry(self, number: int) -> IndexEntry:
        return IndexEntry._make(_ENTRY.unpack(self._file.read(self._place(number), _ENTRY.size)))

    def _read_chain(self, number: int) -> None:
        """Read entries that are written, from one on as they follow each other; in any thread."""
        for _ in range(_CHAIN_ENTRIES):
            if not 0 < number < self.sizes.entries:
                return
            previous = self._stored_entry(number).previous
            if previous >= number:
                return
            number = previous

    def entries(self) -> Iterator[IndexEntry]:
        """Give the entries that are written, from entry 1 on.

        Raises:
            OSError: It cannot be read.
        """
        end = self._next_entry - len(self._pending)
        for first in range(1, end, _READ_ENTRIES):
            count = min(_READ_ENTRIES, end - first)
            data = self._file.read(self.sizes.entries_at + _ENTRY.size * first, _ENTRY.size * count)
            yield from map(IndexEntry._make, _ENTRY.iter_unpack(data))

    def repair(self, end: int, *, is_end_certain: bool) -> None:
        """Make the file whole again from its entries, as far as they are sound and of records before `end`.

        Unless it is certain that all before `end` is there, the entries of the last record are dropped: some may be missing.

        Raises:
            OSError: It cannot be read or written.
        """
        begin_ms = self._begin_ms
        slots = self._slots = memoryview(bytearray(_SLOT.size * self.sizes.slots)).cast("i")
        self._dirty_pages = set(range(-(-self.sizes.slots // _PAGE_SLOTS)))
        header = IndexHeader()
        for record in self._sound_records(end, is_end_certain=is_end_certain):
            used = header.used_slots
            for number, entry in enumerate(record, header.next_entry):
                slot = entry.key_hash % self.sizes.slots
                used += not slots[slot]
                slots[slot] = number
            last = record[-1]
            end_ms = begin_ms + last.seconds * 1000
            begin_offset = header.begin_offset if header.next_entry > 1 else last.log_offset
            header = IndexHeader(begin_ms, end_ms, begin_offset, last.log_offset, used, header.next_entry + len(record))
        self._take_header(header)
        self._pending.clear()
        self._file.clear_from(self.sizes.entries_at + _ENTRY.size * header.next_entry)
        self.is_dirty = True

    def _sound_records(self, end: int, *, is_end_certain: bool) -> Iterator[list[IndexEntry]]:
        """Give the entries of each record up to the first entry that cannot be one."""
        newest: dict[int, int] = {}
        held: list[IndexEntry] = []
        for number, entry in enumerate(self.entries(), 1):
            slot = entry.key_hash % self.sizes.slots
            is_sound = entry.key_hash >= 0 and entry.seconds >= 0 and entry.previous == newest.get(slot, 0)
            if not is_sound or not (held[-1].log_offset if held else 0) <= entry.log_offset < end:
                break
            newest[slot] = number
            if held and held[-1].log_offset != entry.log_offset:
                yield held
                held = []
            held.append(entry)
        if held and is_end_certain:
            yield held

    def _load_slots(self) -> memoryview:
        values = array("i")
        if self._next_entry > 1:
            values.frombytes(self._file.read(_HEADER.size, _SLOT.size * self.sizes.slots))
            self._slots = memoryview(_big_endian(values)).cast("B").cast("i")
        else:  # fresh memory costs nothing until it is touched
            self._slots = memoryview(bytearray(_SLOT.size * self.sizes.slots)).cast("i")
        return self._slots

    def forget_slots(self) -> None:
        """Give the memory of the slots back, of a file that is full and saved."""
        self._slots = None


def _page(slots: memoryview, page: int) -> bytes:
    values = array("i")
    # As bytes: number by number takes twenty times as long.
    values.frombytes(slots[page * _PAGE_SLOTS : (page + 1) * _PAGE_SLOTS].cast("B"))
    return _big_endian(values).tobytes()


def _big_endian(values: "array[int]") -> "array[int]":
    if sys.byteorder == "little":
        values.byteswap()
    return values
