"""What a command of `cosmodrome admin` is: its name, its options, what it is for, and what runs it.

Owns: the form of a declaration; kinds of values that several commands take.
Must not know: how words are parsed (grammar.py); any command.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """An option of one command.

    Attributes:
        flags: As mqadmin spells them, for example `("-t", "--topic")`. A long one is also taken with one dash; one
            that mqadmin has with one dash only (`-bn`) is written so.
        name: The parameter of the function that gets the value.
        convert: Makes the value of its text, blanks at both ends cut off; raises ValueError, whose text tells why not.
        choices: The only values, in any case; the function gets them as they stand here.
        is_verbatim: The text counts as it is, with its blanks.
    """

    flags: tuple[str, ...]
    name: str
    help: str
    metavar: str = "VALUE"
    is_required: bool = False
    is_flag: bool = False
    convert: Callable[[str], Any] | None = None
    choices: tuple[str, ...] = ()
    is_verbatim: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """A command.

    Attributes:
        name: As mqadmin spells it.
        text: What it is for, in a line.
        runs: `module:function` below cosmodrome.admin, imported only when it runs. It is called with the NameServers,
            the Output, and the value of each option by the option's name; it gives the exit code.
        options: Its own; those of every command are added.
        one_of: Names of options of which exactly one is given.
        any_of: Names of options of which at least one is given; mqadmin lets the first one win.
        more: What the help says beside the options.
    """

    name: str
    text: str
    runs: str
    options: tuple[Option, ...] = ()
    one_of: tuple[str, ...] = ()
    any_of: tuple[str, ...] = ()
    more: str = ""


def option(flags: str, name: str, text: str, metavar: str = "VALUE", **more: Any) -> Option:
    """Declare an option; `flags` are separated by blanks."""
    return Option(flags=tuple(flags.split()), name=name, help=text, metavar=metavar, **more)


def required(flags: str, name: str, text: str, metavar: str = "VALUE", **more: Any) -> Option:
    """Declare an option that must be given."""
    return option(flags, name, text, metavar, is_required=True, **more)


def switch(flags: str, name: str, text: str) -> Option:
    """Declare an option without a value, False when it is not given."""
    return Option(flags=tuple(flags.split()), name=name, help=text, is_flag=True)


def java_bool(text: str) -> bool:
    """Read `true` or `false`, in any case."""
    if text.lower() not in ("true", "false"):
        raise ValueError(f"{text!r} is neither true nor false")
    return text.lower() == "true"


def integer(text: str) -> int:
    """Read a whole number of 64 bits."""
    try:
        number = int(text)
    except ValueError:
        raise ValueError(f"{text!r} is no whole number") from None
    if not -(1 << 63) <= number < 1 << 63:
        raise ValueError(f"{text} does not fit into 64 bits")
    return number


def natural(text: str) -> int:
    """Read a whole number of at least 0, of 31 bits."""
    number = integer(text)
    if not 0 <= number < 1 << 31:
        raise ValueError(f"{text} is not between 0 and {(1 << 31) - 1}")
    return number


def positive_s(text: str) -> float:
    """Read a number of seconds above 0."""
    try:
        number = float(text)
    except ValueError:
        raise ValueError(f"{text!r} is no number") from None
    if not 0 < number < float("inf"):
        raise ValueError("it must be above 0")
    return number


TOPIC: Final = required("-t --topic", "topic", "topic name", "TOPIC")
CLUSTER: Final = option("-c --clusterName", "cluster", "of all masters of this cluster", "NAME")
BROKER_ADDR: Final = option("-b --brokerAddr", "broker_addr", "of this broker", "HOST:PORT")
GROUP: Final = required("-g --groupName", "group", "consumer group name", "GROUP")
INTERVAL: Final = option("-i --interval", "interval_s", "repeat after so many seconds", "S", convert=positive_s)
