"""What an earlier run left on disk, taken over at the start and given up at the end.

Owns: that no other server uses the same files; in which order they are cleaned, put right and read.
Must not know: how a file is written (durable_file.py), or what is in it.
"""

import contextlib
from pathlib import Path

from cosmodrome.durable_file import remove_leftovers
from cosmodrome.errors import StorageError
from cosmodrome.namesrv.config import NamesrvConfig
from cosmodrome.namesrv.config_store import ConfigStore
from cosmodrome.namesrv.file_claims import FileClaims
from cosmodrome.namesrv.kv_config import KVConfigStore, load_kv_config


class StoredFiles:
    """The KV file, and the file of changed settings if there is one (`settings` is None when they are not kept)."""

    def __init__(self, config: NamesrvConfig, settings: ConfigStore | None) -> None:
        self._kv_path = Path(config.kv_config_path)
        self._settings = settings
        self._claims = FileClaims()

    def open(self, wall_ms: int) -> KVConfigStore:
        """Claim the files, remove what interrupted writes left, put right what is damaged, and read the KV entries.

        Raises:
            StorageError: Another server uses one of the files, or the KV file cannot be used. Nothing is claimed.
        """
        try:
            self._take_over(self._kv_path, "the KV file")
            self._take_over_settings()
            return load_kv_config(self._kv_path, wall_ms)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let other servers use the files. May be called again."""
        self._claims.release()

    def _take_over(self, path: Path, what: str) -> None:
        remove_leftovers(path, is_ours=self._claims.claim(path, what))

    def _take_over_settings(self) -> None:
        """Several servers may be started with one file, so that is not claimed: each change reads it anew."""
        if self._settings is None:
            return
        if self._settings.is_given:
            remove_leftovers(self._settings.path, is_ours=False)
            return
        self._take_over(self._settings.path, "the file of saved settings")
        with contextlib.suppress(StorageError):  # it was read already; the next change tries again
            self._settings.repair()
