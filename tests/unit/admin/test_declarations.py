"""Every declared command can be run: its function is there and takes its options."""

import importlib
import inspect
from collections import Counter
from pathlib import Path

import click
import pytest

from cosmodrome.cli.admin import COMMANDS, admin, peers_group
from cosmodrome.cli.admin.declaration import Declared, integer, java_bool, natural, positive_s

ALL = [pytest.param(each, id=each.name) for each in (*COMMANDS, *peers_group.declared.values())]


@pytest.mark.parametrize("declared", ALL)
def test_its_function_takes_its_options(declared: Declared) -> None:
    module, _, function = declared.runs.partition(":")
    signature = inspect.signature(getattr(importlib.import_module(f"cosmodrome.admin.{module}"), function))

    signature.bind("servers", "output", **{each.name: None for each in declared.options})


@pytest.mark.parametrize("declared", ALL)
def test_it_is_whole(declared: Declared) -> None:
    names = [each.name for each in declared.options]
    flags = [flag for each in declared.options for flag in each.flags]

    assert not [name for name, count in Counter(names).items() if count > 1]
    assert not [flag for flag, count in Counter(flags).items() if count > 1]
    assert {*declared.one_of, *declared.any_of} <= set(names)
    assert declared.text.endswith((".", ".)"))


@pytest.mark.parametrize("declared", ALL)
def test_its_help_shows_every_flag(declared: Declared) -> None:
    group = admin if declared.name in admin.declared else peers_group
    command = group.get_command(click.Context(group), declared.name.upper())
    assert command is not None
    text = command.get_help(click.Context(command, info_name=declared.name))

    for each in declared.options:
        assert all(flag in text for flag in each.flags)
    assert "--credentials" in text


def test_names_are_unique_in_any_case() -> None:
    assert len({each.name.lower() for each in COMMANDS}) == len(COMMANDS)


def test_modules_stay_small() -> None:
    folder = Path(__file__).parents[3] / "src" / "cosmodrome" / "cli" / "admin"
    sizes = {path.name: len(path.read_text(encoding="utf-8").splitlines()) for path in folder.glob("*.py")}

    assert max(sizes.values()) <= 400, sizes


@pytest.mark.parametrize(
    ("convert", "good", "bad"),
    [
        (java_bool, {"TRUE": True, "false": False}, ["yes", ""]),
        (integer, {"-5": -5, "9223372036854775807": 2**63 - 1}, ["5.0", "", "9223372036854775808", "x"]),
        (natural, {"0": 0, "2147483647": 2**31 - 1}, ["-1", "2147483648"]),
        (positive_s, {"0.5": 0.5}, ["0", "-1", "inf", "nan", "x"]),
    ],
)
def test_values(convert, good, bad) -> None:  # type: ignore[no-untyped-def]
    assert {text: convert(text) for text in good} == good
    for text in bad:
        with pytest.raises(ValueError):
            convert(text)
