"""`cosmodrome capture`, `replay` and `decode`: their flags, and how they run.

Owns: the grammar of these commands; the totals that they end with.
Must not know: how a frame is read, passed on or asked again (cosmodrome.recordings).
"""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final

import click
import msgspec

from cosmodrome.admin.output import Output, OutputForm, Verbosity
from cosmodrome.client.addresses import Address, chosen_addresses
from cosmodrome.errors import RecordingError, StorageError, UsageError
from cosmodrome.protocol.answer_differences import Difference
from cosmodrome.recordings.layout import lines_of
from cosmodrome.recordings.readable import Reader, request_name
from cosmodrome.recordings.recorded import Recorded, from_hex, line_of, read_bytes, read_file, read_lines
from cosmodrome.recordings.redaction import Redactor
from cosmodrome.recordings.relay import Relay
from cosmodrome.recordings.replay import Asked, Outcome, Player, requests_of

READS: Final = frozenset({101, 105, 106, 206, 219, 224, 304, 311, 312, 313, 319, 322, 901})
"""Requests that change nothing at a NameServer."""

EXIT_DIFFERENT: Final = 1
_SHOWN_LINES: Final = 24
_LAST_PORT: Final = 65_535
_CONTEXT: Final = {"help_option_names": ["-h", "--help"], "max_content_width": 110}
_FORM: Final = click.option(
    "-o", "--output", "form", type=click.Choice(["text", "json", "ndjson"], case_sensitive=False), default="text",
    show_default=True, help="How results are written.",
)  # fmt: skip

_SERVER: Final = click.option(
    "-n",
    "--namesrvAddr",
    "namesrv_addr",
    metavar="A:P",
    help="The server that is asked. Default: $NAMESRV_ADDR, else 127.0.0.1:9876.",
)


@click.group(context_settings=_CONTEXT)
def recordings() -> None:
    """Frames on file."""


@recordings.command(context_settings=_CONTEXT)
@click.argument("what", metavar="HEX|FILE|-")
@click.option(
    "--code", "codes", type=int, multiple=True, metavar="N", help="Only requests with this code, and their answers."
)
@click.option("--connection", type=int, metavar="N", help="Only this connection.")
@click.option("--full", is_flag=True, help=f"Show bodies whole, not their first {_SHOWN_LINES} lines.")
@_FORM
def decode(*, what: str, codes: tuple[int, ...], connection: int | None, full: bool, form: str) -> int:
    """Show what frames say: of a recording, of a file of bare frames, of hexadecimal digits, or of standard input."""
    output = Output(OutputForm(form.lower()), sys.stdout, sys.stderr, Verbosity.USUAL)
    reader = Reader()
    try:
        for recorded in _frames(what):
            reading = reader.read(recorded)
            asked = {reading.name, reading.question} & {request_name(code) for code in codes}
            if (connection is None or recorded.connection == connection) and (asked or not codes):
                facts = msgspec.to_builtins(reading, str_keys=True)
                output.row(facts, *(lines_of(reading, None if full else _SHOWN_LINES) if output.is_text else ()))
        output.end("frames")
    finally:
        output.flush()
    return 0


def _frames(what: str) -> Iterator[Recorded]:
    if what == "-":
        data = sys.stdin.buffer.read()
        yield from _of_bytes(data)
        return
    path = Path(what)
    try:
        is_file = path.is_file()
    except OSError:  # as a name it is too long
        is_file = False
    if is_file:
        try:
            yield from read_file(path)
        except OSError as error:
            raise StorageError(f"cannot read {path}: {error.strerror or error}") from error
        return
    try:
        yield from read_bytes(from_hex(what.encode("utf-8", "replace")))
    except RecordingError as error:
        raise RecordingError(
            f"{what[:80]} is neither a file nor a frame: {error}",
            remedy="give the path of a recording, or a whole frame in hexadecimal digits, its length field first.",
        ) from error


def _of_bytes(data: bytes) -> Iterator[Recorded]:
    if data[:1] == b"{":
        return read_lines(iter(data.splitlines()))
    return read_bytes(data if data[:1] == b"\0" else from_hex(data.strip()))


@recordings.command(context_settings=_CONTEXT)
@click.option(
    "--listen",
    default="127.0.0.1:0",
    show_default=True,
    metavar="A:P",
    help="Where peers connect to; port 0 is any free one.",
)
@_SERVER
@click.option(
    "--out",
    type=click.Path(dir_okay=False),
    metavar="F",
    help="Where frames go, one per line; default: standard output.",
)
@click.option("--redact", is_flag=True, help="Overwrite what messages, configurations and credentials say.")
@click.option("--seconds", type=float, metavar="S", help="End after so long; else with SIGINT or SIGTERM.")
def capture(*, listen: str, namesrv_addr: str | None, out: str | None, redact: bool, seconds: float | None) -> int:
    """Pass connections on to a server, and record every frame.

    Point clients or brokers at the address that is printed. What they and the server say is passed on unchanged.
    """
    return asyncio.run(_capture(_listening(listen), _server(namesrv_addr), out, redact=redact, seconds=seconds))


