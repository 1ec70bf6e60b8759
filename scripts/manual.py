"""Manual pages (man), made from the commands themselves: `python -m scripts.manual` writes packaging/man.

Owns: the form of a page; which pages there are.
Must not know: any command.
"""

import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import click

from cosmodrome import __version__
from cosmodrome.cli.commands import cosmodrome
from cosmodrome.cli.later import LATER, loaded

FOLDER: Final = Path(__file__).resolve().parents[1] / "packaging" / "man"
ALIASES: Final[Mapping[str, str]] = {
    "mqnamesrv": "cosmodrome-namesrv",
    "mqbroker": "cosmodrome-broker",
    "mqadmin": "cosmodrome-admin",
    "mqshutdown": "cosmodrome-stop",
}
EXIT_CODES: Final[Mapping[int, str]] = {
    0: "Done. A server: stopped by SIGTERM or SIGINT, and everything acknowledged is on disk.",
    1: "Partly failed, or a check found something.",
    2: "Wrong usage.",
    65: "Data that cannot be read.",
    66: "Not found: a topic, a broker, a key.",
    69: "No server is reached, or it has no such command.",
    70: "A fault of this program; a report is named.",
    71: "Cannot listen, or use a file.",
    75: "Not ready, or too late: worth trying again.",
    77: "Denied.",
    78: "Bad configuration.",
}
_BOLD_NAMES: Final = re.compile(r"(?<!\w)(--?[A-Za-z][\w-]*)")


def pages() -> Iterator[tuple[str, str]]:
    """Give every page: the name of its file, and its text."""
    names = sorted(cosmodrome.commands)
    yield "cosmodrome.1", _overview(names)
    for name in names:
        yield f"cosmodrome-{name}.1", _page(name)
    for alias, target in ALIASES.items():
        yield f"{alias}.1", f".so man1/{target}.1\n"


def _overview(names: list[str]) -> str:
    lines = [
        *_head("cosmodrome", "Apache RocketMQ in Python: a NameServer, a broker, and what operates them"),
        ".B cosmodrome", ".I COMMAND", "[words...]",
        ".SH DESCRIPTION",
        _escaped("Each command has a page of its own: man cosmodrome-COMMAND. All of them take --help."),
        ".SH COMMANDS",
    ]  # fmt: skip
    for name in names:
        lines += [".TP", f".BR cosmodrome\\-{_escaped(name)} (1)", _escaped(_summary(name))]
    lines += _tail(["cosmodrome-namesrv", "cosmodrome-broker", "cosmodrome-admin"])
    return "\n".join(lines) + "\n"


def _page(name: str) -> str:
    command = loaded(name) if name in LATER else cosmodrome.commands[name]
    path = f"cosmodrome {name}"
    ctx = click.Context(
        command, info_name=path, max_content_width=10_000, terminal_width=10_000, help_option_names=["-h", "--help"]
    )
    aliases = [alias for alias, target in ALIASES.items() if target == f"cosmodrome-{name}"]
    lines = [*_head(f"cosmodrome-{name}", _summary(name)), f".B {_escaped(path)}"]
    lines += [_escaped(" ".join(command.collect_usage_pieces(ctx)))]
    for alias in aliases:
        lines += [".br", f".B {_escaped(alias)}", _escaped(" ".join(command.collect_usage_pieces(ctx)))]
    lines += [".SH DESCRIPTION", *_paragraphs(command.help or "")]
    lines += _options(command, ctx)
    if isinstance(command, click.Group):
        lines += _subcommands(command, ctx)
    lines += _tail(["cosmodrome"])
    return "\n".join(lines) + "\n"


def _head(name: str, summary: str) -> list[str]:
    return [
        f'.TH "{name.upper()}" "1" "" "cosmodrome {__version__}" "Cosmodrome"',
        ".SH NAME",
        f"{_escaped(name)} \\- {_escaped(summary.rstrip('.'))}",
        ".SH SYNOPSIS",
    ]


def _options(command: click.Command, ctx: click.Context) -> list[str]:
    lines: list[str] = []
    for parameter in command.get_params(ctx):
        if isinstance(parameter, click.Argument):
            continue
        record = parameter.get_help_record(ctx)
        if record is None and isinstance(parameter, click.Option) and parameter.hidden:
            record = (", ".join(parameter.opts), parameter.help or "As in Java.")
        if record is not None:
            flags = _BOLD_NAMES.sub(r"\\fB\1\\fR", _escaped(record[0]).replace("\\-", "-")).replace("-", "\\-")
            lines += [".TP", flags, _escaped(record[1]) or "\\&"]
    return [".SH OPTIONS", *lines] if lines else []


def _subcommands(command: click.Group, ctx: click.Context) -> list[str]:
    lines = [".SH SUBCOMMANDS"]
    for name in command.list_commands(ctx):
        found = command.get_command(ctx, name)
        if found is not None and not found.hidden:
            lines += [".TP", f".B {_escaped(name)}", _escaped(found.get_short_help_str(200)) or "\\&"]
    return lines


def _tail(see: list[str]) -> list[str]:
    lines = [".SH EXIT STATUS"]
    for code, meaning in EXIT_CODES.items():
        lines += [".TP", f".B {code}", _escaped(meaning)]
    also = ", ".join(f"\\fB{_escaped(name)}\\fR(1)" for name in see)
    return [*lines, ".SH SEE ALSO", also]


def _paragraphs(text: str) -> list[str]:
    lines: list[str] = []
    for paragraph in text.strip().split("\n\n"):
        is_verbatim = paragraph.startswith("\b")
        rows = paragraph.removeprefix("\b").strip("\n").splitlines()
        shown = [_escaped(row) for row in rows]
        lines += [".PP", *([".nf", *shown, ".fi"] if is_verbatim else [" ".join(row.strip() for row in shown)])]
    return lines[1:]


def _summary(name: str) -> str:
    if name in LATER:
        return LATER[name].summary
    return (cosmodrome.commands[name].help or "").partition("\n")[0].partition(". ")[0]


def _escaped(text: str) -> str:
    """Give a text as groff writes it: nothing in it is a request or an escape."""
    safe = text.replace("\\", "\\e").replace("-", "\\-").replace("\n", " ")
    return f"\\&{safe}" if safe.startswith((".", "'")) else safe


def main() -> int:
    """Write all pages, and remove those of commands that are gone."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    wanted = dict(pages())
    for path in FOLDER.glob("*.1"):
        if path.name not in wanted:
            path.unlink()
    for name, text in wanted.items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
