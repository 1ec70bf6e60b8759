"""Where a server's lines go: standard output, standard error, the log.

Owns: which stream is written in the background, and what is told when lines cannot be written.
Must not know: what the lines say.
"""

import contextlib
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from cosmodrome.namesrv.config import NamesrvConfig
from cosmodrome.namesrv.events import LogDiverted, LogLinesDropped, LogToFile, Publish
from cosmodrome.namesrv.log_output import DescriptorSink, LogOutput, RotatingFile
from cosmodrome.namesrv.logs import LineStream

_STANDARD_ERROR = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Outputs:
    """The streams of one server; a write to them never waits for a reader or a disk. None goes nowhere."""

    stdout: LineStream | None
    stderr: LineStream | None
    log: LineStream | None

    def tell(self, publish: Publish, log_file: str) -> None:
        """Publish what happens to log lines."""
        if isinstance(self.log, LogOutput):
            self.log.tell(
                lambda lines, reason: publish(LogLinesDropped(lines=lines, reason=reason)),
                lambda reason: publish(LogDiverted(path=log_file, reason=reason)),
            )

    def close(self) -> None:
        """Pass on what was written, but do not wait for ever for somebody to take it."""
        for stream in (self.log, self.stderr, self.stdout):
            if isinstance(stream, LogOutput):
                stream.close()


def open_outputs(config: NamesrvConfig) -> Outputs:
    """Give the streams of this process; log lines go to standard error unless `logFile` is set."""
    stderr = in_background(sys.stderr)
    log = stderr
    if config.log_file:
        file = RotatingFile(Path(config.log_file), config.log_file_max_bytes, config.log_file_backups)
        log = LogOutput(file, DescriptorSink(_STANDARD_ERROR))
    return Outputs(stdout=in_background(sys.stdout), stderr=stderr, log=log)


def log_to_file(config: NamesrvConfig) -> LogToFile:
    """Say which file has the log lines, and what all of them can take up."""
    return LogToFile(path=config.log_file, at_most_bytes=config.log_file_max_bytes * (config.log_file_backups + 1))


def in_background(stream: TextIO | None) -> LineStream | None:
    """Give a stream to the same place that does not block; where there is no descriptor, the stream itself."""
    descriptor = -1
    with contextlib.suppress(AttributeError, OSError, ValueError):
        descriptor = stream.fileno() if stream is not None else -1
    if stream is None or descriptor < 0:
        return stream
    return LogOutput(DescriptorSink(descriptor), encoding=stream.encoding or "utf-8", is_terminal=stream.isatty())
