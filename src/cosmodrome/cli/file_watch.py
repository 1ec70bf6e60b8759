"""Noticing that files of configuration were changed.

Owns: when a change counts: once the file has been the same for two looks, so that one that is being written is left
    alone; a file that is gone is none.
Must not know: what is done about it (serve.py); what is in the files.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

from cosmodrome.durable_file import Stamp, stamp_of


class FileWatch:
    """Looks at some files, which need not exist, when it is told to.

    Args:
        paths: The files.
        interval_s: How often it is meant to look.
        is_ours: Whether a file with this stamp was written by this process itself.
    """

    def __init__(
        self,
        paths: Sequence[Path],
        interval_s: float,
        is_ours: Callable[[Path, Stamp | None], bool] = lambda _path, _stamp: False,
    ) -> None:
        self.interval_s = interval_s
        self._paths = tuple(paths)
        self._is_ours = is_ours
        self._known = self._seen = self._stamps()

    def note(self) -> None:
        """Take the files as they are for known: they are about to be read."""
        self._known = self._stamps()

    def look(self) -> tuple[Path, ...]:
        """Give the files that are others than the known ones, and rest; they are known from then on."""
        stamps = self._stamps()
        rests = stamps == self._seen
        self._seen = stamps
        if not rests:
            return ()
        changed = [path for path, stamp in stamps.items() if stamp not in (None, self._known[path])]
        self._known = stamps
        return tuple(path for path in changed if not self._is_ours(path, stamps[path]))

    def _stamps(self) -> dict[Path, Stamp | None]:
        return {path: stamp_of(path) for path in self._paths}
