"""The words of commands about messages, and of `send` and `consume`: what is refused before anybody is asked."""

from typing import Any

import click
import pytest
from click.testing import CliRunner

from cosmodrome.cli import shell
from cosmodrome.cli.admin import admin
from cosmodrome.cli.admin.message_table import MESSAGE_COMMANDS


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("consume There --ack", "--ack needs a --group"),
        ("consume There --from never", "is no moment"),
        ("consume There --for 5y", "is no time"),
        ("consume There --for 0s", "must be above 0"),
        ("consume There --idle s", "is no time"),
        ("consume There --charset klingon", "unknown charset"),
        ("consume There --charset base64", "no charset of text"),
        ("consume There --count 0", "--count"),
        ("consume", "Missing argument"),
        ("send There x --file y", "BODY and --file"),
        ("send There x --lines", "--lines goes with --file"),
        ("send There x --delay 5s --delay-level 3", "in one way"),
        ("send There x -p novalue", "is not NAME=VALUE"),
        ("send There x --rate 0", "--rate"),
        ("send There x --deliver-at 99999999999999999", "--deliver-at"),
        ("send", "Missing argument"),
        ("admin queryMsgById -t There -i ,", "no id in -i"),
        ("admin queryMsgByOffset -t There -b b -i 0 -o -1", "offsets begin at 0"),
        ("admin queryMsgByOffset -t There -b b -i x -o 1", "no whole number"),
        ("admin queryMsgByKey -t There", "msgKey"),
        ("admin queryMsgByKey -t There -k k -m 0", "must be above 0"),
        ("admin queryMsgById -t There -i x -f klingon", "unknown charset"),
        ("admin printMsg -t There -b 2023-99-01#00:00:00:000", "there is no moment"),
        ("admin checkMsgSendRT -t There -s 99999999", "at most"),
        ("admin consumerProgress -s perhaps", "neither true nor false"),
    ],
)
def test_what_is_no_command_line_is_refused(line: str, says: str) -> None:
    first, *words = line.split(" ")
    command = {"send": shell.send, "consume": shell.consume, "admin": admin}[first]

    with pytest.raises(click.UsageError) as refused:
        command.main(words, standalone_mode=False)

    assert says in refused.value.format_message()


@pytest.fixture
def flags(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What a command line comes to."""
    found: dict[str, Any] = {}

    def keep(_declared: Any, _common: Any, flags: dict[str, Any]) -> int:
        found.update(flags)
        return 0

    monkeypatch.setattr(shell, "run_declared", keep)
    return found


def test_times_are_read_with_their_units(flags: dict[str, Any]) -> None:
    for text, seconds in (("1.5", 1.5), ("500ms", 0.5), ("10s", 10.0), ("5m", 300.0), ("2h", 7200.0), ("1d", 86400.0)):
        shell.send.main(["There", "x", "--delay", text], standalone_mode=False)
        assert flags["delay_s"] == seconds


def test_what_may_be_given_again_is_gathered(flags: dict[str, Any]) -> None:
    shell.send.main(["There", "x", "-k", "a", "--key", "b", "-p", "n=1=2", "-p", "m="], standalone_mode=False)
    assert (flags["keys"], flags["properties"]) == (("a", "b"), {"n": "1=2", "m": ""})


def test_a_group_acknowledges_unless_it_peeks(flags: dict[str, Any]) -> None:
    for words, peeks in (
        (["-g", "g"], False),
        (["-g", "g", "--ack"], False),
        (["-g", "g", "--peek"], True),
        ([], False),
    ):
        shell.consume.main(["There", *words], standalone_mode=False)
        assert flags["peeks"] is peeks


def test_where_reading_begins(flags: dict[str, Any]) -> None:
    for text in ("first", "last"):
        shell.consume.main(["There", "--from", text], standalone_mode=False)
        assert flags["begin"] == text
    shell.consume.main(["There", "--from", "2026-01-02T03:04:05Z"], standalone_mode=False)
    assert flags["begin"].isoformat() == "2026-01-02T03:04:05+00:00"


@pytest.mark.parametrize("command", [shell.send, shell.consume], ids=["send", "consume"])
def test_help_names_the_options(command: click.Command) -> None:
    ran = CliRunner().invoke(command, ["-h"])

    assert ran.exit_code == 0
    assert " [OPTIONS] TOPIC" in ran.output
    for option in ("--group", "--count", "--namesrvAddr", "--credentials", "--output"):
        assert option in ran.output


@pytest.mark.parametrize("name", [each.name for each in MESSAGE_COMMANDS])
def test_every_command_has_help(name: str) -> None:
    ran = CliRunner().invoke(admin, [name.upper(), "-h"])
    assert ran.exit_code == 0
    assert f"{name} [OPTIONS]" in ran.output
