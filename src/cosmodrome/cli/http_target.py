"""Which server a command asks over HTTP.

Owns: the flags `--http` and `-n`, and where HTTP is when only the remoting address is known.
Must not know: what is asked.
"""

import os
from collections.abc import Callable
from typing import Any, Final

import click

from cosmodrome.errors import UsageError
from cosmodrome.operating.api import Api

TOKEN_VARIABLE: Final = "COSMODROME_HTTP_TOKEN"  # noqa: S105  # a variable's name
_HELP: Final = f"Where HTTP of the NameServer is (its key http). From another host ${TOKEN_VARIABLE} may be needed."


def target_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the flags that say which server, and for how long."""
    flags = (
        click.option("--http", metavar="A:P", help=_HELP),
        click.option(
            "-n", "--namesrvAddr", "namesrv_addr", metavar="A:P",
            help="Its remoting address instead: HTTP is 10000 ports above. Default: $NAMESRV_ADDR, else 127.0.0.1:9876.",
        ),
        click.option(
            "--timeout", "timeout_s", type=click.FloatRange(0, min_open=True), default=5.0, show_default=True,
            metavar="S", help="Of one question.",
        ),
    )  # fmt: skip
    for each in reversed(flags):
        function = each(function)
    return function


def api_of(http: str | None, namesrv_addr: str | None, timeout_s: float) -> Api:
    """Give the server that the flags name.

    Raises:
        UsageError: They name none, or several.
    """
    return Api(http or _beside(namesrv_addr), token=os.environ.get(TOKEN_VARIABLE, ""), timeout_s=timeout_s)


def _beside(namesrv_addr: str | None) -> str:
    from cosmodrome.client.addresses import chosen_addresses  # noqa: PLC0415  # not with --http
    from cosmodrome.namesrv.http_port import PORT_DISTANCE  # noqa: PLC0415

    addresses = chosen_addresses(namesrv_addr, os.environ)
    if len(addresses) != 1:
        named = ", ".join(map(str, addresses))
        raise UsageError(f"{named} are several NameServers.", remedy="ask one: -n HOST:PORT, or --http HOST:PORT")
    host, _, port = str(addresses[0]).rpartition(":")
    return f"{host}:{int(port) + PORT_DISTANCE}"
