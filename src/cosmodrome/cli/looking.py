"""`cosmodrome history`, `misses`, `clients`: what a NameServer has seen.

Owns: their flags and layouts.
Must not know: how the server counts and keeps it.
"""

import datetime as dt
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import click

from cosmodrome.cli.http_target import api_of, target_options
from cosmodrome.cli.watch import text_line
from cosmodrome.errors import MissingError
from cosmodrome.operating.api import Api
from cosmodrome.operating.event_source import not_ours
from cosmodrome.shown_text import shown

_CONTEXT: Final = {"help_option_names": ["-h", "--help"], "max_content_width": 110}
_PAGE: Final = 1000
_FORM: Final = click.option(
    "-o", "--output", "form", type=click.Choice(["text", "json", "ndjson"]), default="text", show_default=True,
    help="How results are written.",
)  # fmt: skip
_LIMIT: Final = click.option(
    "--limit", type=click.IntRange(1), default=50, show_default=True, metavar="N", help="At most so many."
)

Items = list[dict[str, Any]]


@click.group(context_settings=_CONTEXT)
def looking() -> None:
    """What a NameServer has seen."""


@looking.command(context_settings=_CONTEXT)
@click.argument("about", required=False, metavar="[TOPIC|BROKER]")
@click.option("--type", "types", multiple=True, metavar="T", help="Only these: broker.expiring, broker, or a pattern.")
@click.option("--from", "since", metavar="WHEN", help="Not before this (RFC 3339; local time without a zone).")
@click.option("--to", "until", metavar="WHEN", help="Not after this.")
@_LIMIT
@target_options
@_FORM
def history(**flags: Any) -> int:
    """Show what happened, the newest last; with a name, what happened to this topic or broker.

    A NameServer of Cosmodrome keeps its last 10,000 events; when the question reaches back further, that is said.
    """
    api = _api(flags)
    query = [("type", each) for each in flags["types"]]
    query += [(name, flags[flag]) for name, flag in (("from", "since"), ("to", "until")) if flags[flag]]
    # The same name may be a topic's and a broker's; an event is about one of them.
    questions = [[*query, (kind, flags["about"])] for kind in ("topic", "broker")] if flags["about"] else [query]
    found: dict[int, dict[str, Any]] = {}
    first: dict[str, Any] = {}
    for question in questions:
        items, first = _pages(api, "history", question)
        found |= {int(each["event_id"]): each for each in items}
    events = [found[number] for number in sorted(found)][-flags["limit"] :]
    _write(flags["form"], "events", events, [text_line(each) for each in events], is_whole=first["is_whole"])
    if not first["is_whole"] and not flags["since"] and flags["form"] == "text":
        click.echo(f"note: what was before {first['oldest']} is not known any more", err=True)
    return 0


@looking.command(context_settings=_CONTEXT)
@click.option("--prefix", default="", metavar="P", help="Only topics that begin so.")
@_LIMIT
@target_options
@_FORM
def misses(**flags: Any) -> int:
    """Show topics that were asked for and have no route: how often, by whom, when first and last.

    Those asked for most come first. `cosmodrome why TOPIC` says what is the matter with one.
    """
    items, first = _pages(
        _api(flags), "misses", [("prefix", flags["prefix"])] if flags["prefix"] else [], flags["limit"]
    )
    rows = [
        (each["topic"], str(each["count"]), _local(each["first_at"]), _local(each["last_at"]), _askers(each["askers"]))
        for each in items
    ]
    lines = _table(("#Topic", "#Count", "#First", "#Last", "#Asked by"), rows)
    _write(flags["form"], "misses", items, lines, total=first["total"])
    return 0


@looking.command(context_settings=_CONTEXT)
@target_options
@_FORM
def clients(**flags: Any) -> int:
    """Show who is connected: languages and versions of clients and brokers, with how many connections and hosts."""
    api = _api(flags)
    try:
        answer = api.get("/api/v1/clients")
    except MissingError as error:
        raise not_ours(api.address) from error
    names = ("role", "language", "version", "connections", "hosts")
    rows = [tuple(str(each[name]) for name in names) for each in answer["items"]]
    lines = _table(("#Role", "#Language", "#Version", "#Connections", "#Hosts"), rows)
    silent = answer["silent_connections"]
    lines += [f"{silent} more have said nothing yet"] if silent else []
    _write(flags["form"], "clients", answer["items"], lines, silent_connections=silent)
    return 0


def _api(flags: dict[str, Any]) -> Api:
    return api_of(flags["http"], flags["namesrv_addr"], flags["timeout_s"])


def _pages(
    api: Api, what: str, query: Sequence[tuple[str, str]], most: int | None = None
) -> tuple[Items, dict[str, Any]]:
    """Give the items of all pages, at most so many, and the first page."""
    items: Items = []
    first: dict[str, Any] = {}
    try:
        for page in api.pages(f"/api/v1/{what}", query, page=_PAGE, most=most):
            first = first or page
            items += page["items"]
    except MissingError as error:
        raise not_ours(api.address) from error
    return items, first


def _local(text: str) -> str:
    return dt.datetime.fromisoformat(text).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def _askers(askers: Items) -> str:
    return ", ".join(f"{each['host']} ({each['count']})" for each in askers)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Align columns; nothing is cut."""
    cells = [tuple(map(shown, row)) for row in (head, *rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(head))]
    return ["  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells]


def _write(form: str, name: str, items: Items, lines: Sequence[str], **facts: Any) -> None:
    forms: dict[str, Callable[[], Iterator[str]]] = {
        "text": lambda: iter(lines),
        "ndjson": lambda: (json.dumps(each, ensure_ascii=False) for each in items),
        "json": lambda: iter([json.dumps({**facts, name: items}, indent=2, ensure_ascii=False)]),
    }
    for line in forms[form]():
        click.echo(line)