async def _capture(listen: Address, server: Address, out: str | None, *, redact: bool, seconds: float | None) -> int:
    redactor = Redactor() if redact else None
    count = 0
    with _sink(out) as file:

        def keep(recorded: Recorded) -> None:
            nonlocal count
            count += 1
            file.write(line_of(redactor.redacted(recorded) if redactor is not None else recorded) + b"\n")
            file.flush()

        relay = Relay((server.host, server.port), keep, _say)
        where = await relay.start(listen.host, listen.port)
        _say(f"recording on {where}, for {server.host}:{server.port}")
        try:
            await _until_told(seconds)
        finally:
            await relay.stop()
    _say(f"{count} frames recorded{f' in {out}' if out else ''}")
    return 0


@contextlib.contextmanager
def _sink(out: str | None) -> Iterator[BinaryIO]:
    if out is None:
        yield sys.stdout.buffer
        return
    with _created(Path(out)) as file:
        yield file


def _created(path: Path) -> BinaryIO:
    try:
        return path.open("xb")
    except FileExistsError as error:
        raise StorageError(f"{path} exists", remedy="name another file, or remove it.") from error
    except OSError as error:
        raise StorageError(f"cannot write {path}: {error.strerror or error}") from error


async def _until_told(seconds: float | None) -> None:
    told = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(NotImplementedError):  # Windows: Ctrl-C cancels
            loop.add_signal_handler(number, told.set)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await told.wait()


@recordings.command(context_settings=_CONTEXT)
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@_SERVER
@click.option("--reads-only", is_flag=True, help="Leave out what could change something.")
@click.option("--code", "codes", type=int, multiple=True, metavar="N", help="Only requests with this code.")
@click.option("--timed", is_flag=True, help="Keep the pauses of the recording; else ask as fast as answers come.")
@click.option(
    "--timeout",
    "timeout_s",
    type=float,
    default=5.0,
    show_default=True,
    metavar="S",
    help="How long an answer may take.",
)
@_FORM
def replay(*, file: str, namesrv_addr: str | None, form: str, **chosen: Any) -> int:
    """Put the requests of a recording to a server again, and compare its answers with the recorded ones.

    Ends with 0 when all are the same, with 1 when some are not.
    """
    requests, redacted = requests_of(read_file(Path(file)), _wanted(chosen["codes"], reads_only=chosen["reads_only"]))
    if not requests:
        raise UsageError(
            f"there is no request to ask again in {file}",
            why=f"{redacted} are redacted." if redacted else None,
            remedy="see what is in it: cosmodrome decode FILE",
        )
    output = Output(OutputForm(form.lower()), sys.stdout, sys.stderr, Verbosity.USUAL)
    if redacted:
        output.note(f"{redacted} requests are left out: what they said was taken out of the recording")
    server = _server(namesrv_addr)
    changing = sum(each.command.code not in READS for each in requests)
    if changing:
        output.note(
            f"{changing} of {len(requests)} requests may change something at {server}; --reads-only leaves them out"
        )
    player = Player(server.host, server.port, timeout_s=chosen["timeout_s"], is_timed=chosen["timed"])
    try:
        return asyncio.run(_play(player, requests, output))
    finally:
        output.flush()


def _wanted(codes: tuple[int, ...], *, reads_only: bool) -> frozenset[int] | None:
    if not codes:
        return READS if reads_only else None
    return frozenset(codes) & READS if reads_only else frozenset(codes)


async def _play(player: Player, requests: list[Asked], output: Output) -> int:
    differing = 0
    async with player:
        async for outcome in player.play(requests):
            differing += not outcome.is_same
            output.row(_facts(outcome), *_lines(outcome))
    output.end("requests", asked=len(requests), differing=differing)
    output.text(f"{len(requests)} requests, {len(requests) - differing} answered as recorded, {differing} not")
    return EXIT_DIFFERENT if differing else 0


def _facts(outcome: Outcome) -> dict[str, Any]:
    command = outcome.asked.command
    return {
        "connection": outcome.asked.recorded.connection,
        "opaque": command.opaque,
        "code": command.code,
        "name": request_name(command.code),
        "same": outcome.is_same,
        "answer_code": None if outcome.answer is None else outcome.answer.code,
        "fault": outcome.fault,
        "differences": [msgspec.to_builtins(each) for each in outcome.differences],
    }


def _lines(outcome: Outcome) -> list[str]:
    if outcome.is_same:
        return []
    command = outcome.asked.command
    fields = " ".join(f"{name}={value}" for name, value in (command.ext_fields or {}).items())
    lines = [f"#{outcome.asked.recorded.connection} {command.code} {request_name(command.code)} {fields}"]
    if outcome.fault is not None:
        lines.append(f"    {outcome.fault}")
    return lines + [
        f"    {each.where}: {_side(each, 'ours')} now, {_side(each, 'theirs')} recorded" for each in outcome.differences
    ]


def _side(difference: Difference, side: str) -> str:
    value = getattr(difference, side)
    return "nothing" if value is msgspec.UNSET else msgspec.json.encode(value).decode()


def _server(namesrv_addr: str | None) -> Address:
    addresses = chosen_addresses(namesrv_addr, os.environ)
    if len(addresses) != 1:
        raise UsageError(f"one server is asked, and {len(addresses)} are named", remedy="choose one: -n HOST:PORT")
    return addresses[0]


def _listening(text: str) -> Address:
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or int(port) > _LAST_PORT:
        raise UsageError(f"--listen {text} is no address", remedy="write HOST:PORT, with port 0 for any free one.")
    return Address(host.strip("[]"), int(port))


def _say(text: str) -> None:
    click.echo(text, err=True)
