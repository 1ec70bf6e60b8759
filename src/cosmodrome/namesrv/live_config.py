"""The configuration in force, and how it is replaced while the server runs.

Owns: that a change is checked, saved and put in force as a whole or not at all.
Must not know: who may change it; what a key does.
"""

import asyncio
import dataclasses
from collections.abc import Callable, Mapping

from cosmodrome.namesrv.config import ConfigChange, NamesrvConfig, apply_changes, taken_over
from cosmodrome.namesrv.config_store import ConfigStore

ReadAgain = Callable[[], tuple[NamesrvConfig, ConfigStore]]
"""Reads a configuration from where it came from, and where changes are kept from then on; raises OperatorError."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ReloadOutcome:
    """What became of a configuration that was read again.

    Keys that are in force now, that wait for the next start, that are at fault; those that the file gives another value,
    with the flag or variable that wins over it; `reason` says why nothing was changed, empty when something could be.
    """

    applied: tuple[str, ...] = ()
    restart: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    overridden: Mapping[str, str] = dataclasses.field(default_factory=dict)
    reason: str = ""


class LiveConfig:
    """`current` is replaced whole; read it anew for each request. `started_with` never changes."""

    def __init__(self, config: NamesrvConfig, store: ConfigStore | None) -> None:
        self.started_with = config
        self.current = config
        self._store = store
        self._changing = asyncio.Lock()
        self._listeners: list[Callable[[NamesrvConfig], None]] = []

    def subscribe(self, listener: Callable[[NamesrvConfig], None]) -> None:
        """Call this with each configuration that comes into force."""
        self._listeners.append(listener)

    def source(self, key: str) -> str:
        """Give where the value of a key stands: a file's line, a variable, a flag; `default` for one that is nowhere."""
        return "default" if self._store is None else self._store.sources.get(key, "default")

    def overridden(self) -> Mapping[str, str]:
        """Give the keys that the file gives another value than the one in force, and which flag or variable wins."""
        return {} if self._store is None else self._store.outdone

    def port_bound(self, port: int) -> None:
        """Show the port that was really taken, as Java does; it is not saved."""
        self.current = dataclasses.replace(self.current, listen_port=port)

    async def change(self, texts: Mapping[str, str]) -> tuple[ConfigChange, tuple[str, ...]]:
        """Put changes in force and on disk.

        Returns:
            What they come to, and the keys that environment or flags will override at the next start.

        Raises:
            ConfigError: A value is bad; nothing was changed.
            StorageError: They could not be saved; nothing was changed.
        """
        async with self._changing:
            change = apply_changes(self.current, texts)
            overridden: tuple[str, ...] = ()
            if change.texts and self._store is not None:
                overridden = await asyncio.to_thread(self._store.save, change.texts)
            self.current = change.config
            for listener in self._listeners:
                listener(change.config)
            return change, overridden

    async def reload(self, read: ReadAgain) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Put a configuration that is read anew, in a thread, in force; nothing is saved.

        Returns:
            The keys that changed, and those whose new value takes effect at the next start.

        Raises:
            OperatorError: From `read`; nothing was changed.
        """
        async with self._changing:
            config, store = await asyncio.to_thread(read)
            self._store = store if self._store is not None else None
            self.current, applied, needs_restart = taken_over(self.started_with, self.current, config)
            for listener in self._listeners:
                listener(self.current)
            return applied, needs_restart
