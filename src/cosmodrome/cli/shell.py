"""`cosmodrome send` and `cosmodrome consume`: messages from and to the shell.

Owns: their words, options and help.
Must not know: what is sent and printed (cosmodrome.admin).
"""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import click

from cosmodrome.cli.admin.declaration import Declared
from cosmodrome.cli.admin.grammar import CONTEXT, Common, common_options
from cosmodrome.cli.admin.running import run_declared

_SEND: Final = Declared(name="send", text="Send messages to a topic.", runs="shell_send:send")
_CONSUME: Final = Declared(name="consume", text="Print messages of a topic.", runs="shell_consume:consume")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_POSITIVE: Final = click.FloatRange(min=0, min_open=True)
_AT_LEAST_ONE: Final = click.IntRange(min=1)


def _seconds(_ctx: click.Context, _param: click.Parameter, text: str | None) -> float | None:
    if text is None:
        return None
    number = text.rstrip("smhd")
    unit = text[len(number) :] or "s"
    try:
        seconds = float(number) * _UNITS[unit]
    except (ValueError, KeyError):
        raise click.BadParameter(f"{text!r} is no time: write 1.5, 500ms, 10s, 5m or 2h") from None
    if not 0 < seconds < float("inf"):
        raise click.BadParameter("it must be above 0")
    return seconds


def _moment(text: str) -> datetime:
    from cosmodrome.admin.moments import moment_ms  # noqa: PLC0415  # few runs have moments

    try:
        return _EPOCH + timedelta(milliseconds=moment_ms(text))
    except (ValueError, OverflowError) as error:
        raise click.BadParameter(str(error)) from None


def _when(_ctx: click.Context, _param: click.Parameter, text: str | None) -> datetime | None:
    return None if text is None else _moment(text)


def _begin(_ctx: click.Context, _param: click.Parameter, text: str | None) -> str | datetime | None:
    return text if text in (None, "first", "last") else _moment(text)


