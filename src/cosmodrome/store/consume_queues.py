"""All consume queues of a store.

Owns: which queues there are, by topic and number; their folders; which of them were written since somebody asked.
Must not know: records; which topics there should be.
"""

import functools
import logging
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from cosmodrome.errors import StoreFormatError
from cosmodrome.protocol.messages.record import MAGIC_V1, MAGIC_V2, MAX_TOPIC_BYTES_V1
from cosmodrome.protocol.messages.tag_hash import java_hash
from cosmodrome.store.consume_queue import ConsumeQueue
from cosmodrome.store.files import FileSystem
from cosmodrome.store.segments import OpenFiles, Segments
from cosmodrome.store.settings import StoreSettings

logger = logging.getLogger(__name__)

SCHEDULE_TOPIC: Final = "SCHEDULE_TOPIC_XXXX"
_OPEN_FILES: Final = 512
_SAFE_TOPIC: Final = re.compile(r"[%|a-zA-Z0-9_-][%|a-zA-Z0-9_.+-]{0,254}")
_MAX_QUEUE_ID: Final = 2**31 - 1


def is_safe(topic: str, queue_id: int) -> bool:
    """Tell whether a topic and the number of a queue may become folders."""
    return _SAFE_TOPIC.fullmatch(topic) is not None and 0 <= queue_id <= _MAX_QUEUE_ID


class ConsumeQueues:
    """The queues, by topic and number.

    Attributes:
        table: The queues. Look into it; `make` adds to it.
        touched: Those for which something is gathered in this turn, in the order in which it was.
    """

    def __init__(self, files: FileSystem, settings: StoreSettings) -> None:
        """Know of no queue yet."""
        self.table: dict[tuple[str, int], ConsumeQueue] = {}
        self.touched: dict[ConsumeQueue, None] = {}
        self._dirty_files: set[Path] = set()
        self._dirty_folders: set[Path] = set()
        self._files = files
        self._folder = settings.queues_folder
        self._file_bytes = settings.queue_file_bytes
        self._open = OpenFiles(files, _OPEN_FILES)

    def __iter__(self) -> Iterator[ConsumeQueue]:
        """Give all queues."""
        return iter(tuple(self.table.values()))

    def make(self, topic: str, queue_id: int) -> ConsumeQueue:
        """Add a queue, without a file yet.

        Raises:
            ValueError: The topic cannot be the name of a folder, or no queue has that number.
        """
        if not is_safe(topic, queue_id):
            raise ValueError(f"queue {queue_id} of topic {topic!r} has no place in a store")
        folder = self._folder / topic / str(queue_id)
        segments = Segments(self._files, self._open, folder, self._file_bytes, is_durable=False)
        queue = ConsumeQueue(topic, queue_id, segments)
        queue.magic, queue.topic_field, queue.key_hash = _record_forms(topic)
        queue.is_schedule = topic == SCHEDULE_TOPIC
        self.table[topic, queue_id] = queue
        return queue

    def load(self, log_start: int, log_end: int | None) -> list[ConsumeQueue]:
        """Find the queues and where each of them ends; see `ConsumeQueue.load`. The log starts at `log_start`.

        Gives those that cannot be used: their files are removed, and they have to be built from the log.

        Raises:
            OSError: Folders or files cannot be read.
        """
        self.table.clear()
        self.touched.clear()
        broken = []
        for topic in self._files.names(self._folder):
            for name in self._files.names(self._folder / topic):
                queue_id = int(name) if name.isascii() and name.isdigit() else -1
                if not is_safe(topic, queue_id) or str(queue_id) != name:
                    logger.warning("%s is no consume queue and is left alone", self._folder / topic / name)
                    continue
                queue = self.make(topic, queue_id)
                if not self._is_usable(queue, log_start, log_end):
                    broken.append(queue)
        return broken

    def _is_usable(self, queue: ConsumeQueue, log_start: int, log_end: int | None) -> bool:
        try:
            queue.load(log_end)
            fault = "its first file is missing" if log_start == 0 and queue.lacks_its_beginning else None
        except StoreFormatError as error:
            fault = str(error)
        if fault is not None:
            logger.warning("queue %s of topic %s is built anew: %s", queue.queue_id, queue.topic, fault)
            queue.segments.discard()
            queue.cut(0)
        return bool(queue.segments.starts)

    def write(self) -> None:
        """Write what is gathered, with one call for each queue; `commit` makes it readable.

        Raises:
            OSError: A part of it may be written; call `give_up`.
        """
        for queue in self.touched:
            queue.write()

    def commit(self) -> None:
        """Let what was written be part of the queues."""
        for queue in self.touched:
            queue.commit()
        self.touched.clear()

    def give_up(self) -> None:
        """Forget what is gathered."""
        for queue in self.touched:
            queue.give_up()
        self.touched.clear()

    def take_dirty(self) -> tuple[list[Path], list[Path]]:
        """Give the files that have to be synced, and the folders of which the entries have: all since `synced`."""
        for queue in self:
            segments = queue.segments
            if segments.dirty:
                self._dirty_files.update(map(segments.path, segments.dirty))
                segments.dirty = set()
            if segments.is_folder_dirty:
                self._dirty_folders.add(segments.folder)
                segments.is_folder_dirty = False
        return sorted(self._dirty_files), sorted(self._dirty_folders)

    def synced(self, files: list[Path], folders: list[Path]) -> None:
        """Be told that what `take_dirty` gave is on disk. What was written since then is not meant."""
        self._dirty_files.difference_update(files)
        self._dirty_folders.difference_update(folders)

    def digest(self) -> int:
        """Give a number that changes when a queue appears, goes, or begins or ends elsewhere."""
        entries = sorted(
            (queue.topic, queue.queue_id, queue.segments.start, queue.max_offset) for queue in self if queue.max_offset
        )
        return zlib.crc32(repr(entries).encode())

    def remove(self, topic: str) -> int:
        """Remove the queues of a topic and their files; say how many that were.

        Raises:
            OSError: Some of them are still there.
        """
        found = [queue for queue in self if queue.topic == topic]
        for queue in found:
            self._drop(queue)
        self._files.remove_folder(self._folder / topic)
        return len(found)

    def drop_empty(self) -> None:
        """Forget queues without a file, and remove their folders.

        Raises:
            OSError: A folder cannot be read.
        """
        for queue in self:
            if not queue.segments.starts and queue.next_offset == 0:
                self._drop(queue)
                self._files.remove_folder(queue.folder.parent)

    def _drop(self, queue: ConsumeQueue) -> None:
        self.touched.pop(queue, None)
        queue.give_up()
        queue.segments.discard()
        self._files.remove_folder(queue.folder)
        del self.table[queue.topic, queue.queue_id]

    def close(self) -> None:
        """Close the files. May be called again."""
        self._open.close()


@functools.lru_cache(maxsize=4096)
def _record_forms(topic: str) -> tuple[int, bytes, int]:
    """Give the magic number of a topic's records, the topic as it stands in them, and the hash with which its keys begin."""
    data = topic.encode()
    if len(data) <= MAX_TOPIC_BYTES_V1:
        return MAGIC_V1, bytes((len(data),)) + data, java_hash(f"{topic}#")
    return MAGIC_V2, len(data).to_bytes(2, "big") + data, java_hash(f"{topic}#")
