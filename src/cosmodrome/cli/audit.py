"""`cosmodrome audit`: who changed what, and undoing it.

Owns: its flags; where lines come from (a server, or a file).
Must not know: how lines are read and changes undone.
"""

import datetime as dt
import json
import time
import urllib.parse
from pathlib import Path
from typing import Any, Final

import click

from cosmodrome.audit.reading import Wanted, read_page
from cosmodrome.cli.http_target import api_of, target_options
from cosmodrome.errors import AdminError, ConfigError, MissingError, RecordingError, UsageError
from cosmodrome.operating.audit_lines import text_of
from cosmodrome.operating.event_source import not_ours

_CONTEXT: Final = {"help_option_names": ["-h", "--help"], "max_content_width": 110}
_FILE_NAME: Final = "audit.jsonl"
_MOST: Final = 1000


def _time(_ctx: click.Context, _param: click.Parameter, text: str | None) -> float | None:
    if text is None:
        return None
    try:
        return float(text) if text.replace(".", "", 1).isdecimal() else dt.datetime.fromisoformat(text).timestamp()
    except ValueError:
        raise click.BadParameter(f"{text!r} is no time: write 2026-03-01T14:03, or Unix time") from None


@click.command("audit", context_settings=_CONTEXT)
@click.option(
    "--event", default="", metavar="E", help="Only these lines: change, not_made, denied, broker_moved, torn."
)
@click.option("--request", default="", metavar="R", help="Only of this request: PUT_KV_CONFIG, or 100.")
@click.option("--peer", default="", metavar="A", help="Only of who asked from here, with or without the port.")
@click.option("--text", default="", metavar="T", help="Only what has this in what was changed: a key, a broker.")
@click.option("--from", "since", callback=_time, metavar="WHEN", help="Not before this (local time without a zone).")
@click.option("--to", "until", callback=_time, metavar="WHEN", help="Not after this.")
@click.option(
    "--limit", type=click.IntRange(1), default=50, show_default=True, metavar="N", help="So many lines, the newest."
)
@click.option(
    "--file", metavar="F", help="Read this audit log, or that of this data folder, instead of asking a server."
)
@click.option("--undo", "undo_id", metavar="ID", help="Restore what was before the change with this id.")
@click.option("--force", is_flag=True, help="With --undo: also when something came after the change.")
@target_options
@click.option(
    "-o", "--output", "form", type=click.Choice(["text", "json", "ndjson"]), default="text", help="Form of the lines."
)
@click.option("-q", "--quiet", "is_quiet", is_flag=True, help="Say nothing that the exit code says.")
@click.option("-v", "--verbose", "_verbose", count=True, expose_value=False, help="Twice: the trace of an error.")
def audit(**flags: Any) -> int:
    """Show who changed what, the newest first, or undo a change.

    A change of a KV entry, of write permissions or of the configuration is undone exactly, as long as nothing came after
    it; that is a change too, and can be undone. Who may make a change may undo it.

    Exit code 1 when it is not undone because something came after it, 66 for an id that does not exist, 69 without a
    NameServer of Cosmodrome with HTTP, 77 when we may not.
    """
    if flags["undo_id"] is not None:
        return _undo(flags)
    if flags["force"]:
        raise UsageError("--force goes with --undo.")
    lines, unreadable = _from_file(flags) if flags["file"] is not None else _from_server(flags)
    _show(lines, flags["form"])
    if unreadable and not flags["is_quiet"]:
        click.echo(f"note: {unreadable} lines cannot be read", err=True)
    return 0


def _undo(flags: dict[str, Any]) -> int:
    if flags["file"] is not None:
        raise UsageError("--undo is for a server that runs, and a file is none.", remedy="--http HOST:PORT --undo ID")
    path = f"/api/v1/audit/{urllib.parse.quote(flags['undo_id'], safe='')}/undo"
    try:
        done = _api(flags).change("POST", path, {"force": flags["force"]})
    except ConfigError as error:  # 409
        raise AdminError(error.what, remedy=error.remedy) from error
    if flags["form"] != "text":
        click.echo(json.dumps(done, indent=2 if flags["form"] == "json" else None))
    elif not flags["is_quiet"]:
        click.echo(f"{done['undone']} is undone. To undo that: cosmodrome audit --undo {done['id']}")
    return 0


def _api(flags: dict[str, Any]) -> Any:
    return api_of(flags["http"], flags["namesrv_addr"], flags["timeout_s"])


def _from_server(flags: dict[str, Any]) -> tuple[list[dict[str, Any]], int]:
    api = _api(flags)
    query = [(name, flags[name]) for name in ("event", "request", "peer", "text") if flags[name]]
    query += [
        (name, str(flags[flag])) for name, flag in (("from", "since"), ("to", "until")) if flags[flag] is not None
    ]
    lines: list[dict[str, Any]] = []
    unreadable = 0
    try:
        for page in api.pages("/api/v1/audit", query, page=_MOST, most=flags["limit"]):
            lines += page["items"]
            unreadable += page["unreadable"]
    except MissingError as error:
        if "auditLog" in error.what:
            raise
        raise not_ours(api.address) from error
    return lines, unreadable


def _from_file(flags: dict[str, Any]) -> tuple[list[dict[str, Any]], int]:
    path = Path(flags["file"])
    path = path / _FILE_NAME if path.is_dir() else path
    if not path.exists() and not path.with_name(f"{path.name}.1").exists():
        raise MissingError(f"there is no audit log {path}.", remedy="name auditLog of the server, or its data folder")
    names = ("event", "request", "peer", "text", "since", "until")
    page = read_page(path, Wanted(**{name: flags[name] for name in names}), flags["limit"])
    if page.unreadable and not page.lines and not read_page(path, Wanted(), 1).lines:
        raise RecordingError(f"{path} is no audit log: none of its lines is a JSON object.")
    return [dict(line) for line in page.lines], page.unreadable


def _show(lines: list[dict[str, Any]], form: str) -> None:
    if form == "json":
        click.echo(json.dumps({"items": lines}, indent=2))
        return
    now = dt.datetime.fromtimestamp(time.time(), tz=dt.UTC).astimezone()
    for line in lines:
        click.echo(text_of(line, now) if form == "text" else json.dumps(line))
