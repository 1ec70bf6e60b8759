"""Where a group's offsets are kept: at the brokers, or in a file of this machine.

Owns: reading the offset that a queue starts from, and saving how far it is.
Must not know: which queues are read; what is finished.
"""

import logging
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Protocol

from cosmodrome.client.consumer.requests import ConsumerRequests
from cosmodrome.client.consumer.start_offset import NOT_STORED
from cosmodrome.client.message import MessageQueue
from cosmodrome.client.routes import TopicRoutes
from cosmodrome.durable_file import backup_path, replace_file, set_aside
from cosmodrome.errors import AnswerError, ConnectError, MalformedBodyError, RemotingError, StorageError
from cosmodrome.protocol.bodies.offsets import ResetOffsetBody, decode_reset_offset_body
from cosmodrome.protocol.json_structs import encode_body
from cosmodrome.transport.daemon_thread import in_daemon_thread

logger = logging.getLogger(__name__)

DEFAULT_FOLDER: Final = "~/.rocketmq_offsets"
_FILE_NAME: Final = "offsets.json"


class OffsetStore(Protocol):
    """Offsets of one group."""

    async def open(self) -> None:
        """Prepare. Called once, before anything else."""

    async def load(self, queue: MessageQueue, *, is_exact: bool) -> int:
        """Give the stored offset of a queue, or NOT_STORED.

        `is_exact`: a broker must not answer 0 for "none".

        Raises:
            RemotingError, AnswerError: It cannot be known now; that is not the same as none.
        """

    async def save(self, offsets: Mapping[MessageQueue, int], *, is_confirmed: bool) -> None:
        """Store offsets. What cannot be stored is logged; the next save has it again.

        `is_confirmed`: return only when they are stored, as far as that is possible.
        """


class RemoteOffsets:
    """Clustering: brokers keep the offsets of their queues, for whichever member has a queue next."""

    def __init__(self, requests: ConsumerRequests, routes: TopicRoutes) -> None:
        self._requests = requests
        self._routes = routes

    async def open(self) -> None:
        """Nothing has to be prepared."""

    async def load(self, queue: MessageQueue, *, is_exact: bool) -> int:
        """Ask the broker."""
        address = self._routes.address_for_read(queue.broker_name)
        if address is None:
            raise ConnectError(f"no route to broker {queue.broker_name}")
        return await self._requests.committed_offset(address, queue, set_zero=False if is_exact else None)

    async def save(self, offsets: Mapping[MessageQueue, int], *, is_confirmed: bool) -> None:
        """Tell the masters. One that does not answer is tried once, not for each of its queues."""
        silent: set[str | None] = set()
        for queue, offset in offsets.items():
            address = self._routes.master_address(queue.broker_name)
            if address in silent:
                continue
            try:
                if address is None:
                    raise ConnectError(f"no route to a master of broker {queue.broker_name}")
                await self._requests.commit(address, queue, offset, is_confirmed=is_confirmed)
            except RemotingError as error:
                silent.add(address)
                logger.warning("offsets of broker %s were not saved: %s", queue.broker_name, error)
            except AnswerError as error:
                logger.warning("%s: offset %d was not saved: %s", queue, offset, error)


class LocalOffsets:
    """Broadcasting: each machine keeps its own, in the form in which Java's clients do.

    COMPAT: Java's path has the client id, so a file is not found again when the address or the process changes; here
    it has the instance name. Java does not start with a broken file.
    """

    def __init__(self, folder: str | Path | None, instance_name: str, group: str) -> None:
        root = Path(DEFAULT_FOLDER if folder is None else folder).expanduser()
        self.path: Final = root / _as_one_name(instance_name) / _as_one_name(group) / _FILE_NAME
        self._offsets: dict[MessageQueue, int] = {}
        self._saved: dict[MessageQueue, int] = {}
        # Writes happen in threads, which nobody can stop; an older one must not overtake a newer one.
        self._writing = threading.Lock()
        self._last_write = 0
        self._written = 0

    async def open(self) -> None:
        """Read the file, or what it held before; a file that is broken is set aside."""
        self._offsets = await in_daemon_thread(self._read_files)
        self._saved = dict(self._offsets)

    async def load(self, queue: MessageQueue, *, is_exact: bool) -> int:  # noqa: ARG002 -- a file is always exact
        """Look it up. Offsets of queues that were lost for a while are still known."""
        return self._offsets.get(queue, NOT_STORED)

    async def save(self, offsets: Mapping[MessageQueue, int], *, is_confirmed: bool) -> None:  # noqa: ARG002 -- a file always is
        """Write the file anew if anything changed, on disk before this returns."""
        self._offsets.update(offsets)
        if self._offsets == self._saved:
            return
        content = dict(self._offsets)
        self._last_write += 1
        data = encode_body(ResetOffsetBody(offset_table=content))
        try:
            await in_daemon_thread(self._write, self._last_write, data)
        except StorageError as error:
            logger.error("offsets were not saved: %s", error)  # noqa: TRY400 -- the reason says it all
        else:
            self._saved = content

    def _write(self, number: int, data: bytes) -> None:
        with self._writing:
            if number > self._written:
                replace_file(self.path, data)
                self._written = number

    def _read_files(self) -> dict[MessageQueue, int]:
        for path in (self.path, backup_path(self.path)):
            try:
                data = path.read_bytes()
            except FileNotFoundError:
                continue
            except OSError as error:
                logger.error("cannot read the offsets in %s: %s", path, error.strerror or error)  # noqa: TRY400 -- as above
                continue
            try:
                return dict(decode_reset_offset_body(data).offset_table)
            except (MalformedBodyError, UnicodeDecodeError) as error:
                self._put_aside(path, error)
        return {}

    def _put_aside(self, path: Path, error: Exception) -> None:
        try:
            kept = f"it is now {set_aside(path, int(time.time() * 1000))}"
        except StorageError as failure:
            kept = str(failure)
        logger.error("the offsets in %s cannot be read (%s) and are not used; %s", path, error, kept)


def _as_one_name(text: str) -> str:
    """Give a name that is one folder, whatever the text is."""
    return "".join(char if char.isalnum() or char in "-_.%@#" else "_" for char in text).lstrip(".") or "_"
