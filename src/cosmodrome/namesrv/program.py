"""What the program around a NameServer gives it.

Owns: that as a value.
Must not know: the program.
"""

from collections.abc import Callable
from dataclasses import dataclass

from cosmodrome.namesrv.live_config import ReadAgain


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A program that embeds a server gives nothing; the command gives all.

    Attributes:
        offers_http: Whether HTTP is answered at the default address when the configuration names none.
        read_again: Reads the configuration anew from where it came from, if it came from anywhere.
        end: Has the whole program stop the server in good order and end, soon after it returns.
    """

    offers_http: bool = False
    read_again: ReadAgain | None = None
    end: Callable[[], None] | None = None


EMBEDDED = Program()
