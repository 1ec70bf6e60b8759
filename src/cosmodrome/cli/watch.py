"""`cosmodrome watch`: what happens in a NameServer, as it happens.

Owns: its flags; the three forms.
Must not know: how events come (cosmodrome.operating.event_source).
"""

import datetime as dt
import difflib
import json
import os
import sys
import time
from collections.abc import Iterator
from typing import Any, Final

import click

from cosmodrome.cli.http_target import api_of, target_options
from cosmodrome.errors import UsageError
from cosmodrome.operating.event_source import EventSource

_CONTEXT: Final = {"help_option_names": ["-h", "--help"], "max_content_width": 110}
_GAP: Final = "gap"
_HEAD: Final = ("event_id", "time", "level", "event")


@click.command("watch", context_settings=_CONTEXT)
@click.option("--type", "types", multiple=True, metavar="T", help="Only these: broker.expiring, broker, or a pattern.")
@click.option("--topic", "topics", multiple=True, metavar="GLOB", help="Only what is about these topics.")
@click.option("--broker", "brokers", multiple=True, metavar="GLOB", help="Only what is about these brokers.")
@click.option("--replay", is_flag=True, help="Begin with what the server still knows (the last 10,000 events).")
@click.option("-c", "--count", type=click.IntRange(1), metavar="N", help="End after so many events.")
@target_options
@click.option(
    "-o", "--output", "form", type=click.Choice(["text", "json", "ndjson"]), default="text", help="Form of the events."
)
@click.option("-q", "--quiet", "is_quiet", is_flag=True, help="Say nothing of connections.")
@click.option("-v", "--verbose", "_verbose", count=True, expose_value=False, help="Twice: the trace of an error.")
def watch(**flags: Any) -> int:
    """Show what happens in a NameServer, until Ctrl-C: one line for each event, as in its log.

    When the connection breaks it is made again, and goes on where it broke off; what was lost is told as an event `gap`.
    Needs a NameServer of Cosmodrome with HTTP; exit code 69 where there is none.
    """
    _check_types(flags["types"])
    source = EventSource(
        api_of(flags["http"], flags["namesrv_addr"], flags["timeout_s"]),
        [(name, text) for name, each in _QUERY.items() for text in flags[each]] + [("after", "0")] * flags["replay"],
        _on_lost(is_quiet=flags["is_quiet"]),
        time.sleep,
    )
    try:
        _print(source.events(), flags["form"], flags["count"])
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the interpreter flushes once more
    return 0


_QUERY: Final = {"type": "types", "topic": "topics", "broker": "brokers"}


def _check_types(types: tuple[str, ...]) -> None:
    """Refuse a type that no event has: nothing would ever be shown.

    Raises:
        UsageError: There is one.
    """
    from cosmodrome.namesrv.event_filter import event_names, matches_any  # noqa: PLC0415  # only for --type

    known = [*event_names(), _GAP] if types else []
    pieces = [piece for each in types for piece in each.split(",") if piece]
    unknown = next((each for each in pieces if not matches_any(each, known)), None)
    if unknown is None:
        return
    first_parts = dict.fromkeys(name.partition(".")[0] for name in known)
    near = difflib.get_close_matches(unknown, [*known, *first_parts])
    raise UsageError(
        f"--type {unknown!r} is no event.",
        why="nothing would ever be shown.",
        remedy=f"did you mean {' or '.join(near)}?" if near else f"first words of names are: {', '.join(first_parts)}",
    )


def _on_lost(*, is_quiet: bool) -> Any:
    def on_lost(reason: str) -> None:
        if not is_quiet:
            sys.stderr.write(f"note: the connection broke ({reason}); it is made again\n")

    return on_lost


def _print(events: Iterator[dict[str, Any]], form: str, count: int | None) -> None:
    """Print events as they come. Those of `json` are one array, which is closed whatever ends it."""
    is_array = form == "json"
    written = 0
    if is_array:
        _write("[")
    try:
        for event in events:
            text = text_line(event) if form == "text" else json.dumps(event, ensure_ascii=False)
            _write(f"{',' if is_array and written else ''}{text}")
            written += 1
            if written == count:
                break
    finally:
        if is_array:
            _write("]")


def _write(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def text_line(event: dict[str, Any]) -> str:
    """Write an event as the log does: local time, level, name, fields."""
    from cosmodrome.namesrv.events import some_of  # noqa: PLC0415  # only for text
    from cosmodrome.namesrv.logs import fields_text  # noqa: PLC0415

    when = dt.datetime.fromisoformat(event["time"]) if "time" in event else dt.datetime.now(tz=dt.UTC)
    fields = {name: value for name, value in event.items() if name not in _HEAD}
    shown = {name: some_of(tuple(value)) if isinstance(value, list) else value for name, value in fields.items()}
    head = f"{when.astimezone().isoformat(timespec='milliseconds')} {event.get('level', 'WARN')} {event.get('event')}"
    return " ".join([head, *fields_text({name: "none" if value is None else value for name, value in shown.items()})])
