"""What an answer says, apart from what cannot be equal on two servers.

Owns: the one form in which answers are compared. Left out or replaced: opaque, the server's version,
the order of sets and of members, names of other histories in lists, which address 304 picks, and
time stamps of the test run itself.
Must not know: the differences that are wanted (differences.py).
"""

import re
import time
from dataclasses import dataclass, fields
from typing import Any, Final

from tests.interop.differential.json_text import NotWrittenByFastjsonError, Tree, arrange, parse, text_of, walk
from tests.interop.differential.notices import Notices
from tests.support.wire import Answer

OWN_MARK: Final = "~"
LISTS: Final = frozenset({206, 224, 304, 311, 312, 313})
NAMED_TABLES: Final = frozenset({'"brokerAddrTable"', '"clusterAddrTable"', '"table"'})
INSTALLATION: Final = frozenset({"configStorePath", "kvConfigPath", "rocketmqHome", "listenPort"})
INSTALLED: Final = "(its own)"
HOUR_MS: Final = 3_600_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One answer. `failure` is set instead of the rest when none came.

    `notices` is set alone: what brokers were told so far, see notices.py.
    """

    code: int | None = None
    flag: int | None = None
    language: str | None = None
    remark: str | None = None
    ext: dict[str, str] | None = None
    body: Tree | None = None
    codec: str | None = None
    failure: str | None = None
    notices: Notices | None = None

    def __str__(self) -> str:
        """Return what is set, on one line."""
        shown = {each.name: getattr(self, each.name) for each in fields(self)}
        if self.body is not None:
            shown["body"] = text_of(self.body)
        return ", ".join(f"{name}={value!r}" for name, value in shown.items() if value is not None)


def read(code: int, answer: Answer, unfill: Any) -> Seen:
    """Return what an answer to request `code` says; `unfill` puts the tokens of a history back."""
    ext = None if answer.ext is None else {name: unfill(value) for name, value in answer.ext.items()}
    return Seen(
        code=answer.code,
        flag=answer.flag,
        language=answer.language,
        remark=None if answer.remark is None else unfill(answer.remark),
        ext=ext,
        body=_body(code, unfill(answer.body.decode(errors="surrogateescape"))) if answer.body else None,
        codec=answer.codec,
    )


def differing(theirs: Seen, ours: Seen) -> frozenset[str]:
    """Return the names of the fields that are not equal."""
    return frozenset(each.name for each in fields(Seen) if getattr(theirs, each.name) != getattr(ours, each.name))


def unescaped(line: str) -> str:
    """Return a line of a configuration without its escapes."""
    return re.sub(r"\\(u[0-9A-Fa-f]{4}|.)", lambda m: chr(int(m[1][1:], 16)) if len(m[1]) > 1 else m[1], line)


def misread(line: str) -> str:
    """Return what UTF-8 text becomes when it is read as ISO-8859-1."""
    return line.encode().decode("latin-1")


def _body(code: int, text: str) -> Tree:
    if code == 319:
        return _config_lines(text)
    try:
        tree = arrange(parse(text))
    except NotWrittenByFastjsonError as error:
        return f"{error}"
    narrowed = walk(tree, lambda name, value: _narrow(code, name, value))
    return text if narrowed is None else narrowed


def _config_lines(text: str) -> Tree:
    """Return a configuration line by line, without the values that belong to one installation."""
    lines: list[Tree] = []
    for line in text.split("\n"):
        key, sign, value = line.partition("=")
        lines.append(f"{key}={INSTALLED}" if sign and key in INSTALLATION and value else line)
    return lines


def _narrow(code: int, name: str, value: Tree) -> Tree | None:
    if name in NAMED_TABLES and isinstance(value, dict):
        return {key: each for key, each in value.items() if OWN_MARK in key}
    if code in LISTS and name == '"topicList"' and isinstance(value, list):
        return [each for each in value if OWN_MARK in each]
    if code == 304 and name == '"brokerAddr"':
        return None
    if name == '"timestamp"' and isinstance(value, str) and value.isdigit():
        return "now" if abs(int(value) - time.time() * 1000) < HOUR_MS else value
    return value
