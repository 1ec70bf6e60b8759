"""What a server has logged, as values.

Owns: finding lines on a server's standard error and waiting for them.
Must not know: which lines a server should write.
"""

import json
import time
from typing import Any, Final

from tests.support.server_process import ServerProcess
from tests.support.waiting import wait_until

LINE_S: Final = 5.0
STILL_S: Final = 0.05
LONGEST_SETTLING_S: Final = 1.0

Line = dict[str, Any]


def log_lines(server: ServerProcess, *words: str, **fields: object) -> list[Line]:
    """Return the JSON lines that have these fields with these values and hold every one of these words somewhere.

    A server writes its log beside its work: what it has done a moment ago may be told a moment later.
    """
    _let_settle(server)
    lines = [json.loads(text) for text in server.stderr.splitlines() if text.startswith("{")]
    return [
        line
        for line in lines
        if all(line.get(name) == value for name, value in fields.items())
        and all(word in json.dumps(line, ensure_ascii=False) for word in words)
    ]


def _let_settle(server: ServerProcess) -> None:
    until = time.monotonic() + LONGEST_SETTLING_S
    size = -1
    while size != len(server.stderr) and time.monotonic() < until:
        size = len(server.stderr)
        time.sleep(STILL_S)


def wait_for_line(server: ServerProcess, *words: str, **fields: object) -> Line:
    """Wait for such a line, see `log_lines`, and return the first one."""
    found = wait_until(
        lambda: log_lines(server, *words, **fields), f"a log line with {words} and {fields}", within_s=LINE_S
    )
    return found[0]
