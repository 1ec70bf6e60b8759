"""docs/reference/events.md: every event of a NameServer, from the types of events.

Owns: the layout of that page.
Must not know: anything about an event that its type does not say.
"""

import logging
from collections.abc import Iterator
from typing import Final, get_args

import msgspec

from cosmodrome.namesrv import events
from cosmodrome.namesrv.event_history import MOST_BYTES, MOST_EVENTS
from cosmodrome.namesrv.events import Event

_HEAD: Final = """\
# Events

<!-- Written by `python -m scripts.reference` from src/cosmodrome/namesrv/events.py. Do not edit. -->

What happens in a NameServer, under the same names in its log, in `GET /api/v1/events` and `cosmodrome watch`, in `GET /api/v1/history`, and as the label `event` of metrics.
[Monitoring](../monitoring.md) says how to read them. The last {most_events:,} are kept in memory, in at most {most_bytes} MiB.

Every event has `time`, `level` and `event`, over HTTP `event_id`, which increases, too. A field with `?` is left out where there is nothing to say. Log lines show the first few
of many topics and keys; over HTTP they are lists. Message bodies, secrets and KV values are in no event. `log.*`, `server.failed` and `server.unclean_end` are in the log only: they are about the process, and what it prints.

Those that a peer can cause at will are told once a minute for each subject, the fields that are named as *once a minute for each*: the next one tells with `repeated` how many there
were of the same, and with `others` how many about subjects that were too many to be told apart.

| event | level | fields | when |
|---|---|---|---|
"""
_GAP: Final = (
    "| `gap` | WARN | from_id, to_id, dropped?, reason | In streams only: these events were lost to this reader, `dropped` of them "
    "if that is known. It reads on behind them. |\n"
)
_LEVELS: Final = {logging.WARNING: "WARN"}
_ALWAYS: Final = ("repeated", "others")


def page() -> str:
    """Give the whole page."""
    head = _HEAD.format(most_events=MOST_EVENTS, most_bytes=MOST_BYTES // 1024 // 1024)
    return head + "".join(map(_row, kinds())) + _GAP


def kinds() -> Iterator[type[Event]]:
    """Give the types that have a name, in the order of the names."""
    found = (each for each in vars(events).values() if isinstance(each, type) and issubclass(each, Event) and each.NAME)
    return iter(sorted(found, key=_name))


def _name(kind: type[Event]) -> str:
    return kind.NAME


def _row(kind: type[Event]) -> str:
    level = _LEVELS.get(kind.LEVEL) or logging.getLevelName(kind.LEVEL)
    return f"| `{kind.NAME}` | {level} | {', '.join(_fields(kind))} | {_meaning(kind)} |\n"


def _fields(kind: type[Event]) -> Iterator[str]:
    for each in msgspec.structs.fields(kind):
        if each.name not in _ALWAYS:
            yield f"{each.name}?" if type(None) in get_args(each.type) else each.name


def _meaning(kind: type[Event]) -> str:
    text = " ".join((kind.__doc__ or "").split())
    limit = f" *Once a minute for each {', '.join(kind.SUBJECT)}.*" if kind.SUBJECT else ""
    return f"{text}{limit}"