def _charset(_ctx: click.Context, _param: click.Parameter, text: str | None) -> str | None:
    from cosmodrome.admin.message_rows import charset  # noqa: PLC0415

    try:
        return None if text is None else charset(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def _properties(_ctx: click.Context, _param: click.Parameter, values: Sequence[str]) -> dict[str, str]:
    for value in values:
        if not value.partition("=")[1]:
            raise click.BadParameter(f"{value!r} is not NAME=VALUE")
    return {name: text for name, _, text in (value.partition("=") for value in values)}


def _running(declared: Declared) -> Callable[..., int]:
    def run_it(**flags: Any) -> int:
        common = Common(**{field: flags.pop(field) for field in Common.__dataclass_fields__})
        return run_declared(declared, common, flags)

    return run_it


def _send(**flags: Any) -> int:
    """Send messages to TOPIC.

    Each BODY is a message. Without any, each line of standard input is one, or with --file the content of a file. A
    topic that does not exist is made if the broker allows it.
    """
    if flags["bodies"] and flags["file"] is not None:
        raise click.UsageError("BODY and --file do not go together.", click.get_current_context(silent=True))
    if flags["has_lines"] and flags["file"] is None and flags["bodies"]:
        raise click.UsageError("--lines goes with --file.", click.get_current_context(silent=True))
    if sum(flags[name] is not None for name in ("delay_s", "delay_level", "deliver_at")) > 1:
        raise click.UsageError("a message is delayed in one way.", click.get_current_context(silent=True))
    return _running(_SEND)(**flags)


def _consume(**flags: Any) -> int:
    """Print the messages of TOPIC as they come, until Ctrl-C, or --count, --for or --idle.

    Without --group nobody is disturbed: all queues are read, from behind the newest message on, and nothing counts as
    consumed. With --group this is a member of the group: it shares the messages with the others, and what was printed
    counts as consumed; with --peek it does not, and the others get it too.
    """
    if flags["peeks"] is False and flags["group"] is None:
        raise click.UsageError("--ack needs a --group.", click.get_current_context(silent=True))
    return _running(_CONSUME)(**flags | {"peeks": bool(flags["peeks"])})


def _command(callback: Callable[..., int], params: Sequence[click.Parameter]) -> click.Command:
    taken = [flag for each in params if isinstance(each, click.Option) for flag in each.opts]
    return click.Command(
        callback.__name__.removeprefix("_"),
        callback=callback,
        params=[*params, *common_options(taken)],
        help=callback.__doc__,
        context_settings=dict(CONTEXT),
    )


send: Final = _command(
    _send,
    [
        click.Argument(["topic"]),
        click.Argument(["bodies"], nargs=-1, metavar="[BODY]..."),
        click.Option(["-f", "--file"], metavar="FILE", help="The body; - is standard input."),
        click.Option(["--lines", "has_lines"], is_flag=True, help="Each line of the file is a message."),
        click.Option(
            ["-k", "--key", "keys"], multiple=True, metavar="KEY", help="By which it can be found; again for more."
        ),
        click.Option(["-t", "--tag"], metavar="TAG", help="By which consumers choose."),
        click.Option(
            ["-p", "--property", "properties"],
            multiple=True,
            metavar="NAME=VALUE",
            callback=_properties,
            help="A property; again for more.",
        ),
        click.Option(
            ["--delay", "delay_s"], metavar="TIME", callback=_seconds, help="Keep it back: 30s, 5m (brokers of 5.x)."
        ),
        click.Option(
            ["--delay-level"], type=click.IntRange(1), metavar="N", help="Keep it back: 1 to 18 of the broker's table."
        ),
        click.Option(
            ["--deliver-at"], metavar="WHEN", callback=_when, help="Keep it back until then (brokers of 5.x)."
        ),
        click.Option(["--order-key"], metavar="KEY", help="Messages of one key go to one queue, in order."),
        click.Option(["-g", "--group"], metavar="GROUP", help="The producer group."),
        click.Option(["-c", "--count"], type=_AT_LEAST_ONE, default=1, metavar="N", help="Send it all so often."),
        click.Option(["-r", "--rate"], type=_POSITIVE, metavar="N", help="Messages per second, at most."),
        click.Option(
            ["--concurrency"],
            type=click.IntRange(1, 1000),
            default=1,
            metavar="N",
            help="How many are under way at a time; above 1 they may change places.",
        ),
        click.Option(["--go-on", "goes_on"], is_flag=True, help="Send the others when one cannot be sent."),
        click.Option(["--trace", "is_traced"], is_flag=True, help="Send a trace of each message too."),
    ],
)

consume: Final = _command(
    _consume,
    [
        click.Argument(["topic"]),
        click.Option(["-g", "--group"], metavar="GROUP", help="Be a member of this consumer group."),
        click.Option(
            ["--peek/--ack", "peeks"], default=None, help="Whether it counts as consumed (with a group: --ack)."
        ),
        click.Option(
            ["--from", "begin"],
            metavar="WHERE",
            callback=_begin,
            help="first, last, or a time, where nothing was read yet; without a group or with --peek always.",
        ),
        click.Option(["-t", "--tag", "tags"], metavar="TAGS", help="Only messages with these tags: 'a || b'."),
        click.Option(["--sql"], metavar="TEXT", help="Only messages for which this holds (enablePropertyFilter)."),
        click.Option(["-c", "--count"], type=_AT_LEAST_ONE, metavar="N", help="End after so many messages."),
        click.Option(["--for", "for_s"], metavar="TIME", callback=_seconds, help="End after this time: 10s, 5m."),
        click.Option(
            ["--idle", "idle_s"], metavar="TIME", callback=_seconds, help="End when nothing came for this time."
        ),
        click.Option(
            ["--charset", "charset_name"], metavar="NAME", callback=_charset, help="Of bodies; default UTF-8."
        ),
        click.Option(["-d", "--details", "has_details"], is_flag=True, help="Print time, place, id, tag and keys too."),
    ],
)
