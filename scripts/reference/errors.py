"""docs/reference/errors.md: every error that a person is shown by its id.

Owns: the layout of that page.
Must not know: anything about an error that its class does not say.
"""

import re
from collections.abc import Iterator
from typing import Final

from cosmodrome import errors
from cosmodrome.errors import OperatorError

_HEAD: Final = """\
# Errors

<!-- Written by `python -m scripts.reference` from src/cosmodrome/errors.py. Do not edit. -->

What ends a command, or keeps a server from starting, is told in three parts on standard error: what happened, why, and what to do.

    error[NS-BIND]: cannot listen on 0.0.0.0:9876: address already in use.
      why: pid 4711 (java ... NamesrvStartup) is listening there.
      do:  stop it, or choose a port: cosmodrome namesrv --listenPort 9886

The id is what to look for here; it never changes. The exit code is that of the process. With `-vv` a trace is shown, too. Scripts go by exit codes:
65 unreadable data, 66 not found, 69 unreachable or not available there, 70 a bug of ours, 71 cannot bind, open or write, 75 worth retrying, 77 denied,
78 bad configuration, 2 wrong usage, 1 partly or otherwise failed.

| id | exit code | meaning | what to do |
|---|---|---|---|
"""
_SENTENCE_END: Final = re.compile(r"(?<=\.) ")
_BUG: Final = (
    "| `NS-BUG` | 70 | A fault of Cosmodrome, not of its use. "
    "| Report it with the file that the text names; it holds no arguments and no environment. |\n"
)


def page() -> str:
    """Give the whole page."""
    return _HEAD + "".join(map(_row, by_id())) + _BUG


def by_id() -> Iterator[type[OperatorError]]:
    """Give the classes that bring an id, in the order of their ids."""
    classes = (each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, OperatorError))
    return iter(sorted((each for each in classes if "ERROR_ID" in vars(each) and each is not OperatorError), key=_id))


def _id(kind: type[OperatorError]) -> str:
    return kind.ERROR_ID


def _row(kind: type[OperatorError]) -> str:
    subclasses = [each for each in kind.__subclasses__() if each.ERROR_ID == kind.ERROR_ID]
    meaning = " Or: ".join(filter(None, map(_meaning, [kind, *subclasses])))
    return f"| `{kind.ERROR_ID}` | {kind.exit_code} | {meaning} | {kind.ADVICE} |\n"


def _meaning(kind: type[OperatorError]) -> str:
    """Give the first paragraph of what a class says, without sentences about its attributes."""
    text = " ".join((kind.__doc__ or "").strip().split("\n\n")[0].split())
    return " ".join(sentence for sentence in _SENTENCE_END.split(text) if "`" not in sentence)
