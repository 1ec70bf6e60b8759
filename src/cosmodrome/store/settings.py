"""What a store is like: where it is, and the sizes of its files.

Owns: the settings and their limits; the names of folders and files.
Must not know: what is in the files.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from cosmodrome.errors import ConfigError
from cosmodrome.protocol.messages.hosts import V4_BYTES, V6_BYTES

UNIT_BYTES: Final = 20
"""One unit of a consume queue."""
NAME_DIGITS: Final = 20
DEFAULT_DELAYS_MS: Final = tuple(
    seconds * 1000
    for seconds in (1, 5, 10, 30, 60, 120, 180, 240, 300, 360, 420, 480, 540, 600, 1200, 1800, 3600, 7200)
)
"""Of the delay levels, from level 1 on."""
SPARE_BYTES: Final = 64 * 1024
"""What a segment must have beside the largest body."""
_MAX_FILE_BYTES: Final = 2**31 - 1
"""Java's files are no larger."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreSettings:
    """Settings of one store. The sizes must be those with which it was made, as for an Apache broker.

    Attributes:
        root: Java's `storePathRootDir`; the commit log is below it.
        store_host: Address and port of the broker, as `protocol.messages.hosts.encode_host` gives them.
        segment_bytes: Java's `mappedFileSizeCommitLog`.
        queue_file_bytes: Java's `mappedFileSizeConsumeQueue`, a multiple of 20.
        index_slots: Java's `maxHashSlotNum`.
        index_entries: Java's `maxIndexNum`.
        is_index_enabled: Whether messages can be found by key; Java's `messageIndexEnable`.
        index_batch: So many messages are indexed together, as they come; sooner when the index is asked or saved.
        is_tag_indexed: Whether the tag is a key too, as for a 5.5 broker.
        max_body_bytes: Of one message.
        delays_ms: Of the delay levels, from level 1 on.
        is_read_after_sync: Whether queues give nothing that is not known to be on disk.

    Raises:
        ConfigError: Sizes that no store can have.
    """

    root: Path
    store_host: bytes
    segment_bytes: int = 1024 * 1024 * 1024
    queue_file_bytes: int = 300_000 * UNIT_BYTES
    index_slots: int = 5_000_000
    index_entries: int = 20_000_000
    is_index_enabled: bool = True
    index_batch: int = 128
    is_tag_indexed: bool = True
    max_body_bytes: int = 4 * 1024 * 1024
    delays_ms: tuple[int, ...] = field(default=DEFAULT_DELAYS_MS)
    is_read_after_sync: bool = False

    def __post_init__(self) -> None:
        """Refuse what cannot be."""
        if len(self.store_host) not in (V4_BYTES, V6_BYTES):
            raise ConfigError("the store host is no address with a port", keys=("brokerIP1",))
        if not 0 < self.queue_file_bytes <= _MAX_FILE_BYTES or self.queue_file_bytes % UNIT_BYTES:
            raise ConfigError(
                f"mappedFileSizeConsumeQueue={self.queue_file_bytes} is no positive multiple of {UNIT_BYTES}",
                keys=("mappedFileSizeConsumeQueue",),
            )
        if not 1024 <= self.segment_bytes <= _MAX_FILE_BYTES:
            raise ConfigError(
                f"mappedFileSizeCommitLog={self.segment_bytes} is not between 1024 and {_MAX_FILE_BYTES}",
                keys=("mappedFileSizeCommitLog",),
            )
        if self.index_slots < 1 or self.index_entries < 2:
            raise ConfigError("an index file needs a slot and two entries", keys=("maxHashSlotNum", "maxIndexNum"))

    @property
    def log_folder(self) -> Path:
        """Where the commit log is."""
        return self.root / "commitlog"

    @property
    def queues_folder(self) -> Path:
        """Where the consume queues are."""
        return self.root / "consumequeue"

    @property
    def index_folder(self) -> Path:
        """Where the index files are."""
        return self.root / "index"

    @property
    def damaged_folder(self) -> Path:
        """Where recovery puts what it cut off and somebody may want to see."""
        return self.root / "damaged"

    @property
    def checkpoint_path(self) -> Path:
        """The file that says what is flushed."""
        return self.root / "checkpoint"

    @property
    def abort_path(self) -> Path:
        """The file that is there while a broker runs."""
        return self.root / "abort"

    @property
    def lock_path(self) -> Path:
        """The file that a running broker has locked."""
        return self.root / "lock"


def file_name(start: int) -> str:
    """Give the name of a file by where it starts."""
    return f"{start:0{NAME_DIGITS}d}"


def start_of(name: str) -> int | None:
    """Read where a file starts from its name; None for the name of something else."""
    return int(name) if len(name) == NAME_DIGITS and name.isascii() and name.isdigit() else None
