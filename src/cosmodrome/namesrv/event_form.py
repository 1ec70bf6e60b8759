"""An event as JSON, for streams and histories.

Owns: the keys of that form, the same as those of JSON log lines with the number before.
Must not know: who gets it; which events are wanted (event_filter.py).
"""

import datetime as dt
import logging
from typing import Any, Final

from cosmodrome.namesrv.event_history import Lost, Record

GAP: Final = "gap"
NAMES_TOLD: Final = 1000
"""Topic names of one event; `count` tells how many there were."""
_LEVELS: Final = {logging.DEBUG: "DEBUG", logging.INFO: "INFO", logging.WARNING: "WARN", logging.ERROR: "ERROR"}


def event_form(record: Record, topics: tuple[str, ...]) -> dict[str, Any]:
    """Give an event as an object of JSON; `topics` are those of its topic names that are wanted."""
    event = record.event
    form: dict[str, Any] = {
        "event_id": record.number,
        "time": rfc3339(record.time_s),
        "level": _LEVELS[event.LEVEL],
        "event": event.NAME,
    }
    facts = event.facts()
    if isinstance(facts.get("topics"), tuple):
        facts["topics"] = topics[:NAMES_TOLD]
        left_out = record.names_left_out + len(topics[NAMES_TOLD:])
        if left_out:
            facts["topics_left_out"] = left_out
    return form | facts


def gap_form(lost: Lost) -> dict[str, Any]:
    """Give what a reader is told who lost events; `dropped` is None when they were of an earlier run of the server."""
    return {
        "event_id": lost.last,
        "event": GAP,
        "from_id": lost.first,
        "to_id": lost.last,
        "dropped": lost.events,
        "reason": "too many events since" if lost.events is not None else "the server was started since",
    }


def rfc3339(time_s: float) -> str:
    """Write Unix time in UTC."""
    when = dt.datetime.fromtimestamp(time_s, tz=dt.UTC).replace(tzinfo=None)
    return f"{when.isoformat(timespec='milliseconds')}Z"
